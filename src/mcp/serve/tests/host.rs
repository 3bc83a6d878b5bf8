//! The host of a bridge with servers within the test.

use std::io::{BufRead as _, BufReader, PipeReader, PipeWriter, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::mcp::serve::{Allowed, Launcher, Opening, Report, bridge};
use crate::mcp::session::fake::{self, Lines};

pub(super) type Script = Arc<Mutex<dyn FnMut(&Value, &Lines) -> bool + Send>>;

struct Fake(&'static str, Script);

impl Launcher for Fake {
    fn open(&self) -> Opening<'_> {
        let script = Arc::clone(&self.1);
        Box::pin(async move {
            let options = fake::options();
            let run =
                move |message: &Value, lines: &Lines| (script.lock().unwrap())(message, lines);
            fake::session(self.0, &options, run).await
        })
    }

    fn is_remote(&self) -> bool {
        false
    }

    fn is_refused(&self) -> bool {
        false
    }
}

/// The host of a bridge, and what the bridge reported.
pub(super) struct Host {
    input: Option<PipeWriter>,
    output: BufReader<PipeReader>,
    pub(super) stop: Arc<Notify>,
    pub(super) reports: Arc<Mutex<Vec<String>>>,
    pub(super) bridge: Option<std::thread::JoinHandle<()>>,
}

impl Host {
    pub(super) fn of(
        servers: Vec<(&'static str, &'static str, Script)>,
        allowed: Option<&str>,
    ) -> Self {
        let (reader, input) = std::io::pipe().unwrap();
        let (output, writer) = std::io::pipe().unwrap();
        let stop = Arc::new(Notify::new());
        let reports: Arc<Mutex<Vec<String>>> = Arc::default();
        let (stopping, told) = (Arc::clone(&stop), Arc::clone(&reports));
        let allowed = allowed.map(|text| Allowed::parse(text).unwrap().0);
        let bridge = std::thread::spawn(move || {
            let launchers = servers
                .into_iter()
                .map(|(server, label, script)| {
                    let launcher: Box<dyn Launcher> = Box::new(Fake(server, script));
                    (server.to_owned(), label.to_owned(), launcher)
                })
                .collect();
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            let report: Report = Arc::new(move |text| told.lock().unwrap().push(text.to_owned()));
            let terms = bridge::Terms {
                start: Some(Duration::from_millis(500)),
                end: Duration::from_secs(30),
                allowed,
                room: fake::options().room,
            };
            runtime.block_on(bridge::run(
                launchers,
                terms,
                reader,
                writer,
                async move { stopping.notified().await },
                report,
            ));
        });
        Self {
            input: Some(input),
            output: BufReader::new(output),
            stop,
            reports,
            bridge: Some(bridge),
        }
    }

    pub(super) fn send(&mut self, message: &Value) {
        self.write(&message.to_string());
    }

    /// Sends a message as it is spelled.
    pub(super) fn write(&mut self, message: &str) {
        let mut input = self.input.as_ref().unwrap();
        input.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    pub(super) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(super) fn next(&mut self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    pub(super) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": "q", "method": method, "params": params}));
        let answer = self.next();
        assert_eq!(answer["id"], "q", "{answer}");
        answer
    }

    pub(super) fn names(&mut self) -> Vec<String> {
        let list = self.ask("tools/list", json!({}));
        let tools = list["result"]["tools"].as_array().unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(super) fn call(&mut self, name: &str) -> Value {
        self.ask("tools/call", json!({"name": name, "arguments": {}}))
    }

    pub(super) fn end(&mut self) {
        self.input = None;
        self.bridge.take().unwrap().join().unwrap();
    }
}
