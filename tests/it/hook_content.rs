//! What a turn becomes on its way: messages, times, batches, redaction, and what
//! is made of odd and very large transcripts.

use std::fs;
use std::io::Write as _;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fake_everos::{ADD, FLUSH, FakeEveros, Reply, healthy};
use crate::hook_support::*;

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
    (0..64).for_each(|_| write!(file, "{block}").unwrap());
    file.write_all(r#""},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":""#.as_bytes()).unwrap();
    (0..64).for_each(|_| write!(file, "{block}").unwrap());
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
    // 64 blocks of 256 lines of 64 characters, of which 20 000 are kept.
    assert!(messages[2].1.contains(&format!(
        "[... trimmed {} chars ...]",
        64 * 256 * 64 - 20_000
    )));
    assert_eq!(messages[3].1, "Done.");
    assert!(run.took < Duration::from_secs(6), "{:?}", run.took);
}
