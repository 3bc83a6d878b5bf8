use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::fake::{self, Lines, answer, options, say, usual};
use super::*;

fn raw(value: Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(&value).expect("JSON")
}

/// A session with a server that answers `method` by `reply` and all else as usual.
async fn with(
    method: &'static str,
    reply: impl Fn(&Value, &Lines) + Send + 'static,
) -> Result<Session, Failure> {
    let script = move |message: &Value, lines: &Lines| {
        match message["method"] == method {
            true => reply(message, lines),
            false => usual(message, lines),
        }
        true
    };
    Ok(fake::session("api", &options(), script).await?.0)
}

fn cause(result: Result<Session, Failure>) -> String {
    match result {
        Ok(_) => panic!("it was opened"),
        Err(failure) => failure.to_string(),
    }
}

#[tokio::test]
async fn initialize_asks_for_the_version_and_announces_nothing() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let script = move |message: &Value, lines: &Lines| {
        kept.lock().unwrap().push(message.clone());
        usual(message, lines);
        true
    };
    let (session, _logs) = fake::session("api", &options(), script).await.unwrap();
    assert_eq!(session.facts().protocol_version, "2025-11-25");
    assert_eq!(session.facts().server_info.name, "fake");
    assert_eq!(session.facts().instructions.as_deref(), Some("Be gentle."));
    session.tools().await.unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0]["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(seen[0]["params"]["capabilities"], json!({}));
    assert_eq!(
        seen[0]["params"]["clientInfo"],
        json!({"name": "apkit", "version": env!("CARGO_PKG_VERSION")})
    );
    assert_eq!(
        seen[1],
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
    );
    assert_eq!(seen[2]["method"], "tools/list");
}

#[tokio::test]
async fn older_versions_are_spoken_and_unknown_ones_refused_by_name() {
    for version in VERSIONS {
        let reply = move |message: &Value, lines: &Lines| {
            let result = json!({"protocolVersion": version, "capabilities": {}});
            answer(message, lines, &result.to_string());
        };
        let session = with("initialize", reply).await.unwrap();
        assert_eq!(session.facts().protocol_version, version);
        assert!(
            session.tools().await.unwrap().tools.is_empty(),
            "it offers no tools"
        );
    }
    let reply = |message: &Value, lines: &Lines| {
        answer(
            message,
            lines,
            r#"{"protocolVersion": "2099-01-01", "capabilities": {}}"#,
        );
    };
    let text = cause(with("initialize", reply).await);
    assert!(
        text.contains("failed to initialize: it speaks version \"2099-01-01\""),
        "{text}"
    );
    assert!(
        text.contains("2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05"),
        "{text}"
    );
    assert!(text.ends_with("\n  | the last line"), "{text}");
}

#[tokio::test]
async fn failures_of_initialize_have_a_cause() {
    let reply = |message: &Value, lines: &Lines| {
        let id = &message["id"];
        say(
            lines,
            &format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-5,"message":"no ghp_aB3dE5gH7jK9mN1pQ3sT5v"}}}}"#
            ),
        );
    };
    let text = cause(with("initialize", reply).await);
    assert!(
        text.contains("it answered with error -5: no [hidden]"),
        "{text}"
    );

    let text = cause(with("initialize", |message, lines| answer(message, lines, "[1]")).await);
    assert!(text.contains("cannot be read"), "{text}");

    let ends = |_: &Value, _: &Lines| false;
    let ended = fake::session("api", &options(), ends)
        .await
        .map(|opened| opened.0);
    let text = cause(ended);
    assert!(text.contains("the server ended the connection"), "{text}");

    let short = Options {
        opening: Duration::from_millis(50),
        ..options()
    };
    let silent = fake::session("api", &short, |_, _| true)
        .await
        .map(|opened| opened.0);
    let text = cause(silent);
    assert!(
        text.contains("no answer within 0.05 s; --timeout gives it more time"),
        "{text}"
    );
}

#[tokio::test]
async fn tools_come_page_by_page_in_order_of_their_names() {
    let pages = |message: &Value, lines: &Lines| {
        let page = match message["params"]["cursor"].as_str() {
            None => {
                r#"{"tools": [{"name": "b", "z": 1, "a": 2}, {"no": "name"}], "nextCursor": "x"}"#
            }
            Some(_) => r#"{"tools": [{"name": "a"}]}"#,
        };
        answer(message, lines, page);
    };
    let tools = with("tools/list", pages)
        .await
        .unwrap()
        .tools()
        .await
        .unwrap();
    let texts: Vec<&str> = tools.tools.iter().map(|tool| tool.raw.get()).collect();
    assert_eq!(
        texts,
        [r#"{"name": "a"}"#, r#"{"name": "b", "z": 1, "a": 2}"#]
    );

    let endless = |message: &Value, lines: &Lines| {
        answer(message, lines, r#"{"tools": [], "nextCursor": "x"}"#);
    };
    let failure = with("tools/list", endless)
        .await
        .unwrap()
        .tools()
        .await
        .unwrap_err();
    assert_eq!(failure.step, Step::ListTools);
    assert!(failure.cause.contains("does not end"), "{failure}");
}

#[tokio::test]
async fn results_keep_their_text() {
    let result = r#"{ "content" : [{"type":"hologram","z":1.0,"a":123456789012345678901}] }"#;
    let session = with("tools/call", move |message, lines| {
        answer(message, lines, result)
    });
    let session = session.await.unwrap();
    let answer = session
        .call(raw(json!({"name": "x"})), false)
        .end(None)
        .await
        .unwrap();
    assert_eq!(answer.get(), result);
}

#[tokio::test]
async fn progress_gives_a_call_more_time() {
    let script = |message: &Value, lines: &Lines| {
        let token = message["params"]["_meta"]["progressToken"].clone();
        assert!(token.is_number());
        assert_eq!(message["params"]["_meta"]["own"], 1);
        let (message, lines) = (message.clone(), lines.clone());
        tokio::spawn(async move {
            for at in 0..4 {
                tokio::time::sleep(Duration::from_millis(150)).await;
                say(
                    &lines,
                    &format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{at}}}}}"#
                    ),
                );
            }
            tokio::time::sleep(Duration::from_millis(150)).await;
            answer(&message, &lines, "{}");
        });
    };
    let session = with("tools/call", script).await.unwrap();
    let params = json!({"name": "x", "_meta": {"own": 1}});
    let call = session.call(raw(params), true);
    assert_eq!(
        call.end(Some(Duration::from_millis(400)))
            .await
            .unwrap()
            .get(),
        "{}"
    );
}

#[tokio::test]
async fn what_is_not_waited_for_is_cancelled() {
    let (seen, mut cancelled) = tokio::sync::mpsc::unbounded_channel();
    let script = move |message: &Value, lines: &Lines| {
        match message["method"].as_str() {
            Some("tools/call") => {}
            Some("notifications/cancelled") => drop(seen.send(message["params"].clone())),
            _ => usual(message, lines),
        }
        true
    };
    let (session, _logs) = fake::session("api", &options(), script).await.unwrap();
    let late = session
        .call(raw(json!({"name": "x"})), false)
        .end(Some(Duration::from_millis(20)));
    let failure = late.await.unwrap_err().during("api", Step::Serve);
    assert_eq!(failure.cause, "no answer within 0.02 s");
    assert_eq!(
        cancelled.recv().await.unwrap(),
        json!({"requestId": 2, "reason": "no answer within 0.02 s"})
    );
    drop(session.call(raw(json!({"name": "x"})), false));
    assert_eq!(cancelled.recv().await.unwrap(), json!({"requestId": 3}));
    session
        .call(raw(json!({"name": "x"})), false)
        .cancel(Some("enough".to_owned()));
    assert_eq!(
        cancelled.recv().await.unwrap(),
        json!({"requestId": 4, "reason": "enough"})
    );
}

#[tokio::test]
async fn requests_of_a_server_are_answered() {
    let (seen, mut answers) = tokio::sync::mpsc::unbounded_channel();
    let script = move |message: &Value, lines: &Lines| {
        if message.get("method").is_none() {
            drop(seen.send(message.clone()));
        }
        if message["method"] == "notifications/initialized" {
            say(lines, r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
            say(lines, r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#);
        }
        usual(message, lines);
        true
    };
    let (_session, _logs) = fake::session("api", &options(), script).await.unwrap();
    let pong = json!({"jsonrpc": "2.0", "id": "p", "result": {}});
    assert_eq!(answers.recv().await.unwrap(), pong);
    let refused = answers.recv().await.unwrap();
    assert_eq!(refused["id"], 7);
    assert_eq!(refused["error"]["code"], -32601);
    assert_eq!(
        refused["error"]["message"],
        "apkit does not offer roots/list"
    );
}

#[tokio::test]
async fn the_end_of_a_server_ends_its_calls() {
    let script = |message: &Value, lines: &Lines| {
        usual(message, lines);
        message["method"] != "tools/call" || message["params"]["name"] != "die"
    };
    let script = move |message: &Value, lines: &Lines| {
        if message["params"]["name"] == "die" {
            return false;
        }
        script(message, lines)
    };
    let (session, _logs) = fake::session("api", &options(), script).await.unwrap();
    let call = session
        .call(raw(json!({"name": "die"})), false)
        .end(None)
        .await;
    let failure = call.unwrap_err().during("api", Step::Serve);
    assert_eq!(
        failure.to_string(),
        "server `api` failed: the server ended the connection\n  | the last line"
    );
    assert_eq!(session.ended().await.cause, failure.cause);
    let after = session
        .call(raw(json!({"name": "x"})), false)
        .end(None)
        .await;
    assert!(matches!(after, Err(CallError::Failed(_))));
}

#[tokio::test]
async fn arrays_are_no_objects() {
    let reply = |message: &Value, lines: &Lines| {
        answer(message, lines, r#"{"tools": [["x"], {"name": "y"}]}"#);
    };
    let session = with("tools/list", reply).await.unwrap();
    let listed = session.tools().await.unwrap();
    let names: Vec<_> = listed.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["y"]);
    assert_eq!(
        listed.warning.as_deref(),
        Some("number 1 of the tools it lists has no usable name and is left out")
    );
    let reply = |message: &Value, lines: &Lines| answer(message, lines, r#"[[{"name": "x"}]]"#);
    let session = with("tools/list", reply).await.unwrap();
    assert!(session.tools().await.is_err());
    let reply = |message: &Value, lines: &Lines| {
        let result = r#"{"protocolVersion": "2025-11-25", "serverInfo": ["n", "1"]}"#;
        answer(message, lines, result);
    };
    assert!(with("initialize", reply).await.is_err());
}
