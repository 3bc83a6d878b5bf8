//! What the commands about servers print keeps to the schemas they name.

use serde_json::{Value, json};

use crate::mcp_support::{json as printed, package, package_of};
use crate::support::{Place, mcp};

/// A package with a server in each state.
fn place() -> Place {
    let place = Place::new();
    let probe = |args: &[&str]| json!({"type": "stdio", "command": "probe", "args": args});
    let nameless = "--probe=say:tools/list \"result\":{\"tools\":[{}, {\"name\": \"a\"}]}";
    let entries = json!({
        "good": probe(&[]),
        "a.b": probe(&[]),
        "a_b": probe(&[]),
        "odd": probe(&["--probe=garbage:2", nameless]),
        "dead": probe(&["--probe=exit:3"]),
        "listless": probe(&["--probe=say:tools/list \"error\":{\"code\":-1,\"message\":\"no\"}"]),
        "gone": {"type": "stdio", "command": "no-such-program"},
        "broken": {"type": "stdio", "command": "a/b"},
        "far": {"type": "streamable-http", "url": "http://127.0.0.1:1/mcp"},
    });
    package_of(&place, "p", &entries);
    place.write("rejected/plugin.json", r#"{"name": "rejected"}"#);
    place.write("rejected/mcp.json", mcp("{}"));
    place
}

#[test]
fn plans_lists_and_checks() {
    let place = place();
    for command in ["tools", "check"] {
        for arguments in [
            &[command, "p", "rejected/", "--allow-stdio"][..],
            &[command, "p"],
            &[command, "p", "--server", "odd", "--allow-stdio"],
        ] {
            let (status, document) = printed(&place, arguments);
            assert!(matches!(status, Some(0 | 1)), "{arguments:?}: {status:?}");
            assert!(document["servers"].is_array());
        }
    }
    let (status, document) = printed(&place, &["tools", "p", "rejected/", "--allow-stdio"]);
    assert_eq!(status, Some(1));
    let servers = document["servers"].as_array().expect("a list");
    let states = |state: &str| {
        let servers = servers.iter();
        servers.filter(|server| server["state"] == state).count()
    };
    assert_eq!((states("ok"), states("off"), states("failed")), (4, 2, 3));
    assert_eq!(
        document["packages"][1]["disabled"].as_array().map(Vec::len),
        Some(1)
    );
    for arguments in [
        &["plan", "p"][..],
        &["plan", "p", "--allow-stdio"],
        &["plan", "rejected/"],
    ] {
        assert_eq!(printed(&place, arguments).0, Some(1));
    }
}

#[test]
fn results_and_errors_of_calls() {
    let place = Place::new();
    package(&place, "p", &[("probe", &[])]);
    for (tool, args, status) in [
        ("echo", json!({"text": "x"}), 0),
        ("report", json!({}), 0),
        ("fail", json!({"text": "x"}), 1),
        ("error", json!({"code": -32042, "message": "not today"}), 1),
        ("error", json!({"message": "not today", "data": [1]}), 1),
    ] {
        let args = args.to_string();
        let arguments = ["call", "p", "probe", tool, "--allow-stdio", "--args", &args];
        let (ended, _) = printed(&place, &arguments);
        assert_eq!(ended, Some(status), "{tool}");
    }
}

#[test]
fn a_schema_is_of_no_version_of_the_specification_and_tells_errors() {
    let place = Place::new();
    for document in ["mcp-plan", "mcp-tools", "mcp-call", "mcp-check"] {
        let ran = place.run(["schema", document]);
        let schema: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let id = format!("urn:apkit:schema:{document}:1");
        assert_eq!(schema["$id"], json!(id));
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        assert!(!validator.is_valid(&json!({})), "{document}");
        let ran = place.run(["schema", document, "--spec", "1.0.0"]);
        assert_eq!(ran.status, Some(2), "{document}");
    }
}
