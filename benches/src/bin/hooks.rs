//! The hooks of the memory plugin as whole processes, beside a process that does
//! nothing and a node process that does the least a hook in JavaScript has to:
//! each hook, Stop on transcripts of 1, 10 and 100 MB, recall end to end. The
//! server is a stand-in on the loopback interface that answers at once.

use std::cell::Cell;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use apkit_benches::{Case, Cost, apkit, command, compare, load, run_with};

/// What the design asks of the start of each hook, over that of `true`, in ms.
const OVERHEAD_BAR: f64 = 2.5;
/// What it asks of Stop on 100 MB with one new turn: ms, MiB.
const STOP_BAR: (f64, f64) = (30.0, 20.0);

/// Reads what a hook is given, and ends.
const NODE_NOTHING: &str = "require('fs').readFileSync(0)";
/// Parses the transcript, takes the lines of the turn, and sends their texts.
const NODE_STOP: &str = "
const payload = JSON.parse(require('fs').readFileSync(0))
const lines = require('fs').readFileSync(payload.transcript_path, 'utf8').split('\\n').filter(Boolean).map(JSON.parse)
const start = lines.findIndex(line => line.promptId === payload.prompt_id)
const messages = lines.slice(start).map((line, index) => ({role: line.type, timestamp: Date.parse(line.timestamp) + index, content: JSON.stringify(line.message.content)}))
fetch(process.env.EVEROS_CC_BASE_URL + '/api/v2/memory/add', {method: 'POST', body: JSON.stringify({session_id: payload.session_id, messages})}).then(answer => answer.json())
";
/// Asks both tracks and prints what they answer.
const NODE_RECALL: &str = "
const payload = JSON.parse(require('fs').readFileSync(0))
const ask = who => fetch(process.env.EVEROS_CC_BASE_URL + '/api/v2/memory/search', {method: 'POST', body: JSON.stringify({query: payload.prompt, who})}).then(answer => answer.json())
Promise.all(['user', 'agent'].map(ask)).then(found => console.log(JSON.stringify({hookSpecificOutput: {hookEventName: 'UserPromptSubmit', additionalContext: JSON.stringify(found)}})))
";

/// A home, a project and a server for hooks.
struct Place {
    root: tempfile::TempDir,
    url: String,
    apkit: PathBuf,
    node: bool,
    /// Numbers sessions and turns, so that none was seen before.
    next: Cell<u64>,
}

impl Place {
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.root.path())
            .env("USER", "bench")
            .env("CLAUDE_PLUGIN_DATA", self.root.path().join("data"))
            .env("EVEROS_CC_BASE_URL", &self.url)
            .current_dir(self.root.path().join("project"));
        command
    }

    fn hook(&self, event: &str, payload: &str) -> io::Result<Cost> {
        run_with(self.command(&self.apkit).args(["hook", event]), Some(payload.as_bytes()))
    }

    fn next(&self) -> u64 {
        self.next.set(self.next.get() + 1);
        self.next.get()
    }

    fn payload(&self, session: &str, turn: u64, transcript: &Path, rest: &str) -> String {
        let (project, transcript) = (self.root.path().join("project"), transcript.display());
        format!(
            r#"{{"session_id":"{session}","prompt_id":"p{turn}","cwd":"{}","transcript_path":"{transcript}","source":"startup","last_assistant_message":"Answer {turn}."{rest}}}"#,
            project.display()
        )
    }

    /// The case `name`, if there is a node to run `script`.
    fn node<'a>(&'a self, name: &'a str, script: &'a str, payload: impl FnMut() -> io::Result<String> + 'a) -> Option<Case<'a>> {
        let mut payload = payload;
        self.node.then(|| {
            let run: Box<dyn FnMut() -> io::Result<Cost>> =
                Box::new(move || run_with(self.command(Path::new("node")).args(["-e", script]), Some(payload()?.as_bytes())));
            (name, run)
        })
    }
}

fn main() -> io::Result<()> {
    let apkit = apkit("dist")?;
    let root = tempfile::tempdir()?;
    fs::create_dir(root.path().join("project"))?;
    let node = Command::new("node").arg("--version").output();
    let place = Place { url: serve()?, apkit, node: node.is_ok(), root, next: Cell::new(0) };
    println!("{} ({:.1} MB), load {}", place.apkit.display(), fs::metadata(&place.apkit)?.len() as f64 / 1e6, load());
    match node {
        Ok(output) => println!("node {}", String::from_utf8_lossy(&output.stdout).trim()),
        Err(error) => println!("node is MISSING here ({error}): the lines beside it are left out"),
    }
    let mut kept = overhead(&place)?;
    for megabytes in [1, 10, 100] {
        kept &= stop(&place, megabytes)?;
    }
    recall(&place)?;
    println!("\nload {}", load());
    if kept { Ok(()) } else { Err(io::Error::other("a bar was missed")) }
}

fn say(what: &str, value: f64, bar: f64, unit: &str) -> bool {
    let verdict = if value <= bar { "kept" } else { "MISSED" };
    println!("{what}: {value:.2} {unit}, bar {bar} {unit}: {verdict}");
    value <= bar
}

/// What each hook costs when there is next to nothing to do.
fn overhead(place: &Place) -> io::Result<bool> {
    let none = place.root.path().join("none.jsonl");
    let small = place.root.path().join("small.jsonl");
    write_transcript(&small, 0)?;
    let start = || place.payload(&format!("start-{}", place.next()), 0, &none, "");
    let short = place.payload("short", 1, &none, r#","prompt":"ok""#);
    let known = place.payload("known", 1, &small, "");
    append_turn(&small, 1)?;
    place.hook("stop", &known)?;
    let mut cases: Vec<Case> = vec![
        ("session-start (asks for health)", Box::new(|| place.hook("session-start", &start()))),
        ("user-prompt-submit (nothing to search for)", Box::new(|| place.hook("user-prompt-submit", &short))),
        ("stop (nothing new)", Box::new(|| place.hook("stop", &known))),
        ("pre-compact (seals)", Box::new(|| place.hook("pre-compact", &known))),
        ("session-end (seals)", Box::new(|| place.hook("session-end", &known))),
        command("true", Command::new("true")),
    ];
    cases.extend(place.node("node: read the payload, end", NODE_NOTHING, || Ok(short.clone())));
    let costs = compare("each hook", 60, &mut cases)?;
    // Two of them do nothing but start, read a little, and end. They wait for
    // nobody, so that their processor time is what they take on a quiet machine.
    let over = |of: fn(&Cost) -> f64| of(&costs[1]).max(of(&costs[2])) - of(&costs[5]);
    println!("over `true`, without a request: {:.2} ms wall", over(|cost| cost.wall));
    Ok(say("over `true`, without a request, cpu", over(|cost| cost.cpu), OVERHEAD_BAR, "ms"))
}

/// Stop with one new turn at the end of a transcript.
fn stop(place: &Place, megabytes: usize) -> io::Result<bool> {
    let path = |name: &str| place.root.path().join(format!("{name}.jsonl"));
    // The session that is known takes every turn, so it has a file of its own.
    let (known, other) = (path("known"), path("other"));
    for path in [&known, &other] {
        write_transcript(path, megabytes)?;
    }
    let session = format!("stop-{megabytes}");
    let resume = place.payload(&session, 0, &known, "").replace("startup", "resume");
    place.hook("session-start", &resume)?;
    let next = |path: &Path, session: &str| {
        let turn = place.next();
        append_turn(path, turn)?;
        Ok::<_, io::Error>(place.payload(session, turn, path, ""))
    };
    let new = || next(&other, &format!("new-{}", place.next()));
    let mut cases: Vec<Case> = vec![
        ("apkit hook stop", Box::new(|| place.hook("stop", &next(&known, &session)?))),
        ("apkit hook stop, first hook of the session", Box::new(|| place.hook("stop", &new()?))),
    ];
    cases.extend(place.node("node: parse the file, send the turn", NODE_STOP, new));
    let rounds = if megabytes == 100 { 10 } else { 30 };
    let costs = compare(&format!("stop, one new turn behind {megabytes} MB"), rounds, &mut cases)?;
    drop(cases);
    fs::remove_file(known)?;
    fs::remove_file(other)?;
    let time = costs[0].wall.max(costs[1].wall);
    let memory = costs[0].memory.max(costs[1].memory);
    Ok(say("time", time, STOP_BAR.0, "ms") & say("peak memory", memory, STOP_BAR.1, "MiB"))
}

/// A prompt that is searched for, and the answer for the model.
fn recall(place: &Place) -> io::Result<()> {
    let none = place.root.path().join("none.jsonl");
    let next = || Ok(place.payload(&format!("recall-{}", place.next()), 1, &none, r#","prompt":"Which lint tool does this repository use?""#));
    let mut cases: Vec<Case> = vec![("apkit hook user-prompt-submit", Box::new(|| place.hook("user-prompt-submit", &next()?)))];
    cases.extend(place.node("node: two searches with fetch", NODE_RECALL, next));
    compare("recall, two searches", 30, &mut cases).map(drop)
}

/// Earlier turns of so many MB.
fn write_transcript(path: &Path, megabytes: usize) -> io::Result<()> {
    let words = "what was said some time ago ".repeat(36);
    let mut piece = String::new();
    while piece.len() < 1_000_000 {
        piece.push_str(r#"{"type":"user","promptId":"old","promptSource":"typed","isSidechain":false,"timestamp":"2026-10-01T09:00:00.000Z","message":{"role":"user","content":"old question"}}"#);
        piece.push('\n');
        for _ in 0..20 {
            piece.push_str(&format!(
                r#"{{"type":"assistant","requestId":"r","isSidechain":false,"timestamp":"2026-10-01T09:00:01.000Z","message":{{"role":"assistant","model":"m","content":[{{"type":"text","text":"{words}"}}]}}}}"#
            ));
            piece.push('\n');
        }
    }
    let mut file = fs::File::create(path)?;
    (0..megabytes).try_for_each(|_| file.write_all(piece.as_bytes()))
}

/// One more turn: prompt, call, result, answer.
fn append_turn(path: &Path, turn: u64) -> io::Result<()> {
    let at = |second: u64| format!(r#""isSidechain":false,"timestamp":"2026-10-01T{:02}:{:02}:{:02}.{second:03}Z""#, 10 + turn / 3600, turn / 60 % 60, turn % 60);
    let text = format!(
        concat!(
            r#"{{"type":"user","promptId":"p{turn}","promptSource":"typed",{},"message":{{"role":"user","content":"Question {turn}"}}}}"#,
            "\n",
            r#"{{"type":"assistant","requestId":"a{turn}",{},"message":{{"role":"assistant","model":"m","content":[{{"type":"tool_use","id":"t{turn}","name":"Bash","input":{{"command":"ls"}}}}]}}}}"#,
            "\n",
            r#"{{"type":"user","promptId":"p{turn}",{},"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{turn}","content":"{}"}}]}}}}"#,
            "\n",
            r#"{{"type":"assistant","requestId":"b{turn}",{},"message":{{"role":"assistant","model":"m","content":[{{"type":"text","text":"Answer {turn}."}}]}}}}"#,
            "\n"
        ),
        at(0),
        at(1),
        at(2),
        "a line of output\\n".repeat(50),
        at(3),
        turn = turn
    );
    fs::File::options().append(true).open(path)?.write_all(text.as_bytes())
}

/// A server that answers everything at once.
fn serve() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    Ok(url)
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first)? == 0 {
            return Ok(());
        }
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line.trim().is_empty() {
                break;
            }
        }
        io::copy(&mut (&mut reader).take(length), &mut io::sink())?;
        let body = if first.contains("/search") {
            r#"{"request_id":"r","data":{"episodes":[{"id":"e1","subject":"Lint","summary":"The repository is linted with ruff, configured in lint.cfg.","score":0.8,"timestamp":"2026-10-01T10:00:00Z"}],"profiles":[],"agent_cases":[],"agent_skills":[],"unprocessed_messages":[]}}"#
        } else if first.contains("/health") {
            r#"{"status":"ok","version":"1.5.1","capabilities":{"llm":true,"embed":true,"rerank":false}}"#
        } else if first.contains("/flush") {
            r#"{"request_id":"r","data":{"status":"extracted"}}"#
        } else {
            r#"{"request_id":"r","data":{"message_count":1,"status":"accumulated"}}"#
        };
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
        stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes())?;
    }
}
