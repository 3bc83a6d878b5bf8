//! `apkit mcp tools`.

use serde_json::{Value, json};

use crate::mcp_support::{Host, json as printed, over_http, package, package_of, run};
use crate::support::{Place, manifest};
use crate::web::{Asked, Reply, Server};

#[test]
fn tools_are_listed_by_the_name_a_host_sees() {
    let place = Place::new();
    package(&place, "p", &[("pro be", &["--probe=pages:3"])]);
    let listed = run(&place, &["tools", "p", "--allow-stdio"]);
    assert_eq!(listed.status, Some(0), "{listed:?}");
    let mut lines = listed.stdout.lines();
    let head = format!(
        "pro be: 14 tools (probe {}, MCP 2025-11-25)",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(lines.next(), Some(head.as_str()));
    assert_eq!(
        lines.next(),
        Some("  mcp__pro_be__big           Gives a text of so many `bytes`.")
    );
    assert_eq!(lines.count(), 13);

    let listed = run(
        &place,
        &[
            "tools",
            "p",
            "--allow-stdio",
            "--json",
            "--server",
            "pro be",
        ],
    );
    let document: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    assert_eq!(document["packages"][0]["name"], "p");
    assert_eq!(document["servers"][0]["state"], "ok");
    let tools = document["servers"][0]["tools"].as_array().expect("a list");
    assert_eq!(tools.len(), 14);
    assert_eq!(
        tools[3],
        json!({"name": "mcp__pro_be__echo", "tool": "echo", "hidden": null, "definition": {
            "name": "echo",
            "description": "Gives `text` back.",
            "inputSchema": {"type": "object"},
        }})
    );
}

#[test]
fn parameters_stand_behind_the_name() {
    let server = Server::new(|asked: &Asked| {
        let message: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "far", "version": "2"},
            }),
            Some("tools/list") => json!({"tools": [{
                "name": "add", "description": "Adds.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {}},
                    "required": ["a"],
                },
            }]}),
            _ => return Reply::new(202, ""),
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        Reply::new(200, answer.to_string()).header("content-type", "application/json")
    });
    let place = Place::new();
    let entry = json!({"far": {"type": "streamable-http", "url": server.url("/mcp")}});
    package_of(&place, "p", &entry);
    let listed = run(&place, &["tools", "p"]);
    assert_eq!(
        listed.stdout.lines().nth(1),
        Some("  mcp__far__add(a: integer, b?: string, c?)  Adds."),
        "{listed:?}"
    );
}

#[test]
fn names_are_those_that_serve_offers() {
    let place = Place::new();
    package(
        &place,
        "p",
        &[
            ("probe", &[]),
            ("a.b", &["--probe=tools:x.y,x_y"]),
            ("a_b", &[]),
        ],
    );
    package(&place, "q", &[("probe", &[])]);
    let listed = run(&place, &["tools", "p", "q", "--allow-stdio"]);
    assert_eq!(listed.status, Some(0), "{listed:?}");
    assert!(listed.stdout.starts_with("p/probe: 14 tools"), "{listed:?}");
    for name in [
        "  mcp__p_probe__echo ",
        "  mcp__q_probe__echo ",
        "  mcp__a_b__echo ",
        "  mcp__a_b_d48c93cd__echo ",
    ] {
        assert!(listed.stdout.contains(name), "{listed:?}");
    }
    let hidden = "[x_y] not offered: tool `x.y` of server `a.b` has its name\n";
    assert!(listed.stdout.contains(hidden), "{listed:?}");
}

#[test]
fn programs_are_off_until_they_are_allowed() {
    let place = Place::new();
    package(&place, "p", &[("probe", &[])]);
    let listed = run(&place, &["tools", "p"]);
    assert_eq!(listed.status, Some(1), "{listed:?}");
    let line = "probe: off, disabled by policy: programs are not allowed\n";
    assert_eq!(listed.stdout, line, "{listed:?}");
    assert!(
        listed
            .stderr
            .starts_with("note: allow programs once: --allow-stdio; for good: "),
        "{listed:?}"
    );
}

#[test]
fn packages_of_one_name_are_told_apart_by_their_directories() {
    let place = Place::new();
    for directory in ["one/kit", "two/kit"] {
        package(&place, directory, &[("probe", &[])]);
        place.write(&format!("{directory}/plugin.json"), manifest("kit", ""));
    }
    let arguments = ["tools", "one/kit", "two/kit", "--allow-stdio"];
    let (status, listed) = printed(&place, &arguments);
    assert_eq!(status, Some(0), "{listed}");
    for (at, directory) in [(0, "one/kit"), (1, "two/kit")] {
        let path = place.path().join(directory).canonicalize();
        assert_eq!(
            listed["servers"][at]["path"],
            json!(path.expect("it is there"))
        );
    }
    let given = [&arguments[..4], &["--credential", "prob:A=env:B"][..]].concat();
    let told = run(&place, &given).stderr;
    assert!(
        told.contains("probe") && !told.contains("probe, probe"),
        "{told}"
    );
}

#[test]
fn how_programs_are_allowed_is_told_of_the_servers_that_are_meant() {
    let far = over_http(false);
    let place = Place::new();
    let entries = json!({
        "far": {"type": "streamable-http", "url": far.url("/mcp")},
        "probe": {"type": "stdio", "command": "probe"},
    });
    package_of(&place, "p", &entries);
    for command in ["tools", "check"] {
        let asked = run(&place, &[command, "p", "--server", "far"]);
        assert_eq!((asked.status, &*asked.stderr), (Some(0), ""), "{command}");
        let asked = run(&place, &[command, "p", "--server", "probe"]);
        assert!(
            asked.stderr.starts_with("note: allow programs"),
            "{asked:?}"
        );
    }
    place.write(
        "store/apkit.toml",
        "[[remote.deny]]\nhost = \"127.0.0.1\"\n",
    );
    let called = run(&place, &["call", "p", "far", "tide"]);
    assert_eq!(called.status, Some(2));
    assert!(!called.stderr.contains("allow programs"), "{called:?}");
}

#[test]
fn one_bad_server_keeps_no_other_from_its_tools() {
    let place = Place::new();
    let servers: &[(&str, &[&str])] = &[
        ("dead", &["--probe=exit:3"]),
        ("probe", &[]),
        ("never", &["--probe=no-initialize"]),
    ];
    package(&place, "p", servers);
    let listed = run(&place, &["tools", "p", "--allow-stdio", "--timeout", "3"]);
    assert_eq!(listed.status, Some(1), "{listed:?}");
    let heads: Vec<&str> = listed
        .stdout
        .lines()
        .filter(|line| !line.starts_with(' '))
        .collect();
    assert_eq!(
        heads[0],
        "dead: failed, failed to initialize: it exited with status 3"
    );
    assert!(heads[1].starts_with("probe: 14 tools"), "{heads:?}");
    assert!(
        listed.stdout.contains("\n  | the probe was told to exit\n"),
        "{listed:?}"
    );
    assert_eq!(
        heads[2],
        "never: failed, failed to initialize: no answer within 3 s; --timeout gives it more time"
    );
}

#[test]
fn a_server_that_is_not_there_is_told_from_those_that_are() {
    let place = Place::new();
    package(&place, "p", &[("almanac", &[])]);
    let listed = run(&place, &["tools", "p", "--server", "almanack"]);
    assert_eq!(listed.status, Some(2));
    assert_eq!(
        listed.stderr,
        "error: failed to find the server almanack: did you mean almanac?\n"
    );
}

#[test]
fn a_tool_without_a_usable_name_is_said() {
    let place = Place::new();
    let lists = |tools: &str| format!("--probe=say:tools/list \"result\":{{\"tools\":[{tools}]}}");
    let one = lists(r#"{"name":"a"},{"description":"x"}"#);
    let three = lists(r#"{"name":"b"},{"name":"a"},{"name":5},"c",{"name":" "},{"name":"d"}"#);
    let servers: &[(&str, &[&str])] = &[("one", &[&one]), ("three", &[&three])];
    package(&place, "p", servers);
    let said = [
        "number 2 of the tools it lists has no usable name and is left out",
        "3 of the tools it lists have no usable name and are left out, the first is number 3",
    ];
    let version = env!("CARGO_PKG_VERSION");
    let listed = run(&place, &["tools", "p", "--allow-stdio"]);
    let [one, three] = said;
    let text = format!(
        "one: 1 tool (probe {version}, MCP 2025-11-25)\n  warning: {one}\n  mcp__one__a\n\
         three: 3 tools (probe {version}, MCP 2025-11-25)\n  warning: {three}\n  mcp__three__a\n  mcp__three__b\n  mcp__three__d\n"
    );
    assert_eq!((listed.status, listed.stdout), (Some(0), text));
    for command in ["tools", "check"] {
        let ran = run(&place, &[command, "p", "--allow-stdio", "--json"]);
        assert_eq!(ran.status, Some(0), "{ran:?}");
        let document: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        for (at, said) in said.iter().enumerate() {
            assert_eq!(document["servers"][at]["warnings"], json!([said]));
        }
    }
    let mut host = Host::start(&place, &["p"]);
    let names = [
        "mcp__one__a",
        "mcp__three__a",
        "mcp__three__b",
        "mcp__three__d",
    ];
    assert_eq!(host.names(), names);
    let (status, told) = host.end();
    assert_eq!(status, Some(0));
    let mut told: Vec<&str> = told.lines().collect();
    told.sort_unstable();
    assert_eq!(
        told,
        [
            format!("apkit: server `one`: {one}"),
            format!("apkit: server `three`: {three}"),
        ]
    );
}

#[test]
fn what_a_server_prints_beside_its_messages_is_named() {
    let place = Place::new();
    package(&place, "p", &[("banner", &["--probe=garbage:1"])]);
    let listed = run(&place, &["tools", "p", "--allow-stdio"]);
    assert_eq!(
        listed.stdout.lines().nth(1),
        Some(
            "  warning: it wrote a line to standard output that is no JSON-RPC message: `garbage 0`; logs belong on standard error"
        ),
        "{listed:?}"
    );
}

#[test]
fn an_empty_cursor_is_the_end_of_a_list() {
    let place = Place::new();
    package(&place, "p", &[("probe", &["--probe=empty-cursor"])]);
    let listed = run(&place, &["tools", "p", "--allow-stdio"]);
    assert_eq!(listed.status, Some(0), "{listed:?}");
    assert!(listed.stdout.starts_with("probe: 14 tools"), "{listed:?}");
}
