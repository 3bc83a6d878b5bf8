//! Transcripts of any size: what a hook takes follows what is new in them.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::fake_everos::{ADD, FLUSH, FakeEveros};
use crate::hook_support::*;
#[cfg(any(target_os = "linux", target_os = "macos"))]
use crate::measure;

/// A line of a tool's output, as JSON holds it.
const LINE: &str = "2026-10-01T10:00:12Z INFO 0123456789abcdef stored, no question left open\\n";
const MIB: usize = 1024 * 1024;
/// How much more memory a hook may have at its peak than one with nothing to do,
/// in bytes. What the program itself takes depends on the build (see `benches/`
/// for the one people get).
#[cfg(any(target_os = "linux", target_os = "macos"))]
const PEAK: usize = 16 * MIB;

/// How large the past of a session is, and one line of the turn at hand, in MiB.
/// `.ci/run` asks for the full size.
fn sizes() -> (usize, usize) {
    if std::env::var_os("APKIT_TESTS_FULL").is_some() {
        (240, 60)
    } else {
        (60, 12)
    }
}

/// Writes a transcript with `past` MiB of earlier turns and, in the turn `p1`, a
/// tool result of `line` MiB.
fn write(path: &Path, past: usize, line: usize) {
    let mut file = fs::File::create(path).unwrap();
    let filler = answer("r0", 0, &[text(&"old words ".repeat(3000))]).to_string();
    let mut piece = prompt("old", 0, "old question").to_string() + "\n";
    while piece.len() < MIB {
        piece.push_str(&filler);
        piece.push('\n');
    }
    for _ in 0..past {
        file.write_all(piece.as_bytes()).unwrap();
    }
    let begin = [
        prompt("p1", 10, "now"),
        answer("r1", 11, &[tool_use("t1", json!({"command": "cat"}))]),
    ];
    file.write_all(jsonl(&begin).as_bytes()).unwrap();
    let result = tool_result("p1", 12, "t1", json!("@")).to_string();
    let (before, after) = result.split_once('@').unwrap();
    file.write_all(before.as_bytes()).unwrap();
    let piece = LINE.repeat(MIB / LINE.len());
    for _ in 0..line {
        file.write_all(piece.as_bytes()).unwrap();
    }
    file.write_all(format!("{after}\n").as_bytes()).unwrap();
    file.write_all(jsonl(&[answer("r2", 13, &[text("Done.")])]).as_bytes())
        .unwrap();
}

/// Runs a Stop, and checks what it took.
fn stop_within(place: &Place, mut payload: serde_json::Value) {
    payload["cwd"] = json!(place.path("project"));
    let payload = payload.to_string();
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    let run = {
        let (_, idle) = measure::run(place, &["hook", "stop"], b"{}");
        let (run, peak) = measure::run(place, &["hook", "stop"], payload.as_bytes());
        let more = peak.saturating_sub(idle);
        assert!(more < PEAK, "{} KiB", more / 1024);
        run
    };
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    let run = place.run(&["hook", "stop"], payload.as_bytes());
    run.silent();
    assert!(run.took < Duration::from_secs(6), "{:?}", run.took);
}

#[test]
fn a_large_transcript_with_a_large_line_costs_its_end_and_no_memory() {
    let (past, line) = sizes();
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let path = place.path("large.jsonl");
    write(&path, past, line);
    stop_within(&place, stop("p1", &path, "Done."));
    let bodies = server.bodies(ADD);
    assert_eq!(bodies.len(), 1);
    let messages = said(&bodies[0]);
    assert_eq!(messages[0].1, "now");
    // The line end is one character.
    let whole = line * (MIB / LINE.len()) * (LINE.len() - 1);
    let marker = format!("[... trimmed {} chars ...]", whole - 20_000);
    assert!(messages[2].1.contains(&marker), "{marker}");
    assert_eq!(messages[3].1, "Done.");
    // The file is cut in the middle of a line of the past.
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(MIB as u64 / 2)
        .unwrap();
    let end = json!({"session_id": "s1", "transcript_path": path, "reason": "other"});
    let run = place.hook("session-end", end);
    assert!(run.silent().took < Duration::from_millis(1450), "{run:?}");
    assert_eq!(server.bodies(ADD).len(), 1);
    assert_eq!(server.bodies(FLUSH).len(), 1);
}

/// One answer of the model that goes on and on: text and calls that belong to
/// one message each by themselves.
#[test]
fn an_answer_without_end_costs_no_memory() {
    let server = FakeEveros::start();
    let place = Place::new(&server);
    let path = place.path("large.jsonl");
    let mut file = std::io::BufWriter::new(fs::File::create(&path).unwrap());
    file.write_all(jsonl(&[prompt("p1", 0, "now")]).as_bytes())
        .unwrap();
    let words = "==== ==== ".repeat(5500);
    for index in 0..80 {
        let call = tool_use(&format!("t{index}"), json!({"command": words}));
        let lines = [answer("r1", 1, &[text(&words)]), answer("r1", 1, &[call])];
        file.write_all(jsonl(&lines).as_bytes()).unwrap();
    }
    file.write_all(jsonl(&[answer("r1", 2, &[text("Done.")])]).as_bytes())
        .unwrap();
    drop(file);
    stop_within(&place, stop("p1", &path, "Done."));
    let bodies = server.bodies(ADD);
    assert!(!bodies.is_empty());
    increasing(&bodies);
    let calls: usize = bodies
        .iter()
        .flat_map(|body| body["messages"].as_array().unwrap())
        .filter_map(|message| message["tool_calls"].as_array().map(Vec::len))
        .sum();
    assert_eq!(calls, 80);
}
