//! Which tools are offered, and by which names.

use std::time::Duration;

use serde_json::json;

use crate::mcp_support::{Host, apkit, over_http, package, package_of, run};
use crate::support::Place;

#[test]
fn tools_of_all_packages_are_offered_and_called() {
    let server = over_http(false);
    let place = Place::new();
    package(&place, "p", &[("probe", &["--probe=pages:4"])]);
    let entry = json!({"far": {"type": "streamable-http", "url": server.url("/mcp")}});
    package_of(&place, "q", &entry);
    let mut host = Host::spawn(apkit(&place).args(["serve", "--allow-stdio", "p", "q"]));
    let facts = host.greet();
    assert_eq!(facts["serverInfo"]["name"], "apkit");
    assert_eq!(facts["protocolVersion"], "2025-11-25");
    assert_eq!(
        facts["instructions"],
        "## probe\n\nCall report to see what the probe was given."
    );
    let names = host.names();
    assert_eq!(names.len(), 15);
    assert_eq!(names[14], "mcp__far__tide");
    assert_eq!(host.text("mcp__probe__echo", json!({"text": "hi"})), "hi");
    let answer = host.call("mcp__far__tide", json!({}));
    assert_eq!(answer["result"]["content"][0]["type"], "hologram");
    assert_eq!(host.end(), (Some(0), String::new()));
}

#[test]
fn a_package_that_is_not_there_costs_no_other() {
    let place = Place::new();
    package(&place, "p", &[("probe", &[])]);
    let mut host = Host::start(&place, &["none-such", "p", "--wait", "20"]);
    assert!(host.names().contains(&"mcp__probe__echo".to_owned()));
    let (status, errors) = host.end();
    assert_eq!(status, Some(0));
    assert!(
        errors.starts_with("error: failed to find none-such"),
        "{errors}"
    );
    let none = run(&place, &["serve", "none-such", "nor-this"]);
    assert_eq!(none.status, Some(2), "{none:?}");
}

#[test]
fn packages_of_one_name_are_both_offered() {
    let place = Place::new();
    package(&place, "p", &[("probe", &[])]);
    for file in ["plugin.json", "mcp.json"] {
        let text = std::fs::read_to_string(place.path().join("p").join(file)).expect("it");
        place.write(&format!("copy/{file}"), text);
    }
    let mut host = Host::start(&place, &["p", "copy", "--wait", "20"]);
    let names = host.names();
    for name in ["mcp__p_probe__echo", "mcp__copy_probe__echo"] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
    assert_eq!(host.end(), (Some(0), String::new()));
    let mut command = apkit(&place);
    let mut host = Host::spawn(command.args(["serve", "p", "copy"]));
    host.greet();
    let errors = host.end().1;
    let off = "apkit: server `probe` of copy is not offered: disabled by policy: programs are not allowed\n";
    assert!(errors.contains(off), "{errors}");
}

#[test]
fn an_entry_that_fits_no_tool_is_named() {
    let place = Place::new();
    package(&place, "p", &[("probe", &[])]);
    let list = "mcp__probe__echo mcp__probe__ecko mcp__prob";
    let mut host = Host::start(&place, &["p", "--wait", "20", "--allowed-tools", list]);
    assert_eq!(host.names(), ["mcp__probe__echo"]);
    let (status, errors) = host.end();
    assert_eq!(status, Some(0));
    assert_eq!(
        errors,
        "apkit: --allowed-tools: mcp__probe__ecko fits no tool\napkit: --allowed-tools: mcp__prob fits no tool\n"
    );
}

#[test]
fn programs_are_not_offered_until_they_are_allowed() {
    let place = Place::new();
    package(&place, "p", &[("probe", &[])]);
    let mut host = Host::spawn(apkit(&place).args(["serve", "p"]));
    host.greet();
    assert!(host.names().is_empty());
    let (status, errors) = host.end();
    assert_eq!(status, Some(0));
    let start = "apkit: server `probe` is not offered: disabled by policy: programs are not allowed\nnote: allow programs once: --allow-stdio";
    assert!(errors.starts_with(start), "{errors}");
}

#[test]
fn a_host_waits_as_long_as_is_right_for_it() {
    let place = Place::new();
    package(&place, "p", &[("late", &["--probe=slow:2500"])]);
    for (name, given, waits) in [
        ("tests", None, true),
        ("claude-code", None, false),
        ("claude-code", Some("9"), true),
        ("tests", Some("1"), false),
    ] {
        let mut command = apkit(&place);
        command.args(["serve", "p", "--allow-stdio"]);
        command.args(given.map(|wait| ["--wait", wait]).into_iter().flatten());
        let mut host = Host::spawn(&mut command);
        host.greet_as(name);
        assert_eq!(!host.names().is_empty(), waits, "{name} {given:?}");
    }
}

#[test]
fn servers_of_one_name_are_told_apart_by_their_packages() {
    let place = Place::new();
    package(&place, "p", &[("api", &[]), ("one", &[])]);
    package(&place, "q", &[("api", &[])]);
    let mut host = Host::start(
        &place,
        &[
            "p",
            "q",
            "p",
            "--allowed-tools",
            "mcp__api__echo",
            "--allowed-tools",
            "mcp__one__e*",
        ],
    );
    assert_eq!(
        host.names(),
        [
            "mcp__p_api__echo",
            "mcp__one__echo",
            "mcp__one__error",
            "mcp__q_api__echo"
        ]
    );
    assert_eq!(host.text("mcp__q_api__echo", json!({"text": "q"})), "q");
    assert_eq!(host.end(), (Some(0), String::new()));
}

#[test]
fn only_allowed_tools_are_offered_and_called() {
    let place = Place::new();
    package(&place, "p", &[("api", &[]), ("files", &[])]);
    let allowed = "mcp__api__e* mcp__files__report Bash(git *) Read mcp__api__fail(x)";
    let mut host = Host::start(&place, &["p", "--allowed-tools", allowed]);
    assert_eq!(
        host.names(),
        ["mcp__api__echo", "mcp__api__error", "mcp__files__report"]
    );
    let answer = host.call("mcp__files__echo", json!({}));
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(answer["error"]["message"], "Unknown tool: mcp__files__echo");
    let (_, errors) = host.end();
    assert_eq!(
        errors,
        "apkit: --allowed-tools: Bash(git *) is passed over: it names no tool of an MCP server\n\
         apkit: --allowed-tools: Read is passed over: it names no tool of an MCP server\n\
         apkit: --allowed-tools: mcp__api__fail(x) is passed over: limits on arguments cannot be kept here\n"
    );
    let refused = run(
        &place,
        &["serve", "p", "--allowed-tools", "mcp__a__b, mcp__a__c"],
    );
    assert_eq!(refused.status, Some(2));
    assert_eq!(
        refused.stderr,
        "error: failed to read --allowed-tools: spaces separate the tools, not commas\n"
    );
}

#[test]
fn names_hold_what_hosts_take_and_tell_servers_apart() {
    let place = Place::new();
    let long = "l".repeat(80);
    package(&place, "p", &[("a.b", &[]), ("a_b", &[]), (&long, &[])]);
    let mut host = Host::start(&place, &["p"]);
    let names = host.names();
    assert_eq!(names.len(), 42, "{names:?}");
    assert!(names.iter().all(|name| {
        name.len() <= 64
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    }));
    let long = names
        .iter()
        .find(|name| name.starts_with("mcp__lll"))
        .expect("one");
    assert_eq!(long.len(), 64);
    let second: Vec<_> = names
        .iter()
        .filter(|name| name.starts_with("mcp__a_b_") && name.ends_with("__echo"))
        .collect();
    assert_eq!(second[0], "mcp__a_b__echo");
    assert_eq!(second[1].len(), "mcp__a_b_01234567__echo".len());
    assert_eq!(host.text(second[1], json!({"text": "hi"})), "hi");
    assert_eq!(host.end(), (Some(0), String::new()));
    // The same names are those of `tools`, which `call` takes.
    let listed = run(&place, &["tools", "p", "--allow-stdio"]);
    assert!(listed.stdout.contains(second[1]), "{listed:?}");
    let called = run(&place, &["call", "p", "a_b", second[1], "--allow-stdio"]);
    assert_eq!(called.status, Some(0), "{called:?}");
}

#[test]
fn no_server_answers_for_one_that_is_not_up_yet() {
    let place = Place::new();
    let late = "--probe=slow:3000";
    package(
        &place,
        "p",
        &[("my api", &[late]), ("my", &[late]), ("my__own", &[late])],
    );
    package(&place, "q", &[("my_api", &[])]);
    package(&place, "r", &[("my_", &[]), ("p_my_api", &[])]);
    let list = "mcp__my_api__echo mcp__my__*";
    let mut command = apkit(&place);
    command.args(["serve", "p", "q", "r", "--allow-stdio", "--wait", "1"]);
    let mut host = Host::spawn(command.args(["--allowed-tools", list]));
    host.greet();
    assert_eq!(host.names(), ["mcp__q_my_api__echo"]);
    assert_eq!(
        host.call("mcp__my_api__echo", json!({}))["error"]["code"],
        -32602
    );
    let first = "mcp__p_my_api__echo".to_owned();
    assert!(crate::probe::soon(crate::mcp_support::LONG, || host
        .names()
        .contains(&first)));
    let (_, errors) = host.end();
    assert!(!errors.contains("failed"), "{errors}");
}

#[test]
fn a_name_below_another_servers_is_for_that_one_alone() {
    let place = Place::new();
    package(&place, "p", &[("a", &["--probe=tools:b__echo,b_"])]);
    package(&place, "q", &[("a__b", &["--probe=slow:1500"])]);
    let mut host = Host::start(&place, &["p", "q", "--wait", "0"]);
    let mut names = Vec::new();
    let first = "mcp__a__echo".to_owned();
    assert!(crate::probe::soon(crate::mcp_support::LONG, || {
        names = host.names();
        names.contains(&first)
    }));
    assert!(names.contains(&"mcp__a__b_".to_owned()), "{names:?}");
    assert!(
        !names.iter().any(|name| name.starts_with("mcp__a__b__")),
        "{names:?}"
    );
    let errors = host.end().1;
    assert_eq!(
        errors,
        "apkit: tool `b__echo` of server `a` is not offered: names that begin with mcp__a__b__ are those of server `a__b`\n"
    );
    let listed = run(&place, &["tools", "p", "q", "--allow-stdio"]);
    let hidden = "not offered: its name is one of server `a__b`";
    assert!(listed.stdout.contains(hidden), "{listed:?}");
}

#[test]
fn tools_that_come_later_are_announced() {
    let place = Place::new();
    package(&place, "p", &[("probe", &[])]);
    let mut host = Host::start(&place, &["p"]);
    assert_eq!(host.names().len(), 14);
    let arguments = json!({"name": "mcp__probe__change_tools", "arguments": {"name": "later"}});
    let (_, before) = host.ask_all("tools/call", arguments);
    let announced = match before.first() {
        Some(message) => message.clone(),
        None => host.next(),
    };
    assert_eq!(
        announced,
        json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    );
    let names = host.names();
    assert_eq!(names.len(), 15);
    assert_eq!(host.text("mcp__probe__later", json!({})), "later");
    assert!(
        host.is_silent(Duration::from_millis(300)),
        "one notice is enough"
    );
}

#[test]
fn what_is_allowed_of_one_server_is_not_of_another_whose_name_goes_on() {
    let place = Place::new();
    package(&place, "good", &[("api", &[])]);
    package(&place, "other", &[("api__x", &[])]);
    for allowed in ["mcp__api", "mcp__api__*"] {
        let mut host = Host::start(&place, &["good", "other", "--allowed-tools", allowed]);
        let names = host.names();
        assert_eq!(names.len(), 14, "{names:?}");
        let is_good = |name: &String| name.starts_with("mcp__api__") && !name.contains("__x__");
        assert!(names.iter().all(is_good), "{names:?}");
        let called = host.call("mcp__api__x__echo", json!({"text": "hi"}));
        assert_eq!(called["error"]["code"], -32602, "{called}");
    }
}
