//! What passes through.

use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp_support::{Host, NUMBERS, has_got, over_http, package, package_of, run};
use crate::support::Place;

fn host(place: &Place) -> Host {
    package(place, "p", &[("probe", &[])]);
    Host::start(place, &["p"])
}

#[test]
fn errors_and_results_are_the_servers() {
    let place = Place::new();
    let mut host = host(&place);
    let arguments = json!({"code": -32042, "message": "not today", "data": {"z": [1, null]}});
    let answer = host.call("mcp__probe__error", arguments);
    assert_eq!(
        answer["error"],
        json!({"code": -32042, "message": "not today", "data": {"z": [1, null]}})
    );
    let answer = host.call("mcp__probe__fail", json!({"text": "no tide"}));
    assert_eq!(
        answer["result"],
        json!({"content": [{"type": "text", "text": "no tide"}], "isError": true})
    );
    let bytes = 3_000_000;
    let text = host.text("mcp__probe__big", json!({"bytes": bytes}));
    assert_eq!(text.len(), bytes);
}

#[test]
fn progress_comes_with_the_hosts_token() {
    let place = Place::new();
    let mut host = host(&place);
    let params = json!({
        "name": "mcp__probe__sleep",
        "arguments": {"ms": 60, "steps": 3},
        "_meta": {"progressToken": "mine"},
    });
    let (answer, before) = host.ask_all("tools/call", params);
    assert_eq!(answer["result"]["content"][0]["text"], "slept");
    let progress: Vec<&Value> = before.iter().map(|message| &message["params"]).collect();
    let expected = |at: u32| json!({"progressToken": "mine", "progress": at, "total": 3});
    assert_eq!(progress, [&expected(1), &expected(2), &expected(3)]);
    // Whoever does not ask gets none.
    let params = json!({"name": "mcp__probe__sleep", "arguments": {"ms": 60, "steps": 3}});
    assert!(host.ask_all("tools/call", params).1.is_empty());
}

#[test]
fn cancellation_reaches_the_server_and_is_not_answered() {
    let place = Place::new();
    let mut host = host(&place);
    let params = json!({
        "name": "mcp__probe__sleep",
        "arguments": {"ms": 60_000, "steps": 6000},
        "_meta": {"progressToken": 1},
    });
    let id = host.request("tools/call", params);
    assert_eq!(host.next()["method"], "notifications/progress");
    host.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": id, "reason": "enough"}}),
    );
    let report = loop {
        let (report, _) = host.ask_all("tools/call", json!({"name": "mcp__probe__report"}));
        let report = report["result"]["structuredContent"].clone();
        if report["cancelled"] != json!([]) {
            break report;
        }
    };
    assert_eq!(report["cancelled"].as_array().map(Vec::len), Some(1));
    assert!(host.is_silent(Duration::from_millis(200)));
}

#[test]
fn calls_run_at_the_same_time() {
    let place = Place::new();
    let mut host = host(&place);
    let slow = json!({"name": "mcp__probe__sleep", "arguments": {"ms": 60_000}});
    host.request("tools/call", slow);
    assert_eq!(
        host.text("mcp__probe__echo", json!({"text": "quick"})),
        "quick"
    );
    host.child.kill().expect("it runs");
}

#[test]
fn arguments_keep_their_text() {
    let far = over_http(false);
    let place = Place::new();
    let entries = json!({"far": {"type": "streamable-http", "url": far.url("/mcp")}});
    package_of(&place, "p", &entries);
    let mut host = Host::start(&place, &["p"]);
    host.send_text(&format!(
        r#"{{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{{"arguments":{NUMBERS},"name":"mcp__far__tide","_meta":{{"progressToken":18446744073709551616,"own":1.0}},"more":1.50}}}}"#
    ));
    assert_eq!(host.next()["id"], "n");
    let sent = format!(
        r#""params":{{"arguments":{NUMBERS},"name":"tide","_meta":{{"own":1.0,"progressToken":"#
    );
    assert!(has_got(&far, &sent), "{:?}", far.asked());
    assert!(has_got(&far, r#","more":1.50}"#));
}

#[test]
fn how_long_a_call_may_take_is_for_the_host_to_say() {
    let place = Place::new();
    package(&place, "p", &[("probe", &[])]);
    let mut host = Host::start(&place, &["p", "--timeout", "2"]);
    assert_eq!(host.text("mcp__probe__sleep", json!({"ms": 3000})), "slept");
    let help = run(&place, &["serve", "--help"]).stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains("when it has taken too long is for the host to say"),
        "{help}"
    );
}

#[test]
fn what_cannot_be_passed_on_is_told() {
    let place = Place::new();
    package(&place, "p", &[("probe", &[])]);
    let mut host = Host::start(&place, &["p"]);
    let deep = format!("{}1{}", "{\"a\":".repeat(130), "}".repeat(130));
    for (arguments, said) in [
        (
            r#"{"f":1e400}"#,
            "holds a number that is out of range at line 1 column 45: 1e400",
        ),
        (
            r#"{"s":"\ud800"}"#,
            "holds a text with a lone surrogate, half of a character, at line 1 column 45",
        ),
        (
            r#"{"a":1,"a":2}"#,
            "holds a name twice in one object at line 1 column 47: \"a\"",
        ),
        (&deep, "is JSON that cannot be passed on: "),
    ] {
        host.send_text(&format!(
            r#"{{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":{{"name":"mcp__probe__echo","arguments":{arguments}}}}}"#
        ));
        let answer = host.next();
        assert_eq!(answer["id"], "odd");
        assert_eq!(answer["error"]["code"], -32602);
        let message = answer["error"]["message"].as_str().expect("a text");
        let start = format!("the parameters cannot be passed on: what is there {said}");
        assert!(message.starts_with(&start), "{message}");
    }
}
