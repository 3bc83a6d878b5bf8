//! Servers over HTTP that leave requests unanswered.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp_support::{Host, apkit, package_of, run};
use crate::support::Place;
use crate::web::{Asked, Delivery, Reply, Server};

/// A server with sessions whose answer to DELETE never comes, and calls of which every
/// one but those of `fast` are never answered.
fn forgetful() -> Server {
    Server::new(|asked: &Asked| {
        let message: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
            }),
            Some("tools/list") => json!({"tools": [{"name": "fast"}, {"name": "never"}]}),
            Some("tools/call") if message["params"]["name"] == "fast" => {
                json!({"content": [{"type": "text", "text": "done"}]})
            }
            Some("tools/call") => {
                let reply = Reply::new(200, "{ }").header("content-type", "application/json");
                return reply.delivery(Delivery::StallAfter(1));
            }
            _ if asked.method == "DELETE" => {
                std::thread::sleep(Duration::from_secs(6));
                return Reply::new(200, "");
            }
            _ if asked.method == "GET" => return Reply::new(405, ""),
            _ => return Reply::new(202, ""),
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        Reply::json(200, &answer).header("mcp-session-id", "one")
    })
}

#[test]
fn the_end_of_a_session_is_not_waited_for_long() {
    let server = forgetful();
    let place = Place::new();
    let entry = json!({"far": {"type": "streamable-http", "url": server.url("/mcp")}});
    package_of(&place, "p", &entry);
    let began = Instant::now();
    let called = run(&place, &["call", "p", "far", "fast"]);
    assert_eq!(called.stdout, "done\n", "{called:?}");
    assert!(began.elapsed() < Duration::from_secs(4));
    let asked = server.asked();
    assert!(asked.iter().any(|asked| asked.method == "DELETE"));
}

#[test]
fn calls_that_a_server_over_http_never_answers_hold_up_no_other() {
    let server = forgetful();
    let place = Place::new();
    let entry = json!({"far": {"type": "streamable-http", "url": server.url("/mcp")}});
    package_of(&place, "p", &entry);
    let mut host = Host::spawn(apkit(&place).args(["serve", "p", "--timeout", "1"]));
    host.greet();
    for _ in 0..40 {
        host.request("tools/call", json!({"name": "mcp__far__never"}));
    }
    assert_eq!(host.text("mcp__far__fast", json!({})), "done");
}

#[cfg(unix)]
#[test]
fn an_interrupt_does_not_wait_for_a_server_that_does_not_greet() {
    use std::process::{Command, Stdio};

    // No answer at all, or one that never says anything.
    for stalls in [Delivery::StallAfter(0), Delivery::StallAfter(1)] {
        for kind in ["text/event-stream", "application/json"] {
            let server = Server::new(move |_: &Asked| {
                let reply = Reply::new(200, ": \n\n").header("content-type", kind);
                reply.delivery(stalls)
            });
            let place = Place::new();
            let entry = json!({"far": {"type": "streamable-http", "url": server.url("/mcp")}});
            package_of(&place, "p", &entry);
            let mut command = apkit(&place);
            command
                .args(["check", "p", "--timeout", "60"])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            let child = command.spawn().expect("it starts");
            let began = Instant::now();
            while server.asked().is_empty() {
                assert!(began.elapsed() < Duration::from_secs(20), "it is asked");
                std::thread::sleep(Duration::from_millis(10));
            }
            let asked = Instant::now();
            let kill = Command::new("kill")
                .args(["-s", "INT", &child.id().to_string()])
                .status();
            assert!(kill.expect("kill runs").success());
            let ended = child.wait_with_output().expect("it ends");
            assert_eq!(ended.status.code(), Some(130), "{ended:?}");
            assert!(
                asked.elapsed() < Duration::from_secs(5),
                "{kind}: {:?}",
                asked.elapsed()
            );
        }
    }
}
