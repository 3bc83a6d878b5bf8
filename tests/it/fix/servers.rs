//! Servers, byte for byte.

use super::{MCP_ID, Sample, golden, golden_text};
use crate::support::{Place, mcp};

#[test]
fn servers_are_mended() {
    for (before, after, code) in [
        (
            r#"{"a": { "type": "HTTP", "url": "https://x.example/m" }}"#,
            r#"{"a": { "type": "streamable-http", "url": "https://x.example/m" }}"#,
            "mcp::type-unknown",
        ),
        (
            r#"{"a": {"type": "local", "command": "x"}}"#,
            r#"{"a": {"type": "stdio", "command": "x"}}"#,
            "mcp::type-unknown",
        ),
        (
            r#"{"a": {"command": "x"}, "b": {"url": "https://x.example/m"}}"#,
            r#"{"a": {"type": "stdio", "command": "x"}, "b": {"type": "streamable-http", "url": "https://x.example/m"}}"#,
            "mcp::type-missing",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "x", "cwd": "."}}"#,
            r#"{"a": {"type": "stdio", "command": "x", "cwd": "./"}}"#,
            "mcp::cwd-form",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "x", "cwd": "data"}}"#,
            r#"{"a": {"type": "stdio", "command": "x", "cwd": "./data"}}"#,
            "mcp::cwd-form",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "x", "cwd": "${CLAUDE_PLUGIN_ROOT}/data"}}"#,
            r#"{"a": {"type": "stdio", "command": "x", "cwd": "${PLUGIN_ROOT}/data"}}"#,
            "mcp::cwd-form",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "x", "args": ["--at=${CLAUDE_PLUGIN_ROOT}/\u00e9", "${COPILOT_PLUGIN_DATA}"], "env": {"D": "${CLAUDE_PLUGIN_DATA}/x"}}}"#,
            r#"{"a": {"type": "stdio", "command": "x", "args": ["--at=${PLUGIN_ROOT}/\u00e9", "${PLUGIN_DATA}"], "env": {"D": "${PLUGIN_DATA}/x"}}}"#,
            "mcp::client-placeholder",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "${CLAUDE_PLUGIN_ROOT}/bin/run"}}"#,
            r#"{"a": {"type": "stdio", "command": "./bin/run"}}"#,
            "mcp::command-form",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "${PLUGIN_ROOT}/bin/run"}}"#,
            r#"{"a": {"type": "stdio", "command": "./bin/run"}}"#,
            "mcp::command-form",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "bin/run"}}"#,
            r#"{"a": {"type": "stdio", "command": "./bin/run"}}"#,
            "mcp::command-form",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "x", "args": ["./data/list.json", "--f=./data/list.json"]}}"#,
            r#"{"a": {"type": "stdio", "command": "x", "args": ["${PLUGIN_ROOT}/data/list.json", "--f=${PLUGIN_ROOT}/data/list.json"]}}"#,
            "mcp::argument-relative",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "x", "args": [1, true], "env": {"PORT": 8080, "B": 1.10}}}"#,
            r#"{"a": {"type": "stdio", "command": "x", "args": ["1", "true"], "env": {"PORT": "8080", "B": "1.10"}}}"#,
            "mcp::field-type",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "x", "env": {"PLUGIN_ROOT": "${CLAUDE_PLUGIN_ROOT}", "A": "1"}}}"#,
            r#"{"a": {"type": "stdio", "command": "x", "env": {"A": "1"}}}"#,
            "mcp::env-reserved",
        ),
        (
            r#"{"a": {"type": "sse", "url": "https://x.example/m?a=b#c"}}"#,
            r#"{"a": {"type": "sse", "url": "https://x.example/m?a=b"}}"#,
            "mcp::url-fragment",
        ),
        (
            r#"{"a": {"type": "sse", "url": "https://x.example/", "headers": {"X-A": " b "}}}"#,
            r#"{"a": {"type": "sse", "url": "https://x.example/", "headers": {"X-A": "b"}}}"#,
            "mcp::header-value-portability",
        ),
    ] {
        golden_text("mcp.json", &mcp(before), &mcp(after), code);
    }
    let bare = r#"{"servers": {"a": {"command": "x"}}}"#;
    let whole = format!(
        r#"{{"$schema": "{MCP_ID}", "mcpServers": {{"a": {{"type": "stdio", "command": "x"}}}}}}"#
    );
    golden_text("mcp.json", bare, &whole, "mcp::unknown-field");
    let bom = format!("\u{feff}{}", mcp("{}"));
    golden_text("mcp.json", &bom, &mcp("{}"), "mcp::byte-order-mark");
    let twice = mcp(
        r#"{"a": {"type": "sse", "url": "https://x.example/"}, "a": {"url": "https://x.example/", "type": "sse"}}"#,
    );
    golden_text(
        "mcp.json",
        &twice,
        &mcp(r#"{"a": {"url": "https://x.example/", "type": "sse"}}"#),
        "mcp::duplicate-key",
    );
}

#[test]
fn what_only_the_author_can_know_of_a_server_is_left() {
    for (servers, said) in [
        (
            r#"{"a": {"url": "https://x.example/sse"}}"#,
            "sse or streamable-http",
        ),
        (
            r#"{"a": {"type": "http", "command": "x"}}"#,
            "there is no url to go with streamable-http",
        ),
        (
            r#"{"a": {"type": "pigeon", "command": "x"}}"#,
            "which transport is meant",
        ),
        (r#"{"a": {}}"#, "neither command nor url"),
        (
            r#"{"a": {"type": "stdio", "command": "lib/none"}}"#,
            "no such file in the package",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "x", "cwd": "../x"}}"#,
            "which directory is meant",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "x", "args": ["./none"]}}"#,
            "no such file",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "x", "args": ["./data/list.json"], "cwd": "./data"}}"#,
            "started in another directory",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "x", "args": ["${user_config.a}"]}}"#,
            "no such value",
        ),
        (
            r#"{"a": {"type": "sse", "url": "https://x.example/${CLAUDE_PLUGIN_ROOT}"}}"#,
            "nothing is expanded here",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "npx -y \"a b\""}}"#,
            "written for a shell",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "npx -y a"}}"#,
            "--unsafe mends it",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "x", "env": {"PLUGIN_DATA": "/tmp"}}}"#,
            "--unsafe mends it: the client sets it to something else",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "x", "arg": []}}"#,
            "--unsafe mends it: it guesses",
        ),
    ] {
        let place = Place::new();
        Sample {
            mcp: Some(mcp(servers)),
            ..Sample::good()
        }
        .put(&place);
        place.write("p/data/list.json", "[]");
        let run = place.run(["fix", "p"]);
        assert!(
            run.stdout
                .starts_with("nothing can be fixed automatically\n"),
            "{servers}\n{}",
            run.stdout
        );
        assert!(run.stdout.contains(said), "{servers}\n{}", run.stdout);
        assert_eq!(place.read("p/mcp.json"), mcp(servers));
    }
    for (before, after, code) in [
        (
            r#"{"a": {"type": "stdio", "command": "npx -y a", "args": ["b"]}}"#,
            r#"{"a": {"type": "stdio", "command": "npx", "args": ["-y", "a", "b"]}}"#,
            "mcp::command-line",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "npx -y a"}}"#,
            r#"{"a": {"type": "stdio", "command": "npx", "args": ["-y", "a"]}}"#,
            "mcp::command-line",
        ),
        (
            r#"{"a": {"type": "stdio", "command": "x", "arg": ["y"]}}"#,
            r#"{"a": {"type": "stdio", "command": "x", "args": ["y"]}}"#,
            "mcp::server-unknown-field",
        ),
    ] {
        golden(
            "mcp.json",
            mcp(before).as_bytes(),
            mcp(after).as_bytes(),
            code,
            &["--unsafe"],
        );
    }
}

#[test]
fn one_finding_that_cannot_be_ended_does_not_hold_up_the_others() {
    let place = Place::new();
    Sample::good().put(&place);
    let mut servers = Vec::new();
    for index in 0..100 {
        // A second placeholder that nothing can be made of.
        let rest = if index % 10 == 3 {
            "${user_config.x}"
        } else {
            ""
        };
        servers.push(format!(
            "\"s{index}\": {{\"type\": \"stdio\", \"command\": \"x\", \"args\": [\"${{CLAUDE_PLUGIN_ROOT}}{rest}\"]}}"
        ));
    }
    place.write("p/mcp.json", mcp(&format!("{{{}}}", servers.join(", "))));
    let run = place.run(["fix", "p"]);
    assert!(
        run.stdout.contains("\n90 findings mended\n"),
        "{}",
        run.stdout
    );
    assert_eq!(
        place
            .read("p/mcp.json")
            .matches("${CLAUDE_PLUGIN_ROOT}")
            .count(),
        10
    );
    let left = "a fix would not end it, or make something else worse";
    assert_eq!(run.stdout.matches(left).count(), 10, "{}", run.stdout);
}
