//! How a server ends, and what it started with it.

use std::time::{Duration, Instant};

use apkit::mcp::stdio::{Ending, Status};
use serde_json::json;

use crate::probe::{call, greet, limits, open, process, runs, soon, start, text};
use crate::support::Place;

const EXITED: Ending = Ending {
    fault: None,
    status: Status::Code(0),
};

#[tokio::test]
async fn a_server_that_ends_with_its_input_is_not_signalled() {
    let place = Place::new();
    let args = ["--probe=eof:end-of-input", "--probe=term:signal"];
    let (mut client, watch) = open(&place, &args, &limits()).await;
    assert_eq!(watch.ending(), None);
    let begun = Instant::now();
    client.close().await.expect("an end");
    assert_eq!(watch.ended().await, EXITED);
    assert!(place.path().join("data/end-of-input").exists());
    assert!(!place.path().join("data/signal").exists());
    assert!(begun.elapsed() < limits().end_of_input);
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_does_not_is_asked_to_end() {
    let place = Place::new();
    let mut limits = limits();
    limits.end_of_input = Duration::from_millis(100);
    let args = [
        "--probe=eof:end-of-input",
        "--probe=ignore-eof",
        "--probe=term:signal",
    ];
    let (mut client, watch) = open(&place, &args, &limits).await;
    client.close().await.expect("an end");
    assert_eq!(watch.ended().await, EXITED);
    assert!(place.path().join("data/end-of-input").exists());
    assert!(place.path().join("data/signal").exists());
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_does_not_want_to_end_is_killed() {
    let place = Place::new();
    let mut limits = limits();
    limits.end_of_input = Duration::from_millis(100);
    limits.terminate = Duration::from_millis(100);
    let (mut client, watch) = open(
        &place,
        &["--probe=ignore-eof", "--probe=ignore-term"],
        &limits,
    )
    .await;
    client.close().await.expect("an end");
    assert_eq!(watch.ended().await.status, Status::Signal(9));
    assert_eq!(watch.ended().await.to_string(), "it was ended by signal 9");
    assert!(!runs(watch.id()));
}

/// Processes that a server starts and that do not want to end, as the probe's tool
/// takes it.
pub(super) const STUBBORN: &[&str] = if cfg!(target_os = "linux") {
    &["", "orphan", "apart", "orphan,apart"]
} else {
    &["", "orphan"]
};

#[cfg(unix)]
#[tokio::test]
async fn what_a_server_started_ends_with_it() {
    let place = Place::new();
    let (mut client, watch) = open(&place, &[], &limits()).await;
    let mut started = Vec::new();
    for how in STUBBORN {
        let id = text(&client, "stubborn", json!({"how": how})).await;
        started.push(id.parse::<u32>().expect("a process id"));
    }
    assert!(started.iter().all(|id| runs(*id)));
    client.close().await.expect("an end");
    assert_eq!(watch.ending(), Some(EXITED));
    let left: Vec<_> = started.into_iter().filter(|id| runs(*id)).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_dies_in_a_call_is_told_about_and_leaves_nothing() {
    let place = Place::new();
    let (client, watch) = open(&place, &[], &limits()).await;
    let id = text(&client, "stubborn", json!({"how": "orphan"})).await;
    let id = id.parse::<u32>().expect("a process id");
    let error = call(&client, "die", json!({"status": 7})).await;
    error.expect_err("no answer");
    let ending = watch.ended().await;
    assert_eq!(ending.status, Status::Code(7));
    assert_eq!(ending.to_string(), "it exited with status 7");
    assert_eq!(watch.last_lines(1), ["the probe was told to die"]);
    watch.gone().await;
    assert!(!runs(id));
}

#[tokio::test]
async fn a_server_that_ends_at_once_says_why() {
    let place = Place::new();
    let process = process(
        &place,
        &["--probe=stderr:\nno port is free", "--probe=exit:3"],
    );
    let server = start(&process, &limits()).await.expect("it starts");
    let watch = server.watch();
    greet(server).await.expect_err("no handshake");
    assert_eq!(watch.ended().await.status, Status::Code(3));
    let wanted = ["no port is free", "the probe was told to exit"];
    assert_eq!(watch.last_lines(5), wanted);
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_ends_when_nobody_uses_it_any_more() {
    let place = Place::new();
    let args = [
        "--probe=ignore-eof",
        "--probe=no-initialize",
        "--probe=term:signal",
    ];
    let server = start(&process(&place, &args), &limits())
        .await
        .expect("it starts");
    let watch = server.watch();
    // Given up: the handshake is never answered.
    let greeting = tokio::time::timeout(Duration::from_millis(300), greet(server)).await;
    assert!(greeting.is_err());
    assert_eq!(watch.ended().await, EXITED);
    assert!(place.path().join("data/signal").exists());
    watch.gone().await;
}

/// As when a host of the library has no more use for its runtime.
#[cfg(unix)]
#[test]
fn a_server_ends_with_the_runtime() {
    let place = Place::new();
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().expect("a runtime");
    let args = ["--probe=ignore-eof", "--probe=ignore-term"];
    let (client, watch) = runtime.block_on(open(&place, &args, &limits()));
    let id = watch.id();
    assert!(runs(id));
    drop(runtime);
    drop(client);
    assert!(soon(Duration::from_secs(2), || !runs(id)));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn many_servers_start_and_end_at_the_same_time() {
    let place = Place::new();
    let mut tasks = tokio::task::JoinSet::new();
    for at in 0..50 {
        let process = process(&place, &[&format!("--probe=mark:{at}")]);
        tasks.spawn(async move {
            let server = start(&process, &limits()).await.expect("it starts");
            let watch = server.watch();
            let mut client = greet(server).await.expect("a handshake");
            let report = crate::probe::report(&client).await;
            assert_eq!(report["descriptors"].as_object().expect("a map").len(), 3);
            assert_eq!(
                text(&client, "echo", json!({"text": at.to_string()})).await,
                at.to_string()
            );
            client.close().await.expect("an end");
            watch.id()
        });
    }
    for id in tasks.join_all().await {
        assert!(!runs(id));
    }
}
