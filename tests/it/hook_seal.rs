//! `apkit hook session-end`, `pre-compact` and the sweep of `session-start`.

use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::fake_everos::{ADD, FLUSH, FakeEveros, Reply, healthy};
use crate::hook_support::*;

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_session_is_sealed_at_its_end_and_at_a_compaction() {
    for (event, case) in [
        ("session-end", "SessionEnd.other"),
        ("session-end", "SessionEnd.clear"),
        ("pre-compact", "PreCompact.manual"),
    ] {
        let server = FakeEveros::start();
        let place = Place::new(&server);
        place.recorded(event, case).silent();
        let session = fixture(&format!("hooks/{case}.json"))["session_id"].clone();
        assert_eq!(
            server.bodies(FLUSH),
            [json!({"session_id": session, "app_id": "claude-code", "project_id": "project"})],
            "{case}"
        );
    }
}

#[test]
fn silence_counts_as_received_and_a_refusal_does_not() {
    for (reply, sealed) in [
        (Reply::Never, true),
        (Reply::Json(500, json!({})), false),
        (Reply::Raw(Vec::new()), false),
    ] {
        let server = FakeEveros::start();
        let place = Place::new(&server);
        let path = place.transcript(&[prompt("p1", 0, "one"), answer("r1", 1, &[text("a1")])]);
        place.hook("stop", stop("p1", &path, "a1")).silent();
        server.answer(move |_| reply.clone());
        let run = place.hook(
            "session-end",
            json!({"session_id": "s1", "prompt_id": "p1", "transcript_path": path}),
        );
        assert!(run.silent().took < Duration::from_millis(1450), "{run:?}");
        assert_eq!(server.bodies(FLUSH).len(), 1);
        assert_eq!(
            place.state("s1")["unsealed"].as_array().unwrap().is_empty(),
            sealed
        );
    }
}

#[test]
fn a_seal_that_was_not_answered_is_asked_for_again_until_it_is() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let path = place.transcript(&[prompt("p1", 0, "one"), answer("r1", 1, &[text("a1")])]);
    place.hook("stop", stop("p1", &path, "a1")).silent();
    let silent = |request: &crate::fake_everos::Request| match request.path.as_str() {
        FLUSH => Reply::Never,
        _ => healthy(request),
    };
    server.answer(silent);
    let end = json!({"session_id": "s1", "prompt_id": "p1", "transcript_path": path});
    place.hook("session-end", end).silent();
    let start = |session: &str| {
        let payload = json!({"session_id": session, "source": "startup"});
        place.hook("session-start", payload).silent();
        server.bodies(FLUSH).len()
    };
    assert_eq!(start("s2"), 1, "it may be at work on it");
    place.grow_old(HOUR);
    assert_eq!(start("s3"), 2);
    server.answer(healthy);
    place.grow_old(HOUR);
    assert_eq!(start("s4"), 3);
    place.grow_old(HOUR);
    assert_eq!(start("s5"), 3, "it was answered");
    let wanted = json!({"session_id": "s1", "app_id": "claude-code", "project_id": "project"});
    assert!(server.bodies(FLUSH).iter().all(|body| *body == wanted));
    assert_eq!(server.bodies(ADD).len(), 1);
}

#[test]
fn the_request_leaves_at_once() {
    let server = FakeEveros::with(|_| Reply::Never);
    let place = Place::new(&server);
    let started = std::time::Instant::now();
    place
        .hook(
            "session-end",
            json!({"session_id": "s1", "transcript_path": place.path("none.jsonl")}),
        )
        .silent();
    let sent = server.to(FLUSH)[0].at - started;
    assert!(sent < Duration::from_millis(400), "{sent:?}");
}

#[test]
fn an_abandoned_session_is_completed_and_sealed_in_its_own_project() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    // Never captured: killed in its first turn.
    let path = place.path("transcript.jsonl");
    let first = json!({"session_id": "s1", "source": "startup", "transcript_path": path});
    place.hook("session-start", first).silent();
    fs::write(
        &path,
        jsonl(&[
            prompt("p1", 0, "remember the five words"),
            answer("r1", 1, &[text("noted")]),
        ]),
    )
    .unwrap();
    let other = place.path("other-repo");
    fs::create_dir(&other).unwrap();
    let start = |session: &str| {
        place.hook("session-start", json!({"session_id": session, "source": "startup", "cwd": other, "transcript_path": place.path("none.jsonl")})).silent();
    };
    // Not yet: somebody may be sitting there.
    start("s2");
    assert!(server.bodies(FLUSH).is_empty());
    place.grow_old(HOUR / 2 + Duration::from_secs(60));
    start("s3");
    let adds = server.bodies(ADD);
    assert_eq!(adds.len(), 1);
    assert_eq!(
        (&adds[0]["session_id"], &adds[0]["project_id"]),
        (&json!("s1"), &json!("project"))
    );
    assert_eq!(
        server.bodies(FLUSH),
        [json!({"session_id": "s1", "app_id": "claude-code", "project_id": "project"})]
    );
    // And only once.
    place.grow_old(HOUR);
    start("s4");
    assert_eq!(server.bodies(FLUSH).len(), 1);
}

#[test]
fn what_a_session_left_when_it_ended_goes_with_the_next_start() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let path = place.transcript(&[prompt("p1", 0, "one"), answer("r1", 1, &[text("a1")])]);
    let end = || json!({"session_id": "s1", "prompt_id": "p1", "transcript_path": path});
    let start = |session: &str| {
        let payload = json!({"session_id": session, "source": "startup"});
        place.hook("session-start", payload).fine();
        (server.bodies(ADD).len(), server.bodies(FLUSH).len())
    };
    let broken = |_: &crate::fake_everos::Request| Reply::Json(500, json!({}));
    // Neither stored nor sealed.
    server.answer(broken);
    place.hook("stop", stop("p1", &path, "a1")).silent();
    server.forget();
    start("s2");
    server.answer(healthy);
    assert_eq!(start("s3"), (0, 0), "it may go on");
    server.answer(broken);
    place.hook("session-end", end()).silent();
    server.forget();
    server.answer(healthy);
    assert_eq!(start("s4"), (1, 1));
    assert_eq!(start("s5"), (1, 1), "once");
    // Stored, but not sealed.
    let mut lines = fs::read_to_string(&path).unwrap();
    lines += &jsonl(&[prompt("p2", 2, "two"), answer("r2", 3, &[text("a2")])]);
    fs::write(&path, lines).unwrap();
    place.hook("stop", stop("p2", &path, "a2")).silent();
    assert_eq!(start("s6"), (2, 1), "it goes on");
    server.answer(broken);
    place.hook("session-end", end()).silent();
    server.forget();
    server.answer(healthy);
    assert_eq!(start("s7"), (0, 1));
    assert_eq!(start("s8"), (0, 1), "once");
}

#[test]
fn a_session_whose_transcript_is_written_to_is_alive() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let path = place.transcript(&[prompt("p1", 0, "one"), answer("r1", 1, &[text("a1")])]);
    place.hook("stop", stop("p1", &path, "a1")).silent();
    place.grow_old(HOUR);
    fs::File::options()
        .append(true)
        .open(&path)
        .unwrap()
        .set_modified(std::time::SystemTime::now())
        .unwrap();
    place
        .hook(
            "session-start",
            json!({"session_id": "s2", "source": "startup"}),
        )
        .silent();
    assert!(server.bodies(FLUSH).is_empty());
}

#[test]
fn abandoned_sessions_are_sealed_together_and_at_most_five() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    for index in 0..7 {
        let path = place.path(&format!("t{index}.jsonl"));
        fs::write(
            &path,
            jsonl(&[prompt("p1", 0, "one"), answer("r1", 1, &[text("a1")])]),
        )
        .unwrap();
        let mut payload = stop("p1", &path, "a1");
        payload["session_id"] = json!(format!("s{index}"));
        place.hook("stop", payload).silent();
    }
    place.grow_old(HOUR);
    server.answer(|request| {
        let delay = if request.path == FLUSH { 1000 } else { 0 };
        Reply::After(Duration::from_millis(delay), Box::new(healthy(request)))
    });
    let run = place.hook(
        "session-start",
        json!({"session_id": "new", "source": "startup"}),
    );
    assert_eq!(server.bodies(FLUSH).len(), 5);
    assert!(run.silent().took < Duration::from_secs(4), "{run:?}");
    place.grow_old(HOUR);
    place
        .hook(
            "session-start",
            json!({"session_id": "new2", "source": "startup"}),
        )
        .silent();
    assert_eq!(server.bodies(FLUSH).len(), 7);
}

#[test]
fn a_sick_server_is_not_asked_over_and_over() {
    let server = FakeEveros::with(|request| {
        if request.path == ADD {
            Reply::Json(500, json!({}))
        } else {
            healthy(request)
        }
    });
    let place = Place::new(&server);
    for index in 0..3 {
        let path = place.path(&format!("t{index}.jsonl"));
        fs::write(
            &path,
            jsonl(&[prompt("p1", 0, "one"), answer("r1", 1, &[text("a1")])]),
        )
        .unwrap();
        let mut payload = stop("p1", &path, "a1");
        payload["session_id"] = json!(format!("s{index}"));
        place.hook("stop", payload).silent();
    }
    place.grow_old(HOUR);
    server.forget();
    place
        .hook(
            "session-start",
            json!({"session_id": "new", "source": "startup"}),
        )
        .silent();
    assert_eq!(server.bodies(ADD).len(), 1);
    assert!(server.bodies(FLUSH).is_empty());
}

#[test]
fn what_is_older_than_a_month_is_forgotten() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let path = place.transcript(&[prompt("p1", 0, "one"), answer("r1", 1, &[text("a1")])]);
    place.hook("stop", stop("p1", &path, "a1")).silent();
    place
        .hook(
            "session-end",
            json!({"session_id": "s1", "transcript_path": path}),
        )
        .silent();
    fs::write(place.path("data/state/s9.1-1.tmp"), "half").unwrap();
    place.grow_old(HOUR * 24 * 29);
    place
        .hook(
            "session-start",
            json!({"session_id": "new", "source": "startup"}),
        )
        .silent();
    assert!(place.path("data/state/s1.json").exists());
    assert!(!place.path("data/state/s9.1-1.tmp").exists());
    place.grow_old(HOUR * 24 * 31);
    place
        .hook(
            "session-start",
            json!({"session_id": "new2", "source": "startup"}),
        )
        .silent();
    assert!(!place.path("data/state/s1.json").exists());
}

#[test]
fn a_session_that_changes_its_project_is_sealed_in_both() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let lines = [
        prompt("p1", 0, "one"),
        answer("r1", 1, &[text("a1")]),
        prompt("p2", 2, "two"),
        answer("r2", 3, &[text("a2")]),
    ];
    let path = place.transcript(&lines[..2]);
    place.hook("stop", stop("p1", &path, "a1")).silent();
    fs::write(&path, jsonl(&lines)).unwrap();
    let other = place.path("other-repo");
    fs::create_dir(&other).unwrap();
    let mut payload = stop("p2", &path, "a2");
    payload["cwd"] = json!(other);
    place.hook("stop", payload).silent();
    place
        .hook(
            "session-end",
            json!({"session_id": "s1", "transcript_path": path, "cwd": other}),
        )
        .silent();
    let mut projects: Vec<String> = server
        .bodies(FLUSH)
        .iter()
        .map(|body| body["project_id"].as_str().unwrap().to_owned())
        .collect();
    projects.sort();
    assert_eq!(projects, ["other-repo", "project"]);
}

/// Kills the ends and the resumptions of a session at all moments of their life,
/// then lets it end in peace.
#[test]
fn whenever_an_end_dies_nothing_is_lost_and_nothing_is_doubled() {
    let server = FakeEveros::with(|request| {
        Reply::After(Duration::from_millis(4), Box::new(healthy(request)))
    });
    let place = Place::new(&server);
    let path = place.path("transcript.jsonl");
    let payload = |source: &str| json!({"session_id": "s1", "source": source, "transcript_path": path, "cwd": place.path("project")});
    place.hook("session-start", payload("startup")).silent();
    let mut lines = Vec::new();
    let mut expected = Vec::new();
    for round in 0..24_u64 {
        let (question, reply) = (format!("question {round}"), format!("answer {round}"));
        lines.push(prompt(&format!("p{round}"), round * 10, &question));
        let request = format!("r{round}");
        lines.push(answer(&request, round * 10 + 1, &[text(&reply)]));
        expected.extend([question, reply]);
        fs::write(&path, jsonl(&lines)).unwrap();
        let event = ["session-end", "session-start", "session-end"][(round % 3) as usize];
        let mut child = place.spawn(
            PROGRAM.as_ref(),
            &["hook", event],
            payload("resume").to_string().as_bytes(),
        );
        thread::sleep(Duration::from_millis(round * 7));
        let _ = child.kill();
        child.wait().unwrap();
    }
    place.hook("session-end", payload("")).silent();
    let (sealed, buffered) = server.stored("s1");
    assert!(buffered.is_empty());
    let contents: Vec<&str> = sealed
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(contents, expected);
    assert!(server.bodies(FLUSH).len() > 2, "some ends got far enough");
}
