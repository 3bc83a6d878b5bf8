//! The bridge with servers within the test; the host is at two pipes.

mod host;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::mcp::session::fake::{Lines, answer, say, usual};
use host::{Host, Script};

/// A server that does with some messages what `script` says and else the usual.
fn server(mut script: impl FnMut(&Value, &Lines) -> Option<bool> + Send + 'static) -> Script {
    Arc::new(Mutex::new(move |message: &Value, lines: &Lines| {
        script(message, lines).unwrap_or_else(|| {
            usual(message, lines);
            true
        })
    }))
}

fn plain() -> Script {
    server(|_, _| None)
}

/// A server with these tools.
fn tools(list: &'static str) -> Script {
    server(move |message, lines| {
        (message["method"] == "tools/list").then(|| {
            answer(message, lines, list);
            true
        })
    })
}

#[test]
fn a_host_gets_what_the_servers_say() {
    let mut host = Host::of(
        vec![
            (
                "api",
                "api",
                tools(
                    r#"{"tools":[{"title":"T","name":"read","n":1.50,"inputSchema":{"z":1,"a":2}}]}"#,
                ),
            ),
            ("files", "files", plain()),
        ],
        None,
    );
    let answer = host.ask(
        "initialize",
        json!({"protocolVersion": "2025-06-18", "capabilities": {}}),
    );
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(
        answer["result"]["capabilities"],
        json!({"tools": {"listChanged": true}, "logging": {}})
    );
    assert_eq!(
        answer["result"]["instructions"],
        "## api\n\nBe gentle.\n\n## files\n\nBe gentle."
    );
    host.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    host.send(&json!({"jsonrpc": "2.0", "id": 1.5, "method": "tools/list"}));
    assert_eq!(
        host.line(),
        r#"{"jsonrpc":"2.0","id":1.5,"result":{"tools":[{"title":"T","name":"mcp__api__read","n":1.50,"inputSchema":{"z":1,"a":2}},{"inputSchema":{},"name":"mcp__files__echo"}]}}"#
    );
    let params = json!({"name": "mcp__files__echo", "arguments": {"a": 1}, "_meta": {"x": 1}});
    let answer = host.ask("tools/call", params);
    assert_eq!(
        answer["result"]["params"],
        json!({"name": "echo", "arguments": {"a": 1}, "_meta": {"x": 1}})
    );
    assert_eq!(host.ask("ping", json!({}))["result"], json!({}));
    assert_eq!(
        host.ask("resources/list", json!({}))["error"]["code"],
        -32601
    );
    let unknown = host.call("mcp__files__ecko");
    assert_eq!(unknown["error"]["code"], -32602);
    assert_eq!(
        unknown["error"]["message"],
        "Unknown tool: mcp__files__ecko; did you mean mcp__files__echo?"
    );
    // An array is no object, though it could hold the same in an order.
    let list = host.ask("tools/call", json!(["mcp__files__echo"]));
    assert_eq!(
        list["error"]["message"],
        "tools/call needs the name of a tool"
    );
    host.send(&json!(3));
    assert_eq!(host.next()["error"]["code"], -32600);
    host.end();
    assert!(host.reports.lock().unwrap().is_empty());
}

#[test]
fn versions_without_initialize_get_the_latest_with_it() {
    let mut host = Host::of(vec![], None);
    let answer = host.ask("initialize", json!({"protocolVersion": "2099-01-01"}));
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(answer["result"].get("instructions"), None);
    assert!(host.names().is_empty());
    host.stop.notify_one();
    host.bridge.take().unwrap().join().unwrap();
}

#[test]
fn answers_of_servers_pass_unchanged() {
    let script = server(|message, lines| {
        let id = message["id"].clone();
        (message["method"] == "tools/call").then(|| {
            say(lines, &match message["params"]["arguments"]["kind"].as_str() {
                Some("error") => format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32042,"message":"no","data":{{"z":1}}}}}}"#
                ),
                _ => format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"isError\":true,\n\"content\":[{{\"type\":\"hologram\",\"n\":1.50}}],\"structuredContent\":{{\"z\":1,\"a\":2}},\"_meta\":{{}}}}}}"
                ),
            });
            true
        })
    });
    let mut host = Host::of(vec![("a", "a", script)], None);
    host.names();
    let call = |kind: &str| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "mcp__a__echo", "arguments": {"kind": kind}}})
    };
    host.send(&call("error"));
    assert_eq!(
        host.line(),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"no","data":{"z":1}}}"#
    );
    host.send(&call("result"));
    assert_eq!(
        host.line(),
        r#"{"jsonrpc":"2.0","id":1,"result":{"isError":true, "content":[{"type":"hologram","n":1.50}],"structuredContent":{"z":1,"a":2},"_meta":{}}}"#
    );
    host.end();
}

#[test]
fn progress_and_cancellation_find_their_call() {
    let (seen, cancelled) = std::sync::mpsc::channel();
    let script = server(move |message, lines| match message["method"].as_str() {
        Some("tools/call") => {
            let token = &message["params"]["_meta"]["progressToken"];
            say(
                lines,
                &format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1.50,"message":"half"}}}}"#
                ),
            );
            Some(true)
        }
        Some("notifications/cancelled") => {
            seen.send(message["params"].clone()).unwrap();
            Some(true)
        }
        _ => None,
    });
    let mut host = Host::of(vec![("a", "a", script)], None);
    host.names();
    host.send(
        &json!({"jsonrpc": "2.0", "id": "call-1", "method": "tools/call",
        "params": {"name": "mcp__a__echo", "_meta": {"progressToken": "mine"}}}),
    );
    assert_eq!(
        host.line(),
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":1.50,"message":"half"}}"#
    );
    host.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": "call-1", "reason": "enough"}}),
    );
    let params = cancelled.recv_timeout(Duration::from_secs(5)).unwrap();
    assert_eq!(params["reason"], "enough");
    assert!(params["requestId"].is_number());
    // It is not answered; what comes next is the answer to this.
    assert_eq!(host.ask("ping", json!({}))["result"], json!({}));
    host.end();
}

#[test]
fn the_first_of_two_tools_of_one_name_keeps_it() {
    let mut host = Host::of(
        vec![
            ("a.b", "a.b", tools(r#"{"tools":[{"name":"x","by":1}]}"#)),
            (
                "a_b",
                "a_b",
                tools(r#"{"tools":[{"name":"x","by":2},{"name":"y"}]}"#),
            ),
        ],
        None,
    );
    let list = host.ask("tools/list", json!({}));
    assert_eq!(
        list["result"]["tools"],
        json!([{"name": "mcp__a_b__x", "by": 1}, {"name": "mcp__a_b__y"}])
    );
    host.names();
    host.end();
    assert_eq!(
        *host.reports.lock().unwrap(),
        [
            "tool `x` of server `a_b` is not offered: tool `x` of server `a.b` has its name mcp__a_b__x"
        ]
    );
}

#[test]
fn only_what_is_allowed_is_offered_and_called() {
    let two = r#"{"tools":[{"name":"read"},{"name":"write"}]}"#;
    let mut host = Host::of(
        vec![("api", "p_api", tools(two)), ("files", "files", tools(two))],
        Some("mcp__api__* mcp__files__read Bash(git *)"),
    );
    assert_eq!(
        host.names(),
        ["mcp__p_api__read", "mcp__p_api__write", "mcp__files__read"]
    );
    assert_eq!(host.call("mcp__files__write")["error"]["code"], -32602);
    host.end();
}

#[test]
fn changes_of_tools_reach_the_host() {
    let mut lists = 0;
    let script = server(move |message, lines| match message["method"].as_str() {
        Some("tools/list") => {
            lists += 1;
            answer(
                message,
                lines,
                match lists {
                    1 => r#"{"tools":[{"name":"one"}]}"#,
                    _ => r#"{"tools":[{"name":"one"},{"name":"two"}]}"#,
                },
            );
            Some(true)
        }
        Some("tools/call") => {
            say(
                lines,
                r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
            );
            None
        }
        _ => None,
    });
    let mut host = Host::of(vec![("a", "a", script)], None);
    assert_eq!(host.names(), ["mcp__a__one"]);
    host.call("mcp__a__one");
    assert_eq!(
        host.line(),
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#
    );
    assert_eq!(host.names(), ["mcp__a__one", "mcp__a__two"]);
    host.end();
}

#[test]
fn a_slow_server_is_announced_when_it_is_there() {
    let slow = server(|message, lines| {
        (message["method"] == "initialize").then(|| {
            let (message, lines) = (message.clone(), lines.clone());
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(900)).await;
                usual(&message, &lines);
            });
            true
        })
    });
    let never = server(|_, _| Some(true));
    let servers = vec![
        ("slow", "slow", slow),
        ("never", "never", never),
        ("a", "a", plain()),
    ];
    let mut host = Host::of(servers, None);
    // Also without having asked for the tools.
    assert_eq!(
        host.call("mcp__a__echo")["result"]["params"]["name"],
        "echo"
    );
    assert_eq!(host.names(), ["mcp__a__echo"]);
    assert_eq!(host.next()["method"], "notifications/tools/list_changed");
    assert_eq!(host.names(), ["mcp__slow__echo", "mcp__a__echo"]);
    assert_eq!(
        host.call("mcp__slow__echo")["result"]["params"]["name"],
        "echo"
    );
    host.end();
}

#[test]
fn a_server_that_ends_takes_nothing_along_and_is_started_again() {
    let mut calls = 0;
    let script = server(move |message, _| match message["method"].as_str() {
        Some("tools/call") => {
            calls += 1;
            (calls == 1).then_some(false)
        }
        _ => None,
    });
    let mut host = Host::of(vec![("weak", "weak", script), ("a", "a", plain())], None);
    assert_eq!(host.names(), ["mcp__weak__echo", "mcp__a__echo"]);
    let answer = host.call("mcp__weak__echo");
    assert_eq!(answer["error"]["code"], -32603);
    assert_eq!(
        answer["error"]["message"],
        "server `weak` failed: the server ended the connection\n  | the last line"
    );
    assert_eq!(
        host.call("mcp__a__echo")["result"]["params"]["name"],
        "echo"
    );
    let text = host.call("mcp__weak__echo")["error"]["message"].to_string();
    assert!(
        text.contains("the next call after 1 s starts it again"),
        "{text}"
    );
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(
        host.call("mcp__weak__echo")["result"]["params"]["name"],
        "echo"
    );
    host.end();
}

#[test]
fn a_server_that_fails_is_reported_and_the_rest_goes_on() {
    let bad = server(|message, lines| {
        (message["method"] == "initialize").then(|| {
            answer(
                message,
                lines,
                r#"{"protocolVersion":"1","capabilities":{}}"#,
            );
            true
        })
    });
    let mut host = Host::of(vec![("bad", "bad", bad), ("a", "a", plain())], None);
    assert_eq!(host.names(), ["mcp__a__echo"]);
    host.end();
    let reports = host.reports.lock().unwrap().clone();
    assert_eq!(reports.len(), 1);
    assert!(
        reports[0].starts_with("server `bad` failed to initialize:"),
        "{reports:?}"
    );
}

#[test]
fn log_messages_carry_the_name_of_their_server() {
    let (seen, levels) = std::sync::mpsc::channel();
    let script = server(move |message, lines| match message["method"].as_str() {
        Some("logging/setLevel") => {
            seen.send(message["params"].clone()).unwrap();
            answer(message, lines, "{}");
            say(
                lines,
                r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"n":1.0}}}"#,
            );
            say(
                lines,
                r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"logger":"own","level":"info","data":1}}"#,
            );
            Some(true)
        }
        _ => None,
    });
    let mut host = Host::of(vec![("a", "a", script)], None);
    host.names();
    host.ask("logging/setLevel", json!({"level": "debug"}));
    assert_eq!(
        levels.recv_timeout(Duration::from_secs(5)).unwrap(),
        json!({"level": "debug"})
    );
    assert_eq!(
        host.line(),
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"n":1.0},"logger":"a"}}"#
    );
    assert_eq!(host.next()["params"]["logger"], "a/own");
    host.end();
}

#[test]
fn the_package_tells_servers_of_one_name_apart() {
    let servers = [("p", "api"), ("q", "api"), ("p", "files"), ("q", "clock")];
    assert_eq!(
        labels(servers.into_iter()),
        ["p_api", "q_api", "files", "clock"]
    );
    assert_eq!(
        labels([("p", "api"), ("p", "api")].into_iter()),
        ["api", "api"]
    );
    // As hosts see the names.
    assert_eq!(
        labels([("p", "my api"), ("q", "my_api")].into_iter()),
        ["p_my api", "q_my_api"]
    );
    let same = labels([("p", "a.b"), ("p", "a_b"), ("p", "c")].into_iter());
    assert_eq!((&*same[0], &*same[2]), ("a.b", "c"));
    assert_eq!(same[1], format!("a_b_{}", names::digest("p", "a_b")));
    // A name that another server gets from its package.
    let same = labels([("p", "api"), ("q", "api"), ("r", "p_api")].into_iter());
    assert_eq!(same[..2], ["p_api", "q_api"]);
    assert_eq!(same[2], format!("p_api_{}", names::digest("r", "p_api")));
}

#[test]
fn identifiers_are_the_same_however_they_are_escaped() {
    let (seen, cancelled) = std::sync::mpsc::channel();
    let (asked, calls) = std::sync::mpsc::channel();
    let script = server(move |message, _| match message["method"].as_str() {
        Some("tools/call") => {
            asked.send(()).unwrap();
            Some(true)
        }
        Some("notifications/cancelled") => {
            seen.send(message["params"]["reason"].clone()).unwrap();
            Some(true)
        }
        _ => None,
    });
    let mut host = Host::of(vec![("a", "a", script)], None);
    host.names();
    let call = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"mcp__a__echo"}}}}"#
        )
    };
    let cancel = |id: &str, reason: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"{reason}"}}}}"#
        )
    };
    host.write(&call(r#""a""#));
    host.write(&call(r#""\u0061""#));
    host.write(r#"{"jsonrpc":"2.0","id":"behind","method":"ping"}"#);
    assert_eq!(
        host.next()["error"]["message"],
        "a call with this id is on its way already"
    );
    assert_eq!(host.next()["id"], "behind");
    host.write(&call("1"));
    // A server is told of the end of those calls alone that it was asked for.
    for _ in 0..2 {
        calls.recv_timeout(Duration::from_secs(5)).unwrap();
    }
    host.write(&cancel("1.0", "another number"));
    host.write(&cancel(r#""1""#, "a text"));
    host.write(&cancel(r#""\u0061""#, "the same"));
    host.write(&cancel("1", "the number"));
    let mut reasons = [(); 2].map(|()| cancelled.recv_timeout(Duration::from_secs(5)).ok());
    reasons.sort_by_key(|reason| reason.as_ref().map(ToString::to_string));
    assert_eq!(
        reasons,
        [Some(json!("the number")), Some(json!("the same"))]
    );
    host.end();
}
