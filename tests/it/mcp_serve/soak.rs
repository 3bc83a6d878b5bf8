//! Many calls, and the memory they leave behind: none.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use crate::mcp_support::{Host, apkit, package};
use crate::support::Place;

/// What of a process is in memory, in KiB.
fn resident(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("a process");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .expect("VmRSS");
    let number = line.split_whitespace().nth(1).expect("a number");
    number.parse().expect("a number")
}

#[test]
fn memory_stays_the_same_over_many_calls() {
    let full = std::env::var_os("APKIT_TESTS_FULL").is_some();
    let calls = if full { 10_000 } else { 1_000 };
    let place = Place::new();
    package(&place, "p", &[("probe", &[]), ("other", &[])]);
    let mut host = Host::start(&place, &["p"]);
    let id = host.child.id();
    let mut round = |count: u32| {
        for at in 0..count {
            match at % 10 {
                0 => {
                    let params = json!({
                        "name": "mcp__probe__sleep",
                        "arguments": {"ms": 2, "steps": 2},
                        "_meta": {"progressToken": at},
                    });
                    host.ask("tools/call", params);
                }
                1 => {
                    let error = host.call("mcp__other__error", json!({"message": "no"}));
                    assert_eq!(error["error"]["code"], -32000);
                }
                2 => {
                    let silent = json!({"name": "mcp__other__silent", "arguments": {}});
                    let id = host.request("tools/call", silent);
                    host.send(
                        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                        "params": {"requestId": id}}),
                    );
                }
                3 => {
                    let text = host.text("mcp__probe__big", json!({"bytes": 10_000}));
                    assert_eq!(text.len(), 10_000);
                }
                _ => {
                    let text = format!("call {at}");
                    assert_eq!(host.text("mcp__probe__echo", json!({ "text": text })), text);
                }
            }
        }
        resident(id)
    };
    // What is used once is used by then.
    let before = round(300);
    let after = round(calls);
    let grown = after.saturating_sub(before);
    // A call that left a hundred bytes behind would show in the full run.
    let most = if full { 1_000 } else { 700 };
    assert!(
        grown < most,
        "{before} KiB before, {after} KiB after {calls} calls"
    );
    if full {
        eprintln!("{before} KiB before, {after} KiB after {calls} calls");
    }
}

#[test]
fn what_a_host_does_not_read_is_bounded() {
    const EACH: usize = 8 << 20;
    const CALLS: usize = 24;
    let place = Place::new();
    package(&place, "p", &[("probe", &[])]);
    let mut child = apkit(&place)
        .args(["serve", "--allow-stdio", "p"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let arguments = json!({"bytes": EACH});
    let params = json!({"name": "mcp__probe__big", "arguments": arguments});
    for id in 0..CALLS {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        writeln!(input, "{call}").expect("it reads");
    }
    // Whatever it takes in, it has taken in by then.
    let mut most = 0;
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(100));
        most = most.max(resident(child.id()));
    }
    assert!(most < 120 << 10, "{most} KiB");
    // All of it comes once it is read.
    let mut line = String::new();
    for _ in 0..CALLS {
        line.clear();
        output.read_line(&mut line).expect("UTF-8");
        assert!(line.len() > EACH, "{}", line.len());
    }
    drop(input);
    assert!(child.wait().expect("it ends").success());
}
