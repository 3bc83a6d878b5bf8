//! `apkit hook stop`: what is stored of a turn, exactly once.

use std::fs;
use std::io::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fake_everos::{ADD, FLUSH, FakeEveros, Reply, healthy};
use crate::hook_support::*;

#[test]
fn a_recorded_trajectory_is_stored_to_the_letter() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    place.recorded("stop", "Stop.trajectory").silent();
    let bodies = server.bodies(ADD);
    assert_eq!(bodies.len(), 1);
    let body = &bodies[0];
    assert_eq!(body["session_id"], "e457ef07-0000-4000-8000-000000000001");
    assert_eq!(body["app_id"], "claude-code");
    assert_eq!(body["project_id"], "project");
    assert_eq!(body["defer_extraction"], true);
    assert_eq!(
        said(body),
        pairs(&[
            ("user", "Make the lint step work"),
            ("assistant", "I will look at the project first."),
            ("tool", "notes.txt\nlisted"),
            ("assistant", ""),
            ("tool", "1\tthe lint step uses ruff\n2\t"),
            ("assistant", "Now the check that is expected to fail."),
            ("tool", "[tool error] Exit code 3\npartial output\nbroken"),
            ("assistant", ""),
            ("tool", body["messages"][8]["content"].as_str().unwrap()),
            ("assistant", "Done: lint.cfg now selects ruff."),
        ])
    );
    assert_eq!(
        body["messages"][0],
        json!({"sender_id": "dev", "role": "user", "timestamp": 1_796_046_252_592_u64, "content": "Make the lint step work"})
    );
    assert_eq!(
        body["messages"][1],
        json!({"sender_id": "claude-code", "role": "assistant", "timestamp": 1_796_046_252_670_u64,
            "content": "I will look at the project first.",
            "tool_calls": [{"id": "toolu_mock00000000000000000001", "type": "function", "function": {"name": "Bash",
                "arguments": "{\"command\":\"ls && echo listed\",\"description\":\"List the project\"}"}}]})
    );
    assert_eq!(
        body["messages"][2],
        json!({"sender_id": "claude-code", "role": "tool", "timestamp": 1_796_046_253_044_u64,
            "tool_call_id": "toolu_mock00000000000000000001", "content": "notes.txt\nlisted"})
    );
    increasing(&bodies);
    let request = &server.to(ADD)[0];
    assert_eq!(request.method, "POST");
    assert!(
        request
            .head
            .contains("\r\nContent-Type: application/json\r\n")
    );
    // A second call for the same turn has nothing to add.
    place.recorded("stop", "Stop.trajectory").silent();
    assert_eq!(server.bodies(ADD).len(), 1);
}

#[test]
fn recorded_turns_hold_what_the_user_and_the_model_said() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        (
            "Stop.simple",
            &[
                ("user", "Which lint tool does this repository use?"),
                ("assistant", "The lint step uses ruff, as agreed earlier."),
            ],
        ),
        (
            "Stop.skill",
            &[
                ("user", "/probe:status now"),
                ("assistant", "The lint step uses ruff, as agreed earlier."),
            ],
        ),
        (
            "Stop.resumed",
            &[
                ("user", "Second question"),
                ("assistant", "The lint step uses ruff, as agreed earlier."),
            ],
        ),
        (
            "Stop.queued",
            &[
                ("user", "queued behind the answer"),
                ("assistant", "Answer to the queued prompt."),
            ],
        ),
        (
            "Stop.background_done",
            &[("assistant", "Background finished, noted.")],
        ),
        (
            "Stop.interactive_tool",
            &[
                ("user", "second question with a tool"),
                ("assistant", ""),
                ("tool", "one"),
                ("user", "and mention the queue"),
                ("assistant", "Second interactive answer."),
            ],
        ),
        (
            "Stop.subagent",
            &[
                ("user", "Delegate this"),
                ("assistant", "I will delegate this."),
                ("tool", "Subagent report: found from-subagent."),
                ("assistant", "The subagent found from-subagent."),
            ],
        ),
        (
            "Stop.after_interruption",
            &[
                ("user", "question after the interruption"),
                ("assistant", "Second interactive answer."),
            ],
        ),
    ];
    for (case, expected) in cases {
        let server = FakeEveros::start();
        let place = Place::new(&server);
        place.recorded("stop", case).silent();
        let bodies = server.bodies(ADD);
        assert_eq!(bodies.len(), 1, "{case}");
        let got = said(&bodies[0]);
        let start = |pairs: Vec<(String, String)>| {
            pairs
                .into_iter()
                .map(|(role, text)| (role, text.lines().next().unwrap_or_default().to_owned()))
                .collect::<Vec<_>>()
        };
        assert_eq!(start(got), pairs(expected), "{case}");
        increasing(&bodies);
    }
}

#[test]
fn a_turn_with_a_compaction_inside_is_one_turn() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let start = json!({"session_id": "f89e4d0a-0000-4000-8000-000000000001", "source": "startup", "transcript_path": place.path("none.jsonl")});
    place.hook("session-start", start).silent();
    // In mid-turn: the turn stays whole for its end, the session is sealed.
    place.recorded("pre-compact", "PreCompact.auto").silent();
    assert!(server.bodies(ADD).is_empty());
    assert_eq!(server.bodies(FLUSH).len(), 1);
    place.recorded("stop", "Stop.compact_auto").silent();
    let bodies = server.bodies(ADD);
    assert_eq!(bodies.len(), 1);
    let roles: Vec<String> = said(&bodies[0]).into_iter().map(|(role, _)| role).collect();
    let expected = [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ];
    assert_eq!(roles, expected);
    let all = bodies[0].to_string();
    assert!(!all.contains("being continued from a previous conversation"));
}

#[test]
fn lines_that_a_compaction_writes_once_more_are_stored_once() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let named = |mut line: Value, id: &str| {
        line["uuid"] = json!(id);
        line
    };
    let kept = [
        named(answer("r1", 1, &[text("First the check.")]), "u1"),
        named(answer("r1", 1, &[tool_use("t1", json!({"a": 1}))]), "u2"),
        named(tool_result("p1", 2, "t1", json!("passed")), "u3"),
    ];
    let mut lines = vec![named(prompt("p1", 0, "run it"), "u0")];
    lines.extend(kept.clone());
    lines.extend(kept);
    lines.push(json!({"type": "system", "subtype": "compact_boundary", "uuid": "u4"}));
    lines.push(named(answer("r2", 3, &[text("It passed.")]), "u5"));
    let path = place.transcript(&lines);
    place.hook("stop", stop("p1", &path, "It passed.")).fine();
    let bodies = server.bodies(ADD);
    assert_eq!(bodies.len(), 1);
    assert_eq!(
        said(&bodies[0]),
        pairs(&[
            ("user", "run it"),
            ("assistant", "First the check."),
            ("tool", "passed"),
            ("assistant", "It passed."),
        ])
    );
}

#[test]
fn a_blocked_stop_brings_only_what_is_new() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let lines = [
        prompt("p1", 0, "Do it in steps"),
        answer("r1", 1, &[text("Answer one.")]),
        json!({"type": "user", "promptId": "p1", "isMeta": true, "timestamp": at(2), "message": {"role": "user", "content": "Stop hook feedback:\nkeep going"}}),
        answer("r2", 3, &[text("Answer two.")]),
    ];
    let path = place.transcript(&lines[..2]);
    place
        .hook("stop", stop("p1", &path, "Answer one."))
        .silent();
    // The same turn goes on.
    fs::write(&path, jsonl(&lines)).unwrap();
    place
        .hook("stop", stop("p1", &path, "Answer two."))
        .silent();
    let bodies = server.bodies(ADD);
    assert_eq!(bodies.len(), 2);
    assert_eq!(
        said(&bodies[0]),
        pairs(&[("user", "Do it in steps"), ("assistant", "Answer one.")])
    );
    assert_eq!(said(&bodies[1]), pairs(&[("assistant", "Answer two.")]));
    increasing(&bodies);
}

#[test]
fn the_end_of_a_turn_is_waited_for() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let lines = [
        prompt("p1", 0, "Question"),
        answer("r1", 1, &[tool_use("t1", json!({"command": "ls"}))]),
        tool_result("p1", 2, "t1", json!("out")),
        answer("r2", 3, &[text("Done.")]),
    ];
    // Not even the file is there at first; then it grows line by line, the last
    // one in two halves.
    let path = place.path("late.jsonl");
    let writer = thread::spawn({
        let (path, text) = (path.clone(), jsonl(&lines));
        move || {
            let half = text.len() - 40;
            let ends: Vec<usize> = text
                .match_indices('\n')
                .map(|(at, _)| at + 1)
                .take(3)
                .chain([half, text.len()])
                .collect();
            let mut from = 0;
            for end in ends {
                thread::sleep(Duration::from_millis(60));
                let mut file = fs::File::options()
                    .create(true)
                    .append(true)
                    .open(&path)
                    .unwrap();
                file.write_all(&text.as_bytes()[from..end]).unwrap();
                from = end;
            }
        }
    });
    let run = place.hook("stop", stop("p1", &path, "Done."));
    writer.join().unwrap();
    run.silent();
    let bodies = server.bodies(ADD);
    assert_eq!(bodies.len(), 1);
    assert_eq!(
        said(&bodies[0]),
        pairs(&[
            ("user", "Question"),
            ("assistant", ""),
            ("tool", "out"),
            ("assistant", "Done.")
        ])
    );
}

#[test]
fn what_comes_too_late_is_taken_over_later() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let lines = [
        prompt("p1", 0, "Question"),
        answer("r1", 1, &[tool_use("t1", json!({}))]),
        tool_result("p1", 2, "t1", json!("out")),
        answer("r2", 3, &[text("Done.")]),
    ];
    let path = place.transcript(&lines[..2]);
    let run = place.hook("stop", stop("p1", &path, "Done."));
    run.silent();
    assert!(
        run.took >= Duration::from_secs(2) && run.took < Duration::from_secs(5),
        "{run:?}"
    );
    fs::write(&path, jsonl(&lines)).unwrap();
    place.hook("session-end", json!({"session_id": "s1", "prompt_id": "p1", "transcript_path": path, "reason": "other"})).silent();
    let bodies = server.bodies(ADD);
    assert_eq!(
        said(&bodies[0]),
        pairs(&[("user", "Question"), ("assistant", "")])
    );
    // The result belongs to a call that was stored before.
    assert_eq!(
        said(&bodies[1]),
        pairs(&[("tool", "out"), ("assistant", "Done.")])
    );
    increasing(&bodies);
    assert_eq!(server.bodies(FLUSH).len(), 1);
}

#[test]
fn a_prompt_that_is_not_on_disk_yet_does_not_bring_the_turn_before() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    // Nothing of the turn at hand is there: the file ends with the one before.
    place.recorded("stop", "Stop.resumed.at_stop").silent();
    assert!(server.bodies(ADD).is_empty());
}

#[test]
fn interrupted_turns_are_not_lost() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let session = "dcc94950-0000-4000-8000-000000000001";
    place.hook("session-start", json!({"session_id": session, "source": "startup", "transcript_path": place.path("none.jsonl")})).silent();
    place.recorded("stop", "Stop.after_interruption").silent();
    let bodies = server.bodies(ADD);
    let turns: Vec<Vec<(String, String)>> = bodies.iter().map(said).collect();
    assert_eq!(turns.len(), 3, "one request for each turn");
    assert_eq!(turns[0][0].1, "first typed question");
    assert_eq!(turns[1][0].1, "question that gets interrupted");
    assert!(
        turns[1]
            .iter()
            .all(|(_, text)| !text.contains("[Request interrupted"))
    );
    assert_eq!(turns[2][0].1, "question after the interruption");
    increasing(&bodies);
}

#[test]
fn the_next_turn_is_left_to_its_own_stop() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let lines = [
        prompt("p1", 0, "first"),
        answer("r1", 1, &[text("answer one")]),
        prompt("p2", 2, "second"),
        answer("r2", 3, &[text("answer two")]),
    ];
    let path = place.transcript(&lines);
    place.hook("stop", stop("p1", &path, "answer one")).silent();
    assert_eq!(
        said(&server.bodies(ADD)[0]),
        pairs(&[("user", "first"), ("assistant", "answer one")])
    );
    place.hook("stop", stop("p2", &path, "answer two")).silent();
    assert_eq!(
        said(&server.bodies(ADD)[1]),
        pairs(&[("user", "second"), ("assistant", "answer two")])
    );
}

#[test]
fn closing_words_behind_a_queued_prompt_end_the_turn() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let lines = [
        prompt("p1", 0, "first"),
        prompt("p2", 1, "second"),
        answer("r1", 2, &[text("answer one")]),
    ];
    let path = place.transcript(&lines);
    let run = place.hook("stop", stop("p1", &path, "answer one"));
    assert!(run.silent().took < Duration::from_secs(2));
    place
        .hook(
            "session-end",
            json!({"session_id": "s1", "transcript_path": path}),
        )
        .silent();
    let all: Vec<(String, String)> = server.bodies(ADD).iter().flat_map(said).collect();
    assert_eq!(
        all,
        pairs(&[
            ("user", "first"),
            ("user", "second"),
            ("assistant", "answer one")
        ])
    );
}

#[test]
fn a_session_first_seen_in_the_middle_keeps_its_past_to_itself() {
    let lines = [
        prompt("old", 0, "long ago"),
        answer("r0", 1, &[text("old answer")]),
        prompt("p1", 2, "now"),
        answer("r1", 3, &[text("new answer")]),
    ];
    // First seen by a Stop; by a prompt (as after a fork, whose file repeats the
    // old lines under their old names); and resumed.
    for first in ["stop", "prompt", "resume"] {
        let server = FakeEveros::start();
        let place = Place::new(&server);
        let path = place.path("transcript.jsonl");
        match first {
            "prompt" => {
                place.hook("user-prompt-submit", json!({"session_id": "s1", "prompt_id": "p1", "transcript_path": path, "prompt": "now"})).silent();
            }
            "resume" => {
                fs::write(&path, jsonl(&lines[..2])).unwrap();
                place
                    .hook(
                        "session-start",
                        json!({"session_id": "s1", "source": "resume", "transcript_path": path}),
                    )
                    .silent();
            }
            _ => {}
        }
        fs::write(&path, jsonl(&lines)).unwrap();
        place.hook("stop", stop("p1", &path, "new answer")).silent();
        let all: Vec<(String, String)> = server.bodies(ADD).iter().flat_map(said).collect();
        assert_eq!(
            all,
            pairs(&[("user", "now"), ("assistant", "new answer")]),
            "{first}"
        );
    }
}

#[test]
fn what_another_program_on_the_port_answers_stores_nothing() {
    let server = FakeEveros::with(|request| match request.path.as_str() {
        ADD => Reply::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>".to_vec()),
        _ => healthy(request),
    });
    let place = Place::new(&server);
    let mut lines = vec![prompt("p1", 0, "one"), answer("r1", 1, &[text("a1")])];
    let path = place.transcript(&lines);
    place.hook("stop", stop("p1", &path, "a1"));
    server.answer(healthy);
    lines.extend([prompt("p2", 10, "two"), answer("r2", 11, &[text("a2")])]);
    fs::write(&path, jsonl(&lines)).unwrap();
    place.hook("stop", stop("p2", &path, "a2"));
    let bodies = server.bodies(ADD);
    let again = pairs(&[("user", "one"), ("assistant", "a1")]);
    assert_eq!(said(&bodies[0]), again);
    assert_eq!(said(&bodies[1]), again);
}

#[cfg(unix)]
#[test]
fn a_fifo_in_the_place_of_a_file_is_not_waited_for() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let fifo = place.path("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    let run = place.hook("stop", stop("p1", &fifo, "a1"));
    assert!(run.took < Duration::from_secs(4), "{:?}", run.took);
    let run = place.hook(
        "session-start",
        json!({"session_id": "s1", "source": "resume", "transcript_path": fifo}),
    );
    assert!(run.took < Duration::from_secs(4), "{:?}", run.took);
}

#[test]
fn a_fork_that_is_still_being_written_keeps_its_past_to_itself() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let path = place.path("fork.jsonl");
    let first = json!({"type": "mode", "mode": "normal", "sessionId": "s1"});
    fs::write(&path, jsonl(&[first])).unwrap();
    let asked =
        json!({"session_id": "s1", "prompt_id": "p1", "transcript_path": path, "prompt": "now"});
    place.hook("user-prompt-submit", asked).silent();
    let writer = thread::spawn({
        let path = path.clone();
        move || {
            for lines in [
                [
                    prompt("old", 0, "long ago"),
                    answer("r0", 1, &[text("as before")]),
                ],
                [
                    prompt("p1", 2, "now"),
                    answer("r1", 3, &[text("as before")]),
                ],
            ] {
                thread::sleep(Duration::from_millis(80));
                let mut file = fs::File::options().append(true).open(&path).unwrap();
                file.write_all(jsonl(&lines).as_bytes()).unwrap();
            }
        }
    });
    let run = place.hook("stop", stop("p1", &path, "as before"));
    writer.join().unwrap();
    run.silent();
    let all: Vec<(String, String)> = server.bodies(ADD).iter().flat_map(said).collect();
    assert_eq!(all, pairs(&[("user", "now"), ("assistant", "as before")]));
}

#[test]
fn a_resumed_session_brings_the_turns_that_had_no_hook() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let mut lines = vec![prompt("p0", 0, "zero"), answer("r0", 1, &[text("a0")])];
    let path = place.transcript(&lines);
    place.hook("stop", stop("p0", &path, "a0")).silent();
    for turn in 1..=5 {
        lines.push(prompt(
            &format!("p{turn}"),
            turn * 10,
            &format!("question {turn}"),
        ));
        lines.push(answer(
            &format!("r{turn}"),
            turn * 10 + 1,
            &[text(&format!("answer {turn}"))],
        ));
    }
    fs::write(&path, jsonl(&lines)).unwrap();
    place
        .hook(
            "session-start",
            json!({"session_id": "s1", "source": "resume", "transcript_path": path}),
        )
        .silent();
    let bodies = server.bodies(ADD);
    assert_eq!(bodies.len(), 6);
    assert_eq!(
        said(&bodies[5]),
        pairs(&[("user", "question 5"), ("assistant", "answer 5")])
    );
    increasing(&bodies);
}

#[test]
fn a_turn_first_seen_at_a_compaction_inside_it_is_whole() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let lines = [
        prompt("p0", 0, "zero"),
        answer("r0", 1, &[text("a0")]),
        prompt("p1", 2, "one"),
        answer("r1", 3, &[text("a1")]),
    ];
    let path = place.transcript(&lines[..3]);
    let start = json!({"session_id": "s1", "prompt_id": "p1", "source": "compact", "transcript_path": path});
    place.hook("session-start", start).silent();
    fs::write(&path, jsonl(&lines)).unwrap();
    place.hook("stop", stop("p1", &path, "a1")).silent();
    assert_eq!(
        said(&server.bodies(ADD)[0]),
        pairs(&[("user", "one"), ("assistant", "a1")])
    );
}

#[test]
fn a_session_that_keeps_no_transcript_costs_little() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let run = place.hook("stop", stop("p1", &place.path("never.jsonl"), "a1"));
    assert!(run.silent().took < Duration::from_millis(1500), "{run:?}");
    assert!(server.requests().is_empty());
}

#[test]
fn a_stop_without_a_prompt_id_takes_the_last_turn() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let path = place.transcript(&[
        prompt("p0", 0, "zero"),
        answer("r0", 1, &[text("a0")]),
        prompt("p1", 2, "one"),
        answer("r1", 3, &[text("a1")]),
    ]);
    place
        .hook("stop", json!({"session_id": "s1", "transcript_path": path}))
        .silent();
    assert_eq!(
        said(&server.bodies(ADD)[0]),
        pairs(&[("user", "one"), ("assistant", "a1")])
    );
}

#[test]
fn a_replaced_or_shrunk_transcript_brings_nothing_twice() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let lines = [
        prompt("p1", 0, "one"),
        answer("r1", 1, &[text("a1")]),
        prompt("p2", 2, "two"),
        answer("r2", 3, &[text("a2")]),
    ];
    let path = place.transcript(&lines);
    place.hook("stop", stop("p2", &path, "a2")).silent();
    fs::write(&path, jsonl(&lines[2..])).unwrap();
    place.hook("stop", stop("p2", &path, "a2")).silent();
    assert_eq!(server.bodies(ADD).len(), 1);
    // And goes on with the next turn.
    fs::write(
        &path,
        jsonl(
            &[
                &lines[2..],
                &[prompt("p3", 4, "three"), answer("r3", 5, &[text("a3")])],
            ]
            .concat(),
        ),
    )
    .unwrap();
    place.hook("stop", stop("p3", &path, "a3")).silent();
    assert_eq!(
        said(&server.bodies(ADD)[1]),
        pairs(&[("user", "three"), ("assistant", "a3")])
    );
    fs::remove_file(&path).unwrap();
    place
        .hook(
            "session-end",
            json!({"session_id": "s1", "transcript_path": path}),
        )
        .silent();
    assert_eq!(server.bodies(FLUSH).len(), 1);
}

#[test]
fn fifty_stops_at_once_write_one_turn() {
    let server = FakeEveros::with(|request| {
        Reply::After(Duration::from_millis(30), Box::new(healthy(request)))
    });
    let place = Place::new(&server);
    let path = place.transcript(&[prompt("p1", 0, "one"), answer("r1", 1, &[text("a1")])]);
    let mut payload = stop("p1", &path, "a1");
    payload["cwd"] = json!(place.path("project"));
    let payload = payload.to_string();
    let started = Instant::now();
    let children: Vec<_> = (0..50)
        .map(|_| place.spawn(PROGRAM.as_ref(), &["hook", "stop"], payload.as_bytes()))
        .collect();
    for child in children {
        finish(child, started).silent();
    }
    assert_eq!(server.bodies(ADD).len(), 1);
}
