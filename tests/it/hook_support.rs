//! A place to run hooks in: the real program, a home of its own, a fake server.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fake_everos::FakeEveros;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_apkit");

/// A home, a project, a data directory.
pub(crate) struct Place {
    pub(crate) root: TempDir,
    vars: Vec<(String, String)>,
}

/// What a program gave back.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Run {
    /// The one JSON object on standard output.
    pub(crate) fn json(&self) -> Value {
        let value: Value =
            serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        assert!(value.is_object(), "{self:?}");
        value
    }

    /// What the user is told.
    pub(crate) fn notice(&self) -> String {
        self.json()["systemMessage"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// What the model is given.
    pub(crate) fn context(&self) -> String {
        self.json()["hookSpecificOutput"]["additionalContext"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Asserts that the hook ended well and said nothing.
    pub(crate) fn silent(&self) -> &Self {
        self.fine();
        assert_eq!(self.stdout, "", "{self:?}");
        self
    }

    /// Asserts what must hold for every hook, whatever happens.
    pub(crate) fn fine(&self) -> &Self {
        assert_eq!(self.status, 0, "{self:?}");
        assert!(self.stdout.is_empty() || self.json().is_object());
        self
    }
}

impl Place {
    /// A place whose hooks talk to `server`.
    pub(crate) fn new(server: &FakeEveros) -> Self {
        Self::with_url(&server.url())
    }

    pub(crate) fn with_url(url: &str) -> Self {
        let root = TempDir::new().expect("a temporary directory");
        for directory in ["home", "project"] {
            fs::create_dir(root.path().join(directory)).unwrap();
        }
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        let mut vars = vec![
            ("HOME".to_owned(), text(root.path().join("home"))),
            ("USER".to_owned(), "dev".to_owned()),
            (
                "CLAUDE_PLUGIN_DATA".to_owned(),
                text(root.path().join("data")),
            ),
            ("EVEROS_CC_BASE_URL".to_owned(), url.to_owned()),
            // Nothing may be started by accident.
            (
                "EVEROS_CC_START_CMD".to_owned(),
                text(root.path().join("no-such-program")),
            ),
        ];
        // Windows programs do not start without these.
        for name in ["SystemRoot", "PATH"] {
            vars.extend(
                std::env::var(name)
                    .ok()
                    .map(|value| (name.to_owned(), value)),
            );
        }
        Self { root, vars }
    }

    pub(crate) fn set(&mut self, name: &str, value: impl AsRef<str>) -> &mut Self {
        self.vars.retain(|(known, _)| known != name);
        self.vars.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    pub(crate) fn unset(&mut self, name: &str) -> &mut Self {
        self.vars.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// A transcript with these lines.
    pub(crate) fn transcript(&self, lines: &[Value]) -> PathBuf {
        let path = self.path("transcript.jsonl");
        fs::write(&path, jsonl(lines)).unwrap();
        path
    }

    /// Starts a command of the program, with `input` on its standard input.
    pub(crate) fn spawn(&self, program: &Path, arguments: &[&str], input: &[u8]) -> Child {
        let (child, pipe) = self.spawn_program(program, arguments, input);
        drop(pipe);
        child
    }

    /// The same, with the standard input left open.
    pub(crate) fn spawn_open(&self, arguments: &[&str], input: &[u8]) -> (Child, ChildStdin) {
        self.spawn_program(Path::new(PROGRAM), arguments, input)
    }

    fn spawn_program(
        &self,
        program: &Path,
        arguments: &[&str],
        input: &[u8],
    ) -> (Child, ChildStdin) {
        self.start(self.command(program).args(arguments), input)
    }

    /// A program with this place's environment, in the project.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(self.vars.iter().map(|(name, value)| (name, value)))
            .current_dir(self.path("project"));
        command
    }

    /// Starts `command` with `input` on its standard input, which stays open.
    pub(crate) fn start(&self, command: &mut Command, input: &[u8]) -> (Child, ChildStdin) {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().unwrap();
        // A hook may end before it has read everything.
        let _ = stdin.write_all(input);
        (child, stdin)
    }

    /// Runs a command of the program.
    pub(crate) fn run(&self, arguments: &[&str], input: &[u8]) -> Run {
        let started = Instant::now();
        let child = self.spawn(Path::new(PROGRAM), arguments, input);
        finish(child, started)
    }

    /// Runs a hook with this payload; the directory is the project unless the
    /// payload names one.
    pub(crate) fn hook(&self, event: &str, mut payload: Value) -> Run {
        if payload.get("cwd").is_none() {
            payload["cwd"] = json!(self.path("project"));
        }
        self.run(&["hook", event], payload.to_string().as_bytes())
    }

    /// Runs the hook of a recorded payload against its recorded transcript.
    pub(crate) fn recorded(&self, event: &str, case: &str) -> Run {
        let mut payload = fixture(&format!("hooks/{case}.json"));
        let index = fixture("index.json");
        let name = index[format!("{case}.json")]
            .as_str()
            .unwrap_or_else(|| panic!("{case} is in the index"));
        payload["transcript_path"] = json!(fixtures().join("transcripts").join(name));
        payload["cwd"] = json!(self.path("project"));
        self.run(&["hook", event], format!("{payload}\n").as_bytes())
    }

    /// The session's state as it was saved.
    pub(crate) fn state(&self, session: &str) -> Value {
        let text = fs::read_to_string(self.path("data/state").join(format!("{session}.json")))
            .expect("a state file");
        serde_json::from_str(&text).expect("valid state")
    }

    /// Makes everything remembered look `age` old.
    pub(crate) fn grow_old(&self, age: Duration) {
        let then = std::time::SystemTime::now() - age;
        for directory in ["data/state", "data/recall", "."] {
            for entry in fs::read_dir(self.path(directory))
                .into_iter()
                .flatten()
                .flatten()
            {
                if entry.path().is_file() {
                    fs::File::options()
                        .append(true)
                        .open(entry.path())
                        .unwrap()
                        .set_modified(then)
                        .unwrap();
                }
            }
        }
    }
}

pub(crate) fn finish(child: Child, started: Instant) -> Run {
    let output = child.wait_with_output().expect("the program ends");
    Run {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        took: started.elapsed(),
    }
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/claude-code")
}

pub(crate) fn fixture(name: &str) -> Value {
    let text =
        fs::read_to_string(fixtures().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::from_str(&text).expect("valid JSON")
}

pub(crate) fn jsonl(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A time of the transcripts composed here: `second` seconds after ten o'clock.
pub(crate) fn at(second: u64) -> String {
    format!(
        "2026-10-01T{:02}:{:02}:{:02}.000Z",
        10 + second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// A prompt as a transcript holds it.
pub(crate) fn prompt(turn: &str, second: u64, text: &str) -> Value {
    json!({"type": "user", "promptId": turn, "promptSource": "typed", "isSidechain": false, "timestamp": at(second),
        "message": {"role": "user", "content": text}})
}

/// An answer of the model with these blocks.
pub(crate) fn answer(request: &str, second: u64, blocks: &[Value]) -> Value {
    json!({"type": "assistant", "requestId": request, "isSidechain": false, "timestamp": at(second),
        "message": {"role": "assistant", "model": "m", "content": blocks}})
}

pub(crate) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub(crate) fn tool_use(id: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Bash", "input": input})
}

/// The result of a tool.
pub(crate) fn tool_result(turn: &str, second: u64, id: &str, content: Value) -> Value {
    json!({"type": "user", "promptId": turn, "isSidechain": false, "timestamp": at(second),
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content}]}})
}

/// The payload of a Stop.
pub(crate) fn stop(turn: &str, transcript: &Path, last: &str) -> Value {
    json!({"session_id": "s1", "prompt_id": turn, "transcript_path": transcript, "hook_event_name": "Stop", "last_assistant_message": last})
}

/// Role and content of each message of a request.
pub(crate) fn said(body: &Value) -> Vec<(String, String)> {
    let messages = body["messages"].as_array().expect("messages");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    messages
        .iter()
        .map(|message| (text(&message["role"]), text(&message["content"])))
        .collect()
}

pub(crate) fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(role, content)| ((*role).to_owned(), (*content).to_owned()))
        .collect()
}

/// Asserts that times strictly increase over all requests of a session.
pub(crate) fn increasing(bodies: &[Value]) {
    let times: Vec<i64> = bodies
        .iter()
        .flat_map(|body| body["messages"].as_array().unwrap())
        .map(|message| message["timestamp"].as_i64().expect("an integer"))
        .collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
}
