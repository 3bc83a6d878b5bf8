//! Packages whose servers are the probe, and a host of `apkit mcp serve`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::probe;
use crate::support::{Place, Run, finish, manifest, mcp};
use crate::web::{Asked, Reply, Server};

/// Longer than anything takes on a loaded machine.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A package of this name with these servers, each the probe with these arguments.
pub(crate) fn package(place: &Place, name: &str, servers: &[(&str, &[&str])]) {
    let entries = servers.iter().map(|(server, args)| {
        let entry = json!({"type": "stdio", "command": "probe", "args": args});
        // A map of JSON would sort them.
        format!("{}: {entry}", json!(server))
    });
    let entries = entries.collect::<Vec<_>>().join(", ");
    write(place, name, &format!("{{{entries}}}"));
}

/// A package of this name with these entries of `mcp.json`.
pub(crate) fn package_of(place: &Place, name: &str, servers: &Value) {
    write(place, name, &servers.to_string());
}

fn write(place: &Place, name: &str, servers: &str) {
    place.write(&format!("{name}/plugin.json"), manifest(name, ""));
    place.write(&format!("{name}/mcp.json"), mcp(servers));
}

/// The program, which finds the probe.
pub(crate) fn apkit(place: &Place) -> Command {
    let mut command = place.apkit();
    let path = probe::program().parent().expect("a directory");
    command
        .arg("mcp")
        .env("PATH", path)
        .env("APKIT_HOME", place.path().join("store"));
    command
}

pub(crate) fn run(place: &Place, arguments: &[&str]) -> Run {
    finish(apkit(place).args(arguments))
}

/// What a command about servers prints with `--json`, which keeps to its schema.
pub(crate) fn json(place: &Place, arguments: &[&str]) -> (Option<i32>, Value) {
    let ran = run(place, &[arguments, &["--json"]].concat());
    let printed: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let document = format!("mcp-{}", arguments.first().expect("a command"));
    let schema = place.run(["schema", &document]).stdout;
    let schema = serde_json::from_str(&schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let problems: Vec<String> = validator
        .iter_errors(&printed)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(problems.is_empty(), "{document}: {problems:?}");
    (ran.status, printed)
}

/// A host that has started `apkit mcp serve`.
pub(crate) struct Host {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Option<thread::JoinHandle<String>>,
    next: u64,
}

impl Host {
    /// Starts it with `--allow-stdio` and shakes hands.
    pub(crate) fn start(place: &Place, arguments: &[&str]) -> Self {
        let mut host = Self::spawn(
            apkit(place)
                .args(["serve", "--allow-stdio"])
                .args(arguments),
        );
        host.greet();
        host
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut host = Self::unread(command);
        host.read_errors();
        host
    }

    /// One that does not read standard error.
    pub(crate) fn unread(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let output = child.stdout.take().expect("a pipe");
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let line = line.expect("UTF-8");
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            lines,
            errors: None,
            next: 0,
        }
    }

    /// Begins to read standard error.
    pub(crate) fn read_errors(&mut self) {
        if let Some(stderr) = self.child.stderr.take() {
            let read = move || std::io::read_to_string(stderr).expect("UTF-8");
            self.errors = Some(thread::spawn(read));
        }
    }

    /// The result of `initialize`.
    pub(crate) fn greet(&mut self) -> Value {
        self.greet_as("tests")
    }

    /// The same for a host of this name.
    pub(crate) fn greet_as(&mut self, name: &str) -> Value {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": name, "version": "1"},
        });
        let answer = self.ask("initialize", params);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer["result"].clone()
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string());
    }

    pub(crate) fn send_text(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it was not closed");
        writeln!(input, "{line}").expect("it reads");
    }

    /// Sends a request and gives its identifier.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The next message.
    pub(crate) fn next(&mut self) -> Value {
        let line = self.lines.recv_timeout(LONG).expect("a message");
        serde_json::from_str(&line).expect("JSON")
    }

    /// Whether nothing comes for this long.
    pub(crate) fn is_silent(&mut self, long: Duration) -> bool {
        self.lines.recv_timeout(long) == Err(RecvTimeoutError::Timeout)
    }

    /// Sends a request, and gives its answer and what came before it.
    pub(crate) fn ask_all(&mut self, method: &str, params: Value) -> (Value, Vec<Value>) {
        let id = self.request(method, params);
        let mut before = Vec::new();
        loop {
            let message = self.next();
            if message["id"] == id {
                return (message, before);
            }
            before.push(message);
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.ask_all(method, params).0
    }

    /// The answer to a call of a tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The text that a tool gives.
    pub(crate) fn text(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// The process id of a probe.
    pub(crate) fn process(&mut self, server: &str) -> u32 {
        let answer = self.call(&format!("mcp__{server}__report"), json!({}));
        let id = answer["result"]["structuredContent"]["pid"].as_u64();
        u32::try_from(id.unwrap_or_else(|| panic!("{answer}"))).expect("a process id")
    }

    /// The names of the tools on offer.
    pub(crate) fn names(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().expect("a list");
        let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
        tools.iter().map(name).collect()
    }

    /// Ends the input, and gives the exit status and standard error.
    pub(crate) fn end(&mut self) -> (Option<i32>, String) {
        self.input = None;
        self.ended()
    }

    pub(crate) fn ended(&mut self) -> (Option<i32>, String) {
        let status = self.child.wait().expect("it ends");
        self.read_errors();
        let errors = self.errors.take().expect("the first time");
        (status.code(), errors.join().expect("UTF-8"))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The result of every call of a tool of [`over_http`]: with members, numbers and
/// content that no version of MCP knows.
pub(crate) const ODD: &str = r#"{"content":[{"type":"hologram","z":1.50,"a":123456789012345678901234567890},{"type":"text","text":"x","own":{"b":1,"a":2}}],"own":null}"#;

/// A server over Streamable HTTP with one tool, that answers with JSON or with
/// events.
pub(crate) fn over_http(events: bool) -> Server {
    Server::new(move |asked: &Asked| far_answer(asked, events))
}

/// What such a server answers.
pub(crate) fn far_answer(asked: &Asked, events: bool) -> Reply {
    let message: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
    if asked.method != "POST" {
        return Reply::new(405, "");
    }
    let result = match message["method"].as_str() {
        Some("initialize") => {
            r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"far","version":"2"}}"#
        }
        Some("tools/list") => {
            r#"{"tools":[{"name":"tide","inputSchema":{"z":1,"a":2.0},"own":1}]}"#
        }
        Some("tools/call") => ODD,
        _ => return Reply::new(202, ""),
    };
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#,
        message["id"]
    );
    match events {
        true => Reply::new(200, format!("data: {answer}\n\n"))
            .header("content-type", "text/event-stream"),
        false => Reply::new(200, answer).header("content-type", "application/json"),
    }
}

/// Arguments with numbers that a value of JSON in memory changes.
pub(crate) const NUMBERS: &str =
    r#"{"a":[18446744073709551616,0.1000000000000000055511151231257827,1.50,-0,1E2],"b":"\u0041"}"#;

/// Whether a request to the server held this text.
pub(crate) fn has_got(server: &Server, text: &str) -> bool {
    let mut asked = server.asked().into_iter();
    asked.any(|asked| String::from_utf8_lossy(&asked.body).contains(text))
}
