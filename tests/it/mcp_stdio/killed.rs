//! What is left when this side is killed. A test runs in a process of its own that
//! starts a server and is killed; it is this same program, asked for one test.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::end::STUBBORN;
use crate::probe::{limits, open, report, runs, soon, text};
use crate::support::Place;

/// Tells a test that is to run in a process of its own that it does, and where to
/// write what it has to say. Without it, it is among the others and does nothing.
const ROLE: &str = "APKIT_TEST_CLIENT_IN";

/// Starts and ends servers, and counts what is open before and after. Alone in its
/// process, where nobody else opens anything.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn servers_one_after_another() {
    let Some(directory) = std::env::var_os(ROLE) else {
        return;
    };
    let place = Place::new();
    let mut open_after = Vec::new();
    for _ in 0..8 {
        let (mut client, _) = open(&place, &[], &limits()).await;
        client.close().await.expect("an end");
        let open = fs::read_dir("/proc/self/fd").expect("descriptors").count();
        let children = fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
        open_after.push((open, children.split_whitespace().count()));
    }
    let path = std::path::Path::new(&directory).join("said");
    fs::write(path, serde_json::to_string(&open_after).expect("JSON")).expect("a file");
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_stays_open_after_a_server() {
    let place = Place::new();
    let mut command = test("servers_one_after_another", &place, None);
    assert!(command.status().expect("it runs").success());
    let open: Vec<(usize, usize)> = serde_json::from_str(&place.read("said")).expect("JSON");
    assert_eq!(open.len(), 8);
    assert!(
        open.iter().all(|after| *after == open[0] && after.1 == 0),
        "{open:?}"
    );
}

/// Starts a server with all kinds of descendants, writes down their process ids,
/// and waits to be killed.
#[tokio::test]
async fn in_another_process() {
    let Some(directory) = std::env::var_os(ROLE) else {
        return;
    };
    let place = Place::new();
    let args = ["--probe=ignore-eof", "--probe=ignore-term"];
    let (client, watch) = open(&place, &args, &limits()).await;
    let mut ids = vec![watch.id()];
    for how in STUBBORN {
        let id = text(&client, "stubborn", json!({"how": how})).await;
        ids.push(id.parse().expect("a process id"));
    }
    let guard = report(&client).await["ppid"].as_u64();
    ids.push(u32::try_from(guard.expect("a process id")).expect("a process id"));
    let said = serde_json::to_string(&json!({"ids": ids, "report": report(&client).await}));
    let path = std::path::Path::new(&directory).join("said");
    fs::write(path.with_extension("new"), said.expect("JSON")).expect("a file");
    fs::rename(path.with_extension("new"), path).expect("a file");
    tokio::time::sleep(Duration::from_secs(60)).await;
    drop(client);
}

/// A process that runs the test above. It is killed with this.
struct Client(Child);

impl Client {
    /// With `SIGKILL`.
    fn kill(&mut self) {
        self.0.kill().expect("it is there");
        self.0.wait().expect("it ends");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One test of this file in a process of its own, started by a shell if there is a
/// script for it.
fn test(name: &str, place: &Place, shell: Option<&str>) -> Command {
    let program = std::env::current_exe().expect("this program's path");
    let mut command = match shell {
        None => Command::new(program),
        Some(script) => {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]).arg(program);
            command
        }
    };
    command
        .arg("--exact")
        .arg(format!("mcp_stdio::killed::{name}"))
        .env(ROLE, place.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Runs the test above in a process of its own, until it has said what it started.
fn elsewhere(place: &Place, shell: Option<&str>) -> (Client, serde_json::Value) {
    let child = test("in_another_process", place, shell).spawn();
    let client = Client(child.expect("this program starts"));
    let said = place.path().join("said");
    assert!(soon(Duration::from_secs(30), || said.exists()));
    let said = serde_json::from_str(&place.read("said")).expect("JSON");
    (client, said)
}

fn ids(said: &serde_json::Value) -> Vec<u32> {
    let ids: Vec<u32> = serde_json::from_value(said["ids"].clone()).expect("ids");
    assert_eq!(ids.len(), STUBBORN.len() + 2);
    assert!(ids.iter().all(|id| runs(*id)), "{ids:?}");
    ids
}

fn nothing_of(ids: &[u32]) -> impl FnMut() -> bool {
    move || !ids.iter().any(|id| runs(*id))
}

#[test]
fn nothing_runs_two_seconds_after_the_client_is_killed() {
    let place = Place::new();
    let (mut client, said) = elsewhere(&place, None);
    let ids = ids(&said);
    client.kill();
    assert!(soon(Duration::from_secs(2), nothing_of(&ids)), "{ids:?}");
}

#[test]
fn the_server_ends_when_its_guard_is_killed() {
    let place = Place::new();
    let (mut client, said) = elsewhere(&place, None);
    let ids = ids(&said);
    let guard = ids.last().expect("the guard").to_string();
    let killed = Command::new("kill").args(["-9", &guard]).status();
    assert!(killed.expect("kill runs").success());
    if cfg!(target_os = "linux") {
        // The server, and what stayed in its group.
        let left = || ids[..3].iter().any(|id| runs(*id));
        assert!(soon(Duration::from_secs(2), || !left()));
    }
    client.kill();
    for id in ids.iter().filter(|id| runs(**id)) {
        let _ = Command::new("kill").args(["-9", &id.to_string()]).status();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_client_inherited_goes_to_nobody() {
    let place = Place::new();
    let (mut client, said) = elsewhere(&place, Some("exec 7</dev/null 8>&1 \"$0\" \"$@\""));
    let ids = ids(&said);
    let open = |id: u32| {
        let list = fs::read_dir(format!("/proc/{id}/fd")).expect("descriptors");
        list.flatten()
            .map(|entry| entry.file_name())
            .collect::<Vec<_>>()
    };
    assert!(open(client.0.id()).contains(&"7".into()));
    assert_eq!(open(ids[0]).len(), 3);
    // Its three, which lead nowhere, what led there, and two for the socket.
    let guard = *ids.last().expect("the guard");
    assert!(open(guard).len() <= 6, "{:?}", open(guard));
    for descriptor in open(guard) {
        let path = std::path::Path::new("/proc")
            .join(guard.to_string())
            .join("fd");
        let to = fs::read_link(path.join(descriptor)).expect("a descriptor");
        let to = to.to_string_lossy();
        assert!(to == "/dev/null" || to.starts_with("socket:"), "{to}");
    }
    client.kill();
    assert!(soon(Duration::from_secs(2), nothing_of(&ids)));
}
