//! `apkit mcp check`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp_support::{LONG, over_http, package, package_of, run};
use crate::support::{Place, manifest, mcp};
use crate::web::{Reply, Server};

#[test]
fn each_server_has_a_line() {
    let place = Place::new();
    let servers: &[(&str, &[&str])] = &[
        ("good", &[]),
        ("old", &["--probe=version:2024-11-05"]),
        ("future", &["--probe=version:2099-01-01"]),
        ("dead", &["--probe=exit:3"]),
    ];
    package(&place, "p", servers);
    let checked = run(&place, &["check", "p", "--allow-stdio"]);
    assert_eq!(checked.status, Some(1), "{checked:?}");
    let lines: Vec<&str> = checked.stdout.lines().collect();
    let [good, old, future, dead, error] = lines[..] else {
        panic!("{checked:?}");
    };
    let version = env!("CARGO_PKG_VERSION");
    let start = format!("ok      good: probe {version}, MCP 2025-11-25, 14 tools, ");
    assert!(good.starts_with(&start) && good.ends_with(" ms"), "{good}");
    assert!(old.contains("MCP 2024-11-05, 14 tools"), "{old}");
    assert_eq!(
        future,
        "failed  future: failed to initialize: it speaks version \"2099-01-01\" of MCP, apkit speaks 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05; use a release of the server that speaks one of these"
    );
    assert_eq!(
        dead,
        "failed  dead: failed to initialize: it exited with status 3"
    );
    assert_eq!(error, "        | the probe was told to exit");
}

#[test]
fn servers_are_waited_for_at_the_same_time() {
    let place = Place::new();
    let never: &[&str] = &["--probe=no-initialize"];
    let servers: Vec<(String, &[&str])> = (0..8).map(|at| (format!("n{at}"), never)).collect();
    let servers: Vec<(&str, &[&str])> = servers
        .iter()
        .map(|(name, args)| (&**name, *args))
        .collect();
    package(&place, "p", &servers);
    let started = Instant::now();
    let checked = run(&place, &["check", "p", "--allow-stdio", "--timeout", "4"]);
    assert_eq!(checked.stdout.lines().count(), 8, "{checked:?}");
    assert!(
        started.elapsed() < LONG,
        "one after the other they take 32 s"
    );
}

#[test]
fn json_says_the_same_of_every_package() {
    let place = Place::new();
    package(&place, "p", &[("good", &[])]);
    package(&place, "q", &[("good", &[]), ("dead", &["--probe=exit:3"])]);
    let checked = run(&place, &["check", "p", "q", "--allow-stdio", "--json"]);
    assert_eq!(checked.status, Some(1), "{checked:?}");
    let document: Value = serde_json::from_str(&checked.stdout).expect("JSON");
    let servers = document["servers"].as_array().expect("a list");
    assert_eq!(servers.len(), 3);
    assert_eq!(servers[0]["package"], "p");
    assert_eq!(servers[0]["state"], "ok");
    assert_eq!(servers[0]["tools"], 14);
    assert_eq!(
        servers[0]["server"],
        json!({"name": "probe", "version": env!("CARGO_PKG_VERSION")})
    );
    assert_eq!(servers[2]["package"], "q");
    assert_eq!(servers[2]["step"], "initialize");
    assert_eq!(servers[2]["stderr"], json!(["the probe was told to exit"]));
    let checked = run(&place, &["check", "p", "q", "--allow-stdio"]);
    assert!(
        checked.stdout.starts_with("ok      p/good: "),
        "{checked:?}"
    );
}

#[test]
fn what_is_off_fails_only_in_a_strict_check() {
    let place = Place::new();
    package(&place, "p", &[("good", &[])]);
    let checked = run(&place, &["check", "p"]);
    assert_eq!(checked.status, Some(0), "{checked:?}");
    assert!(
        checked
            .stdout
            .starts_with("off     good: disabled by policy: "),
        "{checked:?}"
    );
    assert_eq!(run(&place, &["check", "p", "--strict"]).status, Some(1));
    assert_eq!(run(&place, &["check", "none"]).status, Some(2));
}

#[test]
fn a_package_that_loads_nothing_fails_and_one_without_servers_says_so() {
    let place = Place::new();
    place.write("rejected/plugin.json", r#"{"name": "rejected"}"#);
    place.write("rejected/mcp.json", mcp("{}"));
    place.write("cut/plugin.json", manifest("cut", ""));
    place.write("cut/mcp.json", "{\"$schema\"");
    place.write("empty/README.md", "");
    place.write("nomcp/plugin.json", manifest("nomcp", ""));
    for (name, code) in [
        ("rejected", "manifest::schema-missing"),
        ("cut", "mcp::"),
        ("empty", "manifest::"),
    ] {
        let path = format!("{name}/");
        let label = if name == "empty" { &path } else { name };
        let checked = run(&place, &["check", &path]);
        assert_eq!(checked.status, Some(1), "{checked:?}");
        let line = format!("failed  {label}: {code}");
        assert!(checked.stdout.starts_with(&line), "{checked:?}");
        let checked = run(&place, &["check", &path, "--json"]);
        let document: Value = serde_json::from_str(&checked.stdout).expect("JSON");
        let found = &document["packages"][0]["disabled"][0]["code"];
        assert!(found.as_str().expect("a code").starts_with(code), "{found}");
        let listed = run(&place, &["tools", &path]);
        assert_eq!(listed.status, Some(1), "{listed:?}");
        let line = format!("failed  {label}: {code}");
        assert!(listed.stdout.starts_with(&line), "{listed:?}");
        let called = run(&place, &["call", &path, "x", "y"]);
        assert_eq!(called.status, Some(2), "{called:?}");
        let line = "error: failed to find the server x: the package loads no servers: ";
        assert!(called.stderr.starts_with(line), "{called:?}");
    }
    let checked = run(&place, &["check", "nomcp"]);
    assert_eq!(
        (checked.status, &*checked.stdout),
        (Some(0), "nomcp: no servers\n")
    );
    let listed = run(&place, &["tools", "nomcp"]);
    assert_eq!(
        (listed.status, &*listed.stdout),
        (Some(0), "nomcp: no servers\n")
    );
}

#[test]
fn a_server_that_cannot_work_here_fails_without_strict() {
    let place = Place::new();
    let entries = json!({
        "gone": {"type": "stdio", "command": "no-such-program"},
        "odd": {"type": "stdio", "command": "a/b"},
        "keyed": {"type": "stdio", "command": "probe"},
        "good": {"type": "stdio", "command": "probe"},
    });
    package_of(&place, "p", &entries);
    let credential = "keyed:KEY=env:NOT_SET_ANYWHERE";
    let arguments = ["check", "p", "--allow-stdio", "--credential", credential];
    let checked = run(&place, &arguments);
    assert_eq!(checked.status, Some(1), "{checked:?}");
    let starts = [
        "failed  gone: unavailable: there is no program no-such-program",
        "ok      good: probe",
        "failed  keyed: unavailable: the credential KEY: ",
        "failed  odd: invalid: ",
    ];
    let mut lines: Vec<&str> = checked.stdout.lines().collect();
    lines.sort_by_key(|line| line.split_at(8).1);
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
    let checked = run(&place, &["check", "p", "--json"]);
    let document: Value = serde_json::from_str(&checked.stdout).expect("JSON");
    let servers = document["servers"].as_array().expect("a list");
    let of = |name: &str| {
        servers
            .iter()
            .find(|server| server["name"] == name)
            .expect("it")
    };
    assert_eq!(
        (&of("odd")["state"], &of("odd")["plan"]),
        (&json!("failed"), &json!("invalid"))
    );
    assert_eq!(
        (&of("good")["state"], &of("good")["plan"]),
        (&json!("off"), &json!("disabled"))
    );
    assert_eq!(of("good")["transport"], "stdio");
    let root = place.path().join("p").canonicalize().expect("a directory");
    assert_eq!(of("good")["path"], json!(root));

    let one = run(&place, &["check", "p", "--allow-stdio", "--server", "good"]);
    assert_eq!(one.status, Some(0), "{one:?}");
    assert_eq!(one.stdout.lines().count(), 1, "{one:?}");
    let one = run(&place, &["check", "p", "--server", "goood"]);
    assert_eq!(one.status, Some(2));
    assert_eq!(
        one.stderr,
        "error: failed to find the server goood: did you mean good?\n"
    );
}

#[test]
fn what_a_server_prints_beside_its_messages_is_named() {
    let place = Place::new();
    let servers: &[(&str, &[&str])] = &[
        ("banner", &["--probe=garbage:1"]),
        ("mute", &["--probe=garbage:2", "--probe=no-initialize"]),
    ];
    package(&place, "p", servers);
    let checked = run(&place, &["check", "p", "--allow-stdio", "--timeout", "3"]);
    assert_eq!(checked.status, Some(1), "{checked:?}");
    let lines: Vec<&str> = checked.stdout.lines().collect();
    assert!(lines[0].starts_with("ok      banner: probe"), "{lines:?}");
    assert_eq!(
        lines[1],
        "        warning: it wrote a line to standard output that is no JSON-RPC message: `garbage 0`; logs belong on standard error"
    );
    assert_eq!(
        lines[2],
        "failed  mute: failed to initialize: no answer within 3 s; it wrote 2 lines to standard output that are no JSON-RPC messages, the first: `garbage 0`; logs belong on standard error; --timeout gives it more time"
    );
    let called = run(&place, &["call", "p", "banner", "echo", "--allow-stdio"]);
    assert!(
        called
            .stderr
            .starts_with("note: server `banner`: it wrote a line to standard output"),
        "{called:?}"
    );
}

#[test]
fn packages_of_one_name_are_told_apart_by_their_source() {
    let place = Place::new();
    package(&place, "p", &[("good", &[])]);
    for file in ["plugin.json", "mcp.json"] {
        let text = std::fs::read_to_string(place.path().join("p").join(file)).expect("it");
        place.write(&format!("copy/{file}"), text);
    }
    let checked = run(&place, &["check", "p", "./copy", "--allow-stdio"]);
    let lines: Vec<&str> = checked.stdout.lines().collect();
    assert!(lines[0].starts_with("ok      p/good: "), "{checked:?}");
    assert!(lines[1].starts_with("ok      ./copy/good: "), "{checked:?}");
}

#[test]
fn servers_over_http_are_opened_by_their_type() {
    let server = over_http(false);
    let place = Place::new();
    let gone = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let nobody = format!("http://{}/mcp", gone.local_addr().expect("an address"));
    drop(gone);
    let entries = json!({
        "there": {"type": "streamable-http", "url": server.url("/mcp")},
        "gone": {"type": "streamable-http", "url": nobody},
    });
    package_of(&place, "p", &entries);
    let checked = run(&place, &["check", "p"]);
    let lines: Vec<&str> = checked.stdout.lines().collect();
    assert!(
        lines[1].starts_with("ok      there: far 2, MCP 2025-11-25, 1 tool, "),
        "{checked:?}"
    );
    assert!(
        lines[0].contains("the connection was refused"),
        "{checked:?}"
    );
    assert_eq!(checked.status, Some(1));
}

#[test]
fn a_list_without_an_end_costs_its_own_server() {
    let place = Place::new();
    let servers: &[(&str, &[&str])] = &[("endless", &["--probe=endless:300"]), ("good", &[])];
    package(&place, "p", servers);
    let started = Instant::now();
    let checked = run(&place, &["check", "p", "--allow-stdio", "--timeout", "1"]);
    assert!(started.elapsed() < LONG);
    assert_eq!(checked.status, Some(1), "{checked:?}");
    let lines: Vec<&str> = checked.stdout.lines().collect();
    assert_eq!(
        lines[0],
        "failed  endless: failed to list its tools: no whole list within 1 s; --timeout gives it more time"
    );
    assert!(lines[1].starts_with("ok      good: "), "{checked:?}");
}

#[test]
fn a_package_by_two_names_is_checked_once() {
    let place = Place::new();
    package(&place, "p", &[("good", &[])]);
    let checked = run(&place, &["check", "p", "./p/plugin.json", "--allow-stdio"]);
    assert_eq!(checked.stdout.lines().count(), 1, "{checked:?}");
}

#[test]
fn a_server_that_refuses_to_begin_costs_no_time() {
    let server = Server::new(|asked| {
        let asked: Value = serde_json::from_slice(&asked.body).expect("JSON");
        Reply::json(
            200,
            &json!({
                "jsonrpc": "2.0",
                "id": asked["id"],
                "error": {"code": -32000, "message": "not today"},
            }),
        )
    });
    let place = Place::new();
    let entry = json!({"s": {"type": "streamable-http", "url": server.url("/mcp")}});
    package_of(&place, "p", &entry);
    let started = Instant::now();
    let checked = run(&place, &["check", "p"]);
    // Ending took as long as a transport may need for it: ten seconds.
    assert!(started.elapsed() < Duration::from_secs(8), "{checked:?}");
    assert_eq!(checked.status, Some(1));
    assert!(checked.stdout.contains("not today"), "{checked:?}");
}

#[test]
fn an_address_in_a_refusal_can_be_copied() {
    let place = Place::new();
    let entry = json!({"far": {"type": "streamable-http", "url": "https://[::ffff:10.0.0.1]/mcp"}});
    package_of(&place, "p", &entry);
    let checked = run(&place, &["check", "p"]);
    let said = "[::ffff:10.0.0.1] is a private address; no connection is made there unless your apkit.toml has `[remote] private = [\"::ffff:10.0.0.1\"]`";
    assert!(checked.stdout.contains(said), "{checked:?}");
}
