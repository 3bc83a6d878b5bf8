//! Disks that are full or fill up: nothing is in the way, nothing is lost that
//! the transcript holds, nothing is stored twice after a seal.

#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use crate::fake_everos::FakeEveros;
use crate::hook_support::*;

/// A turn: its name and its lines.
fn turn(number: u64) -> (String, Vec<Value>) {
    let name = format!("p{number}");
    let lines = vec![
        prompt(&name, number * 10, &format!("question {number}")),
        answer(
            &format!("r{number}"),
            number * 10 + 1,
            &[text(&format!("answer {number}"))],
        ),
    ];
    (name, lines)
}

/// What `turns` turns say.
fn expected(turns: u64) -> Vec<String> {
    (1..=turns)
        .flat_map(|number| [format!("question {number}"), format!("answer {number}")])
        .collect()
}

/// One step of a session's life.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The disk has no room from now on.
    Full,
    /// It has room again.
    Free,
    /// The session starts; whether it is resumed.
    Start(bool),
    /// A turn goes by.
    Turn,
    /// The session ends.
    End,
}

/// The lives that are tried: how often each number of turns is stored follows
/// from the number of turns alone.
const LIVES: [&[Step]; 3] = [
    &[
        Step::Start(false),
        Step::Turn,
        Step::Full,
        Step::Turn,
        Step::Turn,
        Step::Free,
        Step::Turn,
        Step::End,
    ],
    // Its end finds the disk full, and it goes on afterwards.
    &[
        Step::Start(false),
        Step::Turn,
        Step::Full,
        Step::Turn,
        Step::End,
        Step::Free,
        Step::Start(true),
        Step::Turn,
        Step::End,
    ],
    // Full from the beginning: what was stored without a journal is known to
    // nobody, so the session is one that is first seen in the middle.
    &[
        Step::Full,
        Step::Start(false),
        Step::Turn,
        Step::Turn,
        Step::Free,
        Step::Turn,
        Step::End,
    ],
];

/// Calls `hook` for every hook of a life with its payload, and `disk` when the
/// disk changes; the transcript grows in between. The number of turns.
fn live(
    place: &Place,
    life: &[Step],
    mut hook: impl FnMut(&str, Value, &[Value]),
    mut disk: impl FnMut(bool),
) -> u64 {
    let transcript = place.path("transcript.jsonl");
    let mut lines = Vec::new();
    let mut turns = 0;
    for step in life {
        let start = json!({"session_id": "s1", "transcript_path": transcript, "cwd": place.path("project")});
        match step {
            Step::Full => disk(true),
            Step::Free => disk(false),
            Step::Start(resumed) => {
                let mut payload = start;
                payload["source"] = json!(if *resumed { "resume" } else { "startup" });
                hook("session-start", payload, &lines);
            }
            Step::Turn => {
                turns += 1;
                let (name, more) = turn(turns);
                lines.extend(more);
                let mut payload = stop(&name, &transcript, &format!("answer {turns}"));
                payload["cwd"] = json!(place.path("project"));
                hook("stop", payload, &lines);
            }
            Step::End => hook("session-end", start, &lines),
        }
    }
    turns
}

fn assert_stored_once(server: &FakeEveros, turns: u64, life: &[Step]) {
    let (sealed, buffered) = server.stored("s1");
    assert!(buffered.is_empty(), "{life:?}: {buffered:?}");
    let contents: Vec<&str> = sealed
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(contents, expected(turns), "{life:?}");
}

/// Files cannot grow: the system's own limit, ignored as a signal, fails writes
/// like a full disk.
#[test]
fn a_disk_without_room_loses_and_doubles_nothing() {
    for life in LIVES {
        let server = FakeEveros::start();
        let place = Place::new(&server);
        let full = std::cell::Cell::new(false);
        let hook = |event: &str, payload: Value, lines: &[Value]| {
            fs::write(place.path("transcript.jsonl"), jsonl(lines)).unwrap();
            let limit = if full.get() {
                "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""
            } else {
                "exec \"$0\" \"$@\""
            };
            let mut command = place.command(Path::new("/bin/sh"));
            command.args(["-c", limit, PROGRAM, "hook", event]);
            let started = Instant::now();
            let (child, pipe) = place.start(&mut command, payload.to_string().as_bytes());
            drop(pipe);
            finish(child, started).silent();
        };
        let turns = live(&place, life, hook, |now| full.set(now));
        assert_stored_once(&server, turns, life);
    }
}

/// The same on a real file system without a free block, and on one without a
/// free file: mounted where the system lets everybody do so.
#[cfg(target_os = "linux")]
#[test]
fn a_full_file_system_loses_and_doubles_nothing() {
    for (life, fill) in LIVES.iter().flat_map(|life| {
        let blocks = "cat /dev/zero >\"$DATA/fill\" || :";
        let files = "i=0; while true >\"$DATA/fill$i\"; do i=$((i + 1)); done";
        [blocks, files].map(|fill| (*life, fill))
    }) {
        let server = FakeEveros::start();
        let mut place = Place::new(&server);
        fs::create_dir(place.path("data")).unwrap();
        let text = |name: &str| place.path(name).to_str().unwrap().to_owned();
        let (root, data) = (text("."), text("data"));
        place
            .set("ROOT", root)
            .set("DATA", data)
            .set("APKIT", PROGRAM);
        let script = std::cell::RefCell::new(String::from(
            "exec 2>/dev/null\n\
             mount -t tmpfs -o size=128k,nr_inodes=64 none \"$DATA\" || exit 77\n\
             run() {\n\
             cp \"$ROOT/$2.jsonl\" \"$ROOT/transcript.jsonl\"\n\
             \"$APKIT\" hook \"$1\" <\"$ROOT/$2.json\" >>\"$ROOT/out\" || echo \"$1 $2: $?\" >>\"$ROOT/out\"\n\
             }\n",
        ));
        let mut count = 0;
        let hook = |event: &str, payload: Value, lines: &[Value]| {
            count += 1;
            fs::write(place.path(&format!("{count}.jsonl")), jsonl(lines)).unwrap();
            fs::write(place.path(&format!("{count}.json")), payload.to_string()).unwrap();
            script
                .borrow_mut()
                .push_str(&format!("run {event} {count}\n"));
        };
        let disk = |full: bool| {
            let line = if full { fill } else { "rm -f \"$DATA\"/fill*" };
            script.borrow_mut().push_str(&format!("{line}\n"));
        };
        let turns = live(&place, life, hook, disk);
        let mut command: Command = place.command(Path::new("unshare"));
        command.args(["--map-root-user", "--mount", "sh", "-c", &script.borrow()]);
        match command.status().map(|status| status.code()) {
            Ok(Some(0)) => {}
            // `unshare` itself fails with 1, a mount that is refused gives 77.
            other @ (Err(_) | Ok(Some(1 | 77) | None)) => {
                // Past the harness, which would swallow it.
                let _ = writeln!(
                    std::io::stderr(),
                    "SKIPPED: hook_disk: no file system can be mounted here ({other:?})"
                );
                return;
            }
            Ok(Some(code)) => panic!("{code}: {life:?} {fill}"),
        }
        let out = fs::read_to_string(place.path("out")).unwrap();
        assert_eq!(out, "", "{life:?} {fill}");
        assert_stored_once(&server, turns, life);
    }
}
