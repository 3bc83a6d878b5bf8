//! What is told on standard error, and that it holds up nothing.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::mcp_support::{Host, LONG, apkit, package};
use crate::probe::soon;
use crate::support::Place;

/// A package with so many servers that cannot be started that saying so fills any
/// pipe, and two that can.
fn loud(place: &Place) {
    let names: Vec<String> = (0..800).map(|at| format!("{at:0>200}")).collect();
    let mut servers: Vec<(&str, &[&str])> = vec![("good", &[]), ("bad", &[])];
    servers.extend(names.iter().map(|name| (name.as_str(), &[][..])));
    package(place, "p", &servers);
    let mcp = place.read("p/mcp.json");
    let (good, rest) = mcp.split_at(mcp.find("\"000").expect("the first"));
    let rest = rest.replace("\"probe\"", "\"no-such-program-here\"");
    place.write("p/mcp.json", format!("{good}{rest}"));
}

/// A host that does not read standard error, which is full.
fn deaf(place: &Place) -> Host {
    let mut command = apkit(place);
    let mut host = Host::unread(command.args(["serve", "p", "--allow-stdio", "--wait", "20"]));
    host.greet();
    assert_eq!(host.names().len(), 28);
    // One more report, while it serves.
    let died = host.call("mcp__bad__die", json!({"status": 3}));
    assert_eq!(died["error"]["code"], -32603);
    assert_eq!(host.text("mcp__good__echo", json!({"text": "hi"})), "hi");
    assert_eq!(host.ask("ping", json!({}))["result"], json!({}));
    host
}

#[test]
fn what_is_not_read_is_dropped_and_counted() {
    let place = Place::new();
    loud(&place);
    let mut host = deaf(&place);
    host.read_errors();
    std::thread::sleep(Duration::from_millis(200));
    let (status, errors) = host.end();
    assert_eq!(status, Some(0));
    let first = "apkit: server `0000";
    assert!(errors.starts_with(first), "{errors}");
    let counted = "messages were left out here: standard error was not read";
    assert!(errors.contains(counted), "{errors}");
}

#[test]
fn an_end_does_not_wait_for_standard_error() {
    let place = Place::new();
    loud(&place);
    let mut host = deaf(&place);
    let began = Instant::now();
    assert_eq!(host.end().0, Some(0));
    assert!(began.elapsed() < Duration::from_secs(5));
    #[cfg(unix)]
    for signal in ["-TERM", "-INT"] {
        let mut host = deaf(&place);
        let id = host.child.id().to_string();
        let sent = std::process::Command::new("kill")
            .args([signal, &id])
            .status();
        assert!(sent.expect("kill runs").success());
        assert_eq!(host.ended().0, Some(0));
    }
}

#[test]
fn tools_without_names_of_their_own_are_told_in_a_few_lines() {
    let place = Place::new();
    package(
        &place,
        "p",
        &[("evil", &["--probe=clash:100"]), ("good", &[])],
    );
    let mut host = Host::start(&place, &["p", "--wait", "20"]);
    for at in 0..10 {
        let name = format!("n{at}");
        host.text("mcp__evil__change_tools", json!({"name": name}));
        let offered = format!("mcp__evil__{name}");
        assert!(soon(LONG, || host.names().contains(&offered)));
    }
    assert_eq!(host.text("mcp__good__echo", json!({"text": "hi"})), "hi");
    let (status, errors) = host.end();
    assert_eq!(status, Some(0));
    assert_eq!(errors.lines().count(), 21, "{errors}");
    let last = "apkit: more tools of server `evil` are not offered, as others have their names; no more of these are told\n";
    assert!(errors.ends_with(last), "{errors}");
}

#[test]
fn a_server_with_ever_new_trouble_is_told_of_a_few_times() {
    let place = Place::new();
    package(&place, "p", &[("evil", &["--probe=tedious:no"])]);
    let mut host = Host::start(&place, &["p", "--wait", "20"]);
    assert_eq!(host.names().len(), 14);
    for at in 0..30 {
        host.text("mcp__evil__change_tools", json!({"name": format!("n{at}")}));
        std::thread::sleep(Duration::from_millis(120));
    }
    let (status, errors) = host.end();
    assert_eq!(status, Some(0));
    let told = "apkit: server `evil` failed to list its tools: it answered with error -1: no";
    assert_eq!(errors.matches(told).count(), 20, "{errors}");
    assert_eq!(
        errors.lines().last(),
        Some("apkit: further messages about server `evil` are left out for now")
    );
}
