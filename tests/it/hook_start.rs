//! Auto-start of a local server by `apkit hook session-start`.
#![cfg(unix)]

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fake_everos::{FakeEveros, Reply, health, healthy};
use crate::hook_support::*;

/// A place with a start command that notes each of its runs in `starts`.
struct Starter {
    place: Place,
    port: u16,
}

impl Starter {
    fn new(then: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut place = Place::with_url(&format!("http://localhost:{port}"));
        let script = place.path("start server.sh");
        let text = format!(
            "echo \"$$ $EVEROS_MEMORIZE__MODE $EVEROS_API__PORT $EVEROS_CC_INSIDE $# $1\" >> {:?}\necho to the log\n{then}\n",
            place.path("starts")
        );
        fs::write(&script, text).unwrap();
        place.set(
            "EVEROS_CC_START_CMD",
            format!("sh {script:?} 'one argument'"),
        );
        Self { place, port }
    }

    fn start(&self) -> Run {
        let run = self.place.hook(
            "session-start",
            json!({"session_id": "s1", "source": "startup"}),
        );
        run.fine();
        run
    }

    fn starts(&self) -> Vec<String> {
        let text = fs::read_to_string(self.place.path("starts")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn processes(&self) -> Vec<u32> {
        self.starts()
            .iter()
            .filter_map(|line| line.split(' ').next()?.parse().ok())
            .collect()
    }
}

impl Drop for Starter {
    fn drop(&mut self) {
        for process in self.processes() {
            let _ = Command::new("kill")
                .args(["-9", &process.to_string()])
                .stderr(std::process::Stdio::null())
                .status();
        }
    }
}

#[test]
fn a_server_that_comes_up_is_announced() {
    let starter = Starter::new("exec sleep 60");
    let marker = starter.place.path("starts");
    let port = starter.port;
    let server = thread::spawn(move || {
        while !marker.exists() {
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(300));
        FakeEveros::on(TcpListener::bind(("127.0.0.1", port)).unwrap(), healthy)
    });
    let run = starter.start();
    assert_eq!(run.notice(), "⚡ EverOS started");
    let server = server.join().unwrap();
    let expected = format!("agent {port} 1 1 one argument");
    assert_eq!(starter.starts().len(), 1);
    assert!(
        starter.starts()[0].ends_with(&expected),
        "{:?}",
        starter.starts()
    );
    // A healthy one is left alone.
    starter.start().silent();
    assert_eq!(starter.starts().len(), 1);
    drop(server);
}

#[test]
fn a_server_that_is_starting_is_not_called_unreachable_by_the_first_prompt() {
    let starter = Starter::new("exec sleep 60");
    let ask = || {
        let payload = json!({"session_id": "s1", "prompt": "what is the plan here"});
        starter.place.hook("user-prompt-submit", payload)
    };
    assert!(starter.start().notice().starts_with('⏳'));
    ask().silent();
    // Half a minute later it is.
    let path = starter.place.path("data/server-start.json");
    let mut launch: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    launch["at"] = json!(launch["at"].as_i64().unwrap() - 30_000);
    fs::write(&path, launch.to_string()).unwrap();
    let notice = ask().notice();
    assert!(notice.starts_with("⚠️ EverOS unreachable at"), "{notice}");
    ask().silent();
}

#[test]
fn a_slow_server_is_said_to_be_starting_and_outlives_the_hook() {
    let starter = Starter::new("exec sleep 60");
    let run = starter.start();
    // The reader of the pipe saw its end although the child lives on.
    assert!(run.took < Duration::from_millis(7500), "{run:?}");
    assert_eq!(
        run.notice(),
        "⏳ EverOS starting in background — memory resumes when it is up"
    );
    let process = starter.processes()[0];
    assert!(PathBuf::from(format!("/proc/{process}")).exists() || !cfg!(target_os = "linux"));
    assert_eq!(
        fs::read_to_string(starter.place.path("data/everos-server.log")).unwrap(),
        "to the log\n"
    );
    #[cfg(target_os = "linux")]
    {
        let mut inherited: Vec<String> = fs::read_dir(format!("/proc/{process}/fd"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        inherited.sort();
        assert_eq!(inherited, ["0", "1", "2"]);
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        let session = stat
            .rsplit_once(')')
            .unwrap()
            .1
            .split_whitespace()
            .nth(3)
            .unwrap()
            .to_owned();
        assert_eq!(session, process.to_string(), "a session of its own");
    }
    // The next window does not start a second one, and says the same.
    let run = starter.start();
    assert_eq!(
        run.notice(),
        "⏳ EverOS starting in background — memory resumes when it is up"
    );
    assert_eq!(starter.starts().len(), 1);
}

#[test]
fn twenty_windows_start_one_server() {
    let starter = Starter::new("exec sleep 60");
    let started = Instant::now();
    let children: Vec<_> = (0..20)
        .map(|index| {
            let payload = json!({"session_id": format!("s{index}"), "source": "startup", "cwd": starter.place.path("project")});
            starter.place.spawn(PROGRAM.as_ref(), &["hook", "session-start"], payload.to_string().as_bytes())
        })
        .collect();
    for child in children {
        let run = finish(child, started);
        run.fine();
        assert_eq!(
            run.notice(),
            "⏳ EverOS starting in background — memory resumes when it is up"
        );
    }
    assert_eq!(starter.starts().len(), 1, "{:?}", starter.starts());
}

#[test]
fn a_command_that_fails_is_not_said_to_be_starting() {
    let starter = Starter::new("exit 3");
    let run = starter.start();
    assert!(
        run.notice().starts_with(
            "⚠️ EverOS could not be started (the start command ended with exit status: 3)"
        ),
        "{run:?}"
    );
    // The one warning of the session.
    starter
        .place
        .hook(
            "user-prompt-submit",
            json!({"session_id": "s1", "prompt": "how do we lint this repo"}),
        )
        .silent();
    let mut missing = Starter::new("");
    missing
        .place
        .set("EVEROS_CC_START_CMD", "/no/such/program start");
    let run = missing.start();
    assert!(
        run.notice()
            .starts_with("⚠️ EverOS could not be started (/no/such/program: "),
        "{run:?}"
    );
    assert!(run.notice().ends_with("Run /everos:status"));
}

#[test]
fn a_command_that_hands_over_to_a_service_is_believed() {
    let starter = Starter::new("exit 0");
    for _ in 0..2 {
        let run = starter.start();
        assert_eq!(
            run.notice(),
            "⏳ EverOS starting in background — memory resumes when it is up"
        );
    }
    assert_eq!(starter.starts().len(), 1);
}

#[test]
fn only_an_empty_port_of_this_machine_is_filled() {
    // Something listens, and is no healthy EverOS.
    let mut starter = Starter::new("");
    let server = FakeEveros::with(|_| Reply::Json(500, json!({})));
    starter.place.set("EVEROS_CC_BASE_URL", server.url());
    let run = starter.start();
    assert_eq!(
        run.notice(),
        format!(
            "⚠️ EverOS unreachable at {} (status 500); memory is off. Run /everos:status",
            server.url()
        )
    );
    // Another machine, reachable or not.
    starter
        .place
        .set("EVEROS_CC_BASE_URL", "http://no-such-host.invalid:8000")
        .set("CLAUDE_PLUGIN_DATA", "");
    let run = starter.start();
    assert!(
        run.notice()
            .contains("unreachable at http://no-such-host.invalid:8000"),
        "{run:?}"
    );
    assert!(
        run.notice()
            .contains("transcripts of this session are sent to http://no-such-host.invalid:8000")
    );
    assert!(starter.starts().is_empty());
    assert!(
        starter
            .place
            .path("home/.everos/.claude-code/state")
            .exists()
    );
}

#[test]
fn more_is_said_when_asked_for() {
    let server = FakeEveros::with(|request| match request.path.as_str() {
        "/health" => Reply::Chunked(200, health()),
        _ => healthy(request),
    });
    let mut place = Place::new(&server);
    place
        .set("EVEROS_CC_VERBOSE", "1")
        .set("EVEROS_CC_DEBUG", "1");
    let run = place.hook(
        "session-start",
        json!({"session_id": "s1", "source": "startup"}),
    );
    assert_eq!(run.notice(), "🧠 EverOS 1.5.1 · project project");
    let run = place.hook(
        "user-prompt-submit",
        json!({"session_id": "s1", "prompt": "my private words here"}),
    );
    assert_eq!(run.notice(), "🧠 EverOS: nothing new for this prompt");
    let path = place.transcript(&[
        prompt("p1", 0, "private one"),
        answer("r1", 1, &[text("private answer")]),
    ]);
    assert_eq!(
        place
            .hook("stop", stop("p1", &path, "private answer"))
            .notice(),
        "💾 EverOS: saved 2 messages"
    );
    server.answer(|_| Reply::Json(500, json!({"error": {"code": "X", "message": "private"}})));
    place
        .hook(
            "user-prompt-submit",
            json!({"session_id": "s1", "prompt": "my private words again"}),
        )
        .fine();
    let log = fs::read_to_string(place.path("data/debug.log")).unwrap();
    assert!(
        log.contains(" capture 2 messages stored, 0 pieces left\n")
            && log.contains(" recall personal track: status 500 X\n"),
        "{log}"
    );
    assert!(!log.contains("private"), "{log}");
}

#[test]
fn the_shell_is_handed_what_only_hooks_are_told() {
    let server = FakeEveros::start();
    let mut place = Place::new(&server);
    let file = place.path("env file.sh");
    fs::write(&file, "export OTHER=1").unwrap();
    place
        .unset("EVEROS_CC_BASE_URL")
        .set("CLAUDE_PLUGIN_OPTION_BASE_URL", server.url())
        .set("CLAUDE_PLUGIN_OPTION_EVEROS_DIR", "/it's a $HOME \"dir\"")
        .set("CLAUDE_ENV_FILE", file.to_str().unwrap());
    let start = |place: &Place, session: &str, source: &str| {
        place
            .hook(
                "session-start",
                json!({"session_id": session, "source": source}),
            )
            .fine();
    };
    start(&place, "s1", "startup");
    start(&place, "s1", "compact");
    place
        .hook(
            "user-prompt-submit",
            json!({"session_id": "s1", "prompt": "what is the plan here"}),
        )
        .fine();
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 4, "each once: {text}");
    let shell = Command::new("/bin/sh")
        .args(["-c", ". \"$1\"; printf '%s\\n' \"$OTHER\" \"$EVEROS_CC_BASE_URL\" \"$EVEROS_CC_EVEROS_DIR\" \"$EVEROS_CC_DATA_DIR\"", "sh"])
        .arg(&file)
        .env_clear()
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(shell.stdout).unwrap(),
        format!(
            "1\n{}\n/it's a $HOME \"dir\"\n{}\n",
            server.url(),
            place.path("data").display()
        )
    );
    // What the user set in the environment is in the shell's already.
    let other = place.path("other.sh");
    let data = place.path("data");
    let project = place.path("project");
    place
        .set("EVEROS_CC_BASE_URL", server.url())
        .set("EVEROS_CC_DATA_DIR", data.to_str().unwrap())
        .unset("CLAUDE_PLUGIN_OPTION_EVEROS_DIR")
        .set("CLAUDE_ENV_FILE", other.to_str().unwrap());
    start(&place, "s2", "startup");
    assert!(!other.exists());
    // A place that cannot be written to stops nothing.
    place
        .unset("EVEROS_CC_DATA_DIR")
        .set("CLAUDE_ENV_FILE", project.to_str().unwrap());
    start(&place, "s3", "startup");
    assert!(place.path("data/state/s3.json").is_file());
}
