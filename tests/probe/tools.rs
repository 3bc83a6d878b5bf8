//! The probe's tools.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Server, forever, write, write_raw};

/// Each tool with what it does.
const TOOLS: &[(&str, &str)] = &[
    ("echo", "Gives `text` back."),
    (
        "report",
        "Tells what the server was given: argv, cwd, env and more.",
    ),
    (
        "sleep",
        "Waits `ms`, in `steps`, with progress, unless it is cancelled.",
    ),
    ("fail", "Fails as a tool does, with `text`."),
    (
        "error",
        "Fails as a request does, with `code` and `message`.",
    ),
    ("big", "Gives a text of so many `bytes`."),
    ("die", "Ends the server with `status` instead of an answer."),
    ("garbage", "Writes `lines` that are no JSON, then answers."),
    (
        "flood",
        "Writes `messages` of progress that nobody asked for, then answers.",
    ),
    (
        "line",
        "Writes so many `bytes` without a line's end, and no answer.",
    ),
    ("silent", "Never answers."),
    ("change_tools", "Adds a tool called `name`."),
    (
        "stderr",
        "Writes `lines` to standard error, each with `text`.",
    ),
    (
        "stubborn",
        "Starts a process that does not want to end; `how`: orphan, apart.",
    ),
];

pub(crate) fn described(added: &[String]) -> Vec<Value> {
    let tool = |name: &str, what: &str| json!({"name": name, "description": what, "inputSchema": {"type": "object"}});
    let known = TOOLS.iter().map(|(name, what)| tool(name, what));
    let added = added.iter().map(|name| tool(name, "Came later."));
    known.chain(added).collect()
}

/// A name in characters that no host takes, another one for each number.
pub(crate) fn unusual(number: usize) -> String {
    let digits = [number / 1_000_000, number / 1000 % 1000, number % 1000];
    let sign = |digit: usize| {
        u32::try_from(digit)
            .ok()
            .and_then(|digit| char::from_u32(0x4e00 + digit))
    };
    digits.into_iter().filter_map(sign).collect()
}

/// Answers one call, on a thread of its own.
pub(crate) fn call(server: &Server, id: &Value, params: &Value) {
    let arguments = params.get("arguments").cloned().unwrap_or_default();
    let text = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
    let number = |name: &str| arguments[name].as_u64().unwrap_or_default();
    let size = |name: &str| usize::try_from(number(name)).expect("a size");
    let result = match params["name"].as_str().unwrap_or_default() {
        "echo" => says(&text("text")),
        "report" => report(server),
        "sleep" => match sleep(server, id, params, number("ms"), number("steps").max(1)) {
            Some(result) => result,
            None => return,
        },
        "fail" => json!({"content": [{"type": "text", "text": text("text")}], "isError": true}),
        "error" => {
            let error = json!({
                "code": arguments["code"].as_i64().unwrap_or(-32000),
                "message": text("message"),
                "data": arguments["data"],
            });
            return write(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
        "big" => says(&"x".repeat(size("bytes"))),
        "die" => {
            let _ = writeln!(io::stderr(), "the probe was told to die");
            std::process::exit(i32::try_from(number("status")).expect("a status"));
        }
        "garbage" => {
            for at in 0..number("lines") {
                write_raw(format!("garbage {at}\n").as_bytes());
            }
            says("written")
        }
        "flood" => {
            for at in 0..number("messages") {
                write(&progress(&json!("nobody"), at, None));
            }
            says("written")
        }
        "line" => return write_raw(&vec![b'x'; size("bytes")]),
        "silent" => return,
        "change_tools" => {
            server.added.lock().expect("no panic").push(text("name"));
            let method = "notifications/tools/list_changed";
            write(&json!({"jsonrpc": "2.0", "method": method}));
            says("added")
        }
        "stderr" => {
            let mut err = io::stderr().lock();
            for at in 0..number("lines") {
                let _ = writeln!(err, "{at} {}", text("text"));
            }
            says("written")
        }
        #[cfg(unix)]
        "stop_guard" => {
            let guard = i32::try_from(std::os::unix::process::parent_id()).expect("a process id");
            #[expect(unsafe_code, reason = "kill touches no memory")]
            unsafe {
                libc::kill(guard, libc::SIGSTOP);
            }
            says(&guard.to_string())
        }
        "stubborn" => says(&stubborn(&text("how")).to_string()),
        added
            if server
                .added
                .lock()
                .expect("no panic")
                .iter()
                .any(|name| name == added) =>
        {
            says(added)
        }
        other => {
            let error =
                json!({"code": -32602, "message": format!("the probe has no tool {other}")});
            return write(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
    };
    write(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn says(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn report(server: &Server) -> Value {
    let lossy = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    let env: BTreeMap<String, String> = std::env::vars_os()
        .map(|(name, value)| (lossy(name), lossy(value)))
        .collect();
    let argv: Vec<String> = std::env::args_os().map(lossy).collect();
    let mut report = Map::new();
    report.insert("argv".into(), json!(argv));
    report.insert(
        "cwd".into(),
        json!(std::env::current_dir().expect("a directory")),
    );
    report.insert("env".into(), json!(env));
    report.insert("pid".into(), json!(std::process::id()));
    #[cfg(unix)]
    report.insert("ppid".into(), json!(std::os::unix::process::parent_id()));
    #[cfg(target_os = "linux")]
    report.insert("descriptors".into(), json!(descriptors()));
    report.insert(
        "initialize".into(),
        server.asked.lock().expect("no panic").clone(),
    );
    let cancelled = server.cancelled.lock().expect("no panic");
    report.insert("cancelled".into(), json!(*cancelled));
    let report = Value::Object(report);
    let mut result = says(&report.to_string());
    result["structuredContent"] = report;
    result
}

/// What is open, by number.
#[cfg(target_os = "linux")]
fn descriptors() -> BTreeMap<String, String> {
    let open = std::fs::read_dir("/proc/self/fd").expect("the list of descriptors");
    // The list itself is gone when its link is read.
    let open: Vec<_> = open.flatten().map(|entry| entry.path()).collect();
    open.into_iter()
        .filter_map(|path| {
            let target = std::fs::read_link(&path).ok()?;
            let number = path.file_name()?.to_string_lossy().into_owned();
            Some((number, target.to_string_lossy().into_owned()))
        })
        .collect()
}

fn progress(token: &Value, done: u64, total: Option<u64>) -> Value {
    let mut params = json!({"progressToken": token, "progress": done});
    if let Some(total) = total {
        params["total"] = json!(total);
    }
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
}

/// `None` if the client gave it up: then there is no answer.
fn sleep(server: &Server, id: &Value, params: &Value, ms: u64, steps: u64) -> Option<Value> {
    let given_up = || {
        server
            .cancelled
            .lock()
            .expect("no panic")
            .contains(&id.to_string())
    };
    let token = &params["_meta"]["progressToken"];
    for step in 1..=steps {
        let mut left = ms / steps;
        while left > 0 {
            let nap = left.min(10);
            thread::sleep(Duration::from_millis(nap));
            left -= nap;
            if given_up() {
                return None;
            }
        }
        if !token.is_null() {
            write(&progress(token, step, Some(steps)));
        }
    }
    Some(says("slept"))
}

/// Starts a process that ignores the end of its input and `SIGTERM`, and holds the
/// server's standard streams. Its parent ends at once if `how` has `orphan`; it has
/// a session of its own if `how` has `apart`. Gives its process id.
pub(crate) fn stubborn(how: &str) -> u32 {
    let program = std::env::current_exe().expect("the probe's path");
    let mut command = Command::new(program);
    command.arg(format!("--probe=stubborn:{how}"));
    if !how.contains("orphan") {
        return command.spawn().expect("a second probe").id();
    }
    let said = command
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .output()
        .expect("a second probe");
    let said = String::from_utf8_lossy(&said.stdout);
    said.trim().parse().expect("the process id of a third")
}

/// Is the process that [`stubborn`] starts.
pub(crate) fn be_stubborn(how: &str) -> ! {
    if how.contains("orphan") {
        let program = std::env::current_exe().expect("the probe's path");
        let rest = how.replace("orphan", "");
        let mut third = Command::new(program);
        // The output is waited for to its end.
        third
            .arg(format!("--probe=stubborn:{rest}"))
            .stdout(io::stderr());
        let id = third.spawn().expect("a third probe").id();
        write_raw(format!("{id}\n").as_bytes());
        std::process::exit(0);
    }
    #[cfg(unix)]
    if how.contains("apart") {
        #[expect(unsafe_code, reason = "setsid touches no memory")]
        unsafe {
            libc::setsid();
        }
    }
    forever()
}
