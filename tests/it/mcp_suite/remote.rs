//! What reaches servers over HTTP, and what does not.

use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use serde_json::{Value, json};

use crate::support::{Place, Run, finish, manifest, mcp};
use crate::web::{Asked, Reply, Server};

/// The answer to a message, if it is owed one.
fn answered(asked: &Asked) -> Option<Value> {
    let message: Value = serde_json::from_slice(&asked.body).ok()?;
    let id = message.get("id")?;
    let result = match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "tide", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "tide", "inputSchema": {"type": "object"}}]}),
        _ => json!({"content": [{"type": "text", "text": "high"}]}),
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// A server of Streamable HTTP without a stream of its own.
fn streamable(asked: &Asked) -> Reply {
    match (asked.method.as_str(), answered(asked)) {
        ("POST", Some(answer)) => Reply::json(200, &answer),
        ("POST", None) => Reply::new(202, ""),
        _ => Reply::new(405, ""),
    }
}

/// A server of HTTP+SSE whose messages go to `endpoint`.
fn events(endpoint: String) -> impl Fn(&Asked) -> Reply + Send + Sync + 'static {
    let stream: Mutex<Option<Sender<String>>> = Mutex::new(None);
    move |asked| {
        let mut stream = stream.lock().expect("the stream");
        if asked.method == "GET" {
            let (say, feed) = channel();
            let first = format!("event: endpoint\ndata: {endpoint}\n\n");
            say.send(first).expect("a listener");
            *stream = Some(say);
            return Reply::new(200, "")
                .header("content-type", "text/event-stream")
                .feed(feed);
        }
        if let (Some(answer), Some(say)) = (answered(asked), &*stream) {
            // Nobody listens any more: the session is over.
            let _ = say.send(format!("event: message\ndata: {answer}\n\n"));
        }
        Reply::new(202, "")
    }
}

const LITERAL: &str = "${PLUGIN_ROOT}  $HOME %41";

/// Calls the tool of a server at `url`, with headers and a credential of the user.
fn call(kind: &str, url: &str) -> Run {
    let place = Place::new();
    let headers =
        json!({"X-Tide": LITERAL, "AcCePt": "text/configured", "Authorization": "configured"});
    let servers = json!({"far": {"type": kind, "url": url, "headers": headers}});
    place.write("p/plugin.json", manifest("p", ""));
    place.write("p/mcp.json", mcp(&servers.to_string()));
    let mut command = place.apkit();
    command.env("HOME", place.path()).env("TIDE_KEY", "zz_key");
    command.args(["mcp", "call", "p", "far", "tide"]);
    finish(command.args(["--credential", "far:Authorization=env:TIDE_KEY"]))
}

#[test]
fn what_is_configured_reaches_a_remote_server_as_it_is_written() {
    let path = "/a%2Fb/$PLUGIN_ROOT?key=${PLUGIN_ROOT}&x=%20";
    let far = Server::new(streamable);
    let old = Server::new(events("/messages?of=1".to_owned()));
    for (kind, server) in [("streamable-http", &far), ("sse", &old)] {
        let run = call(kind, &server.url(path));
        assert_eq!(
            (run.status, run.stdout.as_str()),
            (Some(0), "high\n"),
            "{run:?}"
        );
        let asked = server.asked();
        assert!(asked.len() >= 4, "{asked:?}");
        assert_eq!(asked[0].target, path);
        for asked in &asked {
            assert_eq!(asked.header("x-tide"), Some(LITERAL), "{asked:?}");
            // The client's own and the user's win over the package's.
            assert_ne!(asked.header("accept"), Some("text/configured"));
            assert_eq!(asked.header("authorization"), Some("zz_key"));
        }
        let messages = asked.iter().filter(|asked| asked.method == "POST");
        let to = if kind == "sse" {
            "/messages?of=1"
        } else {
            path
        };
        assert!(
            messages
                .map(|asked| &asked.target)
                .all(|target| target == to)
        );
    }
}

#[test]
fn nothing_configured_crosses_origins() {
    let other = Server::elsewhere(streamable);
    let elsewhere = other.url("/mcp");
    for kind in ["streamable-http", "sse"] {
        for status in [301, 302, 303, 307, 308] {
            let to = elsewhere.clone();
            let server = Server::new(move |_| Reply::redirect(status, &to));
            let run = call(kind, &server.url("/mcp"));
            assert_eq!(run.status, Some(2), "{kind} {status}: {run:?}");
        }
    }
    // An endpoint event, too, may not send messages elsewhere.
    let server = Server::new(events(elsewhere));
    let run = call("sse", &server.url("/sse"));
    assert_eq!(run.status, Some(2), "{run:?}");
    for asked in other.asked() {
        assert_eq!(asked.method, "GET", "a message went elsewhere: {asked:?}");
        assert_eq!(asked.header("x-tide"), None, "{asked:?}");
        assert_eq!(asked.header("authorization"), None, "{asked:?}");
        assert_ne!(asked.header("accept"), Some("text/configured"));
    }
}

/// A server of the other transport is there, and it is not spoken to as such.
#[test]
fn the_declared_transport_alone_is_tried() {
    let old = Server::new(|asked| match asked.method.as_str() {
        "GET" => events("/messages".to_owned())(asked),
        _ => Reply::new(405, ""),
    });
    let run = call("streamable-http", &old.url("/"));
    assert_eq!(run.status, Some(2), "{run:?}");
    assert!(old.asked().iter().all(|asked| asked.method == "POST"));
    let new = Server::new(streamable);
    let run = call("sse", &new.url("/"));
    assert_eq!(run.status, Some(2), "{run:?}");
    assert!(new.asked().iter().all(|asked| asked.method == "GET"));
}
