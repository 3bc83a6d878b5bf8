//! Servers that are slow, endless, or both.

use std::thread;
use std::time::Duration;

use apkit::mcp::http::{Limits, Rules};
use serde_json::json;

use super::support::{answer, endpoint, message, refusal, rules, run, streamable, tools};
use crate::web::{Delivery, Reply, Server};

fn tight() -> Rules {
    let mut rules = rules();
    rules.limits = Limits {
        json: 2000,
        event: 2000,
        error: 100,
    };
    rules.timeouts.idle = Duration::from_millis(600);
    rules.timeouts.whole = Duration::from_millis(950);
    rules.timeouts.silence = Duration::from_millis(700);
    rules
}

fn json_reply(body: impl Into<Vec<u8>>) -> Reply {
    Reply::new(200, body).header("content-type", "application/json")
}

fn events(body: impl Into<Vec<u8>>) -> Reply {
    Reply::new(200, body).header("content-type", "text/event-stream")
}

#[test]
fn the_first_answer_has_bounds() {
    let slow = Delivery::Trickle(1, Duration::from_millis(50));
    let cases = [
        (json_reply("").delivery(Delivery::Silent), "failed to reach"),
        (json_reply(" ".repeat(3000)), "larger than 2000 bytes"),
        (
            json_reply(" ".repeat(3000)).delivery(Delivery::Chunked),
            "larger than 2000 bytes",
        ),
        (
            json_reply(" ".repeat(100)).delivery(slow),
            "not complete within 0.95 s",
        ),
        (
            json_reply(" ".repeat(100)).delivery(Delivery::StallAfter(10)),
            "nothing more of the answer came within 0.60 s",
        ),
        (
            json_reply(" ".repeat(100)).delivery(Delivery::CutAfter(10)),
            "broke off after 10 bytes",
        ),
        (json_reply("{}").gzip(), "sends what is no answer of MCP"),
        (
            events(format!("data: {}", "x".repeat(3000))),
            "larger than 2000 bytes",
        ),
        (events(": x\n".repeat(3000)), "larger than 2000 bytes"),
        (
            events("data: x".repeat(20)).delivery(slow),
            "not complete within 0.95 s",
        ),
        (
            events(": x\n\n".repeat(20)).delivery(Delivery::StallAfter(5)),
            "nothing more of the answer came within 0.70 s",
        ),
        (
            Reply::new(500, "x".repeat(3000)).delivery(Delivery::StallAfter(200)),
            "status 500",
        ),
    ];
    let judge = |reply: Reply, said: &str| {
        let case = format!("{reply:?}");
        let server = Server::new(move |_| reply.clone());
        let error = refusal(&server.url("/mcp"), &[], &tight());
        assert!(
            error.contains(said),
            "{said}: {error} ({})",
            &case[..case.len().min(200)]
        );
    };
    // Each waits for nothing but time.
    thread::scope(|scope| {
        for (reply, said) in cases {
            scope.spawn(move || judge(reply, said));
        }
    });
}

#[test]
fn a_server_that_accepts_and_says_nothing_fails_by_name() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let mut rules = rules();
    rules.timeouts.answer = Duration::from_millis(300);
    let error = refusal(&url, &[], &rules);
    assert!(error.contains("no answer came within 0.30 s"), "{error}");
}

#[test]
fn one_bad_answer_does_not_end_the_session() {
    let server = Server::new(|asked| {
        let message = message(asked);
        match message["params"]["cursor"].as_str() {
            Some("large") => json_reply(" ".repeat(3000)),
            Some("endless") => events(format!("data: {}", "x".repeat(3000))),
            _ => answer(asked),
        }
    });
    run(async {
        let endpoint = endpoint(&server.url("/mcp"), &[]);
        let (service, _) = streamable(&endpoint, &Default::default(), &tight()).await;
        let service = service.expect("a session");
        for cursor in ["large", "endless"] {
            let page = serde_json::from_value(json!({"cursor": cursor})).expect("parameters");
            let error = service.list_tools(Some(page)).await.expect_err("a failure");
            assert!(
                error.to_string().contains("larger than 2000 bytes"),
                "{error}"
            );
            assert_eq!(tools(&service).await.expect("tools"), ["tide"]);
        }
        service.cancel().await.expect("an end");
    });
}
