//! Sessions over the older transport.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use apkit::mcp::credential::Credentials;
use apkit::mcp::http::{self, Reconnect, Rules, Watch};
use apkit::mcp::plan::Endpoint;
use rmcp::ServiceExt as _;
use rmcp::service::ClientInitializeError;
use serde_json::json;

use super::support::{
    Service, answer, credentials, endpoint, event, info, message, reply, result, rules, run, tools,
    until,
};
use crate::web::{Asked, Reply, Server};

const HEADERS: [(&str, &str); 4] = [
    ("X-Tenant", "tïde ${HOME}"),
    ("ACCEPT", "text/plain"),
    ("content-type", "text/plain"),
    ("authorization", "configured"),
];

/// The server's side of the streams, the newest last.
type Streams = Arc<Mutex<Vec<Sender<String>>>>;

fn events(body: impl Into<Vec<u8>>) -> Reply {
    Reply::new(200, body).header("content-type", "text/event-stream")
}

/// A stream that begins with `first`.
fn open(streams: &Streams, first: &str) -> Reply {
    let (say, feed) = channel();
    say.send(first.to_owned()).expect("a listener");
    streams.lock().expect("the streams").push(say);
    events("").feed(feed)
}

/// Answers a message on the newest stream.
fn hear(streams: &Streams, asked: &Asked) -> Reply {
    let message = message(asked);
    let say = streams.lock().expect("the streams").last().cloned();
    if let (Some(result), Some(say)) = (result(&message), say) {
        let _ = say.send(event(&reply(&message, &result)));
    }
    Reply::new(202, "Accepted")
}

/// A good server, each stream of which has an endpoint of its own.
fn good(streams: &Streams) -> Server {
    let streams = Arc::clone(streams);
    Server::new(move |asked| match asked.method.as_str() {
        "GET" => {
            let count = streams.lock().expect("the streams").len();
            let first = format!("event: endpoint\ndata: messages?s={count}\n\n");
            open(&streams, &first)
        }
        _ => hear(&streams, asked),
    })
}

async fn connect(
    endpoint: &Endpoint,
    credentials: &Credentials,
    rules: &Rules,
) -> (Result<Service, ClientInitializeError>, Watch) {
    let transport = http::sse(endpoint, credentials, rules).expect("a transport");
    let watch = transport.watch();
    (info().serve(transport).await, watch)
}

async fn session(url: &str) -> Service {
    let (service, _) = connect(&endpoint(url, &[]), &Credentials::default(), &rules()).await;
    service.expect("a session")
}

fn refusal(url: &str, rules: &Rules) -> String {
    run(async {
        let endpoint = endpoint(url, &HEADERS);
        let (service, _) = connect(&endpoint, &Credentials::default(), rules).await;
        match service {
            Ok(_) => panic!("that should have failed"),
            Err(error) => error.to_string(),
        }
    })
}

#[test]
fn a_session_goes_by_the_book() {
    let streams = Streams::default();
    let server = good(&streams);
    run(async {
        let given = credentials(&[("Authorization", "Bearer word")]);
        let endpoint = endpoint(&server.url("/a/sse?key=${X}"), &HEADERS);
        let (service, _) = connect(&endpoint, &given, &rules()).await;
        let service = service.expect("a session");
        assert_eq!(tools(&service).await.expect("tools"), ["tide"]);
        service.cancel().await.expect("an end");
    });
    let asked = server.asked();
    let targets: Vec<_> = asked.iter().map(|asked| asked.target.as_str()).collect();
    let messages = "/a/messages?s=0";
    assert_eq!(targets, ["/a/sse?key=${X}", messages, messages, messages]);
    assert_eq!(asked[0].header("accept"), Some("text/event-stream"));
    assert_eq!(asked[0].header("content-type"), None);
    assert_eq!(asked[1].header("mcp-protocol-version"), None);
    for (at, asked) in asked.iter().enumerate() {
        assert_eq!(asked.header("x-tenant"), Some("tïde ${HOME}"));
        assert_eq!(asked.header("authorization"), Some("Bearer word"));
        if at > 0 {
            assert_eq!(
                asked.header("accept"),
                Some("application/json, text/event-stream")
            );
            assert_eq!(asked.header("content-type"), Some("application/json"));
        }
        if at > 1 {
            assert_eq!(asked.header("mcp-protocol-version"), Some("2025-11-25"));
        }
    }
}

#[test]
fn an_endpoint_stays_with_the_origin_of_its_stream() {
    let other = Server::elsewhere(answer);
    let foreign = other.url("/messages?word");
    let scheme = foreign.replace("http:", "https:");
    for announced in [foreign.as_str(), &scheme, &foreign.replace("http:", "")] {
        let streams = Streams::default();
        let first = format!("event: endpoint\ndata: {announced}\n\n");
        let server = Server::new(move |_| open(&streams, &first));
        let error = refusal(&server.url("/sse"), &rules());
        let to = if announced.starts_with("https") {
            scheme.replace("?word", "?…")
        } else {
            other.url("/messages?…")
        };
        let said = format!(
            "{} names an endpoint of another origin, {to}",
            server.url("/sse")
        );
        assert!(error.contains(&said), "{error}");
        assert_eq!(server.asked().len(), 1);
    }
    assert!(other.asked().is_empty());
}

#[test]
fn an_endpoint_may_be_named_in_full_or_anew() {
    let streams = Streams::default();
    let server = {
        let streams = Arc::clone(&streams);
        Server::new(move |asked| match asked.method.as_str() {
            "GET" => {
                let host = asked.header("host").unwrap_or_default().to_owned();
                open(
                    &streams,
                    &format!("event: endpoint\ndata: http://me:word@{host}/one#x\n\n"),
                )
            }
            _ => hear(&streams, asked),
        })
    };
    let other = Server::elsewhere(answer);
    run(async {
        let service = session(&server.url("/sse")).await;
        let say = |text: &str| {
            let streams = streams.lock().expect("the streams");
            streams[0].send(text.to_owned()).expect("a listener");
        };
        say("event: endpoint\ndata: /two\n\n");
        // Until it is known, messages go to the first one.
        while server.targets().last().map(String::as_str) != Some("/two") {
            assert_eq!(tools(&service).await.expect("tools"), ["tide"]);
        }
        // One of another origin ends the session.
        say(&format!(
            "event: endpoint\ndata: {}\n\n",
            other.url("/three")
        ));
        service.waiting().await.expect("an end");
    });
    assert!(
        server
            .asked()
            .iter()
            .all(|asked| asked.header("authorization").is_none())
    );
    assert!(other.asked().is_empty());
}

#[test]
fn a_stream_that_leads_elsewhere_takes_nothing_along() {
    let streams = Streams::default();
    let other = good(&streams);
    let to = other.url("/sse");
    let server = Server::elsewhere(move |_| Reply::redirect(307, &to));
    run(async {
        let given = credentials(&[("Authorization", "Bearer word")]);
        let endpoint = endpoint(&server.url("/sse"), &[("X-Tenant", "tide")]);
        let (service, _) = connect(&endpoint, &given, &rules()).await;
        let service = service.expect("a session");
        assert_eq!(tools(&service).await.expect("tools"), ["tide"]);
        service.cancel().await.expect("an end");
    });
    let asked = other.asked();
    assert_eq!(asked.len(), 4);
    for asked in asked {
        assert_eq!(asked.header("x-tenant"), None, "{asked:?}");
        assert_eq!(asked.header("authorization"), None, "{asked:?}");
    }
}

#[test]
fn a_message_does_not_follow_to_another_origin() {
    let other = Server::elsewhere(answer);
    let to = other.url("/there");
    let streams = Streams::default();
    let server = Server::new(move |asked| match asked.method.as_str() {
        "GET" => open(&streams, "event: endpoint\ndata: /messages\n\n"),
        _ => Reply::redirect(307, &to),
    });
    let error = refusal(&server.url("/sse"), &rules());
    assert!(error.contains("do not follow to another origin"), "{error}");
    assert!(other.asked().is_empty());
}

#[test]
fn a_broken_stream_is_opened_anew_and_what_waited_fails_by_name() {
    let streams = Streams::default();
    let server = {
        let streams = Arc::clone(&streams);
        Server::new(move |asked| {
            let message = message(asked);
            let count = streams.lock().expect("the streams").len();
            match asked.method.as_str() {
                "GET" if count == 1 => {
                    let first = "id: a-1\nevent: endpoint\ndata: /messages?s=1\n\n";
                    open(&streams, first)
                }
                "GET" => open(
                    &streams,
                    "id: a-0\nevent: endpoint\ndata: /messages?s=0\n\n",
                ),
                // The answer never comes: the stream ends.
                _ if message["method"] == "tools/list" && asked.target.ends_with('0') => {
                    *streams.lock().expect("the streams") = vec![channel().0];
                    Reply::new(202, "")
                }
                _ => hear(&streams, asked),
            }
        })
    };
    run(async {
        let service = session(&server.url("/sse")).await;
        let error = tools(&service).await.expect_err("a failure");
        assert!(error.contains("ended before the answer came"), "{error}");
        assert_eq!(tools(&service).await.expect("tools"), ["tide"]);
        service.cancel().await.expect("an end");
    });
    let asked = server.asked();
    let opened: Vec<_> = asked
        .iter()
        .filter(|asked| asked.method == "GET")
        .map(|asked| asked.header("last-event-id"))
        .collect();
    assert_eq!(opened, [None, Some("a-0")]);
    let anew: Vec<_> = asked
        .iter()
        .filter(|asked| asked.target.ends_with("s=1"))
        .map(|asked| message(asked)["method"].clone())
        .collect();
    assert_eq!(
        anew,
        ["initialize", "notifications/initialized", "tools/list"]
    );
}

#[test]
fn a_session_that_the_server_keeps_goes_on() {
    let streams = Streams::default();
    let opened = Arc::new(AtomicUsize::new(0));
    let server = {
        let (streams, opened) = (Arc::clone(&streams), Arc::clone(&opened));
        Server::new(move |asked| match asked.method.as_str() {
            "GET" => match opened.fetch_add(1, Ordering::SeqCst) {
                1 => events(""),
                2 => Reply::new(409, "the other one is still open"),
                _ => open(
                    &streams,
                    "id: a-0\nevent: endpoint\ndata: /messages?s=0\n\n",
                ),
            },
            _ => hear(&streams, asked),
        })
    };
    run(async {
        let service = session(&server.url("/sse")).await;
        streams.lock().expect("the streams").clear();
        until(|| (opened.load(Ordering::SeqCst) == 4).then_some(())).await;
        assert_eq!(tools(&service).await.expect("tools"), ["tide"]);
        service.cancel().await.expect("an end");
    });
    let begun = server
        .asked()
        .iter()
        .filter(|asked| message(asked)["method"] == "initialize")
        .count();
    assert_eq!(begun, 1);
}

#[test]
fn a_server_that_is_gone_ends_the_session_by_name() {
    let streams = Streams::default();
    let server = {
        let streams = Arc::clone(&streams);
        let opened = Mutex::new(false);
        Server::new(move |asked| match asked.method.as_str() {
            "GET" if !std::mem::replace(&mut opened.lock().expect("it"), true) => {
                open(&streams, "event: endpoint\ndata: /messages\n\n")
            }
            "GET" => Reply::new(503, ""),
            _ => hear(&streams, asked),
        })
    };
    run(async {
        let endpoint = endpoint(&server.url("/sse"), &[]);
        let (service, watch) = connect(&endpoint, &Credentials::default(), &rules()).await;
        let service = service.expect("a session");
        streams.lock().expect("the streams").clear();
        service.waiting().await.expect("an end");
        let last = watch.last().expect("a failure");
        assert!(last.contains("answers GET with status 503"), "{last}");
    });
    let tried = server
        .asked()
        .iter()
        .filter(|asked| asked.method == "GET")
        .count();
    assert_eq!(tried, 4);
}

#[test]
fn refusals_are_told_apart() {
    let mut rules = rules();
    rules.timeouts.endpoint = Duration::from_millis(300);
    rules.limits.event = 2000;
    let cases: [(Reply, &str); 9] = [
        (
            Reply::new(405, ""),
            "answers GET with status 405; servers of Streamable HTTP answer so: if this is one, its entry needs \"type\": \"streamable-http\"",
        ),
        (Reply::new(500, ""), "answers GET with status 500"),
        (
            Reply::new(200, "<p>").header("content-type", "text/html"),
            "content of the type text/html; that is a web page",
        ),
        (
            Reply::json(200, &json!({})),
            "content of the type application/json",
        ),
        (events(""), "ends its stream without naming an endpoint"),
        (
            events("data: x\n\n".repeat(10)).delivery(crate::web::Delivery::StallAfter(20)),
            "names no endpoint for messages within 0.3 s",
        ),
        (
            events("event: endpoint\ndata: http://[\n\n"),
            "that is no address",
        ),
        (events("data: x".repeat(1000)), "larger than 2000 bytes"),
        (
            Reply::new(401, "word").header("www-authenticate", "Bearer realm=word"),
            "wants credentials (status 401, scheme Bearer)",
        ),
    ];
    for (reply, said) in cases {
        let server = Server::new(move |_| reply.clone());
        let error = refusal(&server.url("/sse?word"), &rules);
        assert!(error.contains(said), "{said}: {error}");
        assert!(!error.contains("word"), "{error}");
        assert_eq!(server.asked().len(), 1, "no other transport is tried");
    }
}

#[test]
fn garbage_costs_one_request() {
    let streams = Streams::default();
    let server = {
        let streams = Arc::clone(&streams);
        let bad = Mutex::new(true);
        Server::new(move |asked| match asked.method.as_str() {
            "GET" => open(&streams, "event: endpoint\ndata: /messages\n\n"),
            _ if message(asked)["method"] == "tools/list"
                && std::mem::replace(&mut bad.lock().expect("it"), false) =>
            {
                let id = message(asked)["id"].clone();
                let say = streams.lock().expect("the streams")[0].clone();
                let _ = say.send("data: {\n\nevent: other\ndata: x\n\n".to_owned());
                let _ = say.send(event(&json!({"jsonrpc": "2.0", "id": id, "error": 7})));
                Reply::new(202, "")
            }
            _ => hear(&streams, asked),
        })
    };
    run(async {
        let service = session(&server.url("/sse")).await;
        let error = tools(&service).await.expect_err("a failure");
        assert!(error.contains("sends what is no answer of MCP"), "{error}");
        assert_eq!(tools(&service).await.expect("tools"), ["tide"]);
        service.cancel().await.expect("an end");
    });
}

#[test]
fn a_server_that_is_away_is_not_waited_for_and_may_come_back() {
    let streams = Streams::default();
    let away = Arc::new(AtomicBool::new(false));
    let server = {
        let (streams, away) = (Arc::clone(&streams), Arc::clone(&away));
        Server::new(move |asked| match asked.method.as_str() {
            "GET" if away.load(Ordering::SeqCst) => Reply::new(503, ""),
            "GET" => open(&streams, "event: endpoint\ndata: /messages\n\n"),
            _ => hear(&streams, asked),
        })
    };
    let mut rules = rules();
    // It is given up after more than ten seconds.
    rules.reconnect = Reconnect {
        times: 6,
        pause: Duration::from_millis(200),
        longest: Duration::from_secs(30),
    };
    run(async {
        let endpoint = endpoint(&server.url("/sse"), &[]);
        let (service, _) = connect(&endpoint, &Credentials::default(), &rules).await;
        let service = service.expect("a session");
        away.store(true, Ordering::SeqCst);
        streams.lock().expect("the streams").clear();
        let began = Instant::now();
        // The first may be asked before the end of the stream is seen.
        tools(&service).await.expect_err("a failure");
        let error = tools(&service).await.expect_err("a failure");
        assert!(error.contains("status 503"), "{error}");
        let took = began.elapsed();
        assert!(took < Duration::from_secs(4), "{took:?}");
        away.store(false, Ordering::SeqCst);
        while tools(&service).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        service.cancel().await.expect("an end");
    });
}
