//! `apkit fix`: what it changes, byte for byte, and what it leaves alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use apkit::diagnostic::Severity;
use apkit::edit::fix::{self, Options};
use apkit::package::{self, McpState, Package, Verdict};
use serde_json::Value;

use crate::support::{Place, manifest, mcp};

const SKILL: &str =
    "---\nname: tides\ndescription: Tells the tides. Use it for them.\n---\n\nLook.\n";

/// Every file below a directory, with its content; links by where they lead.
pub(crate) fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(root: &Path, directory: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        let Ok(entries) = fs::read_dir(directory) else {
            return;
        };
        for entry in entries {
            let path = entry.expect("an entry").path();
            let name = path
                .strip_prefix(root)
                .expect("below")
                .to_string_lossy()
                .into_owned();
            let kind = path.symlink_metadata().expect("metadata").file_type();
            if kind.is_symlink() {
                let target = fs::read_link(&path).expect("a link");
                found.insert(name, target.to_string_lossy().into_owned().into_bytes());
            } else if kind.is_dir() {
                walk(root, &path, found);
            } else if kind.is_file() {
                found.insert(name, fs::read(&path).unwrap_or_default());
            } else {
                found.insert(name, b"special".to_vec());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(root, root, &mut found);
    found
}

/// The laws of mending, on the package at `root`, which is changed: nothing is
/// lost, nothing gets worse, a second run does nothing, and a plan writes nothing.
pub(crate) fn hold_laws(root: &Path, options: &Options<'_>) -> Result<usize, String> {
    let load = || {
        let how = package::Options {
            drafts: options.drafts,
            keep_sources: false,
        };
        package::load(root, "p", &how).map_err(|error| error.to_string())
    };
    let before = load()?;
    let files = tree(root);
    let plan = fix::plan(root, "p", options).map_err(|error| error.to_string())?;
    if tree(root) != files {
        return Err("the plan wrote something".to_owned());
    }
    let done = fix::mend(root, "p", options).map_err(|error| error.to_string())?;
    let after = load()?;
    if after.diagnostics != done.package.diagnostics && done.reasons.is_empty() {
        return Err(format!(
            "reported as left: {:?}\nis left: {:?}",
            done.package.diagnostics, after.diagnostics
        ));
    }
    compare(&before, &after)?;
    if plan.mended.is_empty() && plan.operations.is_empty() && tree(root) != files {
        return Err("something changed that was not planned".to_owned());
    }
    let files = tree(root);
    let again = fix::mend(root, "p", options).map_err(|error| error.to_string())?;
    if tree(root) != files || !again.mended.is_empty() || !again.operations.is_empty() {
        return Err(format!(
            "a second run changed something: {:?}",
            again.mended
        ));
    }
    Ok(done.mended.len() + done.operations.len())
}

fn compare(before: &Package, after: &Package) -> Result<(), String> {
    if before.verdict == Verdict::Loaded && after.verdict == Verdict::Rejected {
        return Err("the package no longer loads".to_owned());
    }
    if before.mcp.state == McpState::Enabled && after.mcp.state != McpState::Enabled {
        return Err("mcp.json is no longer in force".to_owned());
    }
    let skills = |package: &Package| -> BTreeMap<String, String> {
        let loaded = package.skills.loaded.iter();
        loaded
            .map(|skill| (skill.path.clone(), skill.description.clone()))
            .collect()
    };
    let after_skills = skills(after);
    for (path, description) in skills(before) {
        if after_skills.get(&path) != Some(&description) {
            return Err(format!("{path} is lost or says something else"));
        }
    }
    for server in &before.mcp.loaded {
        if !after
            .mcp
            .loaded
            .iter()
            .any(|other| other.name == server.name)
        {
            return Err(format!("the server {} is lost", server.name));
        }
    }
    // A new code may only be about what did not load before.
    let codes = |package: &Package| -> BTreeSet<(&'static str, String)> {
        let counted = package
            .diagnostics
            .iter()
            .filter(|found| found.severity() > Severity::Info);
        counted
            .map(|found| (found.code.id, found.path.clone()))
            .collect()
    };
    let known = codes(before);
    for found in codes(after).difference(&known) {
        let loaded = before.verdict == Verdict::Loaded
            && match found.0.split("::").next() {
                Some("skill") => before
                    .skills
                    .loaded
                    .iter()
                    .any(|skill| found.1.starts_with(&format!("{}/", skill.path))),
                Some("mcp") => {
                    before.mcp.state == McpState::Enabled && before.mcp.skipped.is_empty()
                }
                _ => true,
            };
        if loaded {
            return Err(format!("{} about {} is new", found.0, found.1));
        }
    }
    Ok(())
}

/// A package with these texts.
struct Sample {
    manifest: String,
    mcp: Option<String>,
    skill: String,
}

impl Sample {
    fn good() -> Self {
        Self {
            manifest: manifest("demo", ""),
            mcp: None,
            skill: SKILL.to_owned(),
        }
    }

    fn put(&self, place: &Place) {
        place.write("p/plugin.json", &self.manifest);
        place.write("p/skills/tides/SKILL.md", &self.skill);
        if let Some(mcp) = &self.mcp {
            place.write("p/mcp.json", mcp);
        }
    }
}

/// Runs `apkit fix` on a package in which one file holds `before`, and compares
/// the file with `after`; then tries everything that must hold of any run.
fn golden(file: &str, before: &[u8], after: &[u8], code: &str, arguments: &[&str]) {
    let place = Place::new();
    Sample::good().put(&place);
    place.write("p/bin/run", "#!/bin/sh\n");
    place.write("p/data/list.json", "[]");
    let path = place.write(&format!("p/{file}"), before);
    let shown = String::from_utf8_lossy(before).into_owned();
    let dry = place.run(["fix", "--dry-run", "p"].iter().chain(arguments));
    assert_eq!(dry.status, Some(1), "{shown}\n{}{}", dry.stdout, dry.stderr);
    assert!(dry.stdout.starts_with("--- a/p/"), "{}", dry.stdout);
    assert_eq!(
        fs::read(&path).expect("the file"),
        before,
        "a dry run writes nothing"
    );
    let run = place.run(["fix", "--format", "json", "p"].iter().chain(arguments));
    assert_ne!(run.status, Some(2), "{shown}\n{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let mended = report["packages"][0]["mended"].as_array().expect("a list");
    assert!(
        mended.iter().any(|found| found["code"] == code),
        "{shown}\n{}",
        run.stdout
    );
    let now = fs::read(&path).expect("the file");
    assert_eq!(
        String::from_utf8_lossy(&now),
        String::from_utf8_lossy(after),
        "{}",
        run.stdout
    );
    assert_eq!(now, after);
    let again = place.run(["fix", "p"].iter().chain(arguments));
    assert!(
        again.stdout.starts_with("nothing to mend"),
        "{}",
        again.stdout
    );
    assert_eq!(fs::read(&path).expect("the file"), after);
    let dry = place.run(["fix", "--dry-run", "p"].iter().chain(arguments));
    assert_eq!((dry.status, dry.stdout.as_str()), (Some(0), ""));
}

fn golden_text(file: &str, before: &str, after: &str, code: &str) {
    golden(file, before.as_bytes(), after.as_bytes(), code, &[]);
}

/// A skill's frontmatter, with a body that must stay.
fn skill(frontmatter: &str) -> String {
    format!("---\n{frontmatter}---\n\n# Tides \u{1f30a}\n\n\tkeep\t this \n")
}

fn golden_skill(before: &str, after: &str, code: &str, arguments: &[&str]) {
    let (before, after) = (skill(before), skill(after));
    let file = "skills/tides/SKILL.md";
    golden(file, before.as_bytes(), after.as_bytes(), code, arguments);
    let crlf = |text: &str| text.replace('\n', "\r\n").into_bytes();
    golden(file, &crlf(&before), &crlf(&after), code, arguments);
}

const ID: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";
const MCP_ID: &str = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json";

#[test]
fn manifests_are_mended_in_their_own_layout() {
    for (before, after, code) in [
        (
            "{\"name\":\"demo\"}",
            format!("{{\"$schema\":\"{ID}\",\"name\":\"demo\"}}"),
            "manifest::schema-missing",
        ),
        (
            "{\r\n\t\"name\" : \"demo\",\r\n\t\"description\" : \"Gezeiten für Zoë \u{1f30a}\"\r\n}\r\n",
            format!(
                "{{\r\n\t\"$schema\" : \"{ID}\",\r\n\t\"name\" : \"demo\",\r\n\t\"description\" : \"Gezeiten für Zoë \u{1f30a}\"\r\n}}\r\n"
            ),
            "manifest::schema-missing",
        ),
        (
            "{\n    \"$schema\": \"http://Agent-Plugins.org/schemas/1.0.0/plugin.schema.json#\",\n    \"name\": \"demo\"\n}",
            format!("{{\n    \"$schema\": \"{ID}\",\n    \"name\": \"demo\"\n}}"),
            "manifest::schema-invalid",
        ),
        (
            &format!("{{\"$schema\": \"{MCP_ID}\", \"name\": \"demo\"}}"),
            format!("{{\"$schema\": \"{ID}\", \"name\": \"demo\"}}"),
            "manifest::schema-invalid",
        ),
        (
            &format!("\u{feff}{{\"$schema\": \"{ID}\", \"name\": \"demo\"}}\n"),
            format!("{{\"$schema\": \"{ID}\", \"name\": \"demo\"}}\n"),
            "manifest::byte-order-mark",
        ),
        (
            &format!(
                "{{\n  \"$schema\": \"{ID}\",\n  \"name\": \"demo\",\n  \"keywords\": [\"a\", \"b, c\",],\n}}\n"
            ),
            format!(
                "{{\n  \"$schema\": \"{ID}\",\n  \"name\": \"demo\",\n  \"keywords\": [\"a\", \"b, c\"]\n}}\n"
            ),
            "manifest::invalid-json",
        ),
        (
            &manifest("demo", "\"version\": \"1.0.0\",\n  \"version\": \"1.0.0\""),
            manifest("demo", "\"version\": \"1.0.0\""),
            "manifest::duplicate-key",
        ),
        (
            &manifest(
                "demo",
                "\"author\": \"Zoë \\\"Z\\\" <z@example.com> (https://example.com)\",\n  \"license\": \"MIT\"",
            ),
            manifest(
                "demo",
                "\"author\": {\n    \"name\": \"Zoë \\\"Z\\\"\",\n    \"email\": \"z@example.com\",\n    \"url\": \"https://example.com\"\n  },\n  \"license\": \"MIT\"",
            ),
            "manifest::field-type",
        ),
        (
            &manifest(
                "demo",
                "\"repository\": {\"type\": \"git\", \"url\": \"git+https://github.com/a/b.git\"},\n  \"version\": 1.10, \"homepage\": null",
            ),
            manifest(
                "demo",
                "\"repository\": \"https://github.com/a/b\",\n  \"version\": \"1.10\"",
            ),
            "manifest::field-type",
        ),
        (
            &manifest("demo", "\"keywords\": \"sea, tides\", \"extensions\": null"),
            manifest("demo", "\"keywords\": [\"sea\", \"tides\"]"),
            "manifest::field-type",
        ),
        (
            &manifest("demo", "\"extensions\": {\"com.example.a\": null}"),
            manifest("demo", "\"extensions\": {\"com.example.a\": {}}"),
            "manifest::extension-not-an-object",
        ),
    ] {
        golden_text("plugin.json", before, &after, code);
    }
}

#[test]
fn unknown_fields_move_where_they_are_told_to() {
    let namespace = &["--namespace", "com.example.client"][..];
    let code = "manifest::unknown-field";
    for (before, after) in [
        (
            "\"colour\": [1,  2],\n  \"description\": \"x\",\n  \"deep\": {\n    \"a\": \"b\\nc\"\n  }",
            "\"description\": \"x\",\n  \"extensions\": {\n    \"com.example.client\": {\n      \"colour\": [1,  2],\n      \"deep\": {\n        \"a\": \"b\\nc\"\n      }\n    }\n  }",
        ),
        (
            "\"extensions\": {\n    \"works.ever\": { \"x\": 1 }\n  },\n  \"colour\": 1",
            "\"extensions\": {\n    \"works.ever\": { \"x\": 1 },\n    \"com.example.client\": {\n      \"colour\": 1\n    }\n  }",
        ),
        (
            "\"a\": 1, \"b\": 2, \"extensions\": {\"com.example.client\": {\"x\": 1}}",
            "\"extensions\": {\"com.example.client\": {\"x\": 1, \"a\": 1, \"b\": 2}}",
        ),
    ] {
        let (before, after) = (manifest("demo", before), manifest("demo", after));
        golden(
            "plugin.json",
            before.as_bytes(),
            after.as_bytes(),
            code,
            namespace,
        );
    }
    let place = Place::new();
    Sample {
        manifest: manifest("demo", "\"colour\": 1"),
        ..Sample::good()
    }
    .put(&place);
    let run = place.run(["fix", "p"]);
    assert!(
        run.stdout
            .contains("left p/plugin.json:4:3 [manifest::unknown-field] name the namespace"),
        "{}",
        run.stdout
    );
    for bad in ["client", "com.", "com.exämple"] {
        let run = place.run(["fix", "--namespace", bad, "p"]);
        assert_eq!(run.status, Some(2), "{bad}");
    }
    let taken = manifest(
        "demo",
        "\"colour\": 1, \"extensions\": {\"com.example.client\": {\"colour\": 2}}",
    );
    place.write("p/plugin.json", &taken);
    let run = place.run(["fix", "p"].iter().chain(namespace));
    assert!(
        run.stdout.contains("holds colour already"),
        "{}",
        run.stdout
    );
    assert_eq!(place.read("p/plugin.json"), taken);
}

#[test]
fn another_clients_manifest_is_left_alone() {
    let place = Place::new();
    let foreign = "{\"name\": \"demo\", \"hooks\": \"./hooks.json\"}";
    place.write("p/plugin.json", foreign);
    place.write(".claude-plugin/plugin.json", "{\"name\": \"demo\"}");
    place.write("both/plugin.json", "{\"name\": \"demo\"}");
    place.write("both/.codex-plugin/plugin.json", "{\"name\": \"demo\"}");
    place.write("nameless/plugin.json", "{\"version\": \"1.0.0\"}");
    for package in ["p", ".claude-plugin", "nameless"] {
        let before = tree(place.path());
        for arguments in [
            &["fix", package][..],
            &["fix", "--unsafe", "--namespace", "a.b", package],
        ] {
            let run = place.run(arguments);
            assert_eq!(run.status, Some(1), "{}{}", run.stdout, run.stderr);
            assert_eq!(tree(place.path()), before, "{package}");
        }
    }
    // Some clients read a package by other rules once there is a $schema.
    let run = place.run(["fix", "both"]);
    assert!(
        run.stdout
            .contains("--unsafe mends it: .codex-plugin/plugin.json stands beside"),
        "{}",
        run.stdout
    );
    let run = place.run(["fix", "--unsafe", "both"]);
    assert_eq!(run.status, Some(0), "{}", run.stdout);
    assert_eq!(
        place.read("both/plugin.json"),
        format!("{{\"$schema\": \"{ID}\", \"name\": \"demo\"}}")
    );
}

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
            run.stdout.starts_with("nothing to mend without you\n"),
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
fn descriptions_are_quoted() {
    for (before, after) in [
        ("Look up: high and low", "\"Look up: high and low\""),
        (
            "Look up: \"high\" and C:\\x, it's low",
            "'Look up: \"high\" and C:\\x, it''s low'",
        ),
        ("[WIP] Look up", "\"[WIP] Look up\""),
        ("@mara looks up", "\"@mara looks up\""),
        ("`tide` looks up", "\"`tide` looks up\""),
        ("%x", "\"%x\""),
        ("*Bold* text", "\"*Bold* text\""),
        ("{{x}} y", "\"{{x}} y\""),
        ("\"Tides\" are looked up", "'\"Tides\" are looked up'"),
        ("\"A \"quoted\" word\"", "'A \"quoted\" word'"),
        ("'It's the tide'", "\"It's the tide\""),
        ("\"C:\\dir\"", "'C:\\dir'"),
        ("- a list? no", "\"- a list? no\""),
        (
            "Gezeiten: für Zoë \u{1f30a}  ",
            "\"Gezeiten: für Zoë \u{1f30a}\"  ",
        ),
        (
            "Look up: high\n  and low,\n  too",
            "\"Look up: high\n  and low,\n  too\"",
        ),
        ("\tTides", " Tides"),
    ] {
        let whole = |description: &str| {
            let colon = if description.starts_with(['\t']) || description == " Tides" {
                ""
            } else {
                " "
            };
            format!(
                "# keep: this\nname: tides # and this\ndescription:{colon}{description}\nmetadata:\n  # here\n  a:   'b'\n"
            )
        };
        golden_skill(
            &whole(before),
            &whole(after),
            "skill::frontmatter-invalid",
            &[],
        );
    }
    golden_skill(
        "name: tides\ndescription: a: b\nmetadata:\n  note: c: d\n",
        "name: tides\ndescription: \"a: b\"\nmetadata:\n  note: \"c: d\"\n",
        "skill::frontmatter-invalid",
        &[],
    );
    golden_skill(
        "name: tides\ndescription: Mends: issue #12\n",
        "name: tides\ndescription: Mends: issue #12\n"
            .replace("Mends: issue #12", "\"Mends: issue #12\"")
            .as_str(),
        "skill::frontmatter-invalid",
        &["--unsafe"],
    );
    for left in [
        "name: tides\n  description: indented too far\n",
        "name: tides\ndescription: \"never closed\nlicense: MIT\n",
        "name: tides\ndescription: > on one line\n",
        "name: tides\ndescription: Mends: issue #12\n",
        "name: tides\nallowed-tools: [Read, Grep\n",
        "name: tides\ndescription: \"a \\n and \\d\"\n",
    ] {
        let place = Place::new();
        Sample {
            skill: skill(left),
            ..Sample::good()
        }
        .put(&place);
        let run = place.run(["fix", "p"]);
        assert_eq!(run.status, Some(1), "{left}\n{}", run.stdout);
        assert!(
            run.stdout.contains("left p/skills/tides/SKILL.md"),
            "{left}\n{}",
            run.stdout
        );
        assert_eq!(place.read("p/skills/tides/SKILL.md"), skill(left));
    }
}

#[test]
fn frontmatter_is_mended() {
    let rest = "description: Tells the tides.\n";
    for (before, after, code) in [
        (
            "metadata: # numbers\n  version: 1.10 # keep\n  reviewed: true\n  2024: 'x'\n  hex: 0x1F\n",
            "metadata: # numbers\n  version: \"1.10\" # keep\n  reviewed: \"true\"\n  \"2024\": 'x'\n  hex: \"0x1F\"\n",
            "skill::metadata-not-a-string",
        ),
        (
            "metadata: {a: 1, b: no}\n",
            "metadata: {a: \"1\", b: no}\n",
            "skill::metadata-not-a-string",
        ),
        ("license: 2.0\n", "license: \"2.0\"\n", "skill::field-type"),
        (
            "license: no\n",
            "license: \"no\"\n",
            "skill::yaml-ambiguous",
        ),
        ("license:\ncompatibility: ''\n", "", "skill::field-type"),
        ("license: ~\n", "", "skill::field-type"),
        (
            "allowed-tools: [Read, \"Bash(git add *)\"]\n",
            "allowed-tools: Read Bash(git add *)\n",
            "skill::allowed-tools-type",
        ),
        (
            "allowed-tools:\n  - Read\n  - 'Bash(npm: *)' # last\nlicense: MIT\n",
            "allowed-tools: \"Read Bash(npm: *)\" # last\nlicense: MIT\n",
            "skill::allowed-tools-type",
        ),
        ("allowed-tools:\n", "", "skill::allowed-tools-type"),
        (
            "allowed-tools: Read,Grep , Bash(a, b),\n",
            "allowed-tools: Read Grep  Bash(a, b)\n",
            "skill::allowed-tools-commas",
        ),
        (
            "allowed-tools: 'Read, Grep'\n",
            "allowed-tools: 'Read Grep'\n",
            "skill::allowed-tools-commas",
        ),
        (
            "allowed-tools: >-\n  Read,\n  Grep\n",
            "allowed-tools: >-\n  Read\n  Grep\n",
            "skill::allowed-tools-commas",
        ),
    ] {
        let whole = |part: &str| format!("name: tides\n{rest}{part}");
        golden_skill(&whole(before), &whole(after), code, &[]);
    }
    golden_skill(
        rest,
        &format!("name: tides\n{rest}"),
        "skill::name-missing",
        &[],
    );
    golden_skill(
        &format!("name: 2048\n{rest}"),
        &format!("name: tides\n{rest}"),
        "skill::name-mismatch",
        &["--unsafe"],
    );
    golden_skill(
        &format!("name: The Tides\n{rest}"),
        &format!("name: tides\n{rest}"),
        "skill::name-invalid",
        &["--unsafe"],
    );
    golden_skill(
        &format!("name: tides\n{rest}allowed_tools: Read\n"),
        &format!("name: tides\n{rest}allowed-tools: Read\n"),
        "skill::unknown-key",
        &["--unsafe"],
    );
    let file = "skills/tides/SKILL.md";
    for (before, code) in [
        (format!("\u{feff}{SKILL}"), "skill::byte-order-mark"),
        (format!("\n \n{SKILL}"), "skill::frontmatter-missing"),
        (
            SKILL.replacen("---", "----", 1),
            "skill::frontmatter-missing",
        ),
        (
            SKILL.replacen("---", " ---", 1),
            "skill::frontmatter-missing",
        ),
        (
            SKILL.replace("them.\n---", "them.\n..."),
            "skill::frontmatter-unclosed",
        ),
        (
            SKILL.replace("them.\n---", "them.\n-----"),
            "skill::frontmatter-unclosed",
        ),
    ] {
        golden_text(file, &before, SKILL, code);
    }
}

#[test]
fn comments_in_a_list_of_tools_are_not_lost() {
    let place = Place::new();
    let text =
        skill("name: tides\ndescription: Tides.\nallowed-tools:\n  - Read # why\n  - Grep\n");
    Sample {
        skill: text.clone(),
        ..Sample::good()
    }
    .put(&place);
    let run = place.run(["fix", "p"]);
    assert!(
        run.stdout.contains("its comments would be lost"),
        "{}",
        run.stdout
    );
    assert_eq!(place.read("p/skills/tides/SKILL.md"), text);
}

#[test]
fn one_run_mends_what_hides_behind_another_fault() {
    let place = Place::new();
    let sample = Sample {
        manifest: "\u{feff}{\"name\": \"demo\", \"author\": \"Mara\",}".to_owned(),
        mcp: Some(
            "{\"servers\": {\"a\": {\"url\": \"https://x.example/m\", \"type\": \"http\"}}}"
                .to_owned(),
        ),
        skill: "---\ndescription: a: b\nmetadata:\n  v: 1.10\n---\nx\n".to_owned(),
    };
    sample.put(&place);
    let run = place.run(["validate", "p"]);
    assert!(
        run.stdout
            .ends_with("1 of these can be mended with `apkit fix`\n"),
        "{}",
        run.stdout
    );
    let run = place.run(["fix", "p"]);
    assert_eq!(run.status, Some(0), "{}", run.stdout);
    assert!(
        run.stdout.contains("loads 1 skill and 1 server"),
        "{}",
        run.stdout
    );
    let run = place.run(["validate", "--strict", "p"]);
    assert_eq!(run.status, Some(0), "{}", run.stdout);
}

#[test]
fn names_of_files_change_on_request_only() {
    let place = Place::new();
    Sample::good().put(&place);
    let skills = place.path().join("p/skills");
    fs::rename(skills.join("tides/SKILL.md"), skills.join("tides/skill.md")).expect("renamed");
    fs::create_dir(skills.join("Sea Charts")).expect("a directory");
    place.write(
        "p/skills/Sea Charts/SKILL.md",
        SKILL.replace("tides\n", "charts\n"),
    );
    let before = tree(place.path());
    let run = place.run(["fix", "p"]);
    assert!(
        run.stdout.contains("--unsafe mends it: clients will load"),
        "{}",
        run.stdout
    );
    let dry = place.run(["fix", "--unsafe", "--dry-run", "p"]);
    assert!(
        dry.stdout
            .contains("rename directory p/skills/Sea Charts to p/skills/charts\n"),
        "{}",
        dry.stdout
    );
    assert!(
        dry.stdout.contains("rename to p/skills/tides/SKILL.md\n"),
        "{}",
        dry.stdout
    );
    assert_eq!(tree(place.path()), before);
    let run = place.run(["fix", "--unsafe", "p"]);
    assert_eq!(run.status, Some(0), "{}", run.stdout);
    assert!(run.stdout.contains("loads 2 skills"), "{}", run.stdout);
    assert_eq!(
        place.run(["fix", "--unsafe", "p"]).stdout.lines().next(),
        Some("nothing to mend without you")
    );
}

#[test]
fn a_new_name_that_would_show_an_error_is_taken_back() {
    let place = Place::new();
    Sample::good().put(&place);
    place.write("p/skills/ebb/skill.md", "---\nname: ebb\n---\n");
    let before = tree(place.path());
    let run = place.run(["fix", "--unsafe", "p"]);
    assert_eq!(tree(place.path()), before, "{}", run.stdout);
    assert!(
        run.stdout
            .contains("left p/skills/ebb/skill.md [skill::file-case] the name was tried"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.starts_with("nothing to mend"), "{}", run.stdout);
}

#[cfg(unix)]
#[test]
fn modes_and_links_are_kept() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let place = Place::new();
    Sample {
        mcp: Some(mcp(r#"{"a": {"type": "stdio", "command": "./run"}}"#)),
        ..Sample::good()
    }
    .put(&place);
    let run_file = place.write("p/run", "#!/bin/sh\n");
    let real = place.write("p/lib/tides.md", SKILL.replace("name: tides\n", ""));
    let link = place.path().join("p/skills/tides/SKILL.md");
    fs::remove_file(&link).expect("removed");
    symlink("../../lib/tides.md", &link).expect("a link");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("a mode");
    fs::set_permissions(&run_file, fs::Permissions::from_mode(0o640)).expect("a mode");
    let run = place.run(["fix", "p"]);
    assert_eq!(run.status, Some(0), "{}", run.stdout);
    let mode = |path: &Path| fs::metadata(path).expect("metadata").permissions().mode() & 0o777;
    assert!(link.symlink_metadata().expect("a link").is_symlink());
    assert_eq!(fs::read_to_string(&real).expect("the file"), SKILL);
    assert_eq!(mode(&real), 0o640);
    assert_eq!(mode(&run_file), 0o750);
    assert!(
        run.stdout.contains("made p/run executable\n"),
        "{}",
        run.stdout
    );
    // What is a client's own file, too, is not changed unasked.
    place.write(
        "p/.mcp.json",
        mcp(r#"{"a": {"type": "http", "url": "https://x.example/"}}"#),
    );
    fs::remove_file(place.path().join("p/mcp.json")).expect("removed");
    symlink(".mcp.json", place.path().join("p/mcp.json")).expect("a link");
    let run = place.run(["fix", "p"]);
    assert!(
        run.stdout
            .contains("--unsafe mends it: mcp.json is a link to .mcp.json"),
        "{}",
        run.stdout
    );
    assert!(place.read("p/.mcp.json").contains("\"http\""));
    fs::remove_file(place.path().join("p/mcp.json")).expect("removed");
    // What a link leads out to is not of the package.
    let outside = place.write("outside.md", SKILL.replace("name: tides\n", ""));
    fs::remove_file(&link).expect("removed");
    symlink(&outside, &link).expect("a link");
    assert_eq!(place.run(["fix", "--unsafe", "p"]).status, Some(1));
    assert!(
        !fs::read_to_string(&outside)
            .expect("the file")
            .contains("name:")
    );
}

#[cfg(unix)]
#[test]
fn a_write_protected_file_stays_and_so_do_the_others() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let sample = Sample {
        manifest: "{\"name\": \"demo\"}".to_owned(),
        skill: SKILL.replace("name: tides\n", ""),
        ..Sample::good()
    };
    sample.put(&place);
    let file = place.path().join("p/skills/tides/SKILL.md");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).expect("a mode");
    let before = tree(place.path());
    let run = place.run(["fix", "p"]);
    assert_eq!(run.status, Some(2));
    assert_eq!(
        run.stderr,
        "error: failed to mend p: change skills/tides/SKILL.md: it is write-protected\n"
    );
    assert_eq!(tree(place.path()), before);
}

#[test]
fn a_file_that_changed_meanwhile_is_not_overwritten() {
    let place = Place::new();
    Sample {
        manifest: "{\"name\": \"demo\"}".to_owned(),
        ..Sample::good()
    }
    .put(&place);
    let root = place.path().join("p");
    let plan = fix::plan(&root, "p", &Options::default()).expect("a plan");
    assert_eq!(plan.files.len(), 1);
    place.write("p/plugin.json", "{\"name\": \"other\"}");
    let before = tree(place.path());
    let error = apkit::edit::write(&plan.files).expect_err("changed");
    assert_eq!(
        error.to_string(),
        "change plugin.json: it was changed meanwhile; run it again"
    );
    assert_eq!(tree(place.path()), before);
}

#[test]
fn several_packages_and_runs_at_once() {
    let place = Place::new();
    for index in 0..6 {
        place.write(&format!("all/{index}/plugin.json"), "{\"name\": \"demo\"}");
        place.write(&format!("all/{index}/skills/tides/SKILL.md"), SKILL);
    }
    place.write(
        "all/other/plugin.json",
        "{\"name\": \"demo\", \"hooks\": {}}",
    );
    let other = place.read("all/other/plugin.json");
    let runs: Vec<_> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| place.run(["fix", "--recursive", "all"])))
            .collect();
        runs.into_iter()
            .map(|run| run.join().expect("a run"))
            .collect()
    });
    // Whoever came second either found it done or saw that it was being changed.
    for run in &runs {
        assert!(
            matches!(run.status, Some(0 | 2)),
            "{}{}",
            run.stdout,
            run.stderr
        );
        assert!(
            run.stderr
                .lines()
                .all(|line| line.contains("changed meanwhile")),
            "{}",
            run.stderr
        );
    }
    let run = place.run(["fix", "--recursive", "all"]);
    assert_eq!(run.status, Some(0), "{}{}", run.stdout, run.stderr);
    for index in 0..6 {
        assert_eq!(
            place.read(&format!("all/{index}/plugin.json")),
            format!("{{\"$schema\": \"{ID}\", \"name\": \"demo\"}}")
        );
        let files = fs::read_dir(place.path().join(format!("all/{index}"))).expect("a directory");
        assert_eq!(files.count(), 2, "no file is left over");
    }
    assert_eq!(place.read("all/other/plugin.json"), other);
    assert_eq!(place.run(["fix", "missing"]).status, Some(2));
}

#[test]
fn the_diff_is_one_that_patch_reads() {
    let place = Place::new();
    Sample {
        manifest: "{\n  \"name\": \"demo\"\n}\n".to_owned(),
        ..Sample::good()
    }
    .put(&place);
    let run = place.run(["fix", "--dry-run", "p"]);
    assert_eq!(
        run.stdout,
        format!(
            "--- a/p/plugin.json\n+++ b/p/plugin.json\n@@ -1,3 +1,4 @@\n {{\n+  \"$schema\": \"{ID}\",\n   \"name\": \"demo\"\n }}\n"
        )
    );
    assert_eq!(
        run.stderr,
        "1 finding would be mended, 0 findings left; nothing was written\n"
    );
}

#[test]
fn explanations_name_the_fix() {
    let place = Place::new();
    let run = place.run(["explain", "skill::name-mismatch"]);
    assert!(
        run.stdout
            .contains("fix: apkit fix --unsafe writes the directory's name"),
        "{}",
        run.stdout
    );
    let run = place.run(["explain", "mcp::type-unknown", "--format", "json"]);
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert!(
        report["codes"][0]["mends"][0]
            .as_str()
            .is_some_and(|fix| fix.starts_with("apkit fix writes"))
    );
    let run = place.run(["explain", "mcp::credential"]);
    assert!(!run.stdout.contains("fix:"), "{}", run.stdout);
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

/// Ways to break a text; each leaves alone what it does not fit.
type Break = fn(&mut Sample);

const BREAKS: &[Break] = &[
    |sample| sample.manifest.insert(0, '\u{feff}'),
    |sample| {
        sample.manifest = sample
            .manifest
            .replace(&format!("\"$schema\": \"{ID}\","), "")
    },
    |sample| sample.manifest = sample.manifest.replace(ID, &format!("{ID}#")),
    |sample| sample.manifest = sample.manifest.replace("\n}", ",\n}"),
    |sample| {
        sample.manifest = sample
            .manifest
            .replace("\n}", ",\n  \"author\": \"Mara <m@example.com>\"\n}")
    },
    |sample| {
        sample.manifest = sample
            .manifest
            .replace("\n}", ",\n  \"colour\": {\"a\": [1,\n 2]}\n}")
    },
    |sample| {
        sample.manifest = sample
            .manifest
            .replace("\n}", ",\n  \"licence\": \"MIT\"\n}")
    },
    |sample| {
        sample.manifest = sample
            .manifest
            .replace("\n}", ",\n  \"version\": 1.0, \"homepage\": null\n}")
    },
    |sample| sample.manifest = sample.manifest.replace("\"demo\"", "\"The Demo\""),
    |sample| sample.manifest = sample.manifest.replace('\n', "\r\n"),
    |sample| sample.manifest = sample.manifest.replace("\n}", ",\n  \"extensions\": []\n}"),
    |sample| sample.manifest = sample.manifest.replace("\n}", ",\n  \"name\": \"demo\"\n}"),
    |sample| sample.manifest = sample.manifest.replace("\n}", ",\n  \"hooks\": \"./x\"\n}"),
    |sample| sample.skill.insert(0, '\u{feff}'),
    |sample| sample.skill.insert(0, '\n'),
    |sample| sample.skill = sample.skill.replace("name: tides\n", ""),
    |sample| sample.skill = sample.skill.replace("name: tides", "name: Ebb"),
    |sample| sample.skill = sample.skill.replace("Tells the", "Tells: the"),
    |sample| sample.skill = sample.skill.replace("Tells the", "[WIP] \"the\" it's #1"),
    |sample| sample.skill = sample.skill.replace("Tells the", "'Tells' the"),
    |sample| {
        sample.skill = sample
            .skill
            .replace("\n---\n", "\nmetadata: {a: 1.10, b: [x]}\n---\n")
    },
    |sample| {
        sample.skill = sample
            .skill
            .replace("\n---\n", "\nmetadata:\n  a: yes: no\n  b: ~\n---\n")
    },
    |sample| {
        sample.skill = sample
            .skill
            .replace("\n---\n", "\nallowed-tools: [Read, Bash(a b)]\n---\n")
    },
    |sample| {
        sample.skill = sample
            .skill
            .replace("\n---\n", "\nallowed-tools: Read, Grep\nlicense:\n---\n")
    },
    |sample| sample.skill = sample.skill.replace("\n---\n", "\n...\n"),
    |sample| sample.skill = sample.skill.replace('\n', "\r\n"),
    |sample| {
        sample.skill = sample
            .skill
            .replace("\n---\n", "\nname: &a tides\nx: *a\n---\n")
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("streamable-http", "http"))
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("\"type\": \"stdio\", ", ""))
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("mcpServers", "servers"))
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("\"$schema\"", "\"schema\""))
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("\"cwd\": \"./\"", "\"cwd\": \".\""))
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("./run", "${CLAUDE_PLUGIN_ROOT}/run"))
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("./run", "node run.js --x"))
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("${PLUGIN_ROOT}", "${CLAUDE_PLUGIN_ROOT}"))
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("${PLUGIN_ROOT}/", "./"))
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("\"A\": \"1\"", "\"A\": 1, \"PLUGIN_ROOT\": \"/x\""))
    },
    |sample| sample.mcp = sample.mcp.take().map(|mcp| mcp.replace("}}", ",}}")),
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("x.example/m", "x.example/m#a"))
    },
];

#[test]
fn generated_broken_packages_never_get_worse() {
    let servers = r#"{"a": {"type": "stdio", "command": "./run", "args": ["${PLUGIN_ROOT}/run"], "env": {"A": "1"}, "cwd": "./"}, "b": {"type": "streamable-http", "url": "https://x.example/m"}}"#;
    // A generator of its own: every run tries the same packages.
    let mut state = 0x2545_F491_u32;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as usize % below
    };
    let mut mended = 0;
    let count = 150;
    for number in 0..count {
        let mut sample = Sample {
            mcp: Some(mcp(servers)),
            ..Sample::good()
        };
        let mut chosen = Vec::new();
        for _ in 0..=random(5) {
            let index = random(BREAKS.len());
            chosen.push(index);
            BREAKS[index](&mut sample);
        }
        for options in [
            Options::default(),
            Options {
                risky: true,
                namespace: Some("com.example.client"),
                drafts: false,
            },
        ] {
            let place = Place::new();
            sample.put(&place);
            place.write("p/run", "#!/bin/sh\n");
            let root = place.path().join("p");
            match hold_laws(&root, &options) {
                Ok(count) => mended += count,
                Err(error) => panic!(
                    "package {number}, broken by {chosen:?}, {options:?}: {error}\n{}\n{}",
                    sample.manifest, sample.skill
                ),
            }
        }
    }
    assert!(mended > 2 * count, "only {mended} findings were mended");
}
