//! How it ends, and what is left then: nothing.

#[cfg(unix)]
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::mcp_support::{Host, LONG, package};
use crate::probe::{runs, soon};
use crate::support::Place;

/// A host of two servers that do not want to end, and their process ids.
fn stubborn(place: &Place) -> (Host, Vec<u32>) {
    let args: &[&str] = &["--probe=ignore-eof", "--probe=ignore-term"];
    package(place, "p", &[("one", args), ("two", args)]);
    let mut host = Host::start(place, &["p"]);
    let mut ids = vec![host.process("one"), host.process("two")];
    let child = host.text("mcp__one__stubborn", json!({"how": "orphan"}));
    ids.push(child.parse().expect("a process id"));
    assert!(ids.iter().all(|id| runs(*id)));
    (host, ids)
}

fn are_gone(ids: &[u32], within: Duration) -> bool {
    soon(within, || !ids.iter().any(|id| runs(*id)))
}

#[test]
fn the_end_of_the_input_ends_it_and_the_servers() {
    let place = Place::new();
    let (mut host, ids) = stubborn(&place);
    assert_eq!(host.end(), (Some(0), String::new()));
    assert!(are_gone(&ids, Duration::ZERO), "before it ends");
}

#[test]
fn answers_on_their_way_are_waited_for() {
    let place = Place::new();
    package(&place, "p", &[("probe", &[])]);
    let mut host = Host::start(&place, &["p"]);
    let call = json!({"name": "mcp__probe__sleep", "arguments": {"ms": 200}});
    let id = host.request("tools/call", call);
    host.end();
    let answer = host.next();
    assert_eq!(answer["id"], id);
    assert_eq!(answer["result"]["content"][0]["text"], "slept");
}

#[test]
fn what_was_piped_in_is_answered_in_order_though_the_input_ended() {
    for seconds in ["20", "1"] {
        let place = Place::new();
        // It takes longer than the host waits for it.
        package(&place, "p", &[("probe", &["--probe=slow:1500"])]);
        let mut command = crate::mcp_support::apkit(&place);
        command.args(["serve", "p", "--allow-stdio", "--wait", "8"]);
        let mut host = Host::spawn(command.args(["--timeout", seconds]));
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
        host.request("initialize", params);
        host.request("tools/list", json!({}));
        host.request("resources/list", json!({}));
        host.request(
            "tools/call",
            json!({"name": "mcp__probe__echo", "arguments": {"text": "x"}}),
        );
        host.end();
        assert_eq!(host.next()["id"], 1, "initialize is answered first");
        let mut rest = [host.next(), host.next(), host.next()];
        rest.sort_by_key(|answer| answer["id"].as_u64());
        let [list, resources, call] = rest;
        assert_eq!(resources["error"]["code"], -32601);
        if seconds == "20" {
            assert!(
                list["result"]["tools"]
                    .as_array()
                    .is_some_and(|all| all.len() > 9)
            );
            assert_eq!(call["result"]["content"][0]["text"], "x");
        } else {
            assert_eq!(list["result"]["tools"], json!([]));
            // Opening the server and the end of the input have the same second.
            let code = call["error"]["code"].as_i64();
            assert!(matches!(code, Some(-32602 | -32603)), "{call}");
        }
    }
}

#[test]
fn a_call_without_an_answer_ends_in_an_error_when_the_input_ended() {
    let place = Place::new();
    package(&place, "p", &[("probe", &[])]);
    let mut host = Host::start(&place, &["p", "--timeout", "1"]);
    host.process("probe");
    let id = host.request("tools/call", json!({"name": "mcp__probe__silent"}));
    let ended = Instant::now();
    host.end();
    let took = ended.elapsed();
    // Hosts wait longer than that for servers at the start.
    assert!(took < Duration::from_secs(4), "{took:?}");
    let answer = host.next();
    assert_eq!(answer["id"], id);
    let text = "the input ended, and there was no answer within 1 s";
    assert_eq!(answer["error"]["message"], text);
}

#[cfg(unix)]
#[test]
fn signals_end_it_and_the_servers() {
    for signal in ["-TERM", "-INT"] {
        let place = Place::new();
        let (mut host, ids) = stubborn(&place);
        let id = host.child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.expect("kill runs").success());
        assert_eq!(host.ended(), (Some(0), String::new()));
        assert!(are_gone(&ids, Duration::ZERO), "before it ends");
    }
}

#[test]
fn a_host_that_reads_no_more_ends_it() {
    let place = Place::new();
    package(&place, "p", &[("probe", &[])]);
    let mut command = crate::mcp_support::apkit(&place);
    command.args(["serve", "--allow-stdio", "p"]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let mut input = child.stdin.take().expect("a pipe");
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    std::io::Write::write_all(&mut input, format!("{ping}\n").as_bytes()).expect("it reads");
    assert!(soon(LONG, || child.try_wait().expect("a state").is_some()));
    drop(input);
}

#[cfg(unix)]
#[test]
fn nothing_runs_two_seconds_after_it_is_killed() {
    let place = Place::new();
    let (mut host, ids) = stubborn(&place);
    host.child.kill().expect("it runs");
    host.child.wait().expect("it ends");
    assert!(are_gone(&ids, Duration::from_secs(2)), "{ids:?}");
}

/// A host of a server that does not want to end and has stopped its guard, and both.
#[cfg(target_os = "linux")]
fn with_stopped_guard(place: &Place) -> (Host, Vec<u32>) {
    let args: &[&str] = &[
        "--probe=ignore-eof",
        "--probe=ignore-term",
        "--probe=tools:stop_guard",
    ];
    package(place, "p", &[("one", args)]);
    let mut host = Host::start(place, &["p", "--wait", "20"]);
    let server = host.process("one");
    let guard = host.text("mcp__one__stop_guard", json!({}));
    (host, vec![server, guard.parse().expect("a process id")])
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_that_stops_its_guard_ends_all_the_same() {
    for how in ["eof", "-TERM", "-KILL"] {
        let place = Place::new();
        let (mut host, ids) = with_stopped_guard(&place);
        if how == "eof" {
            assert_eq!(host.end().0, Some(0));
        } else {
            let id = host.child.id().to_string();
            let sent = Command::new("kill").args([how, &id]).status();
            assert!(sent.expect("kill runs").success());
            host.ended();
        }
        let patience = match how {
            "-KILL" => Duration::from_secs(2),
            _ => Duration::ZERO,
        };
        assert!(are_gone(&ids, patience), "{how} {ids:?}");
    }
}
