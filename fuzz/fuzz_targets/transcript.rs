//! A transcript as Claude Code may leave it: read as a whole and in two halves,
//! searched from its end, and turned into messages.
#![no_main]

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use apkit::everos::deadline::Deadline;
use apkit::everos::identity::{Identity, ProjectSource};
use apkit::everos::message::{Mapper, Start};
use apkit::everos::redact::Redactor;
use apkit::everos::turn::{Entry, Scan, Segment, Transcript};
use apkit::everos::{Host as _, json::Json};
use apkit::host::claude_code::ClaudeCode;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("apkit-fuzz-{}", std::process::id()));
    std::fs::File::create(&path).unwrap().write_all(bytes).unwrap();
    judge(bytes, &path);
});

fn open(path: &Path) -> Box<dyn Transcript> {
    ClaudeCode.transcript(path).expect("a regular file")
}

fn entries(transcript: &mut dyn Transcript, from: u64, to: u64) -> (Vec<Entry>, u64) {
    let mut found = Vec::new();
    let passed = transcript
        .read(from, to, &mut |entry| {
            found.push(entry);
            true
        })
        .unwrap();
    (found, passed)
}

fn judge(bytes: &[u8], path: &Path) {
    let size = bytes.len() as u64;
    let mut transcript = open(path);
    let transcript = transcript.as_mut();
    assert_eq!(transcript.size().unwrap(), size);
    let finished = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
    assert_eq!(transcript.end().unwrap(), finished);

    let (all, passed) = entries(transcript, 0, size);
    assert!(passed <= size && passed >= finished);
    let mut starts = vec![0];
    for entry in &all {
        // Every line is passed whole; the last one may lack its end.
        assert!(entry.end == size || bytes[entry.end as usize - 1] == b'\n');
        assert!(entry.end > *starts.last().unwrap());
        starts.push(entry.end);
    }
    assert_eq!(*starts.last().unwrap(), passed);

    // From any line on it is the same.
    for at in starts.iter().step_by(starts.len() / 4 + 1) {
        let (rest, again) = entries(transcript, *at, size);
        assert_eq!(again, passed);
        let ends: Vec<u64> = rest.iter().map(|entry| entry.end).collect();
        let expected: Vec<u64> = starts[1..].iter().copied().filter(|end| end > at).collect();
        assert_eq!(ends, expected);
        let known = rest.iter().filter(|entry| entry.known).count();
        assert_eq!(known, all[all.len() - rest.len()..].iter().filter(|entry| entry.known).count());
        assert!(transcript.mark(*at).unwrap().is_some());
    }
    assert!(transcript.mark(size + 1).unwrap().is_none());

    // The start of a turn is where a line starts that names it. The search reads less
    // of a line than the reader does, so the line may turn out to be broken.
    let deadline = Deadline::after(Duration::from_secs(60));
    let last = all.iter().rev().find_map(|entry| entry.turn.as_deref());
    for turn in [last, None, Some("nobody's")] {
        let Some(found) = transcript.turn_start(turn, deadline).unwrap() else {
            assert!(turn != last || last.is_none());
            continue;
        };
        assert!(starts.contains(&found));
        let (line, _) = entries(transcript, found, size);
        if let Some(entry) = line.first().filter(|entry| entry.known && turn.is_some()) {
            assert_eq!(entry.turn.as_deref(), turn);
        }
    }

    // Segments cover what was read, in order.
    let mut scan = Scan::new(0, Segment::default());
    scan.advance(transcript, deadline).unwrap();
    assert_eq!(scan.at, passed);
    assert_eq!(scan.known + scan.foreign, all.len() as u64);
    for pair in scan.segments.windows(2) {
        assert_eq!(pair[0].to, pair[1].from);
    }

    // The same bytes give the same messages, at strictly increasing times.
    let messages = || {
        let identity = Identity {
            app: "a",
            project: "p".to_owned(),
            project_source: ProjectSource::Directory,
            user: Some("u".to_owned()),
            agent: "a",
        };
        let mut redactor = Redactor::new(true);
        let mut out = Vec::new();
        let mut sink = |message| out.push(serde_json::to_vec(&message).unwrap());
        let start = Start { floor: 5, calls: Vec::new() };
        let mut mapper = Mapper::new(&identity, &mut redactor, &start, &mut sink);
        all.iter().for_each(|entry| mapper.entry(entry.clone()));
        let (last, count) = mapper.finish();
        assert_eq!(count, out.len() as u64);
        (last, out)
    };
    let (last, out) = messages();
    assert_eq!((last, &out), (messages().0, &messages().1));
    let mut before = 5;
    for message in out {
        let message = Json::parse(&message).expect("JSON");
        let Some(Json::Number(at)) = message.get("timestamp") else { panic!("no time") };
        let at: i64 = at.parse().unwrap();
        assert!(at > before && at <= last);
        before = at;
    }
}
