//! Plugins of clients → packages.

use apkit::export::{Client, LossKind, Plan, Target};
use serde_json::{Value, json};

use crate::export_support::{SKILL, input, json, losses, paths, planned, refused, text};

const MANIFEST: &str = ".claude-plugin/plugin.json";

/// `mcp.json` of a Claude Code plugin with these servers, and the losses.
fn servers(definitions: &str, files: &[(&str, &str)]) -> (Value, Vec<(&'static str, String)>) {
    let config = format!("{{\"mcpServers\": {definitions}}}");
    let mut all = vec![
        (MANIFEST, r#"{"name": "pack"}"#),
        (".mcp.json", config.as_str()),
        ("skills/tides/SKILL.md", SKILL),
    ];
    all.extend(files);
    let plan = planned(input(&all));
    let found = losses(&plan);
    let found = found
        .into_iter()
        .map(|(kind, what)| (kind, what.to_owned()))
        .collect();
    let has_servers = paths(&plan).contains(&"mcp.json");
    let mcp = if has_servers {
        json(&plan, "mcp.json")["mcpServers"].clone()
    } else {
        json!({})
    };
    (mcp, found)
}

#[test]
fn a_claude_code_plugin_becomes_a_package_and_stays_a_plugin() {
    let plan = planned(input(&[
        (
            MANIFEST,
            r#"{
  "name": "tide-table",
  "version": "1.2.0",
  "description": "Tides.",
  "author": {"name": "A", "email": "a@b.example"},
  "homepage": "https://a.example",
  "repository": {"type": "git", "url": "https://git.example/a.git"},
  "license": "MIT",
  "keywords": ["tides"],
  "hooks": "./hooks/hooks.json"
}"#,
        ),
        ("skills/tides/SKILL.md", SKILL),
        ("skills/tides/scripts/a.sh", "#!/bin/sh\n"),
        ("commands/a.md", "Do a.\n"),
        ("commands/deep/b.md", "Do b.\n"),
        ("agents/c.md", "---\nname: c\ndescription: C.\n---\n"),
        (
            "hooks/hooks.json",
            r#"{"$schema": "x", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/hooks/stop.sh"}]}]}}"#,
        ),
        ("hooks/stop.sh", "#!/bin/sh\n"),
        (
            ".mcp.json",
            r#"{"almanac": {"type": "http", "url": "https://tides.example/mcp"}}"#,
        ),
        ("README.md", "Tides.\n"),
    ]));
    assert_eq!(
        paths(&plan),
        [
            ".claude-plugin/plugin.json",
            "README.md",
            "com.anthropic.claude-code/agents/c.md",
            "com.anthropic.claude-code/commands/a.md",
            "com.anthropic.claude-code/commands/deep/b.md",
            "com.anthropic.claude-code/hooks/hooks.json",
            "com.anthropic.claude-code/mcp.json",
            "hooks/stop.sh",
            "mcp.json",
            "plugin.json",
            "skills/tides/SKILL.md",
            "skills/tides/scripts/a.sh",
        ]
    );
    assert_eq!(
        json(&plan, "plugin.json"),
        json!({
            "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
            "name": "tide-table",
            "version": "1.2.0",
            "description": "Tides.",
            "author": {"name": "A", "email": "a@b.example"},
            "homepage": "https://a.example",
            "repository": "https://git.example/a.git",
            "license": "MIT",
            "keywords": ["tides"],
            "extensions": {"com.anthropic.claude-code": {
                "manifest": "./.claude-plugin/plugin.json",
                "commands": "./com.anthropic.claude-code/commands",
                "agents": "./com.anthropic.claude-code/agents/c.md",
                "hooks": "./com.anthropic.claude-code/hooks/hooks.json",
                "mcpServers": "./com.anthropic.claude-code/mcp.json",
            }},
        })
    );
    let native = json(&plan, MANIFEST);
    for field in ["commands", "agents", "hooks", "mcpServers"] {
        assert_eq!(
            native[field],
            json(&plan, "plugin.json")["extensions"]["com.anthropic.claude-code"][field]
        );
    }
    assert_eq!(
        json(&plan, "mcp.json")["mcpServers"],
        json!({"almanac": {"type": "streamable-http", "url": "https://tides.example/mcp"}})
    );
    // As its author wrote it, but for the key that may cost the whole file.
    assert_eq!(
        json(&plan, "com.anthropic.claude-code/mcp.json")["almanac"]["type"],
        "http"
    );
    let hooks = json(&plan, "com.anthropic.claude-code/hooks/hooks.json");
    assert_eq!(
        hooks.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["hooks"]
    );
    assert_eq!(
        losses(&plan),
        [
            ("hooks-key", "key \"$schema\""),
            ("client-component", "commands, agents, hooks"),
        ]
    );
}

#[test]
fn stdio_servers_are_translated() {
    let (mcp, lost) = servers(
        r#"{
            "own": {"command": "${CLAUDE_PLUGIN_ROOT}/bin/srv",
                    "args": ["--data", "${CLAUDE_PLUGIN_DATA}/x", "./bin/srv", "${PORT:-80}"],
                    "env": {"ROOT": "${CLAUDE_PLUGIN_ROOT}", "MODE": "fast"},
                    "cwd": "${CLAUDE_PLUGIN_ROOT}/work"},
            "npx": {"type": "stdio", "command": "npx", "args": ["-y", "tides@1"], "cwd": "."}
        }"#,
        &[("bin/srv", "#!/bin/sh\n"), ("work/x", "")],
    );
    assert_eq!(
        mcp,
        json!({
            "own": {"type": "stdio", "command": "./bin/srv",
                    "args": ["--data", "${PLUGIN_DATA}/x", "${PLUGIN_ROOT}/bin/srv", "80"],
                    "env": {"ROOT": "${PLUGIN_ROOT}", "MODE": "fast"},
                    "cwd": "${PLUGIN_ROOT}/work"},
            "npx": {"type": "stdio", "command": "npx", "args": ["-y", "tides@1"]},
        })
    );
    assert_eq!(
        lost,
        [(
            "environment-default",
            "server \"own\": argument 3".to_owned()
        )]
    );
}

#[test]
fn remote_servers_are_translated() {
    let (mcp, lost) = servers(
        r#"{
            "a": {"type": "http", "url": "https://a.example/mcp", "headers": {"X-Team": "sea"}},
            "b": {"url": "https://b.example/mcp"},
            "c": {"type": "sse", "url": "https://c.example/sse"}
        }"#,
        &[],
    );
    assert_eq!(
        mcp,
        json!({
            "a": {"type": "streamable-http", "url": "https://a.example/mcp", "headers": {"X-Team": "sea"}},
            "b": {"type": "streamable-http", "url": "https://b.example/mcp"},
            "c": {"type": "sse", "url": "https://c.example/sse"},
        })
    );
    assert_eq!(lost, []);
}

#[test]
fn secrets_are_written_nowhere() {
    let secret = "zz-0123456789abcdef0123";
    let token = "ghp_0123456789012345678901234567890123AB";
    let config = format!(
        r#"{{"mcpServers": {{
            "a": {{"command": "srv", "env": {{"API_KEY": "{secret}", "MODE": "x"}}}},
            "b": {{"type": "http", "url": "https://b.example", "headers": {{"Authorization": "Bearer {secret}"}}}},
            "c": {{"command": "srv", "args": ["--token", "{secret}"]}},
            "d": {{"type": "http", "url": "https://d.example?api_key={secret}"}},
            "e": {{"type": "http", "url": "https://e.example", "oauth": {{"clientSecret": "{secret}"}}}},
            "f": {{"type": "ws", "url": "https://f.example", "headers": {{"X-Api-Key": "{secret}"}}}},
            "g": {{"command": "srv", "args": ["x={token}"]}},
            "h": {{"command": "srv", "env": {{"TOKEN": "${{TOKEN:-{secret}}}"}}}}
        }}}}"#
    );
    let inline = format!(
        r#"{{"name": "pack", "mcpServers": ["./.mcp.json", {{"i": {{"command": "srv", "env": {{"SECRET": "{secret}"}}}}}}]}}"#
    );
    let plan = planned(input(&[(MANIFEST, &inline), (".mcp.json", &config)]));
    for output in &plan.outputs {
        let text = String::from_utf8_lossy(&output.bytes);
        assert!(
            !text.contains(secret) && !text.contains(token),
            "{}: {text}",
            output.path
        );
    }
    for loss in &plan.losses {
        let shown = format!("{loss:?}");
        assert!(!shown.contains(secret) && !shown.contains(token), "{shown}");
    }
    let native = json(&plan, "com.anthropic.claude-code/mcp.json");
    let names: Vec<_> = native["mcpServers"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["a", "b", "e", "f", "h"]);
    assert_eq!(native["mcpServers"]["a"]["env"], json!({"MODE": "x"}));
    let portable = json(&plan, "mcp.json");
    let names: Vec<_> = portable["mcpServers"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["a", "b", "e", "h", "i"]);
}

/// Every output and every loss of the plan is free of what the secrets begin with.
fn assert_hidden(plan: &Plan, secret: &str) {
    for output in &plan.outputs {
        let text = String::from_utf8_lossy(&output.bytes);
        assert!(!text.contains(secret), "{}: {text}", output.path);
    }
    let told = format!("{:?} {:?}", plan.losses, plan.notes);
    assert!(!told.contains(secret), "{told}");
}

/// The kinds and places of losses about credentials.
fn credentials(plan: &Plan) -> Vec<(&'static str, &str, &str)> {
    let about = plan
        .losses
        .iter()
        .filter(|loss| matches!(loss.kind, LossKind::Credential | LossKind::ServerCredential));
    about
        .map(|loss| {
            let place = loss.pointer.as_deref().unwrap_or_default();
            (loss.kind.id(), loss.path.as_str(), place)
        })
        .collect()
}

#[test]
fn a_server_that_is_dropped_keeps_no_secret() {
    let config = r#"{"mcpServers": {
        "place": {"command": "node", "args": ["${CLAUDE_PROJECT_DIR}/s.js", "--api-key", "zz-0123456789abcdef"]},
        "home": {"command": "${HOME}/x", "args": ["--api-key=zz-0123456789abcdef"]},
        "absolute": {"command": "/usr/local/bin/x", "args": ["--token", "zz-0123456789abcdef"]},
        "number": {"command": "node", "args": [1, "--token=zz-0123456789abcdef"]},
        "socket": {"type": "ws", "url": "wss://h.example/x?token=zz-0123456789abcdef"},
        "line": {"command": "npx srv --api-key=zz-0123456789abcdef"},
        "text": "npx srv --api-key=zz-0123456789abcdef",
        "env": {"command": "/usr/bin/x", "env": {"API_KEY": "zz-0123456789abcdef", "N": 1}}
    }}"#;
    let plan = planned(input(&[
        (MANIFEST, r#"{"name": "pack"}"#),
        (".mcp.json", config),
        ("skills/tides/SKILL.md", SKILL),
    ]));
    assert_hidden(&plan, "zz-");
    let native = json(&plan, "com.anthropic.claude-code/mcp.json");
    assert_eq!(
        native["mcpServers"],
        json!({"env": {"command": "/usr/bin/x", "env": {"N": 1}}})
    );
    let whole = |place| ("server-credential", ".mcp.json", place);
    assert_eq!(
        credentials(&plan),
        [
            whole("/mcpServers/place/args/2"),
            whole("/mcpServers/home/args/0"),
            whole("/mcpServers/absolute/args/1"),
            whole("/mcpServers/number/args/1"),
            whole("/mcpServers/socket/url"),
            whole("/mcpServers/line/command"),
            whole("/mcpServers/text"),
            ("credential", ".mcp.json", "/mcpServers/env/env/API_KEY"),
        ]
    );
}

#[test]
fn secrets_inside_values_are_written_nowhere() {
    let config = r#"{"mcpServers": {
        "docker": {"command": "docker", "args": ["run", "-i", "-e", "API_KEY=zz-0123456789abcdef", "img"]},
        "remote": {"command": "npx", "args": ["mcp-remote", "https://h.example/mcp", "--header", "Authorization: Bearer zz-0123456789abcdef"]},
        "shell": {"command": "bash", "args": ["-c", "API_KEY=zz-0123456789abcdef exec npx y"]},
        "query": {"url": "https://h.example/mcp?key=zz-0123456789abcdef"},
        "values": {
            "command": "npx",
            "env": {
                "AUTH": "Bearer zz-0123456789abcdef",
                "CONN": "Server=h;Password=zz-0123456789abcdef",
                "OPENAPI_MCP_HEADERS": "{\"Authorization\": \"Bearer zz-0123456789abcdef\"}",
                "MAX_TOKENS": "100",
                "TOKEN": "${GH_TOKEN:-none}"
            }
        },
        "headers": {
            "url": "https://h.example/mcp",
            "headers": {"X-Authorization": "Bearer zz-0123456789abcdef", "X-Auth": "zz-0123456789abcdef", "X-Team": "sea"}
        },
        "none": {"command": "docker", "args": ["-e", "API_KEY", "--key-file", "path", "-e", "MAX_TOKENS=100"]}
    }}"#;
    let plan = planned(input(&[
        (MANIFEST, r#"{"name": "pack"}"#),
        (".mcp.json", config),
        ("skills/tides/SKILL.md", SKILL),
    ]));
    assert_hidden(&plan, "zz-");
    assert_eq!(
        json(&plan, "mcp.json")["mcpServers"],
        json!({
            "values": {"type": "stdio", "command": "npx", "env": {"MAX_TOKENS": "100", "TOKEN": "none"}},
            "headers": {"type": "streamable-http", "url": "https://h.example/mcp", "headers": {"X-Team": "sea"}},
            "none": {"type": "stdio", "command": "docker", "args": ["-e", "API_KEY", "--key-file", "path", "-e", "MAX_TOKENS=100"]},
        })
    );
    let native = json(&plan, "com.anthropic.claude-code/mcp.json");
    assert_eq!(
        native["mcpServers"]["values"]["env"],
        json!({"MAX_TOKENS": "100", "TOKEN": "${GH_TOKEN:-none}"})
    );
    assert_eq!(credentials(&plan).len(), 9);
}

#[test]
fn what_stays_with_the_client_keeps_no_secret() {
    let manifest = r#"{
        "name": "pack",
        "description": "Reads TOKEN=hunter2 from the environment.",
        "repository": "https://me:zz-0123456789abcdef@git.example/x",
        "userConfig": {"tok": {"type": "string", "sensitive": true, "default": "zz-hush"}},
        "lspServers": {
            "go": {"command": "gopls", "env": {"API_KEY": "zz-0123456789abcdef", "A": "1"}},
            "py": {"command": "pylsp", "args": ["--token", "zz-0123456789abcdef"]}
        },
        "hooks": ["./h.json", {"Stop": [{"hooks": [
            {"type": "http", "url": "https://h.example/x", "headers": {"Authorization": "Bearer zz-0123456789abcdef"}},
            {"type": "command", "command": "curl -H 'X-Api-Key: zz-0123456789abcdef' https://h.example"},
            {"type": "command", "command": "true"}
        ]}]}]
    }"#;
    let plan = planned(input(&[
        (MANIFEST, manifest),
        ("skills/tides/SKILL.md", SKILL),
        (
            "h.json",
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "API_KEY=zz-0123456789abcdef x"}]}]}}"#,
        ),
        (
            "settings.json",
            r#"{"env": {"API_KEY": "zz-0123456789abcdef"}, "model": "m"}"#,
        ),
    ]));
    assert_hidden(&plan, "zz-");
    let portable = json(&plan, "plugin.json");
    assert_eq!(portable.get("repository"), None);
    assert_eq!(
        portable["description"],
        "Reads TOKEN=hunter2 from the environment."
    );
    let native = json(&plan, MANIFEST);
    assert_eq!(
        native["userConfig"]["tok"],
        json!({"type": "string", "sensitive": true})
    );
    assert_eq!(
        native["lspServers"],
        json!({"go": {"command": "gopls", "env": {"A": "1"}}})
    );
    assert_eq!(
        native["hooks"][1]["Stop"][0]["hooks"],
        json!([
            {"type": "http", "url": "https://h.example/x", "headers": {}},
            {"type": "command", "command": "true"}
        ])
    );
    assert_eq!(
        json(&plan, "settings.json"),
        json!({"env": {}, "model": "m"})
    );
    let places: Vec<_> = credentials(&plan)
        .into_iter()
        .map(|(_, path, pointer)| (path, pointer))
        .collect();
    assert_eq!(
        places,
        [
            (MANIFEST, "/repository"),
            (MANIFEST, "/userConfig/tok/default"),
            (MANIFEST, "/lspServers/go/env/API_KEY"),
            (MANIFEST, "/lspServers/py"),
            (MANIFEST, "/hooks/1/Stop/0/hooks/0/headers/Authorization"),
            (MANIFEST, "/hooks/1/Stop/0/hooks/1"),
            ("h.json", "/hooks/Stop/0/hooks/0"),
            ("settings.json", "/env/API_KEY"),
        ]
    );
}

#[test]
fn no_placeholder_is_left_that_nobody_expands() {
    let (mcp, lost) = servers(
        r#"{
            "a": {"command": "srv", "env": {"KEY": "${KEY}", "OPT": "${user_config.opt}", "ON": "1"}},
            "b": {"type": "http", "url": "https://b.example", "headers": {"X-A": "${A}", "X-B": "${user_config.b}", "X-C": "c"}},
            "c": {"type": "http", "url": "https://${HOST}/mcp"},
            "d": {"command": "srv", "args": ["--key", "${user_config.k}"]},
            "e": {"command": "${HOME}/bin/srv"},
            "f": {"type": "http", "url": "https://f.example/{tenant}"},
            "g": {"type": "http", "url": "https://g.example", "headers": {"X": "${CLAUDE_PLUGIN_ROOT}"}}
        }"#,
        &[],
    );
    assert_eq!(
        mcp,
        json!({
            "a": {"type": "stdio", "command": "srv", "env": {"ON": "1"}},
            "b": {"type": "streamable-http", "url": "https://b.example", "headers": {"X-C": "c"}},
            "g": {"type": "streamable-http", "url": "https://g.example"},
        })
    );
    let kinds: Vec<&str> = lost.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(
        kinds,
        [
            "server-url-placeholder",
            "server-placeholder",
            "server-placeholder",
            "server-url-placeholder",
            "user-config-value",
            "environment-value",
            "user-config-value",
            "environment-value",
            "environment-value",
        ]
    );
}

#[test]
fn relative_arguments_are_read_from_where_the_server_starts() {
    let plan = |servers: &str, files: &[(&str, &str)]| {
        let config = format!("{{\"mcpServers\": {servers}}}");
        let mut all = vec![
            (".codex-plugin/plugin.json", r#"{"name": "pack"}"#),
            (".mcp.json", config.as_str()),
            ("skills/tides/SKILL.md", SKILL),
        ];
        all.extend(files);
        planned(input(&all))
    };
    let both = [
        ("index.js", "root"),
        ("server/index.js", "server"),
        ("server/run.sh", "#!/bin/sh\n"),
    ];
    let found = plan(
        r#"{
            "a": {"command": "node", "args": ["./index.js", "../index.js", "--root=.."], "cwd": "./server"},
            "b": {"command": "./run.sh", "cwd": "server"},
            "c": {"command": "node", "args": ["./missing.js"], "cwd": "server"},
            "d": {"command": "node", "args": ["./server"]}
        }"#,
        &both,
    );
    assert_eq!(
        json(&found, "mcp.json")["mcpServers"],
        json!({
            "a": {
                "type": "stdio",
                "command": "node",
                "args": ["${PLUGIN_ROOT}/server/index.js", "${PLUGIN_ROOT}/index.js", "--root=${PLUGIN_ROOT}"],
                "cwd": "./server",
            },
            "b": {"type": "stdio", "command": "./server/run.sh", "cwd": "./server"},
            "c": {"type": "stdio", "command": "node", "args": ["./missing.js"], "cwd": "./server"},
            "d": {"type": "stdio", "command": "node", "args": ["./server"]},
        })
    );
    // Only the last starts somewhere else than before.
    assert_eq!(
        losses(&found),
        [("working-directory", "server \"d\": argument \"./server\"")]
    );

    // Claude Code starts servers in the project: a directory is that of the project,
    // a program can only be the plugin's.
    let (mcp, lost) = servers(
        r#"{"a": {"command": "npx", "args": ["server-filesystem", "./docs"]}, "b": {"command": "node", "args": ["./s.js"]}}"#,
        &[("docs/a.md", ""), ("s.js", "")],
    );
    assert_eq!(mcp["a"]["args"], json!(["server-filesystem", "./docs"]));
    assert_eq!(mcp["b"]["args"], json!(["${PLUGIN_ROOT}/s.js"]));
    assert_eq!(
        lost,
        [(
            "working-directory",
            "server \"a\": argument \"./docs\"".to_owned()
        )]
    );
}

#[test]
fn a_placeholder_without_braces_is_one() {
    let (mcp, lost) = servers(
        r#"{
            "shell": {"command": "bash", "args": ["-c", "exec node \"$CLAUDE_PLUGIN_ROOT/s.js\""]},
            "plain": {"command": "node", "args": ["$CLAUDE_PLUGIN_ROOT/s.js"]},
            "env": {"command": "node", "args": ["s"], "env": {"R": "$CLAUDE_PLUGIN_ROOT/x"}}
        }"#,
        &[("s.js", "")],
    );
    assert_eq!(
        mcp,
        json!({
            "shell": {"type": "stdio", "command": "bash", "args": ["-c", "exec node \"${PLUGIN_ROOT}/s.js\""]},
            "env": {"type": "stdio", "command": "node", "args": ["s"]},
        })
    );
    assert_eq!(
        lost,
        [
            ("server-placeholder", "server \"plain\"".to_owned()),
            ("environment-value", "server \"env\": variable R".to_owned()),
        ]
    );
}

#[test]
fn codex_and_copilot_plugins_become_packages() {
    let plan = planned(input(&[
        (
            ".codex-plugin/plugin.json",
            r#"{"name": "pack", "version": "1.0.0", "skills": "./skills/", "mcpServers": "./.mcp.json", "hooks": "./hooks.json", "interface": {"displayName": "Pack"}}"#,
        ),
        ("skills/tides/SKILL.md", SKILL),
        (
            "hooks.json",
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "\"${CLAUDE_PLUGIN_ROOT}/scripts/stop.sh\""}]}]}}"#,
        ),
        ("scripts/stop.sh", "#!/bin/sh\n"),
        (
            ".mcp.json",
            r#"{"mcpServers": {"a": {"command": "python3", "args": ["./bin/a.py"], "cwd": ".", "startup_timeout_sec": 5,
                 "env_vars": ["HOME_KEY"]},
                "b": {"url": "https://b.example", "bearer_token_env_var": "B", "http_headers": {"X-A": "a"}}}}"#,
        ),
        ("bin/a.py", "print()\n"),
    ]));
    assert_eq!(
        json(&plan, "mcp.json")["mcpServers"],
        json!({
            "a": {"type": "stdio", "command": "python3", "args": ["${PLUGIN_ROOT}/bin/a.py"]},
            "b": {"type": "streamable-http", "url": "https://b.example", "headers": {"X-A": "a"}},
        })
    );
    assert_eq!(
        losses(&plan),
        [
            ("manifest-shadowed", "the manifest for Codex"),
            ("manifest-field", "field \"interface\""),
            (
                "server-field",
                "server \"a\": field \"startup_timeout_sec\""
            ),
            ("environment-value", "server \"a\": variable HOME_KEY"),
            (
                "server-authentication",
                "server \"b\": field \"bearer_token_env_var\""
            ),
            ("client-component", "hooks"),
        ]
    );
    let hooks = plan.losses.iter().find(|loss| loss.what == "hooks");
    assert_eq!(hooks.map(|loss| loss.path.as_str()), Some("hooks.json"));

    let plan = planned(input(&[
        (
            ".github/plugin/plugin.json",
            r#"{"name": "pack", "commands": ["./commands/"], "hooks": "./hooks.json"}"#,
        ),
        ("skills/tides/SKILL.md", SKILL),
        ("commands/a.md", "Do a.\n"),
        ("hooks.json", r#"{"version": 1, "hooks": {}}"#),
        (
            ".mcp.json",
            r#"{"mcpServers": {"a": {"type": "local", "command": "srv", "tools": ["*"], "env": {"K": "$KEY"}, "cwd": "."}}}"#,
        ),
    ]));
    // The only places that Copilot reads in a package.
    assert!(paths(&plan).contains(&"com.github.copilot/hooks/hooks.json"));
    assert!(paths(&plan).contains(&"com.github.copilot/commands/a.md"));
    assert_eq!(
        json(&plan, ".github/plugin/plugin.json")["hooks"],
        "./com.github.copilot/hooks/hooks.json"
    );
    assert_eq!(
        json(&plan, "mcp.json")["mcpServers"],
        json!({"a": {"type": "stdio", "command": "srv"}})
    );
    let kinds: Vec<&str> = losses(&plan).into_iter().map(|(kind, _)| kind).collect();
    assert!(
        kinds.contains(&"environment-value") && kinds.contains(&"working-directory"),
        "{kinds:?}"
    );
}

#[test]
fn the_source_is_told_by_its_manifests() {
    let all = [
        (MANIFEST, r#"{"name": "of-claude", "version": "1"}"#),
        (
            ".codex-plugin/plugin.json",
            r#"{"name": "of-codex", "version": "1"}"#,
        ),
        (
            ".github/plugin/plugin.json",
            r#"{"name": "of-copilot", "version": "1"}"#,
        ),
        ("skills/tides/SKILL.md", SKILL),
    ];
    for (from, name) in [
        (None, "of-claude"),
        (Some(Client::Codex), "of-codex"),
        (Some(Client::Copilot), "of-copilot"),
    ] {
        let mut input = input(&all);
        input.from = from;
        assert_eq!(planned(input).name, name);
    }
    // Copilot's older place is that of the portable manifest.
    let plan = planned(input(&[
        ("plugin.json", r#"{"name": "old", "agents": "./agents"}"#),
        ("agents/a.md", "A.\n"),
        ("skills/tides/SKILL.md", SKILL),
    ]));
    assert_eq!(plan.source, "copilot");
    assert_eq!(
        json(&plan, ".github/plugin/plugin.json")["agents"],
        "./com.github.copilot/agents"
    );
    assert_eq!(json(&plan, "plugin.json")["name"], "old");

    let mut missing = input(&[("skills/tides/SKILL.md", SKILL)]);
    missing.from = Some(Client::Codex);
    assert!(refused(missing).contains(".codex-plugin/plugin.json"));
    let market = refused(input(&[
        (
            ".claude-plugin/marketplace.json",
            r#"{"name": "m", "plugins": [{"name": "one", "source": "./plugins/one"}, {"name": "two", "source": {"source": "github", "repo": "x/y"}}]}"#,
        ),
        ("plugins/one/.claude-plugin/plugin.json", "{}"),
    ]));
    assert!(
        market
            .contains("--plugin: one in plugins/one, two (elsewhere: git+https://github.com/x/y)"),
        "{market}"
    );
    let nothing = refused(input(&[("deep/down/a/SKILL.md", SKILL)]));
    assert!(
        nothing.contains("there are skills in deep/down"),
        "{nothing}"
    );
    let unnamed = refused(input(&[(MANIFEST, "{}"), ("skills/tides/SKILL.md", SKILL)]));
    assert!(unnamed.contains("--name"), "{unnamed}");
    let misnamed = refused(input(&[(MANIFEST, r#"{"name": "My Plugin"}"#)]));
    assert!(misnamed.contains("--name my-plugin would do"), "{misnamed}");
    let broken = refused(input(&[(MANIFEST, "{")]));
    assert!(broken.contains(MANIFEST), "{broken}");
}

#[test]
fn default_places_count_beside_what_the_manifest_names() {
    // Claude Code reads both, and the manifest has the last word.
    let plan = planned(input(&[
        (
            MANIFEST,
            r#"{"name": "pack", "mcpServers": {"one": {"command": "npx", "args": ["one"]}}, "hooks": "./more.json"}"#,
        ),
        (
            ".mcp.json",
            r#"{"mcpServers": {"two": {"command": "npx", "env": {"API_KEY": "zz-0123456789abcdef"}}, "one": {"command": "old"}}}"#,
        ),
        ("hooks/hooks.json", r#"{"hooks": {}}"#),
        ("more.json", r#"{"hooks": {}}"#),
        ("skills/tides/SKILL.md", SKILL),
    ]));
    assert_hidden(&plan, "zz-");
    assert_eq!(
        json(&plan, "mcp.json")["mcpServers"],
        json!({
            "one": {"type": "stdio", "command": "npx", "args": ["one"]},
            "two": {"type": "stdio", "command": "npx"},
        })
    );
    let native = json(&plan, MANIFEST);
    assert_eq!(
        native["mcpServers"],
        json!([
            "./com.anthropic.claude-code/mcp.json",
            {"one": {"command": "npx", "args": ["one"]}}
        ])
    );
    assert_eq!(
        native["hooks"],
        json!([
            "./com.anthropic.claude-code/hooks/hooks.json",
            "./com.anthropic.claude-code/more.json"
        ])
    );

    // Codex reads one of them.
    let plan = planned(input(&[
        (
            ".codex-plugin/plugin.json",
            r#"{"name": "pack", "mcpServers": "./own.json"}"#,
        ),
        ("own.json", r#"{"mcpServers": {"one": {"command": "npx"}}}"#),
        (
            ".mcp.json",
            r#"{"mcpServers": {"two": {"command": "npx", "env": {"API_KEY": "zz-0123456789abcdef"}}}}"#,
        ),
        ("skills/tides/SKILL.md", SKILL),
    ]));
    assert_hidden(&plan, "zz-");
    assert_eq!(
        json(&plan, "mcp.json")["mcpServers"],
        json!({"one": {"type": "stdio", "command": "npx"}})
    );
    assert_eq!(
        losses(&plan),
        [
            ("native-unread", "MCP servers at the default place"),
            ("credential", "the value of mcpServers.two.env.API_KEY"),
        ]
    );
}

#[test]
fn copilot_reads_its_default_file_of_servers_alone() {
    let plan = planned(input(&[
        (
            ".github/plugin/plugin.json",
            r#"{"name": "pack", "mcpServers": {"one": {"command": "npx", "env": {"API_KEY": "zz-0123456789abcdef"}}}}"#,
        ),
        (
            ".mcp.json",
            r#"{"mcpServers": {"two": {"command": "npx"}}}"#,
        ),
        ("skills/tides/SKILL.md", SKILL),
    ]));
    assert_hidden(&plan, "zz-");
    assert_eq!(
        json(&plan, "mcp.json")["mcpServers"],
        json!({"two": {"type": "stdio", "command": "npx"}})
    );
    assert_eq!(
        json(&plan, ".github/plugin/plugin.json")["mcpServers"],
        "./com.github.copilot/mcp.json"
    );
    assert_eq!(
        losses(&plan),
        [
            ("credential", "the value of mcpServers.one.env.API_KEY"),
            ("native-unread", "MCP servers that the manifest names"),
        ]
    );
}

#[test]
fn what_a_second_manifest_names_is_told() {
    let plan = planned(input(&[
        (
            MANIFEST,
            r#"{"name": "pack", "mcpServers": {"a": {"command": "npx", "args": ["a"]}}}"#,
        ),
        (
            ".codex-plugin/plugin.json",
            r#"{"name": "pack", "skills": "./codex-skills", "mcpServers": "./codex-mcp.json"}"#,
        ),
        (
            "codex-mcp.json",
            r#"{"mcpServers": {"b": {"command": "npx", "env": {"API_KEY": "zz-0123456789abcdef"}}, "a": {"command": "npx"}}}"#,
        ),
        ("codex-skills/ebb/SKILL.md", &SKILL.replace("tides", "ebb")),
        ("skills/tides/SKILL.md", SKILL),
        (
            ".cursor-plugin/plugin.json",
            r#"{"name": "pack", "mcpServers": {"c": {"command": "npx", "env": {"API_KEY": "zz-0123456789abcdef"}}}}"#,
        ),
    ]));
    assert_hidden(&plan, "zz-");
    assert_eq!(
        losses(&plan),
        [
            (
                "shadowed-component",
                "server \"b\" of the manifest for Codex"
            ),
            (
                "shadowed-component",
                "skill codex-skills/ebb of the manifest for Codex"
            ),
            ("credential", "the value of mcpServers.c.env.API_KEY"),
            ("credential", "the value of mcpServers.b.env.API_KEY"),
        ]
    );
}

#[test]
fn an_mcp_json_that_is_there_is_kept() {
    let schema = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json";
    let own = format!(
        r#"{{"$schema": "{schema}", "mcpServers": {{"hand": {{"type": "stdio", "command": "npx", "env": {{"API_KEY": "zz-0123456789abcdef"}}}}}}}}"#
    );
    let mut files = vec![
        (MANIFEST, r#"{"name": "pack"}"#),
        ("mcp.json", own.as_str()),
        ("skills/tides/SKILL.md", SKILL),
    ];
    let plan = planned(input(&files));
    assert_hidden(&plan, "zz-");
    let hand = json!({"type": "stdio", "command": "npx", "env": {}});
    assert_eq!(json(&plan, "mcp.json")["mcpServers"], json!({"hand": hand}));
    files.push((".mcp.json", r#"{"mcpServers": {"b": {"command": "npx"}}}"#));
    let plan = planned(input(&files));
    assert_eq!(
        json(&plan, "mcp.json")["mcpServers"],
        json!({"hand": hand, "b": {"type": "stdio", "command": "npx"}})
    );
    // One that is no file of Agent Plugins is named.
    files[1] = ("mcp.json", r#"{"servers": {}}"#);
    let plan = planned(input(&files));
    assert_eq!(losses(&plan), [("file-left-out", "the former mcp.json")]);
}

#[test]
fn a_plugin_needs_no_manifest() {
    let files = [
        (
            ".mcp.json",
            r#"{"mcpServers": {"two": {"type": "http", "url": "https://h.example/mcp", "headers": {"Authorization": "Bearer zz-0123456789abcdef"}}}}"#,
        ),
        ("commands/c.md", "C.\n"),
        ("agents/a.md", "A.\n"),
        ("hooks/hooks.json", r#"{"hooks": {"Stop": []}}"#),
        ("skills/tides/SKILL.md", SKILL),
    ];
    let plan = planned(crate::export_support::named(&files));
    assert_eq!(plan.source, "claude-code");
    assert_hidden(&plan, "zz-");
    assert_eq!(
        json(&plan, "mcp.json")["mcpServers"],
        json!({"two": {"type": "streamable-http", "url": "https://h.example/mcp"}})
    );
    assert_eq!(
        json(&plan, MANIFEST),
        json!({
            "name": "pack",
            "commands": "./com.anthropic.claude-code/commands",
            "agents": "./com.anthropic.claude-code/agents/a.md",
            "hooks": "./com.anthropic.claude-code/hooks/hooks.json",
            "mcpServers": "./com.anthropic.claude-code/mcp.json",
        })
    );
    assert!(refused(input(&files)).contains("--name"));
    // Skills alone are skills.
    let plan = planned(crate::export_support::named(&files[4..]));
    assert_eq!(plan.source, "skills");
}

#[test]
fn skills_of_a_plugin_are_brought_together() {
    let other = "---\nname: Ebb\ndescription: Tells the ebb. Use it for questions about it.\n---\n";
    let mut input = input(&[
        (
            MANIFEST,
            r#"{"name": "pack", "skills": ["./more/", "./one/flow"]}"#,
        ),
        ("skills/tides/SKILL.md", SKILL),
        ("skills/group/deep/SKILL.md", SKILL),
        ("more/Ebb/SKILL.md", other),
        ("one/flow/SKILL.md", &SKILL.replace("tides", "flow")),
        ("one/flow/x.txt", "x"),
    ]);
    let plan = planned(input.clone());
    assert_eq!(
        paths(&plan),
        [
            ".claude-plugin/plugin.json",
            "plugin.json",
            "skills/flow/SKILL.md",
            "skills/flow/x.txt",
            "skills/group/deep/SKILL.md",
            "skills/tides/SKILL.md",
        ]
    );
    // Found by their place now.
    assert_eq!(json(&plan, MANIFEST), json!({"name": "pack"}));
    assert_eq!(
        losses(&plan),
        [
            ("skill-name", "skill Ebb"),
            ("skill-misplaced", "skill skills/group")
        ]
    );
    input.rename = true;
    let plan = planned(input);
    assert!(text(&plan, "skills/ebb/SKILL.md").contains("name: ebb\n"));
    assert_eq!(
        json(&plan, "plugin.json")["extensions"]["works.ever"],
        json!({"skills": {"ebb": {"directory": "Ebb", "name": "Ebb"}}})
    );
}

#[test]
fn what_still_names_an_old_place_is_reported() {
    let plan = planned(input(&[
        (MANIFEST, r#"{"name": "pack"}"#),
        ("skills/tides/SKILL.md", SKILL),
        ("commands/a.md", "See [b](../docs/b.md).\n"),
        ("docs/b.md", "Run ${CLAUDE_PLUGIN_ROOT}/commands/a.md\n"),
    ]));
    let moved: Vec<&str> = plan
        .losses
        .iter()
        .filter(|loss| loss.kind.id() == "moved-reference")
        .map(|loss| loss.path.as_str())
        .collect();
    assert_eq!(
        moved,
        ["com.anthropic.claude-code/commands/a.md", "docs/b.md"]
    );
}

#[test]
fn references_are_found_however_they_are_written() {
    let skill = format!("{SKILL}Run \"$CLAUDE_PLUGIN_ROOT/scripts/s.sh\" with $ARGUMENTS.\n");
    let plan = planned(input(&[
        (MANIFEST, r#"{"name": "pack"}"#),
        ("agents/a.md", "A.\n"),
        (
            "scripts/quoted.sh",
            "cat \"${CLAUDE_PLUGIN_ROOT}\"/agents/a.md\n",
        ),
        (
            "scripts/plain.sh",
            "cat \"$CLAUDE_PLUGIN_ROOT\"/agents/a.md\n",
        ),
        ("scripts/other.sh", "cat other/agents/a.md agents/b.md\n"),
        ("README.md", "See [a](agents/a.md).\n"),
        ("skills/tides/SKILL.md", &skill),
        (
            "skills/tides/ref.md",
            "Read ../../agents/a.md; run ${CLAUDE_PLUGIN_ROOT}/scripts/s.sh\n",
        ),
    ]));
    let found: Vec<_> = plan
        .losses
        .iter()
        .filter(|loss| loss.kind != LossKind::ClientComponent)
        .map(|loss| (loss.kind.id(), loss.path.as_str(), loss.line))
        .collect();
    assert_eq!(
        found,
        [
            ("moved-reference", "README.md", Some(1)),
            ("moved-reference", "scripts/plain.sh", Some(1)),
            ("moved-reference", "scripts/quoted.sh", Some(1)),
            ("text-placeholder", "skills/tides/SKILL.md", Some(7)),
            ("text-placeholder", "skills/tides/ref.md", Some(1)),
            ("moved-reference", "skills/tides/ref.md", Some(1)),
        ]
    );
}

#[test]
fn every_manifest_goes_on_finding_what_was_moved() {
    let plan = planned(input(&[
        (
            MANIFEST,
            r#"{"name": "pack", "commands": {"about": {"source": "./x/a.md", "description": "d"}}, "agents": ["./x/b.md"], "outputStyles": ["./x"], "hooks": "./h.json"}"#,
        ),
        ("x/a.md", "A.\n"),
        ("x/b.md", "B.\n"),
        ("h.json", r#"{"hooks": {}}"#),
        (
            ".cursor-plugin/plugin.json",
            r#"{"name": "pack", "agents": "./x", "commands": "./gone"}"#,
        ),
        ("skills/tides/SKILL.md", SKILL),
    ]));
    let native = json(&plan, MANIFEST);
    let there = |place: &Value| {
        let path = place.as_str().unwrap().trim_start_matches("./");
        let is_there = paths(&plan).iter().any(|known| known.starts_with(path));
        assert!(is_there, "{path} among {:?}", paths(&plan));
    };
    there(&native["commands"]["about"]["source"]);
    there(&native["agents"]);
    there(&native["outputStyles"]);
    let cursor = json(&plan, ".cursor-plugin/plugin.json");
    there(&cursor["agents"]);
    let found: Vec<_> = plan
        .losses
        .iter()
        .map(|loss| (loss.kind.id(), loss.path.as_str(), loss.what.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("client-component", MANIFEST, "commands"),
            (
                "moved-reference",
                ".cursor-plugin/plugin.json",
                "field \"commands\""
            ),
            ("client-component", "x/b.md", "agents, hooks, output styles"),
        ]
    );
}

#[test]
fn nothing_that_is_there_is_overwritten() {
    let plan = planned(input(&[
        (MANIFEST, r#"{"name": "pack"}"#),
        ("commands/a.md", "new\n"),
        ("com.anthropic.claude-code/commands/a.md", "old\n"),
        ("skills/tides/SKILL.md", SKILL),
    ]));
    assert_eq!(
        text(&plan, "com.anthropic.claude-code/commands/a.md"),
        "old\n"
    );
    assert_eq!(
        text(&plan, "com.anthropic.claude-code/commands-2/a.md"),
        "new\n"
    );
    assert_eq!(
        json(&plan, MANIFEST)["commands"],
        "./com.anthropic.claude-code/commands-2"
    );
}

#[test]
fn all_three_clients_load_one_directory() {
    let mut input = input(&[
        (
            ".codex-plugin/plugin.json",
            r#"{"name": "pack", "version": "1.0.0", "hooks": "./hooks/hooks.json"}"#,
        ),
        ("skills/tides/SKILL.md", SKILL),
        (
            "hooks/hooks.json",
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "\"${CLAUDE_PLUGIN_ROOT}/hooks/stop.sh\""}]}]}}"#,
        ),
        ("hooks/stop.sh", "#!/bin/sh\n"),
        (
            ".mcp.json",
            r#"{"mcpServers": {"a": {"command": "python3", "args": ["./a.py"], "cwd": "."}}}"#,
        ),
        ("a.py", ""),
    ]);
    input.target = Target::All;
    input.marketplace = true;
    let plan = planned(input);
    let second = "pack/com.openai.codex/.codex-plugin/plugin.json";
    assert_eq!(
        json(&plan, second),
        json!({"name": "pack-codex-hooks", "version": "1.0.0", "description": "The hooks of pack for Codex.", "hooks": "./hooks/hooks.json"})
    );
    // Codex installs the second plugin as a copy of its own.
    assert!(paths(&plan).contains(&"pack/com.openai.codex/hooks/stop.sh"));
    assert_eq!(
        json(&plan, "pack/com.anthropic.claude-code/mcp.json")["mcpServers"]["a"],
        json!({"command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/a.py"],
               "env": {"PLUGIN_ROOT": "${CLAUDE_PLUGIN_ROOT}", "PLUGIN_DATA": "${CLAUDE_PLUGIN_DATA}"}})
    );
    let codex = json(&plan, ".agents/plugins/marketplace.json");
    let entries: Vec<_> = codex["plugins"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            (
                entry["name"].as_str().unwrap(),
                entry["source"]["path"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        entries,
        [
            ("pack", "./pack"),
            ("pack-codex-hooks", "./pack/com.openai.codex")
        ]
    );
    let claude = json(&plan, ".claude-plugin/marketplace.json");
    assert_eq!(
        claude["plugins"],
        json!([{"name": "pack", "version": "1.0.0", "source": "./pack"}])
    );
    assert!(!losses(&plan).contains(&("client-component", "hooks")));
}

#[test]
fn hooks_of_codex_bring_along_what_they_run() {
    for command in [
        r#"python3 \"${PLUGIN_ROOT}\"/lib/y.py"#,
        r#"python3 \"$PLUGIN_ROOT\"/lib/y.py"#,
        "cd ${PLUGIN_ROOT} && python3 lib/y.py",
        "${PLUGIN_ROOT}/run.sh",
    ] {
        let hooks = format!(
            r#"{{"hooks": {{"Stop": [{{"hooks": [{{"type": "command", "command": "{command}"}}]}}]}}}}"#
        );
        let mut input = input(&[
            (
                ".codex-plugin/plugin.json",
                r#"{"name": "pack", "version": "1.0.0"}"#,
            ),
            ("hooks/hooks.json", &hooks),
            ("lib/y.py", ""),
            (
                "run.sh",
                "#!/bin/sh\nexec python3 \"${PLUGIN_ROOT}/lib/y.py\"\n",
            ),
            ("skills/tides/SKILL.md", SKILL),
        ]);
        input.target = Target::Codex;
        let plan = planned(input);
        let paths = paths(&plan);
        assert!(
            paths.contains(&"com.openai.codex/lib/y.py"),
            "{command}: {paths:?}"
        );
        assert!(!paths.contains(&"com.openai.codex/skills/tides/SKILL.md"));
        assert!(!paths.contains(&"com.openai.codex/plugin.json"));
    }
}

#[test]
fn people_and_repositories_are_read_in_npms_shapes() {
    for (author, wanted) in [
        (
            json!("A B <a@b.example> (https://a.example)"),
            json!({"name": "A B", "email": "a@b.example", "url": "https://a.example"}),
        ),
        (json!("A (she)"), json!({"name": "A (she)"})),
    ] {
        for (repository, address) in [
            ("git+ssh://git@github.com/a/b.git", "https://github.com/a/b"),
            ("https://git.example/a.git", "https://git.example/a.git"),
        ] {
            let manifest = json!({
                "name": "pack",
                "author": author,
                "repository": {"type": "git", "url": repository},
            });
            let plan = planned(input(&[
                (MANIFEST, &manifest.to_string()),
                ("skills/tides/SKILL.md", SKILL),
            ]));
            let portable = json(&plan, "plugin.json");
            assert_eq!(portable["author"], wanted);
            assert_eq!(portable["repository"], address);
            assert!(losses(&plan).is_empty());
        }
    }
}
