//! What one server costs the others.

#[cfg(unix)]
use std::fs;

use serde_json::{Value, json};

use super::{package, report, run, stdio};
#[cfg(unix)]
use crate::probe::program;
use crate::support::{Place, manifest};
use crate::web::{Reply, Server};

/// Every fault of an entry that the suite tries, beside a server that works.
fn faulty() -> Value {
    let remote = |kind: &str, more: Value| {
        let mut server = json!({"type": kind, "url": "https://tides.example/mcp"});
        let all = server.as_object_mut().expect("an object");
        all.extend(more.as_object().expect("an object").clone());
        server
    };
    let mut servers = json!({
        "good": stdio(json!({})),
        "cwd-form": stdio(json!({"cwd": "work dir"})),
        "cwd-climbs": stdio(json!({"cwd": "./../q"})),
        "cwd-climbs-from-data": stdio(json!({"cwd": "${PLUGIN_DATA}/../q"})),
        "unknown-field": stdio(json!({"disabled": false})),
        "no-type": {"command": "./bin/probe server"},
        "type-http": {"type": "http", "url": "https://tides.example/mcp"},
        "reserved-root": stdio(json!({"env": {"PLUGIN_ROOT": "/"}})),
        "reserved-data": stdio(json!({"env": {"PLUGIN_DATA": "/"}})),
    });
    let all = servers.as_object_mut().expect("an object");
    for kind in ["streamable-http", "sse"] {
        for (fault, more) in [
            ("plain", json!({"url": "http://tides.example/mcp"})),
            ("relative", json!({"url": "//tides.example/mcp"})),
            ("fragment", json!({"url": "https://tides.example/mcp#x"})),
            ("user", json!({"url": "https://u:p@tides.example/mcp"})),
            ("twice", json!({"headers": {"X-A": "1", "x-a": "1"}})),
            ("header-name", json!({"headers": {"X A": "1"}})),
            ("header-value", json!({"headers": {"X-A": "1\r\nX-B: 2"}})),
        ] {
            all.insert(format!("{kind}-{fault}"), remote(kind, more));
        }
    }
    servers
}

#[test]
fn a_good_server_works_beside_every_faulty_one() {
    let place = Place::new();
    #[cfg_attr(not(unix), expect(unused_mut, reason = "links are added on Unix"))]
    let mut servers = faulty();
    #[cfg(unix)]
    {
        servers["cwd-behind-a-link"] = stdio(json!({"cwd": "./out"}));
        servers["command-behind-a-link"] = stdio(json!({"command": "./out/program"}));
        fs::copy(program(), place.write("q/program", "")).expect("the probe");
        fs::create_dir(place.path().join("p")).expect("a directory");
        std::os::unix::fs::symlink("../q", place.path().join("p/out")).expect("a link");
    }
    package(&place, "p", "p", &servers);
    // Faults that cost no server at all.
    place.write(
        "p/plugin.json",
        manifest("p", "\"colour\": 1, \"extensions\": []"),
    );
    place.write("p/skills/bad/SKILL.md", "no frontmatter\n");

    let read = |command: &str| -> Value {
        let run = run(&place, &[command, "p", "--allow-stdio", "--json"]);
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"))
    };
    let plan = read("plan");
    let all = plan["servers"].as_array().expect("servers");
    assert_eq!(all.len(), servers.as_object().expect("an object").len());
    for server in all {
        let wanted = if server["name"] == "good" {
            "on"
        } else {
            "invalid"
        };
        assert_eq!(server["state"], wanted, "{server}");
    }
    for server in read("tools")["servers"].as_array().expect("servers") {
        let has_tools = server["tools"]
            .as_array()
            .is_some_and(|tools| !tools.is_empty());
        assert_eq!(has_tools, server["name"] == "good", "{server}");
    }
    assert_eq!(
        report(&place, "p", "good")["argv"].as_array().map(Vec::len),
        Some(1)
    );
}

/// One server each that ends at once, is not there, does not speak MCP, never
/// answers and is refused; and one that works.
#[test]
fn servers_that_fail_cost_nobody_else() {
    let place = Place::new();
    let closed = Server::new(|_| Reply::new(401, ""));
    let servers = json!({
        "good": stdio(json!({})),
        "ends": stdio(json!({"args": ["--probe=exit:3"]})),
        "missing": {"type": "stdio", "command": "no-such-program-of-apkit"},
        "garbage": {"type": "streamable-http", "url": closed.url("/mcp")},
        "silent": stdio(json!({"args": ["--probe=no-initialize"]})),
        "nobody": {"type": "sse", "url": "http://127.0.0.1:9/sse"},
    });
    package(&place, "p", "p", &servers);
    let run = run(
        &place,
        &["check", "p", "--allow-stdio", "--json", "--timeout", "2"],
    );
    assert_eq!(run.status, Some(1), "{run:?}");
    let document: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    let all = document["servers"].as_array().expect("servers");
    assert_eq!(all.len(), 6);
    for server in all {
        let is_good = server["name"] == "good";
        assert_eq!(server["state"] == "ok", is_good, "{server}");
        assert_eq!(server["reason"].is_null(), is_good, "{server}");
    }
}
