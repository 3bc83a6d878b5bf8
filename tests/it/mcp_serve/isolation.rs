//! A server that misbehaves costs its own tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::mcp_support::{Host, LONG, far_answer, package, package_of};
use crate::support::Place;
use crate::web::{Asked, Reply, Server};

#[test]
fn bad_servers_cost_their_own_tools_alone() {
    let place = Place::new();
    let servers: &[(&str, &[&str])] = &[
        ("never", &["--probe=no-initialize"]),
        ("deaf", &["--probe=deaf"]),
        ("dead", &["--probe=exit:3"]),
        ("babble", &["--probe=garbage:2000"]),
        ("endless", &["--probe=line:20000000"]),
        ("good", &[]),
    ];
    package(&place, "p", servers);
    let started = Instant::now();
    let mut host = Host::start(&place, &["p", "--wait", "2", "--timeout", "10"]);
    assert!(started.elapsed() < LONG);
    assert_eq!(host.names().len(), 14);
    assert_eq!(host.text("mcp__good__echo", json!({"text": "hi"})), "hi");
    let (status, errors) = host.end();
    assert_eq!(status, Some(0));
    for reason in [
        "server `dead` failed to initialize: it exited with status 3\n  | the probe was told to exit\n",
        "server `babble` failed to initialize: it wrote 1001 lines in a row",
        "server `endless` failed to initialize: it wrote a line of more than 16777216 bytes",
    ] {
        assert!(errors.contains(reason), "{errors}");
    }
}

#[test]
fn what_is_no_message_is_told_while_the_server_serves() {
    let place = Place::new();
    let servers: &[(&str, &[&str])] = &[("early", &["--probe=garbage:2"]), ("late", &[])];
    package(&place, "p", servers);
    let mut host = Host::start(&place, &["p", "--wait", "20"]);
    assert_eq!(
        host.text("mcp__late__garbage", json!({"lines": 1})),
        "written"
    );
    // It looks for more from time to time.
    thread::sleep(Duration::from_secs(4));
    let (status, errors) = host.end();
    assert_eq!(status, Some(0));
    for told in [
        "server `early`: it wrote 2 lines to standard output that are no JSON-RPC messages",
        "server `late`: it wrote a line to standard output that is no JSON-RPC message",
    ] {
        assert_eq!(errors.matches(told).count(), 1, "{errors}");
    }
}

#[test]
fn a_remote_server_that_is_not_there_at_the_start_comes_later() {
    let is_up = Arc::new(AtomicBool::new(false));
    let up = Arc::clone(&is_up);
    let far = Server::new(move |asked: &Asked| match asked.target.as_str() {
        "/gone" => Reply::new(404, "no such page"),
        "/closed" => Reply::new(401, "who is it?"),
        _ if up.load(Ordering::SeqCst) => far_answer(asked, false),
        _ => Reply::new(503, "not yet"),
    });
    let place = Place::new();
    let entries = json!({
        "far": {"type": "streamable-http", "url": far.url("/mcp")},
        "gone": {"type": "streamable-http", "url": far.url("/gone")},
        "closed": {"type": "sse", "url": far.url("/closed")},
        "probe": {"type": "stdio", "command": "probe", "args": ["--probe=exit:3"]},
    });
    package_of(&place, "p", &entries);
    let mut host = Host::start(&place, &["p"]);
    assert!(host.names().is_empty());
    let asked = |target: &str| {
        let asked = far.asked().into_iter();
        asked.filter(|asked| asked.target == target).count()
    };
    let begun = Instant::now();
    while asked("/mcp") < 3 || asked("/gone") < 1 || asked("/closed") < 1 {
        assert!(begun.elapsed() < LONG, "it is tried again");
        thread::sleep(Duration::from_millis(20));
    }
    is_up.store(true, Ordering::SeqCst);
    assert_eq!(host.next()["method"], "notifications/tools/list_changed");
    assert_eq!(host.names(), ["mcp__far__tide"]);
    let (_, errors) = host.end();
    // What lasts is not tried again, and which it is is said.
    assert_eq!([asked("/gone"), asked("/closed")], [1, 1]);
    for (name, is_late) in [("far", true), ("gone", false), ("closed", false)] {
        let mut told = errors.lines();
        let told = told.find(|line| line.contains(&format!("`{name}`")));
        let told = told.expect("it is told");
        let says = told.ends_with("; it is tried again, ever less often");
        assert_eq!(says, is_late, "{told}");
    }
    assert_eq!(errors.matches("`far`").count(), 1, "{errors}");
    assert_eq!(errors.matches("`probe`").count(), 1, "{errors}");
}

#[test]
fn calls_that_go_wrong_cost_no_other() {
    let place = Place::new();
    package(&place, "p", &[("bad", &[]), ("good", &[])]);
    let mut host = Host::start(&place, &["p"]);
    let silent = json!({"name": "mcp__bad__silent", "arguments": {}});
    let waiting = host.request("tools/call", silent);
    let flood = json!({"messages": 20_000});
    assert_eq!(host.text("mcp__bad__flood", flood), "written");
    let garbage = json!({"lines": 300});
    assert_eq!(host.text("mcp__bad__garbage", garbage), "written");
    assert_eq!(host.text("mcp__good__echo", json!({"text": "hi"})), "hi");

    // Its end answers what was waiting for it, and nothing else.
    let dying = host.request(
        "tools/call",
        json!({"name": "mcp__bad__die", "arguments": {"status": 7}}),
    );
    let mut answers = [host.next(), host.next()];
    answers.sort_by_key(|answer| answer["id"].as_u64());
    for (answer, id) in answers.iter().zip([waiting, dying]) {
        assert_eq!(answer["id"], id);
        assert_eq!(answer["error"]["code"], -32603);
        assert_eq!(
            answer["error"]["message"],
            "server `bad` failed: it exited with status 7; it wrote 300 lines to standard output that are no JSON-RPC messages, the first: `garbage 0`; logs belong on standard error\n  | the probe was told to die"
        );
    }
    assert_eq!(
        host.text("mcp__good__echo", json!({"text": "still"})),
        "still"
    );
    assert_eq!(host.names().len(), 28, "its tools stay on offer");

    // It is not started again at once, and then it is.
    let answer = host.call("mcp__bad__echo", json!({"text": "again"}));
    if let Some(error) = answer["error"]["message"].as_str() {
        assert!(
            error.contains("the next call after 1 s starts it again"),
            "{error}"
        );
    }
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!(
        host.text("mcp__bad__echo", json!({"text": "again"})),
        "again"
    );
    let (status, errors) = host.end();
    assert_eq!(status, Some(0));
    assert_eq!(
        errors
            .matches("server `bad` failed: it exited with status 7")
            .count(),
        1
    );
}
