//! Sessions over Streamable HTTP.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use apkit::mcp::credential::Credentials;
use serde_json::json;

use super::support::{
    answer, credentials, endpoint, event, message, plain, refusal, reply, result, rules, run,
    streamable, tools, until,
};
use crate::web::{Asked, Delivery, Reply, Server};

/// Begins a session with the first request.
fn with_session(asked: &Asked, name: &str) -> Reply {
    let reply = answer(asked);
    if message(asked)["method"] == "initialize" {
        reply.header("Mcp-Session-Id", name)
    } else {
        reply
    }
}

fn events(body: impl Into<Vec<u8>>) -> Reply {
    Reply::new(200, body).header("content-type", "text/event-stream; charset=utf-8")
}

#[test]
fn a_session_goes_by_the_book() {
    let server = Server::new(|asked| with_session(asked, "s-1"));
    run(async {
        let service = plain(&server.url("/a/mcp?key=${PLUGIN_ROOT}&x=%2F")).await;
        assert_eq!(tools(&service).await.expect("tools"), ["tide"]);
        until(|| {
            let asked = server.asked();
            asked
                .iter()
                .any(|asked| asked.method == "GET")
                .then_some(())
        })
        .await;
        service.cancel().await.expect("an end");
    });
    let asked = server.asked();
    let posts: Vec<_> = asked
        .iter()
        .filter(|asked| asked.method == "POST")
        .collect();
    assert_eq!(message(posts[0])["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(posts.len(), 3);
    for post in &posts {
        assert_eq!(
            post.header("accept"),
            Some("application/json, text/event-stream")
        );
        assert_eq!(post.header("content-type"), Some("application/json"));
        assert_eq!(post.header("host"), Some(server.authority().as_str()));
        assert_eq!(post.header("accept-encoding"), Some("identity"));
    }
    assert_eq!(posts[0].header("mcp-session-id"), None);
    assert_eq!(posts[0].header("mcp-protocol-version"), None);
    for later in asked.iter().skip(1) {
        assert_eq!(later.header("mcp-session-id"), Some("s-1"), "{later:?}");
        assert_eq!(later.header("mcp-protocol-version"), Some("2025-11-25"));
    }
    assert_eq!(
        asked.last().map(|asked| asked.method.as_str()),
        Some("DELETE")
    );
    for asked in &asked {
        assert_eq!(asked.target, "/a/mcp?key=${PLUGIN_ROOT}&x=%2F");
    }
}

#[test]
fn headers_are_sent_literally_and_the_clients_own_win() {
    let server = Server::new(|asked| with_session(asked, "s-1"));
    let configured = [
        ("X-Tenant", "${HOME} tïde\tx"),
        ("ACCEPT", "text/plain"),
        ("content-Type", "text/plain"),
        ("Content-Length", "7"),
        ("HOST", "evil.example"),
        ("mcp-SESSION-id", "mine"),
        ("MCP-Protocol-Version", "1999-01-01"),
        ("Last-Event-ID", "mine"),
        ("Connection", "close"),
        ("Transfer-Encoding", "chunked"),
        ("User-Agent", "theirs"),
        ("authorization", "configured"),
        ("X-Key", "configured"),
    ];
    let given = credentials(&[("Authorization", "Bearer word"), ("x-key", "word")]);
    run(async {
        let endpoint = endpoint(&server.url("/mcp"), &configured);
        let (service, _) = streamable(&endpoint, &given, &rules()).await;
        service.expect("a session").cancel().await.expect("an end");
    });
    let asked = server.asked();
    assert!(asked.len() >= 3);
    for (at, asked) in asked.iter().enumerate() {
        for (name, value) in [
            ("x-tenant", Some("${HOME} tïde\tx")),
            ("host", Some(server.authority().as_str())),
            ("user-agent", Some("theirs")),
            ("authorization", Some("Bearer word")),
            ("x-key", Some("word")),
            ("last-event-id", None),
            ("connection", None),
            ("transfer-encoding", None),
            ("mcp-session-id", (at > 0).then_some("s-1")),
            ("mcp-protocol-version", (at > 0).then_some("2025-11-25")),
        ] {
            assert_eq!(asked.header(name), value, "{name} of {asked:?}");
        }
        assert_ne!(asked.header("accept"), Some("text/plain"));
        assert_ne!(asked.header("content-type"), Some("text/plain"));
        assert_ne!(asked.header("content-length"), Some("7"));
    }
}

#[test]
fn answers_may_come_as_events() {
    let server = Server::new(|asked| {
        let message = message(asked);
        match (asked.method.as_str(), result(&message)) {
            ("POST", Some(result)) => {
                let note = json!({"jsonrpc": "2.0", "method": "notifications/message",
                    "params": {"level": "info", "data": "x"}});
                let last = reply(&message, &result);
                events(format!(": hello\n\n{}{}", event(&note), event(&last)))
                    .delivery(Delivery::Chunked)
            }
            _ => answer(asked),
        }
    });
    run(async {
        let service = plain(&server.url("/mcp")).await;
        assert_eq!(tools(&service).await.expect("tools"), ["tide"]);
        service.cancel().await.expect("an end");
    });
}

#[test]
fn a_stream_that_breaks_off_is_taken_up_where_it_broke_off() {
    let breaks = Arc::new(AtomicUsize::new(0));
    let pending = Arc::new(Mutex::new(json!(null)));
    let server = {
        let (breaks, pending) = (Arc::clone(&breaks), Arc::clone(&pending));
        Server::new(move |asked| {
            let message = message(asked);
            if message["method"] == "tools/list" {
                *pending.lock().expect("it") = message;
                return events("id: e-1\nretry: 1\ndata:\n\n");
            }
            match (asked.method.as_str(), asked.header("last-event-id")) {
                ("GET", Some(id)) => match breaks.fetch_add(1, Ordering::SeqCst) {
                    0 => {
                        assert_eq!(id, "e-1");
                        events("id: e-2\ndata:\n\ndata: cut here").delivery(Delivery::CutAfter(20))
                    }
                    1 => Reply::new(503, "later"),
                    _ => {
                        assert_eq!(id, "e-2");
                        let message = pending.lock().expect("it").clone();
                        let result = result(&message).expect("a result");
                        events(event(&reply(&message, &result)))
                    }
                },
                _ => with_session(asked, "s-1"),
            }
        })
    };
    run(async {
        let service = plain(&server.url("/mcp")).await;
        assert_eq!(tools(&service).await.expect("tools"), ["tide"]);
        service.cancel().await.expect("an end");
    });
    let asked = server.asked();
    let resumed: Vec<_> = asked
        .iter()
        .filter(|asked| asked.header("last-event-id").is_some())
        .collect();
    assert_eq!(resumed.len(), 3);
    for get in resumed {
        assert_eq!(get.header("mcp-session-id"), Some("s-1"));
        assert_eq!(get.header("accept"), Some("text/event-stream"));
    }
}

#[test]
fn a_stream_that_cannot_be_taken_up_fails_the_request_by_name() {
    let after: fn(&Asked) -> Reply = |asked| match asked.method.as_str() {
        "GET" => Reply::new(405, ""),
        _ => with_session(asked, "s-1"),
    };
    for (first, said) in [
        ("", "ended before the answer came"),
        ("id: e-1\ndata:\n\n", "answers GET with status 405"),
        ("data: {\"x\n\n", "sends what is no answer of MCP"),
        ("event: endpoint\ndata: /m\n\n", "\"type\": \"sse\""),
    ] {
        let server = Server::new(move |asked| {
            if message(asked)["method"] == "tools/list" {
                events(first)
            } else {
                after(asked)
            }
        });
        run(async {
            let service = plain(&server.url("/mcp?word")).await;
            let error = tools(&service).await.expect_err("a failure");
            assert!(error.contains(said), "{first:?}: {error}");
            assert!(
                error.contains("/mcp?…") && !error.contains("word"),
                "{error}"
            );
            service.cancel().await.expect("an end");
        });
    }
}

#[test]
fn what_the_server_says_unasked_arrives_and_its_stream_is_kept_up() {
    let (say, feed) = mpsc::channel::<String>();
    let feed = Mutex::new(Some(feed));
    let opened = Arc::new(AtomicUsize::new(0));
    let server = {
        let opened = Arc::clone(&opened);
        Server::new(move |asked| match asked.method.as_str() {
            "GET" => match opened.fetch_add(1, Ordering::SeqCst) {
                0 => Reply::new(503, "soon"),
                1 => events("id: g-1\ndata:\n\n"),
                _ => match feed.lock().expect("it").take() {
                    Some(feed) => events("").feed(feed),
                    None => Reply::new(405, ""),
                },
            },
            _ => with_session(asked, "s-1"),
        })
    };
    run(async {
        let service = plain(&server.url("/mcp")).await;
        let asked = until(|| {
            let asked = server.asked();
            let gets: Vec<_> = asked
                .into_iter()
                .filter(|asked| asked.method == "GET")
                .collect();
            (gets.len() == 3).then_some(gets)
        })
        .await;
        assert_eq!(asked[1].header("last-event-id"), None);
        assert_eq!(asked[2].header("last-event-id"), Some("g-1"));
        // The server asks, and the client answers with a POST.
        say.send(event(&json!({"jsonrpc": "2.0", "id": 9, "method": "ping"})))
            .expect("a listener");
        until(|| {
            let asked = server.asked();
            asked
                .iter()
                .map(message)
                .find(|message| message["id"] == 9 && message["result"].is_object())
        })
        .await;
        service.cancel().await.expect("an end");
    });
}

#[test]
fn a_forgotten_session_is_begun_anew() {
    let begun = Arc::new(AtomicUsize::new(0));
    let server = {
        let begun = Arc::clone(&begun);
        Server::new(move |asked| {
            let message = message(asked);
            if message["method"] == "initialize" {
                let count = begun.fetch_add(1, Ordering::SeqCst);
                return with_session(asked, &format!("s-{count}"));
            }
            match asked.header("mcp-session-id") {
                Some("s-0") if message["method"] == "tools/list" => Reply::new(404, "who?"),
                _ => answer(asked),
            }
        })
    };
    run(async {
        let service = plain(&server.url("/mcp")).await;
        assert_eq!(tools(&service).await.expect("tools"), ["tide"]);
        service.cancel().await.expect("an end");
    });
    assert_eq!(begun.load(Ordering::SeqCst), 2);
    let last = server.asked().pop().expect("a request");
    assert_eq!(last.method, "DELETE");
    assert_eq!(last.header("mcp-session-id"), Some("s-1"));
}

#[test]
fn a_session_that_is_refused_with_400_is_begun_anew_once() {
    // As servers of the official SDK say it after a restart.
    let error = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}"#;
    for (forgets_all, sessions) in [(false, 2), (true, 2)] {
        let begun = Arc::new(AtomicUsize::new(0));
        let server = {
            let begun = Arc::clone(&begun);
            Server::new(move |asked| {
                let message = message(asked);
                if message["method"] == "initialize" {
                    let count = begun.fetch_add(1, Ordering::SeqCst);
                    return with_session(asked, &format!("s-{count}"));
                }
                let is_old = asked.header("mcp-session-id") == Some("s-0");
                match message["method"] == "tools/list" && (is_old || forgets_all) {
                    true => Reply::new(400, error).header("content-type", "application/json"),
                    false => answer(asked),
                }
            })
        };
        run(async {
            let service = plain(&server.url("/mcp")).await;
            match forgets_all {
                false => assert_eq!(tools(&service).await.expect("tools"), ["tide"]),
                true => {
                    let refused = format!("{:?}", tools(&service).await.expect_err("no tools"));
                    assert!(
                        refused.contains("No valid session ID provided"),
                        "{refused}"
                    );
                }
            }
            service.cancel().await.expect("an end");
        });
        assert_eq!(begun.load(Ordering::SeqCst), sessions);
    }
}

#[test]
fn refusals_are_told_apart() {
    let cases: [(Reply, &str); 9] = [
        (
            Reply::new(404, "no"),
            "answers POST with status 404; servers of the older transport answer so: if this is one, its entry needs \"type\": \"sse\"",
        ),
        (Reply::new(405, "no"), "its entry needs \"type\": \"sse\""),
        (Reply::new(500, "no"), "answers POST with status 500"),
        (
            Reply::new(200, "<p>").header("content-type", "text/html"),
            "answers POST with content of the type text/html; that is a web page",
        ),
        (Reply::new(200, "x"), "answers POST with content of no type"),
        (
            Reply::new(200, "{").header("content-type", "application/json"),
            "sends what is no answer of MCP",
        ),
        (
            Reply::json(200, &json!({"jsonrpc": "2.0", "id": 77, "result": {}})),
            "it is not the answer to the request",
        ),
        (
            Reply::json(
                400,
                &json!({"error": "not with sk-abcdefghijklmnopqrstuvwx1"}),
            ),
            "answers POST with status 400 (not with …)",
        ),
        (
            Reply::new(202, ""),
            "it accepts the request and does not answer it",
        ),
    ];
    for (reply, said) in cases {
        let server = Server::new(move |_| reply.clone());
        let error = refusal(&server.url("/mcp"), &[], &rules());
        assert!(error.contains(said), "{said}: {error}");
        assert!(error.contains(&server.url("/mcp")), "{error}");
        assert_eq!(server.asked().len(), 1, "no other transport is tried");
    }
    let server = Server::new(|_| {
        Reply::json(
            400,
            &json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "full"}}),
        )
    });
    let error = refusal(&server.url("/mcp"), &[], &rules());
    assert!(error.contains("full"), "{error}");
}

#[test]
fn a_server_that_wants_credentials_is_named_and_no_secret_is() {
    for status in [401, 403] {
        let server = Server::new(move |asked| {
            let sent = asked.header("authorization").unwrap_or("").to_owned();
            Reply::new(status, sent)
                .header("www-authenticate", "Bearer realm=\"word\", error=\"word\"")
        });
        let error = refusal(&server.url("/mcp?key=word"), &[], &rules());
        let wants = format!(
            "wants credentials (status {status}, scheme Bearer): give them with --credential"
        );
        assert!(error.contains(&wants), "{error}");
        assert!(!error.contains("word"), "{error}");
        run(async {
            let given = credentials(&[("Authorization", "Bearer word")]);
            let endpoint = endpoint(&server.url("/mcp"), &[]);
            let (service, watch) = streamable(&endpoint, &given, &rules()).await;
            let Err(error) = service else {
                panic!("that should have failed")
            };
            let error = error.to_string();
            assert!(error.contains("does not accept the credentials"), "{error}");
            assert!(!error.contains("word"), "{error}");
            let last = watch.last().expect("a failure");
            assert!(error.contains(&last), "{last}");
        });
    }
}

#[test]
fn a_failure_behind_the_first_answer_is_kept() {
    let server = Server::new(|asked| match message(asked)["method"].as_str() {
        Some("initialize") => answer(asked),
        _ => Reply::new(401, "").header("www-authenticate", "Bearer"),
    });
    run(async {
        let endpoint = endpoint(&server.url("/mcp"), &[]);
        let (service, watch) = streamable(&endpoint, &Credentials::default(), &rules()).await;
        assert!(service.is_err());
        let last = watch.last().expect("a failure");
        assert!(last.contains("wants credentials (status 401"), "{last}");
    });
}
