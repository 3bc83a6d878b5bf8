//! `apkit hook stop`: what is stored of a turn, exactly once.

use std::fs;
use std::io::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fake_everos::{ADD, FLUSH, FakeEveros, Reply, healthy};
use crate::hook_support::*;

/// Role and content of each message of a request.
fn said(body: &Value) -> Vec<(String, String)> {
    let messages = body["messages"].as_array().expect("messages");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    messages
        .iter()
        .map(|message| (text(&message["role"]), text(&message["content"])))
        .collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(role, content)| ((*role).to_owned(), (*content).to_owned()))
        .collect()
}

/// Asserts that times strictly increase over all requests of a session.
fn increasing(bodies: &[Value]) {
    let times: Vec<i64> = bodies
        .iter()
        .flat_map(|body| body["messages"].as_array().unwrap())
        .map(|message| message["timestamp"].as_i64().expect("an integer"))
        .collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
}

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
fn parallel_calls_stand_before_their_results() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    place.recorded("stop", "Stop.parallel").silent();
    let body = &server.bodies(ADD)[0];
    let messages = body["messages"].as_array().unwrap();
    let ids: Vec<&Value> = messages[1]["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| &call["id"])
        .collect();
    assert_eq!(ids.len(), 3);
    let mut answered: Vec<&Value> = messages[2..5]
        .iter()
        .map(|message| &message["tool_call_id"])
        .collect();
    answered.sort_by_key(|id| id.to_string());
    assert_eq!(answered, ids);
    assert!(
        messages[3]["content"]
            .as_str()
            .unwrap()
            .starts_with("[tool error] File does not exist.")
    );
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
fn turns_of_the_same_moment_are_told_apart() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let mut lines = Vec::new();
    for turn in 0..3 {
        lines.push(prompt(&format!("p{turn}"), 0, &format!("q{turn}")));
        lines.push(answer(&format!("r{turn}"), 0, &[text(&format!("a{turn}"))]));
        let path = place.transcript(&lines);
        place
            .hook(
                "stop",
                stop(&format!("p{turn}"), &path, &format!("a{turn}")),
            )
            .silent();
    }
    // A time that is missing and one that lies in the past.
    let mut timeless = prompt("p3", 0, "q3");
    timeless.as_object_mut().unwrap().remove("timestamp");
    lines.push(timeless);
    let mut earlier = answer("r3", 0, &[text("a3")]);
    earlier["timestamp"] = json!("2026-09-01T00:00:00.000Z");
    lines.push(earlier);
    let path = place.transcript(&lines);
    place.hook("stop", stop("p3", &path, "a3")).silent();
    let bodies = server.bodies(ADD);
    assert_eq!(bodies.len(), 4);
    increasing(&bodies);
    assert_eq!(bodies[0]["messages"][0]["timestamp"], 1_790_848_800_000_u64);
    assert_eq!(bodies[3]["messages"][1]["timestamp"], 1_790_848_800_007_u64);
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
fn what_nobody_said_is_not_stored() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let side = |line: Value| {
        let mut line = line;
        line["isSidechain"] = json!(true);
        line
    };
    let synthetic = json!({"type": "assistant", "timestamp": at(5), "message": {"model": "<synthetic>", "content": [text("No response requested.")]}});
    let error = json!({"type": "assistant", "timestamp": at(5), "isApiErrorMessage": true, "message": {"model": "m", "content": [text("API Error")]}});
    let path = place.transcript(&[
        prompt("p1", 0, "<ide_opened_file>a.ts</ide_opened_file>\nwhy <private>my pin 1234</private>does this fail?"),
        json!({"type": "user", "promptId": "p1", "isMeta": true, "timestamp": at(1), "message": {"content": "a skill body"}}),
        side(prompt("p1", 1, "subagent task")),
        side(answer("r9", 1, &[text("subagent verdict")])),
        answer("r1", 2, &[json!({"type": "thinking", "thinking": "secret thought", "text": "leak"}), tool_use("t1", json!({}))]),
        tool_result("p1", 3, "t1", json!("<everos_memory>\nrecalled\n</everos_memory>\nreal output")),
        tool_result("p1", 3, "orphan", json!("orphan output")),
        synthetic,
        error,
        json!({"type": "user", "promptId": "p1", "promptSource": "system", "origin": {"kind": "task-notification"}, "timestamp": at(6), "message": {"content": "<task-notification>x</task-notification>"}}),
        answer("r2", 7, &[text("Because."), json!({"type": "unknown", "text": "must not leak"})]),
    ]);
    place.hook("stop", stop("p1", &path, "Because.")).silent();
    assert_eq!(
        said(&server.bodies(ADD)[0]),
        pairs(&[
            ("user", "why does this fail?"),
            ("assistant", ""),
            ("tool", "\nreal output"),
            ("assistant", "Because.")
        ])
    );
}

#[test]
fn results_without_text_and_very_long_ones() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let long = format!("{}{}", "é".repeat(15_000), "日".repeat(15_000));
    let path = place.transcript(&[
        prompt("p1", 0, "go"),
        answer(
            "r1",
            1,
            &[
                tool_use("t1", json!({"content": long})),
                tool_use("t2", json!({})),
                tool_use("t3", json!({})),
            ],
        ),
        tool_result("p1", 2, "t1", json!(long)),
        tool_result(
            "p1",
            2,
            "t2",
            json!([{"type": "image", "source": {"data": "AAAA"}}]),
        ),
        tool_result("p1", 2, "t3", json!([text("a"), text("b")])),
        answer("r2", 3, &[text("Done.")]),
    ]);
    place.hook("stop", stop("p1", &path, "Done.")).silent();
    let body = &server.bodies(ADD)[0];
    let cut = format!(
        "{}\n[... trimmed 10000 chars ...]\n{}",
        "é".repeat(14_000),
        "日".repeat(6_000)
    );
    let messages = said(body);
    assert_eq!(messages[2].1, cut);
    assert_eq!(messages[3].1, "[image]");
    assert_eq!(messages[4].1, "a\n\nb");
    // Arguments stay valid JSON, cut inside.
    let arguments = body["messages"][1]["tool_calls"][0]["function"]["arguments"]
        .as_str()
        .unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(arguments).unwrap(),
        json!({"content": cut})
    );
}

#[test]
fn more_than_500_messages_go_in_batches() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let mut lines = vec![prompt("p1", 0, "start")];
    // All at the same second, so that times have to be told apart.
    lines.extend(
        (0..1200).map(|index| answer(&format!("r{index}"), 0, &[text(&format!("line {index}"))])),
    );
    let path = place.transcript(&lines);
    place.hook("stop", stop("p1", &path, "line 1199")).silent();
    let bodies = server.bodies(ADD);
    let sizes: Vec<usize> = bodies
        .iter()
        .map(|body| body["messages"].as_array().unwrap().len())
        .collect();
    assert_eq!(sizes, [500, 500, 201]);
    increasing(&bodies);
}

#[test]
fn what_could_not_be_sent_goes_later_and_goes_the_same() {
    let server = FakeEveros::with(|request| {
        if request.path == ADD {
            Reply::Json(500, json!({}))
        } else {
            healthy(request)
        }
    });
    let place = Place::new(&server);
    let path = place.transcript(&[prompt("p1", 0, "one"), answer("r1", 0, &[text("a1")])]);
    let run = place.hook("stop", stop("p1", &path, "a1"));
    assert!(run.silent().took < Duration::from_secs(2));
    assert_eq!(place.state("s1")["pending"].as_array().unwrap().len(), 1);
    // Not sealed while something is left.
    place
        .hook(
            "session-end",
            json!({"session_id": "s1", "prompt_id": "p1", "transcript_path": path}),
        )
        .silent();
    assert!(server.bodies(FLUSH).is_empty());
    server.answer(healthy);
    place
        .hook(
            "session-end",
            json!({"session_id": "s1", "prompt_id": "p1", "transcript_path": path}),
        )
        .silent();
    let bodies = server.bodies(ADD);
    assert_eq!(bodies.len(), 3);
    assert!(
        bodies.iter().all(|body| *body == bodies[0]),
        "the same request each time"
    );
    assert_eq!(
        server.bodies(FLUSH),
        [json!({"session_id": "s1", "app_id": "claude-code", "project_id": "project"})]
    );
    let state = place.state("s1");
    assert_eq!(
        (&state["pending"], &state["unsealed"]),
        (&json!([]), &json!([]))
    );
}

#[test]
fn a_refused_turn_is_not_sent_for_ever() {
    let refusal = |code: &'static str| {
        move |request: &crate::fake_everos::Request| match request.path.as_str() {
            ADD => Reply::Json(
                422,
                if code.is_empty() {
                    json!({"detail": "x"})
                } else {
                    json!({"error": {"code": code}})
                },
            ),
            _ => healthy(request),
        }
    };
    let server = FakeEveros::with(refusal("INVALID_INPUT"));
    let place = Place::new(&server);
    let path = place.transcript(&[prompt("p1", 0, "one"), answer("r1", 1, &[text("a1")])]);
    place.hook("stop", stop("p1", &path, "a1")).silent();
    let state = place.state("s1");
    assert_eq!(
        (&state["pending"], &state["report"]["refused"]),
        (&json!([]), &json!(1))
    );
    // Some other program on the port decides nothing.
    let server = FakeEveros::with(refusal(""));
    let place = Place::new(&server);
    let path = place.transcript(&[prompt("p1", 0, "one"), answer("r1", 1, &[text("a1")])]);
    place.hook("stop", stop("p1", &path, "a1")).silent();
    assert_eq!(place.state("s1")["pending"].as_array().unwrap().len(), 1);
}

#[test]
fn credentials_do_not_leave() {
    let server = FakeEveros::start();
    let mut place = Place::new(&server);
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----";
    let lines = [
        prompt("p1", 0, "my password is hunter2!"),
        answer(
            "r1",
            1,
            &[tool_use(
                "t1",
                json!({"command": "env", "env": {"API_KEY": "k-1234567890"}}),
            )],
        ),
        tool_result(
            "p1",
            2,
            "t1",
            json!(format!(
                "export PAY_TOKEN=zz_0123456789abcdef0123\n{key}\nAuthorization: Bearer abc123def456"
            )),
        ),
        answer(
            "r2",
            3,
            &[text(
                "Your token ghp_0123456789abcdefghij0123456789abcdef is old.",
            )],
        ),
    ];
    let path = place.transcript(&lines);
    place
        .hook(
            "stop",
            stop(
                "p1",
                &path,
                "Your token ghp_0123456789abcdefghij0123456789abcdef is old.",
            ),
        )
        .silent();
    let body = server.bodies(ADD)[0].to_string();
    for secret in [
        "hunter2",
        "k-1234567890",
        "zz_0123",
        "MIIEow",
        "abc123def456",
        "ghp_0123",
    ] {
        assert!(!body.contains(secret), "{secret}: {body}");
    }
    assert!(body.contains("export PAY_TOKEN=[redacted]"));
    assert_eq!(place.state("s1")["report"]["redactions"], 6);
    // The switch turns it off.
    server.forget();
    let other = place.path("other");
    place
        .set("EVEROS_CC_REDACT", "0")
        .set("CLAUDE_PLUGIN_DATA", other.to_str().unwrap());
    place.hook("stop", stop("p1", &path, "x")).silent();
    assert!(server.bodies(ADD)[0].to_string().contains("hunter2"));
}

#[test]
fn broken_lines_and_odd_characters() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let path = place.path("odd.jsonl");
    let mut bytes = b"\0\0\0\0 not json\n{\"type\":\n\n[1,2\n".to_vec();
    bytes.extend(jsonl(&[prompt("p1", 0, "go")]).bytes());
    // Lone surrogates, a NUL escape, a raw NUL, bytes that are no UTF-8.
    bytes.extend(br#"{"type":"assistant","requestId":"r1","timestamp":"2026-10-01T10:00:01.000Z","message":{"model":"m","content":[{"type":"text","text":"a\ud83d b\udc00 \ud83d\ude00 n\u0000"#);
    bytes.extend(b"\0 \xff\xfe end\"}]}}\n{\"type\":\"user\",\"promptId\":\"p1\",\"mess");
    fs::write(&path, bytes).unwrap();
    let payload = format!(
        r#"{{"session_id":"s1","prompt_id":"p1","cwd":{:?},"transcript_path":{:?},"last_assistant_message":"a\ud83d b\udc00 \ud83d\ude00 n\u0000\u0000 \ufffd\ufffd end"}}"#,
        place.path("project"),
        path
    );
    let run = place.run(&["hook", "stop"], payload.as_bytes());
    assert!(
        run.silent().took < Duration::from_secs(2),
        "the turn is known to be finished"
    );
    assert_eq!(
        said(&server.bodies(ADD)[0]),
        pairs(&[
            ("user", "go"),
            (
                "assistant",
                "a\u{fffd} b\u{fffd} 😀 n\u{fffd}\u{fffd} \u{fffd}\u{fffd} end"
            )
        ])
    );
}

#[test]
fn a_foreign_transcript_is_not_taken_for_a_turn() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let path = place.transcript(&[
        json!({"message": {"role": "assistant", "content": [text("only the reply")]}}),
    ]);
    place
        .hook(
            "session-start",
            json!({"session_id": "s1", "source": "startup", "transcript_path": place.path("none")}),
        )
        .silent();
    place
        .hook("stop", stop("p1", &path, "only the reply"))
        .silent();
    assert!(server.bodies(ADD).is_empty());
    assert_eq!(
        place.state("s1")["report"]["trouble"],
        "transcript has an unknown shape"
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

#[test]
fn a_large_transcript_costs_only_its_end() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let path = place.path("large.jsonl");
    let mut file = std::io::BufWriter::new(fs::File::create(&path).unwrap());
    let filler = answer("r0", 0, &[text(&"old words ".repeat(1000))]).to_string();
    for index in 0..3000 {
        writeln!(file, "{filler}").unwrap();
        if index % 100 == 0 {
            writeln!(
                file,
                "{}",
                prompt(&format!("old{index}"), 0, "old question")
            )
            .unwrap();
        }
    }
    writeln!(file, "{}", prompt("p1", 10, "now")).unwrap();
    writeln!(file, "{}", answer("r1", 11, &[tool_use("t1", json!({}))])).unwrap();
    // One line of several megabytes, in the turn itself.
    file.write_all(r#"{"type":"user","promptId":"p1","timestamp":"2026-10-01T10:00:12.000Z","toolUseResult":{"stdout":""#.as_bytes()).unwrap();
    // 256 lines of 64 characters.
    let block = format!("{}\\n", "0123456789abcdef".repeat(4)[1..].to_owned()).repeat(256);
    (0..256).for_each(|_| write!(file, "{block}").unwrap());
    file.write_all(r#""},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":""#.as_bytes()).unwrap();
    (0..256).for_each(|_| write!(file, "{block}").unwrap());
    writeln!(file, "\"}}]}}}}").unwrap();
    let last = answer("r2", 13, &[text("Done.")]).to_string();
    let (first, second) = last.split_at(last.len() / 2);
    write!(file, "{first}").unwrap();
    file.flush().unwrap();
    let writer = thread::spawn({
        let (path, second) = (path.clone(), second.to_owned());
        move || {
            thread::sleep(Duration::from_millis(300));
            writeln!(
                fs::File::options().append(true).open(path).unwrap(),
                "{second}"
            )
            .unwrap();
        }
    });
    let run = place.hook("stop", stop("p1", &path, "Done."));
    writer.join().unwrap();
    run.silent();
    let body = &server.bodies(ADD)[0];
    let messages = said(body);
    assert_eq!(messages.len(), 4);
    // 256 blocks of 256 lines of 64 characters, of which 20 000 are kept.
    assert!(messages[2].1.contains(&format!(
        "[... trimmed {} chars ...]",
        256 * 256 * 64 - 20_000
    )));
    assert_eq!(messages[3].1, "Done.");
    assert!(run.took < Duration::from_secs(4), "{:?}", run.took);
}
