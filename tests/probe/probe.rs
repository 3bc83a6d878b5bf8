//! An MCP server for the tests, written by hand. It reports what it was given, and
//! misbehaves when it is told to: by its tools, and by arguments `--probe=WHAT`,
//! which any others may stand around.
//!
//! | argument | at |
//! | --- | --- |
//! | `exit:N` | start: says so on standard error and exits with status N |
//! | `stderr:TEXT` | start: writes a line to standard error; `@` is the value of the variable `KEY` |
//! | `mark:NAME` | start: writes its process id into the file NAME in `PLUGIN_DATA` |
//! | `child`, `child:orphan`, `child:apart` | start: starts a process that does not want to end, see `stubborn` |
//! | `garbage:N` | start: writes N lines that are no JSON |
//! | `line:N` | start: writes N bytes without a line's end |
//! | `deaf` | start: never reads its standard input |
//! | `no-initialize` | initialize: never answers |
//! | `version:V` | initialize: answers with the protocol version V |
//! | `say:METHOD MEMBERS` | METHOD: answers with these members of JSON-RPC; `@` as above |
//! | `batch` | start: writes an empty batch; always: writes each message within a batch, behind a 3 |
//! | `latin` | always: writes ÿ as the one byte that no UTF-8 has |
//! | `slow:MS` | initialize: answers after so many milliseconds |
//! | `heard:NAME` | tools/call: writes the message into the file NAME in `PLUGIN_DATA` |
//! | `calling:NAME` | tools/call: writes the file NAME in `PLUGIN_DATA` |
//! | `cancelled:NAME` | notifications/cancelled: writes the file NAME in `PLUGIN_DATA` |
//! | `pages:N` | tools/list: N tools a page |
//! | `clash:N` | tools/list: N more tools, each time others, whose names become one |
//! | `tools:NAMES` | tools/list: one more tool for each name, with commas between; `@` as above |
//! | `tedious:TEXT` | tools/list: from the second time on, an error with TEXT and a number |
//! | `empty-cursor` | tools/list: says with an empty cursor that there is no more |
//! | `endless:MS` | tools/list: waits so long, then says that there is more |
//! | `ignore-eof` | end of input: runs on |
//! | `eof:NAME` | end of input: writes the file NAME in `PLUGIN_DATA` |
//! | `ignore-term` | `SIGTERM`: runs on |
//! | `term:NAME` | `SIGTERM`: writes the file NAME in `PLUGIN_DATA`, exits with status 0 |
//!
//! It never outlives two minutes, however it is told to.

#![cfg_attr(
    not(test),
    expect(clippy::expect_used, clippy::exit, reason = "for tests alone")
)]

mod tools;

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The versions of the protocol with `initialize`.
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The longest that any process of the probe runs.
const LIFE: Duration = Duration::from_secs(120);

/// What the server knows.
#[derive(Default)]
pub(crate) struct Server {
    /// Tools that came after the start.
    added: Mutex<Vec<String>>,
    /// Requests that the client gave up.
    cancelled: Mutex<BTreeSet<String>>,
    /// The parameters of `initialize`.
    asked: Mutex<Value>,
    /// How often its tools were listed.
    lists: AtomicUsize,
}

/// The value of `--probe=NAME:VALUE`; empty for `--probe=NAME`.
fn told(name: &str) -> Option<String> {
    std::env::args().find_map(|arg| {
        let rest = arg.strip_prefix("--probe=")?.strip_prefix(name)?;
        match rest.strip_prefix(':') {
            Some(value) => Some(value.to_owned()),
            None => rest.is_empty().then(String::new),
        }
    })
}

/// `text` with the value of the variable `KEY` in the place of `@`.
fn with_key(text: &str) -> String {
    text.replace('@', &std::env::var("KEY").unwrap_or_default())
}

fn number(name: &str) -> Option<usize> {
    told(name).map(|value| value.parse().expect("a number"))
}

/// Writes one message, as one line.
pub(crate) fn write(message: &Value) {
    let line = match told("batch") {
        None => format!("{message}\n"),
        Some(_) => format!("[3, {message}]\n"),
    };
    let line = line.into_bytes();
    write_raw(&match told("latin") {
        None => line,
        Some(_) => latin(&line),
    });
}

fn latin(line: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = line;
    while let Some((first, more)) = rest.split_first() {
        let behind = rest.strip_prefix("ÿ".as_bytes());
        bytes.push(if behind.is_some() { 0xff } else { *first });
        rest = behind.unwrap_or(more);
    }
    bytes
}

pub(crate) fn write_raw(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    // Nobody reads any more: the end of the input will say so, too.
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// Writes a file in `PLUGIN_DATA` with our process id.
fn mark(name: &str) {
    write_data(name, &std::process::id().to_string());
}

/// Writes a file in `PLUGIN_DATA`.
fn write_data(name: &str, text: &str) {
    let data = std::env::var_os("PLUGIN_DATA").expect("PLUGIN_DATA is set");
    let path = std::path::Path::new(&data).join(name);
    std::fs::write(path, text).expect("PLUGIN_DATA can be written to");
}

fn main() {
    signals();
    thread::spawn(|| {
        thread::sleep(LIFE);
        std::process::exit(99);
    });
    if let Some(how) = told("stubborn") {
        tools::be_stubborn(&how);
    }
    start();
    let server = Arc::new(Server::default());
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let message: Value = serde_json::from_str(&line).expect("the client writes JSON");
        if let Some(name) = told("heard").filter(|_| message["method"] == "tools/call") {
            write_data(&name, &line);
        }
        answer(&server, &message);
    }
    if let Some(name) = told("eof") {
        mark(&name);
    }
    if told("ignore-eof").is_some() {
        forever();
    }
    // Calls that still run are given up.
    std::process::exit(0);
}

pub(crate) fn forever() -> ! {
    loop {
        thread::sleep(LIFE);
    }
}

/// What happens before the first message.
fn start() {
    if let Some(name) = told("mark") {
        mark(&name);
    }
    if let Some(text) = told("stderr").map(|text| with_key(&text)) {
        let _ = writeln!(io::stderr(), "{text}");
    }
    if let Some(status) = number("exit") {
        let _ = writeln!(io::stderr(), "the probe was told to exit");
        std::process::exit(i32::try_from(status).expect("a status"));
    }
    if let Some(how) = told("child") {
        tools::stubborn(&how);
    }
    if told("batch").is_some() {
        write_raw(b"[]\n");
    }
    for at in 0..number("garbage").unwrap_or(0) {
        write_raw(format!("garbage {at}\n").as_bytes());
    }
    if let Some(length) = number("line") {
        write_raw(&vec![b'x'; length]);
    }
    if told("deaf").is_some() {
        forever();
    }
}

fn answer(server: &Arc<Server>, message: &Value) {
    let id = message.get("id").cloned();
    let params = message.get("params").cloned().unwrap_or_default();
    let Some(method) = message.get("method").and_then(Value::as_str) else {
        return;
    };
    let Some(id) = id else {
        if method == "notifications/cancelled" {
            let id = params.get("requestId").cloned().unwrap_or_default();
            let mut cancelled = server.cancelled.lock().expect("no panic");
            cancelled.insert(id.to_string());
            if let Some(name) = told("cancelled") {
                mark(&name);
            }
        }
        return;
    };
    if let Some((_, members)) = told("say")
        .as_deref()
        .and_then(|said| said.split_once(' '))
        .filter(|(about, _)| *about == method)
    {
        let members = with_key(members);
        return write_raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{members}}}\n").as_bytes());
    }
    let result = match method {
        "initialize" => {
            if told("no-initialize").is_some() {
                return;
            }
            if let Some(ms) = number("slow") {
                thread::sleep(Duration::from_millis(ms as u64));
            }
            initialize(server, params)
        }
        "ping" => json!({}),
        "tools/list" => {
            let before = server.lists.fetch_add(1, Ordering::Relaxed);
            if let Some(text) = told("tedious").filter(|_| before > 0) {
                let error = json!({"code": -1, "message": format!("{text} {before}")});
                return write(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
            list(server, &params, before)
        }
        "tools/call" => {
            if let Some(name) = told("calling") {
                mark(&name);
            }
            let server = Arc::clone(server);
            thread::spawn(move || tools::call(&server, &id, &params));
            return;
        }
        _ => {
            let text = format!("the probe has no {method}");
            let error = json!({"code": -32601, "message": text});
            return write(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
    };
    write(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn initialize(server: &Server, params: Value) -> Value {
    let asked = params["protocolVersion"].as_str().unwrap_or_default();
    let known = VERSIONS.iter().find(|version| **version == asked);
    let version = told("version")
        .or_else(|| known.map(|version| (*version).to_owned()))
        .unwrap_or_else(|| VERSIONS[VERSIONS.len() - 1].to_owned());
    *server.asked.lock().expect("no panic") = params;
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "probe", "version": env!("CARGO_PKG_VERSION")},
        "instructions": "Call report to see what the probe was given.",
    })
}

fn list(server: &Server, params: &Value, before: usize) -> Value {
    let mut added = server.added.lock().expect("no panic").clone();
    let more = told("tools").map(|names| with_key(&names));
    added.extend(
        more.iter()
            .flat_map(|names| names.split(','))
            .map(str::to_owned),
    );
    let clash = number("clash").unwrap_or(0);
    added.extend((before * clash..(before + 1) * clash).map(tools::unusual));
    let tools: Vec<Value> = tools::described(&added);
    if told("empty-cursor").is_some() {
        return json!({"tools": tools, "nextCursor": ""});
    }
    if let Some(ms) = number("endless") {
        thread::sleep(Duration::from_millis(ms as u64));
        let cursor = params["cursor"].as_str().unwrap_or_default();
        return json!({"tools": [], "nextCursor": format!("{cursor}x")});
    }
    let Some(size) = number("pages") else {
        return json!({ "tools": tools });
    };
    let begin = params["cursor"].as_str().map_or(0, |cursor| {
        cursor.parse::<usize>().expect("a cursor of the probe")
    });
    let page: Vec<&Value> = tools.iter().skip(begin).take(size).collect();
    let next = begin + page.len();
    if next < tools.len() {
        json!({"tools": page, "nextCursor": next.to_string()})
    } else {
        json!({ "tools": page })
    }
}

#[cfg(unix)]
fn signals() {
    if told("ignore-term").is_some() || told("stubborn").is_some() {
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            #[expect(unsafe_code, reason = "ignoring a signal touches no memory")]
            unsafe {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }
    let Some(name) = told("term") else { return };
    // Blocked here, before other threads exist that could get it.
    #[expect(unsafe_code, reason = "the set is made, used and kept here")]
    let signals = unsafe {
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        libc::sigaddset(&raw mut signals, libc::SIGTERM);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut());
        signals
    };
    thread::spawn(move || {
        let mut signal = 0;
        #[expect(unsafe_code, reason = "both live in this closure")]
        unsafe {
            libc::sigwait(&raw const signals, &raw mut signal);
        }
        mark(&name);
        std::process::exit(0);
    });
}

#[cfg(not(unix))]
fn signals() {}
