//! Every hook against every way a server can fail, a disk can fail, and a
//! process can die.

use std::fs;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fake_everos::{ADD, FLUSH, FakeEveros, Reply, Request, healthy};
use crate::hook_support::*;

/// How long each hook may take, with room for a busy machine.
const LIMITS: [(&str, Duration); 5] = [
    ("session-start", Duration::from_millis(8500)),
    ("user-prompt-submit", Duration::from_millis(3000)),
    ("stop", Duration::from_millis(7000)),
    ("session-end", Duration::from_millis(1450)),
    ("pre-compact", Duration::from_millis(7000)),
];

/// Runs all hooks at the same time, each in a place of its own.
fn all_hooks(url: &str, change: impl Fn(&mut Place) + Sync) -> Vec<(&'static str, Run)> {
    thread::scope(|scope| {
        let change = &change;
        let handles: Vec<_> = LIMITS
            .iter()
            .map(|(event, limit)| {
                scope.spawn(move || {
                    let mut place = Place::with_url(url);
                    place.set("EVEROS_CC_RECALL_TIMEOUT_MS", "1000");
                    let path = place.transcript(&[prompt("p1", 0, "one"), answer("r1", 1, &[text("a1")])]);
                    change(&mut place);
                    let payload = json!({"session_id": "s1", "prompt_id": "p1", "prompt": "how do we lint this", "source": "startup",
                        "transcript_path": path, "last_assistant_message": "a1"});
                    let run = place.hook(event, payload);
                    run.fine();
                    assert!(run.took < *limit, "{event}: {run:?}");
                    if !matches!(*event, "session-start" | "user-prompt-submit") {
                        assert_eq!(run.stdout, "", "{event}");
                    }
                    (*event, run)
                })
            })
            .collect();
        handles
            .into_iter()
            .map(|handle| handle.join().expect("the hook keeps its promise"))
            .collect()
    })
}

#[test]
fn no_fault_of_a_server_is_in_the_way() {
    let page =
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>"
            .to_vec();
    let short = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"data\":".to_vec();
    let redirect =
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
            .to_vec();
    let faults: Vec<(&str, Reply)> = vec![
        (
            "500",
            Reply::Json(500, json!({"error": {"code": "INTERNAL_ERROR"}})),
        ),
        (
            "502 without a form",
            Reply::Raw(b"HTTP/1.1 502 Bad Gateway\r\n\r\nno".to_vec()),
        ),
        ("401", Reply::Json(401, json!({}))),
        ("redirect", Reply::Raw(redirect)),
        ("never", Reply::Never),
        (
            "one byte a second",
            Reply::Drip(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".to_vec()),
        ),
        ("half-closed", Reply::HalfClose),
        ("closed", Reply::Raw(Vec::new())),
        ("not HTTP", Reply::Raw(b"SSH-2.0-OpenSSH_9.0\r\n".to_vec())),
        ("garbage", Reply::Raw(vec![0xff; 100_000])),
        ("a page", Reply::Raw(page)),
        ("cut off", Reply::Raw(short)),
        ("an array", Reply::Json(200, json!([1, 2]))),
        ("no data", Reply::Json(200, json!({"data": null}))),
        (
            "a bad chunk",
            Reply::Raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_vec()),
        ),
        (
            "a huge claim",
            Reply::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n".to_vec()),
        ),
    ];
    thread::scope(|scope| {
        for (name, reply) in faults {
            scope.spawn(move || {
                let server = FakeEveros::with(move |_| reply.clone());
                for (event, run) in all_hooks(&server.url(), |_| {}) {
                    let injected = run.stdout.contains("hookSpecificOutput");
                    assert!(!injected, "{name} {event}: {run:?}");
                }
            });
        }
    });
}

#[test]
fn no_server_at_all_is_not_in_the_way() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for (event, run) in all_hooks(&url, |_| {}) {
        // Connecting fails at once; only a start is waited for.
        assert!(run.took < Duration::from_secs(3), "{event}: {run:?}");
    }
    // Neither a name that does not exist nor TLS nor an address without a route.
    for url in ["http://no-such-host.invalid:1", "https://127.0.0.1:9"] {
        all_hooks(url, |_| {});
    }
}

#[test]
fn the_answer_of_a_healthy_server_may_come_in_any_form() {
    let server = FakeEveros::with(|request| match healthy(request) {
        Reply::Json(status, value) if request.path == ADD => Reply::Chunked(status, value),
        Reply::Json(status, value) => Reply::UntilEnd(status, value),
        other => other,
    });
    let place = Place::new(&server);
    let path = place.transcript(&[prompt("p1", 0, "one"), answer("r1", 1, &[text("a1")])]);
    place.hook("stop", stop("p1", &path, "a1")).silent();
    place
        .hook(
            "session-end",
            json!({"session_id": "s1", "transcript_path": path}),
        )
        .silent();
    assert_eq!(place.state("s1")["unsealed"], json!([]));
    assert_eq!(server.stored("s1").0.len(), 2);
}

#[test]
fn state_that_cannot_be_used_is_not_in_the_way() {
    let server = FakeEveros::start();
    // The data directory cannot be created.
    all_hooks(&server.url(), |place| {
        fs::write(place.path("file"), "x").unwrap();
        let data = place.path("file").join("data");
        place.set("CLAUDE_PLUGIN_DATA", data.to_str().unwrap());
    });
    assert_eq!(
        server.bodies(ADD).len(),
        1,
        "the turn at hand is stored all the same"
    );
    // State of a session cannot be written: something else has its name.
    server.forget();
    all_hooks(&server.url(), |place| {
        fs::create_dir_all(place.path("data/state/s1.json")).unwrap()
    });
    assert_eq!(server.bodies(ADD).len(), 1);
    // Every file is corrupt.
    server.forget();
    for content in ["", "{", "null", "[1]", "{\"session\": 7}", "\0\0\0\0"] {
        all_hooks(&server.url(), |place| {
            for directory in ["state", "recall"] {
                fs::create_dir_all(place.path("data").join(directory)).unwrap();
                fs::write(place.path("data").join(directory).join("s1.json"), content).unwrap();
            }
            for file in ["no-payload.json", "server-start.json"] {
                fs::write(place.path("data").join(file), content).unwrap();
            }
        });
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_not_in_the_way() {
    let server = FakeEveros::start();
    // Whatever is written to the state's directory fails like on a full disk.
    all_hooks(&server.url(), |place| {
        fs::create_dir_all(place.path("data")).unwrap();
        std::os::unix::fs::symlink("/proc/self/net", place.path("data/state")).unwrap();
    });
    assert_eq!(server.bodies(ADD).len(), 1);
}

/// Kills hooks at all moments of their life, then lets the session end in peace:
/// everything the transcript holds is stored, and nothing twice.
#[test]
fn whenever_a_hook_dies_nothing_is_lost_and_nothing_is_doubled() {
    let slow =
        |request: &Request| Reply::After(Duration::from_millis(4), Box::new(healthy(request)));
    let server = FakeEveros::with(slow);
    let place = Place::new(&server);
    let path = place.path("transcript.jsonl");
    place
        .hook(
            "session-start",
            json!({"session_id": "s1", "source": "startup", "transcript_path": path}),
        )
        .silent();
    let mut lines: Vec<Value> = Vec::new();
    let mut expected = Vec::new();
    for round in 0..40_u64 {
        let (turn, question, reply) = (
            format!("p{round}"),
            format!("question {round}"),
            format!("answer {round}"),
        );
        lines.push(prompt(&turn, round * 10, &question));
        lines.push(answer(
            &format!("r{round}"),
            round * 10 + 1,
            &[text(&reply)],
        ));
        expected.extend([question, reply.clone()]);
        fs::write(&path, jsonl(&lines)).unwrap();
        let event = if round % 4 == 3 {
            "pre-compact"
        } else {
            "stop"
        };
        let mut payload = stop(&turn, &path, &reply);
        payload["cwd"] = json!(place.path("project"));
        if event == "pre-compact" {
            payload["prompt_id"] = json!("compaction");
        }
        let mut child = place.spawn(
            PROGRAM.as_ref(),
            &["hook", event],
            payload.to_string().as_bytes(),
        );
        thread::sleep(Duration::from_micros(round * 700));
        let _ = child.kill();
        child.wait().unwrap();
    }
    place
        .hook(
            "session-end",
            json!({"session_id": "s1", "transcript_path": path, "reason": "other"}),
        )
        .silent();
    let (sealed, buffered) = server.stored("s1");
    assert!(buffered.is_empty());
    let contents: Vec<&str> = sealed
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(contents, expected);
}

/// A request that has arrived, from a hook that died before it knew: what the
/// transcript holds by then must not change what is sent again.
#[test]
fn a_hook_that_dies_while_sending_is_repeated_to_the_letter() {
    let server = FakeEveros::with(|_| Reply::Never);
    let place = Place::new(&server);
    let lines = [
        prompt("p1", 0, "one"),
        answer("r1", 1, &[text("I will look.")]),
        answer("r1", 1, &[tool_use("t1", json!({"command": "ls"}))]),
        tool_result("p1", 2, "t1", json!("out")),
        answer("r2", 3, &[text("Done.")]),
    ];
    // The closing lines are late; the hook takes what is there after a while.
    let path = place.transcript(&lines[..2]);
    let mut payload = stop("p1", &path, "Done.");
    payload["cwd"] = json!(place.path("project"));
    let payload = payload.to_string();
    let mut child = place.spawn(PROGRAM.as_ref(), &["hook", "stop"], payload.as_bytes());
    while server.bodies(ADD).is_empty() {
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    fs::write(&path, jsonl(&lines)).unwrap();
    server.answer(healthy);
    let end = json!({"session_id": "s1", "prompt_id": "p1", "transcript_path": path});
    place.hook("session-end", end).silent();
    let bodies = server.bodies(ADD);
    assert_eq!(bodies.len(), 3);
    assert_eq!(bodies[0], bodies[1]);
    let contents: Vec<&Value> = bodies[1..]
        .iter()
        .flat_map(|body| body["messages"].as_array().unwrap())
        .map(|message| &message["content"])
        .collect();
    assert_eq!(contents, ["one", "I will look.", "", "out", "Done."]);
}

#[test]
fn a_silent_server_gets_everything_once_it_speaks() {
    // It stores what it is sent but never answers.
    let server = FakeEveros::with(|_| Reply::Never);
    let place = Place::new(&server);
    let path = place.transcript(&[prompt("p1", 0, "one"), answer("r1", 1, &[text("a1")])]);
    let started = Instant::now();
    place.hook("stop", stop("p1", &path, "a1")).silent();
    assert!(started.elapsed() < Duration::from_secs(7));
    // The turn may or may not have arrived: no seal before that is known.
    let run = place.hook(
        "session-end",
        json!({"session_id": "s1", "transcript_path": path}),
    );
    assert!(run.silent().took < Duration::from_millis(1450), "{run:?}");
    assert!(server.bodies(FLUSH).is_empty());
    server.answer(healthy);
    place
        .hook(
            "session-end",
            json!({"session_id": "s1", "transcript_path": path}),
        )
        .silent();
    assert_eq!(server.bodies(FLUSH).len(), 1);
    let adds = server.bodies(ADD);
    assert!(adds.len() >= 2 && adds.iter().all(|body| *body == adds[0]));
}

#[test]
fn a_host_that_never_ends_its_payload_is_not_waited_for() {
    let server = FakeEveros::start();
    thread::scope(|scope| {
        for (event, limit) in LIMITS {
            let server = &server;
            scope.spawn(move || {
                let mut place = Place::new(server);
                place.set("EVEROS_CC_RECALL_TIMEOUT_MS", "1000");
                let started = Instant::now();
                let (child, pipe) = place.spawn_open(&["hook", event], b"{\"session_id\":");
                let run = finish(child, started);
                drop(pipe);
                run.silent();
                // The start of a session may take longest: up to 13 seconds.
                let limit = if event == "session-start" {
                    Duration::from_secs(14)
                } else {
                    limit
                };
                assert!(run.took < limit, "{event}: {run:?}");
            });
        }
    });
    assert!(server.requests().is_empty());
}

#[test]
fn any_install_path_works() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let odd = place.path("A B'\"$x é&");
    fs::create_dir(&odd).unwrap();
    let program = odd.join("apkit");
    fs::copy(PROGRAM, &program).unwrap();
    let path = odd.join("t $(x).jsonl");
    fs::write(
        &path,
        jsonl(&[prompt("p1", 0, "one"), answer("r1", 1, &[text("a1")])]),
    )
    .unwrap();
    let mut payload = stop("p1", &path, "a1");
    payload["cwd"] = json!(odd);
    let started = Instant::now();
    finish(
        place.spawn(&program, &["hook", "stop"], payload.to_string().as_bytes()),
        started,
    )
    .silent();
    assert_eq!(server.bodies(ADD).len(), 1);
}
