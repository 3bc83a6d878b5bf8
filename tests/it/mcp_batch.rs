//! Batches of JSON-RPC, from servers over every transport and from hosts.

use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use serde_json::{Value, json};

use crate::mcp_support::{Host, apkit, package, package_of, run};
use crate::support::Place;
use crate::web::{Asked, Reply, Server};

/// What `apkit mcp check` says of the server `s` of the package `p`.
fn checked(place: &Place) -> Value {
    let checked = run(place, &["check", "p", "--allow-stdio", "--json"]);
    assert_eq!(checked.status, Some(0), "{checked:?}");
    let document: Value = serde_json::from_str(&checked.stdout).expect("JSON");
    document["servers"][0].clone()
}

#[test]
fn a_line_may_be_a_batch() {
    let place = Place::new();
    package(&place, "p", &[("s", &["--probe=batch"])]);
    let server = checked(&place);
    assert_eq!(server["tools"], 14);
    assert_eq!(
        server["warnings"],
        json!([
            "it wrote 3 lines to standard output that are no JSON-RPC messages, the first: `[]`; logs belong on standard error"
        ])
    );
    let mut host = Host::start(&place, &["p"]);
    let params = json!({
        "name": "mcp__s__sleep",
        "arguments": {"ms": 20, "steps": 2},
        "_meta": {"progressToken": "mine"},
    });
    let (answer, before) = host.ask_all("tools/call", params);
    assert_eq!(answer["result"]["content"][0]["text"], "slept");
    assert_eq!(before.len(), 2, "{before:?}");
}

/// The result of a request to a server that has one tool.
fn result(message: &Value) -> Option<Value> {
    Some(match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-03-26",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "far", "version": "2"},
        }),
        "tools/list" => json!({"tools": [{"name": "tide", "inputSchema": {}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "high", "own": 1.50}]}),
        _ => return None,
    })
}

/// The answer to a request, among what else may come in a batch: before it an answer
/// to nobody, and behind it a question of the server.
fn batch(message: &Value) -> Option<String> {
    let result = result(message)?;
    let id = &message["id"];
    Some(format!(
        r#"[3, {{}}, {{"jsonrpc":"2.0","id":9999,"result":{{}}}}, {{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":"x"}}}}, {{"jsonrpc":"2.0","id":{id},"result":{result}}}, {{"jsonrpc":"2.0","id":"asked by the server","method":"ping"}}]"#
    ))
}

/// Whether the server was answered what it asked.
fn is_ping_answered(server: &Server) -> bool {
    let messages = server.asked();
    let mut messages = messages
        .iter()
        .filter_map(|asked| serde_json::from_slice::<Value>(&asked.body).ok());
    messages.any(|message| message["id"] == "asked by the server" && message["result"] == json!({}))
}

fn entry(place: &Place, kind: &str, server: &Server) {
    let entry = json!({"s": {"type": kind, "url": server.url("/mcp")}});
    package_of(place, "p", &entry);
}

/// A call and a check over the server, each message of whose batches counts.
fn works(place: &Place, server: &Server, junk: &str) {
    let called = run(place, &["call", "p", "s", "tide", "--json"]);
    assert_eq!(called.status, Some(0), "{called:?}");
    assert_eq!(
        called.stdout,
        "{\"content\":[{\"own\":1.5,\"text\":\"high\",\"type\":\"text\"}]}\n"
    );
    assert!(called.stderr.contains(junk), "{called:?}");
    assert!(is_ping_answered(server), "{:?}", server.asked());
    let warning = checked(place)["warnings"][0].clone();
    assert!(
        warning.as_str().expect("a text").contains(junk),
        "{warning}"
    );
}

/// A server over Streamable HTTP that answers with batches, each written by `reply`.
fn streamable(reply: fn(String) -> Reply) -> Server {
    Server::new(move |asked: &Asked| {
        let message: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
        match batch(&message) {
            Some(batch) => reply(batch),
            None if asked.method == "POST" => Reply::new(202, ""),
            None => Reply::new(405, ""),
        }
    })
}

#[test]
fn a_json_answer_may_be_a_batch() {
    let server =
        streamable(|batch| Reply::new(200, batch).header("content-type", "application/json"));
    let place = Place::new();
    entry(&place, "streamable-http", &server);
    works(
        &place,
        &server,
        "texts that are no JSON-RPC messages, the first: `3`",
    );
}

#[test]
fn an_event_may_be_a_batch() {
    let server = streamable(|batch| {
        Reply::new(200, format!("data: []\n\ndata: [1]\n\ndata: {batch}\n\n"))
            .header("content-type", "text/event-stream")
    });
    let place = Place::new();
    entry(&place, "streamable-http", &server);
    works(
        &place,
        &server,
        "texts that are no JSON-RPC messages, the first: `[]`",
    );
}

#[test]
fn an_event_of_the_older_transport_may_be_a_batch() {
    let say: Mutex<Option<Sender<String>>> = Mutex::new(None);
    let server = Server::new(move |asked: &Asked| {
        let message: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
        let mut say = say.lock().expect("no panic");
        if asked.method == "GET" {
            let (sender, feed) = channel();
            let first = "event: endpoint\ndata: /messages\n\ndata: []\n\n";
            sender.send(first.to_owned()).expect("a listener");
            *say = Some(sender);
            return Reply::new(200, "")
                .header("content-type", "text/event-stream")
                .feed(feed);
        }
        if let (Some(batch), Some(say)) = (batch(&message), &*say) {
            let _ = say.send(format!("data: {batch}\n\n"));
        }
        Reply::new(202, "")
    });
    let place = Place::new();
    entry(&place, "sse", &server);
    works(
        &place,
        &server,
        "texts that are no JSON-RPC messages, the first: `[]`",
    );
}

#[test]
fn a_batch_without_the_answer_fails_the_request_alone() {
    for (body, said) in [
        ("[]", "it is not the answer to the request"),
        ("[3, {}]", "it is not the answer to the request"),
        (
            r#"[{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"full"}}]"#,
            "full",
        ),
        ("[1,", "sends what is no answer of MCP"),
    ] {
        let server = Server::new(move |asked: &Asked| {
            let message: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
            match (message["method"].as_str(), result(&message)) {
                (Some("tools/call"), _) => {
                    Reply::new(200, body).header("content-type", "application/json")
                }
                (_, Some(result)) => Reply::json(
                    200,
                    &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}),
                ),
                _ if asked.method == "POST" => Reply::new(202, ""),
                _ => Reply::new(405, ""),
            }
        });
        let place = Place::new();
        entry(&place, "streamable-http", &server);
        let called = run(&place, &["call", "p", "s", "tide"]);
        assert_ne!(called.status, Some(0), "{called:?}");
        assert!(called.stderr.contains(said), "{body}: {called:?}");
    }
}

/// A host that speaks this version.
fn host(place: &Place, version: &str) -> Host {
    package(place, "p", &[("s", &[])]);
    let mut host = Host::spawn(apkit(place).args(["serve", "p", "--allow-stdio"]));
    let params = json!({"protocolVersion": version, "capabilities": {}});
    let answer = host.ask("initialize", params);
    assert_eq!(answer["result"]["protocolVersion"], version);
    host
}

const BATCH: &str = r#"[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"mcp__s__echo","arguments":{"text":"x"}}},{"jsonrpc":"2.0","id":"c","method":"initialize","params":{}},3]"#;

/// The next answers, by their identifiers.
fn answers(host: &mut Host, count: usize) -> Vec<Value> {
    let mut answers: Vec<Value> = (0..count).map(|_| host.next()).collect();
    answers.sort_by_key(|answer| answer["id"].as_str().map(str::to_owned));
    answers
}

#[test]
fn a_batch_of_a_host_is_answered_where_batches_exist() {
    let place = Place::new();
    let mut host = host(&place, "2025-03-26");
    host.send_text(BATCH);
    let answers = answers(&mut host, 4);
    let [junk, a, b, c] = &answers[..] else {
        panic!("{answers:?}");
    };
    assert_eq!(
        (&junk["id"], &junk["error"]["code"]),
        (&json!(null), &json!(-32600))
    );
    assert_eq!((&a["id"], &a["result"]), (&json!("a"), &json!({})));
    assert_eq!(b["result"]["content"][0]["text"], "x");
    assert_eq!(c["error"]["code"], -32600);
    assert_eq!(
        c["error"]["message"],
        "initialize comes alone, not in a batch"
    );
    host.send_text("[]");
    let answer = host.next();
    assert_eq!(answer["id"], json!(null));
    assert_eq!(answer["error"]["code"], -32600);
    assert_eq!(answer["error"]["message"], "the batch holds no message");
    assert_eq!(host.end(), (Some(0), String::new()));
}

#[test]
fn elsewhere_each_request_of_a_batch_is_refused_by_its_name() {
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let place = Place::new();
        let mut host = host(&place, version);
        host.send_text(BATCH);
        let text = format!(
            "only version 2025-03-26 of MCP has batches, and this session speaks {version}: send each message by itself"
        );
        for (answer, id) in answers(&mut host, 3).iter().zip(["a", "b", "c"]) {
            assert_eq!(answer["id"], id);
            assert_eq!(answer["error"], json!({"code": -32600, "message": text}));
        }
        host.send_text(r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#);
        let answer = host.next();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(null), &json!(-32600))
        );
        assert_eq!(host.text("mcp__s__echo", json!({"text": "y"})), "y");
        assert_eq!(host.end(), (Some(0), String::new()));
    }
    let place = Place::new();
    package(&place, "p", &[("s", &[])]);
    let mut host = Host::spawn(apkit(&place).args(["serve", "p", "--allow-stdio"]));
    host.send_text(BATCH);
    for answer in answers(&mut host, 3) {
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
    }
}
