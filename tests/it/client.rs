//! What the specification asks of a client as a whole and no other module shows.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Place, Run, finish, manifest, mcp};
use crate::web::{Reply, Server};

/// A package with a skill and a server of each kind.
fn package(place: &Place, path: &str) {
    place.good_package(path);
    let servers = r#"{
        "local": {"type": "stdio", "command": "node", "args": ["${PLUGIN_ROOT}/server.js"]},
        "far": {"type": "streamable-http", "url": "https://tides.example/mcp", "headers": {"X-Team": "sea"}},
        "old": {"type": "sse", "url": "https://tides.example/sse"}}"#;
    place.write(&format!("{path}/mcp.json"), mcp(servers));
    place.write(&format!("{path}/server.js"), "// nothing\n");
}

/// §5.2, §7.2.1: a schema is never retrieved, not even one nobody has on board.
#[test]
fn judging_a_package_asks_nobody() {
    let server = Server::new(|_| Reply::new(404, ""));
    let place = Place::new();
    package(&place, "known");
    place.write(
        "unknown/plugin.json",
        manifest("later-one", "").replace("1.0.0", "7.3.0"),
    );
    for (arguments, status) in [
        (&["validate", "known"][..], 0),
        (&["validate", "unknown"], 1),
        (&["inspect", "known"], 0),
        (&["fix", "known", "--dry-run"], 0),
    ] {
        let mut command = place.apkit();
        for name in ["http_proxy", "https_proxy", "all_proxy"] {
            command.env(name, server.url(""));
            command.env(name.to_uppercase(), server.url(""));
        }
        let run = finish(command.args(arguments));
        assert_eq!(run.status, Some(status), "{arguments:?}: {run:?}");
    }
    assert_eq!(server.targets(), Vec::<String>::new());
}

/// Whether a published schema accepts a file.
fn accepted(schema: &str, file: &Path) -> bool {
    let read = |path: &Path| -> Value {
        serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
    };
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/1.0.0");
    jsonschema::validator_for(&read(&schemas.join(schema)))
        .expect("a schema")
        .is_valid(&read(file))
}

/// Export, the strictest judgement, import: the files are the same.
#[test]
fn exports_satisfy_the_published_schemas_and_come_back() {
    let place = Place::new();
    let ran = |arguments: &[&str]| -> Run {
        let run = place.run(arguments);
        assert_eq!(run.status, Some(0), "{arguments:?}: {run:?}");
        run
    };
    package(&place, "whole");
    let skill = "---\nname: tides\ndescription: Tells the tides. Use it for questions about them.\ncolour: sea\n---\n\nText.\n";
    place.write("skills-alone/tides/SKILL.md", skill);
    place.write("skills-alone/tides/references/a.md", "A.\n");
    place.write(
        "native/.claude-plugin/plugin.json",
        r#"{"name": "from-claude", "version": "1.2.0"}"#,
    );
    place.write("native/skills/tides/SKILL.md", skill);
    place.write(
        "native/.mcp.json",
        r#"{"mcpServers": {"far": {"type": "http", "url": "https://tides.example/mcp"}}}"#,
    );
    for (source, more, name, servers) in [
        ("whole", &[][..], "good-one", true),
        ("skills-alone", &["--name", "pack"], "pack", false),
        ("native", &[], "from-claude", true),
    ] {
        let out = format!("{source}-out");
        ran(&[&["export", source, "--out", &out], more].concat());
        let made = place.path().join(&out);
        assert!(accepted("plugin.schema.json", &made.join("plugin.json")));
        assert_eq!(made.join("mcp.json").exists(), servers, "{source}");
        if servers {
            assert!(accepted("mcp.schema.json", &made.join("mcp.json")));
        }
        ran(&["validate", &out]);
        ran(&["import", &format!("./{out}"), "--root", "store"]);
        ran(&["verify", "--root", "store"]);
        let installed = place.path().join("store/plugins").join(name);
        for file in ["plugin.json", "mcp.json", "skills/tides/SKILL.md"] {
            let read = |top: &Path| fs::read(top.join(file)).ok();
            assert_eq!(read(&made), read(&installed), "{source}: {file}");
        }
    }
}
