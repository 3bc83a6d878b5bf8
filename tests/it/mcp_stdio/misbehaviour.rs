//! Servers that do what they should not.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use apkit::mcp::credential::Credentials;
use apkit::mcp::stdio::{Fault, SendError, Stdio};
use rmcp::model::{ClientRequest, JsonRpcMessage, PingRequest, RequestId};
use rmcp::transport::Transport as _;
use serde_json::json;

use crate::probe::{call, greet, limits, open, process, runs, soon, start, text};
use crate::support::Place;

#[tokio::test]
async fn lines_that_are_no_messages_are_skipped() {
    let place = Place::new();
    let (mut client, watch) = open(&place, &["--probe=garbage:10"], &limits()).await;
    assert_eq!(
        text(&client, "garbage", json!({"lines": 7})).await,
        "written"
    );
    assert_eq!(watch.skipped(), 17);
    assert_eq!(watch.fault(), None);
    client.close().await.expect("an end");
}

#[tokio::test]
async fn too_many_of_them_end_the_server() {
    let place = Place::new();
    let (client, watch) = open(&place, &[], &limits()).await;
    call(&client, "garbage", json!({"lines": 2000}))
        .await
        .expect_err("no answer");
    let ending = watch.ended().await;
    assert_eq!(ending.fault, Some(Fault::NoMessages { lines: 1001 }));
    assert_eq!(
        ending.to_string(),
        "it wrote 1001 lines in a row to its standard output that are no JSON-RPC messages, \
         and was ended"
    );
    watch.gone().await;
    assert!(!runs(watch.id()));
}

#[tokio::test]
async fn a_line_without_end_ends_the_server() {
    let place = Place::new();
    let mut limits = limits();
    limits.line = 1 << 20;
    let (client, watch) = open(&place, &[], &limits).await;
    let long = text(&client, "big", json!({"bytes": 1_000_000})).await;
    assert_eq!(long.len(), 1_000_000);
    call(&client, "line", json!({"bytes": 2 << 20}))
        .await
        .expect_err("no answer");
    assert_eq!(
        watch.ended().await.fault,
        Some(Fault::Line { longest: 1 << 20 })
    );
    watch.gone().await;
}

#[tokio::test]
async fn a_flood_of_messages_is_read_through() {
    let place = Place::new();
    let (mut client, watch) = open(&place, &[], &limits()).await;
    assert_eq!(
        text(&client, "flood", json!({"messages": 5000})).await,
        "written"
    );
    assert_eq!(watch.skipped(), 0);
    client.close().await.expect("an end");
}

#[tokio::test]
async fn a_flood_without_end_keeps_no_other_server_from_working() {
    let place = Place::new();
    let (mut one, _) = open(&place, &[], &limits()).await;
    let (mut other, _) = open(&place, &[], &limits()).await;
    let flood = call(&one, "flood", json!({"messages": u64::MAX}));
    let calls = async {
        for _ in 0..20 {
            assert_eq!(
                text(&other, "echo", json!({"text": "hello"})).await,
                "hello"
            );
        }
    };
    tokio::select! {
        result = flood => panic!("it has no end: {result:?}"),
        () = calls => {}
    }
    other.close().await.expect("an end");
    one.close().await.expect("an end");
}

fn ping(
    id: i64,
    length: usize,
) -> JsonRpcMessage<ClientRequest, rmcp::model::ClientResult, rmcp::model::ClientNotification> {
    let mut request = PingRequest::default();
    request.extensions.insert(());
    let id = RequestId::String(format!("{id}{}", "x".repeat(length)).into());
    JsonRpcMessage::request(ClientRequest::PingRequest(request), id)
}

#[tokio::test]
async fn a_server_that_does_not_read_keeps_nobody_waiting() {
    let place = Place::new();
    let mut limits = limits();
    limits.send = Duration::from_millis(300);
    limits.unsent = 3 << 20;
    limits.end_of_input = Duration::from_millis(200);
    let process = process(&place, &["--probe=deaf"]);
    let mut server = start(&process, &limits).await.expect("it starts");
    let watch = server.watch();
    let begun = Instant::now();
    let first = server.send(ping(1, 1 << 20));
    let second = server.send(ping(2, 1 << 20));
    let third = server.send(ping(3, 1 << 20));
    // There is no room for it: refused without waiting.
    let third = tokio::time::timeout(Duration::ZERO, third).await;
    let error = third.expect("an answer at once").expect_err("too much");
    assert!(matches!(error, SendError::NotRead), "{error}");
    let (first, second) = tokio::join!(first, second);
    for error in [first, second] {
        let error = error.expect_err("nobody reads");
        assert_eq!(
            error.to_string(),
            "the server does not read its standard input"
        );
    }
    server.close().await.expect("an end");
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(matches!(
        server.send(ping(4, 0)).await,
        Err(SendError::Closed)
    ));
    assert!(server.receive().await.is_none());
    assert!(!runs(watch.id()));
}

#[tokio::test]
async fn messages_arrive_in_order_and_large_ones_whole() {
    let place = Place::new();
    let (mut client, _) = open(&place, &[], &limits()).await;
    let long = "é\n\"".repeat(500_000);
    assert_eq!(text(&client, "echo", json!({"text": long})).await, long);
    client.close().await.expect("an end");
}

#[tokio::test]
async fn standard_error_is_kept_in_bounds_and_without_credentials() {
    let place = Place::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let mut limits = limits();
    let listener = Arc::clone(&heard);
    limits.listener = Some(Arc::new(move |line: &str| {
        listener.lock().expect("no panic").push(line.to_owned());
    }));
    let credentials = Credentials {
        env: vec![("TOKEN".to_owned(), "s3cr3t".to_owned())],
        ..Credentials::default()
    };
    let server = Stdio::start(&process(&place, &[]), &credentials, &limits).await;
    let server = server.expect("it starts");
    let watch = server.watch();
    let mut client = greet(server).await.expect("a handshake");
    let arguments = json!({"lines": 20_000, "text": "the token is s3cr3t"});
    assert_eq!(text(&client, "stderr", arguments).await, "written");
    let last = "19999 the token is [TOKEN]";
    assert!(soon(Duration::from_secs(5), || watch.last_lines(1) == [last]));
    let kept = watch.stderr();
    assert!(
        kept.len() <= (64 << 10) * 2 && kept.len() > 50_000,
        "{}",
        kept.len()
    );
    assert!(!kept.contains("s3cr3t"));
    let (first, rest) = kept.split_once(' ').expect("words");
    assert!(
        first.parse::<u32>().is_ok() && rest.starts_with("the token"),
        "{first}"
    );
    client.close().await.expect("an end");
    let heard = heard.lock().expect("no panic");
    assert_eq!(heard.len(), 20_000);
    assert_eq!(heard.last().map(String::as_str), Some(last));
}
