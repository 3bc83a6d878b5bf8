//! What single clients get beside the portable files, by the binary.

use serde_json::{Value, json};

use crate::export_support::SKILL;
use crate::support::{Place, Run, manifest, mcp};

const CLAUDE: &str = ".claude-plugin/plugin.json";

fn package(place: &Place, member: &str) {
    place.write(
        "p/plugin.json",
        manifest("p", &format!("\"version\": \"1.0.0\"{member}")),
    );
    place.write("p/skills/tides/SKILL.md", SKILL);
}

fn export(place: &Place, arguments: &[&str]) -> Run {
    place.run(
        [
            &["export", "p", "--target", "claude-code", "--out", "out"],
            arguments,
        ]
        .concat(),
    )
}

fn written(place: &Place, path: &str) -> Value {
    serde_json::from_str(&place.read(&format!("out/{path}"))).expect("JSON")
}

/// Kind, place and subject of each loss.
fn losses(place: &Place) -> Vec<(String, String, String)> {
    let run = export(place, &["--dry-run", "--format", "json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    let losses = report["losses"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    losses
        .map(|loss| {
            (
                text(&loss["kind"]),
                text(&loss["path"]),
                text(&loss["what"]),
            )
        })
        .collect()
}

fn loss(kind: &str, path: &str, what: &str) -> (String, String, String) {
    (kind.to_owned(), path.to_owned(), what.to_owned())
}

#[test]
fn parts_that_extensions_points_to_are_in_the_manifest() {
    let place = Place::new();
    package(
        &place,
        r#", "extensions": {"com.anthropic.claude-code": {
            "hooks": "./com.anthropic.claude-code/hooks.json",
            "commands": ["com.anthropic.claude-code/commands", "./nowhere"],
            "agents": "./com.anthropic.claude-code/agents/",
            "lspServers": {"a": {"command": "x"}},
            "colour": "blue"}}"#,
    );
    place.write("p/com.anthropic.claude-code/hooks.json", "{\"hooks\": {}}");
    place.write("p/com.anthropic.claude-code/commands/c.md", "Hi.");
    place.write("p/com.anthropic.claude-code/agents/a.md", "Hi.");
    let run = export(&place, &[]);
    assert_eq!(run.status, Some(0), "{run:?}");
    let manifest = written(&place, CLAUDE);
    assert_eq!(
        manifest,
        json!({
            "name": "p",
            "version": "1.0.0",
            "hooks": "./com.anthropic.claude-code/hooks.json",
            "commands": "./com.anthropic.claude-code/commands",
            "agents": "./com.anthropic.claude-code/agents/a.md",
            "lspServers": {"a": {"command": "x"}}
        })
    );
    assert_eq!(
        losses(&place),
        [loss(
            "target-manifest",
            "plugin.json",
            "commands in the manifest for Claude Code"
        )]
    );
}

#[test]
fn what_a_new_manifest_brings_to_life_is_named() {
    let place = Place::new();
    package(&place, "");
    place.write("p/hooks/hooks.json", "{\"hooks\": {}}");
    place.write("p/.mcp.json", "{\"mcpServers\": {}}");
    place.write("p/agents/a.md", "Hi.");
    assert_eq!(
        losses(&place),
        [
            loss("target-default", ".mcp.json", "MCP servers in .mcp.json"),
            loss("target-default", "agents", "agents in agents"),
            loss(
                "target-default",
                "hooks/hooks.json",
                "hooks in hooks/hooks.json"
            ),
        ]
    );
    assert_eq!(export(&place, &["--deny-losses"]).status, Some(1));
    // Other clients of the package look at none of it.
    let run = place.run([
        "export",
        "p",
        "--target",
        "codex",
        "--out",
        "out",
        "--deny-losses",
    ]);
    assert_eq!(run.status, Some(0), "{run:?}");
}

#[test]
fn a_manifest_that_is_there_has_to_lead_to_all_servers() {
    let place = Place::new();
    package(&place, "");
    let server = r#"{"type": "stdio", "command": "npx"}"#;
    place.write(
        "p/mcp.json",
        mcp(&format!("{{\"one\": {server}, \"two\": {server}}}")),
    );
    let lost = loss(
        "target-manifest",
        CLAUDE,
        "the servers of mcp.json in Claude Code",
    );
    let servers = loss("target-manifest", CLAUDE, "its field \"mcpServers\"");
    for (members, default, wanted) in [
        (
            r#""mcpServers": {"one": {}, "other": {}}"#,
            None,
            vec![lost.clone()],
        ),
        (r#""mcpServers": {"one": {}, "two": {}}"#, None, vec![]),
        (
            r#""mcpServers": "./nothing.json""#,
            None,
            vec![servers.clone(), lost.clone()],
        ),
        (
            r#""mcpServers": {"one": {}}"#,
            Some("{\"two\": {}}"),
            vec![],
        ),
        (
            r#""keywords": []"#,
            Some("{\"mcpServers\": {\"one\": {}, \"two\": {}}}"),
            vec![],
        ),
        (r#""keywords": []"#, Some("{}"), vec![lost.clone()]),
    ] {
        place.write(
            &format!("p/{CLAUDE}"),
            format!("{{\"name\": \"p\", \"version\": \"1.0.0\", {members}}}"),
        );
        place.write("p/.mcp.json", default.unwrap_or("{}"));
        assert_eq!(losses(&place), wanted, "{members}");
    }
}

#[test]
fn paths_that_claude_code_refuses_are_corrected() {
    let place = Place::new();
    package(&place, "");
    place.write("p/parts/c.md", "Hi.");
    place.write(
        &format!("p/{CLAUDE}"),
        r#"{"name": "p", "version": "1.0.0", "skills": "skills", "commands": ["parts/c.md", "./parts"]}"#,
    );
    let run = export(&place, &["--deny-losses"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert_eq!(
        written(&place, CLAUDE),
        json!({
            "name": "p",
            "version": "1.0.0",
            "skills": "./skills",
            "commands": ["./parts/c.md", "./parts"]
        })
    );
    assert!(
        run.stdout.contains("paths of skills begin with ./ now"),
        "{run:?}"
    );
}

#[test]
fn servers_never_replace_a_file_that_is_there() {
    let place = Place::new();
    package(&place, "");
    place.write(
        "p/mcp.json",
        mcp(r#"{"one": {"type": "stdio", "command": "npx"}}"#),
    );
    place.write("p/com.anthropic.claude-code/mcp.json", "mine");
    let run = export(&place, &["--deny-losses"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert_eq!(place.read("out/com.anthropic.claude-code/mcp.json"), "mine");
    let path = "com.anthropic.claude-code/mcp-2.json";
    assert_eq!(written(&place, CLAUDE)["mcpServers"], format!("./{path}"));
    assert_eq!(written(&place, path)["mcpServers"]["one"]["command"], "npx");
}

#[test]
fn what_options_say_is_in_every_manifest() {
    let place = Place::new();
    package(&place, r#", "author": {"name": "Old"}"#);
    place.write(
        &format!("p/{CLAUDE}"),
        r#"{"name": "p", "version": "1.0.0", "author": "Old"}"#,
    );
    place.write(
        "p/package.json",
        r#"{"name": "@acme/p", "version": "1.0.0", "repository": {"type": "git", "url": "git+https://h.example/a.git"}}"#,
    );
    place.write(
        "p/.codex-plugin/plugin.json",
        r#"{"name": "p", "version": "1.0.0"}"#,
    );
    place.write(
        "p/.claude-plugin/marketplace.json",
        r#"{"name": "m", "owner": {"name": "o"}, "plugins": [{"name": "p", "source": "./", "version": "1.0.0"}, {"name": "q", "source": "./q", "version": "1.0.0"}]}"#,
    );
    let run = export(
        &place,
        &[
            "--name",
            "new",
            "--version",
            "3.0.0",
            "--author",
            "Mara <m@example.com>",
            "--repository",
            "https://github.com/a/b",
        ],
    );
    assert_eq!(run.status, Some(0), "{run:?}");
    assert_eq!(
        written(&place, CLAUDE),
        json!({"name": "new", "version": "3.0.0", "author": "Mara <m@example.com>"})
    );
    assert_eq!(
        written(&place, ".codex-plugin/plugin.json"),
        json!({"name": "new", "version": "3.0.0"})
    );
    assert_eq!(
        written(&place, "package.json"),
        json!({
            "name": "@acme/new",
            "version": "3.0.0",
            "repository": {"type": "git", "url": "https://github.com/a/b"}
        })
    );
    let plugins = &written(&place, ".claude-plugin/marketplace.json")["plugins"];
    assert_eq!(
        *plugins,
        json!([
            {"name": "new", "source": "./", "version": "3.0.0"},
            {"name": "q", "source": "./q", "version": "1.0.0"}
        ])
    );
    let run = place.run(["sync", "out", "--check"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    // The same for a plugin of a client.
    place.write(
        "c/.claude-plugin/plugin.json",
        r#"{"name": "c", "version": "1.0.0"}"#,
    );
    place.write("c/package.json", r#"{"name": "c", "version": "1.0.0"}"#);
    place.write("c/skills/tides/SKILL.md", SKILL);
    let run = place.run(["export", "c", "--version", "2.0.0", "--out", "c-out"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert!(place.read("c-out/package.json").contains("2.0.0"));
}

#[test]
fn a_list_of_files_names_what_servers_and_clients_need() {
    let place = Place::new();
    package(&place, "");
    place.write(
        "p/mcp.json",
        mcp(
            r#"{"a": {"type": "stdio", "command": "./bin/s", "cwd": "./data/x"},
                "b": {"type": "stdio", "command": "node", "args": ["${PLUGIN_ROOT}/lib/b.js", "--x=${PLUGIN_ROOT}/etc/x"]}}"#,
        ),
    );
    for path in ["bin/s", "data/x/y", "lib/b.js", "etc/x", "other/z"] {
        place.write(&format!("p/{path}"), "#!/bin/sh\n");
    }
    place.write(
        "p/package.json",
        r#"{"name": "p", "version": "1.0.0", "files": ["plugin.json", "skills/", "lib"]}"#,
    );
    let run = export(&place, &["--npm", "--allow-warnings"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert_eq!(
        written(&place, "package.json")["files"],
        json!([
            "plugin.json",
            "skills/",
            "lib",
            "mcp.json",
            ".claude-plugin",
            "com.anthropic.claude-code",
            "bin",
            "data",
            "etc"
        ])
    );
}

#[test]
fn what_there_is_to_say_about_options_is_said() {
    let place = Place::new();
    package(&place, "");
    place.write(
        "p/package.json",
        r#"{"name": "p", "version": "1.0.0", "private": true}"#,
    );
    let arguments = ["--version", "v1.0", "--license", "foo", "--npm"];
    let run = export(&place, &arguments);
    assert_eq!(run.status, Some(0), "{run:?}");
    for wanted in [
        "plugin.json: manifest::version-not-semver: ",
        "plugin.json: manifest::license-not-spdx: ",
        "npm publishes nothing that is \"private\": true",
    ] {
        assert!(run.stdout.contains(wanted), "{wanted}: {run:?}");
    }
    let run = export(&place, &["--version", "1.0.1", "--license", "MIT"]);
    assert!(!run.stdout.contains("let pass"), "{run:?}");
}
