//! Requests of the host to the servers below, and their answers back.

mod batch;
mod calls;
mod greeting;

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{ErrorCode, ErrorData};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::allowed::Allowed;
use super::host::{self, Line, Message, Out, Said};
use super::table::Table;
use super::upstream::{State, Upstream, lock};
use super::{Launcher, Report, patience};
use crate::mcp::members::object;
use crate::mcp::session::{Room, Tool};

/// How many requests may be worked on. Of those, calls have a limit of their own.
const TASKS: usize = 8192;
/// How long the last lines may take to be read.
const FLUSH: Duration = Duration::from_secs(1);

/// What the parts of the bridge share.
struct Bridge {
    upstreams: Vec<Arc<Upstream>>,
    allowed: Option<Allowed>,
    changes: watch::Receiver<u64>,
    started: Instant,
    /// How long from the start a host waits for servers that are being opened.
    wait: Mutex<Duration>,
    /// Whether that was said by whoever runs the program.
    is_wait_given: bool,
    out: Out,
    table: Mutex<Arc<Table>>,
    /// Calls on their way, by the host's identifier in one spelling.
    calls: Mutex<HashMap<String, oneshot::Sender<Option<String>>>>,
    level: Arc<Mutex<Option<Value>>>,
    /// The version that is spoken with the host, once it asked for one.
    version: Mutex<Option<&'static str>>,
    /// `initialize` was asked and is not answered yet.
    greeting: watch::Sender<bool>,
    /// Nothing is waited for any more.
    over: watch::Sender<bool>,
    /// The host has been told which tools there are.
    listed: AtomicBool,
    told: Mutex<HashSet<String>>,
    report: Report,
}

/// How servers are offered.
pub(super) struct Terms {
    /// How long a host waits for them at the start.
    pub(super) start: Option<Duration>,
    /// How long what is on its way may still take when the host's input has ended.
    pub(super) end: Duration,
    pub(super) allowed: Option<Allowed>,
    /// Where what they say waits for the host.
    pub(super) room: Room,
}

pub(super) async fn run(
    launchers: Vec<(String, String, Box<dyn Launcher>)>,
    terms: Terms,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    stop: impl Future<Output = ()>,
    report: Report,
) {
    let start = terms.start.unwrap_or_else(|| patience(None));
    let (changes, changed) = watch::channel(0_u64);
    let changes = Arc::new(changes);
    let level = Arc::default();
    let upstreams: Vec<_> = launchers
        .into_iter()
        .map(|(server, label, launcher)| {
            let (changes, level) = (Arc::clone(&changes), Arc::clone(&level));
            Arc::new(Upstream::new(server, label, launcher, changes, level))
        })
        .collect();
    let (out, written) = host::write(output, terms.room);
    let mut lines = host::read(input);
    let bridge = Arc::new(Bridge {
        upstreams,
        allowed: terms.allowed,
        changes: changed,
        started: Instant::now(),
        wait: Mutex::new(start),
        is_wait_given: terms.start.is_some(),
        out,
        table: Mutex::default(),
        calls: Mutex::default(),
        level,
        version: Mutex::default(),
        greeting: watch::Sender::new(false),
        over: watch::Sender::new(false),
        listed: AtomicBool::new(false),
        told: Mutex::default(),
        report,
    });
    let mut keepers = JoinSet::new();
    for upstream in &bridge.upstreams {
        let report = Arc::clone(&bridge.report);
        keepers.spawn(Arc::clone(upstream).keep(bridge.out.clone(), report));
    }
    keepers.spawn(Arc::clone(&bridge).announce());

    let mut tasks = JoinSet::new();
    tokio::pin!(stop);
    let ended = tokio::select! {
        () = bridge.read(&mut lines, &mut tasks) => true,
        () = bridge.out.closed() => false,
        () = &mut stop => false,
    };
    if ended {
        tokio::select! {
            () = bridge.finish(&mut tasks, terms.end) => {}
            () = bridge.out.closed() => {}
            () = &mut stop => {}
        }
    }
    tasks.shutdown().await;
    keepers.shutdown().await;
    let mut closing = JoinSet::new();
    for upstream in &bridge.upstreams {
        let upstream = Arc::clone(upstream);
        closing.spawn(async move { upstream.close().await });
    }
    while closing.join_next().await.is_some() {}
    drop(bridge);
    // The last answers are on their way to a host that may not read.
    let _ = timeout(FLUSH, written).await;
}

impl Bridge {
    /// Hears the host until its input ends. A host that does not read is not heard
    /// either: what waits for it would grow without end.
    async fn read(self: &Arc<Self>, lines: &mut mpsc::Receiver<Line>, tasks: &mut JoinSet<()>) {
        loop {
            self.out.room().await;
            tokio::select! {
                line = lines.recv() => match line {
                    Some(line) => self.hear(line, tasks).await,
                    None => return,
                },
                Some(_) = tasks.join_next() => {}
            }
        }
    }

    async fn hear(self: &Arc<Self>, line: Line, tasks: &mut JoinSet<()>) {
        let line = match line {
            Line::Text(line) if line.trim_ascii().is_empty() => return,
            Line::Text(line) => line,
            Line::TooLong => {
                let error = ErrorData::invalid_request("the message is too long", None);
                return self.out.error(None, &error).await;
            }
        };
        match host::said(&line) {
            Said::One(message) => self.take(message, tasks).await,
            Said::Batch(texts) => self.batch(texts, tasks).await,
        }
    }

    async fn take(
        self: &Arc<Self>,
        message: Result<Message<'_>, ErrorData>,
        tasks: &mut JoinSet<()>,
    ) {
        // One line can hold very many.
        while tasks.len() >= TASKS {
            tasks.join_next().await;
        }
        match message {
            Ok(Message::Request { id, method, params }) => {
                self.request(id, &method, params, tasks).await;
            }
            Ok(Message::Notification { method, params }) => {
                if method == "notifications/cancelled" {
                    self.cancel(params);
                }
            }
            Ok(Message::Answer) => {}
            Err(error) => self.out.error(None, &error).await,
        }
    }

    async fn request(
        self: &Arc<Self>,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
        tasks: &mut JoinSet<()>,
    ) {
        match method {
            "ping" => self.out.result(id, "{}").await,
            "initialize" => {
                let asked: Option<Asked> = params.and_then(|params| object(params.get()).ok());
                if !self.is_wait_given {
                    let host = asked.as_ref().and_then(|asked| asked.client_info.as_ref());
                    let name = host
                        .and_then(|host| host.get("name"))
                        .and_then(Value::as_str);
                    *lock(&self.wait) = patience(name);
                }
                let version = asked.as_ref().map(|asked| asked.protocol_version.as_str());
                let version = greeting::version(version);
                *lock(&self.version) = Some(version);
                let (bridge, id) = (Arc::clone(self), id.to_owned());
                self.greeting.send_replace(true);
                tasks.spawn(async move {
                    bridge.settle().await;
                    let result = bridge.initialized(version).to_string();
                    bridge.out.result(&id, &result).await;
                    bridge.greeting.send_replace(false);
                });
            }
            "tools/list" => {
                let (bridge, id) = (Arc::clone(self), id.to_owned());
                tasks.spawn(async move {
                    bridge.greeted().await;
                    bridge.settle().await;
                    bridge.out.room().await;
                    bridge.listed.store(true, Ordering::Relaxed);
                    bridge.refresh();
                    let table = bridge.table();
                    bridge.out.result(&id, &table.result()).await;
                });
            }
            "tools/call" => self.start(id, params, tasks).await,
            "logging/setLevel" => {
                let params = params.and_then(|params| serde_json::from_str(params.get()).ok());
                let params: Value = params.unwrap_or_default();
                *lock(&self.level) = Some(params.clone());
                for upstream in &self.upstreams {
                    if let State::Up(session, _) = upstream.state() {
                        session.set_level(params.clone());
                    }
                }
                let (bridge, id) = (Arc::clone(self), id.to_owned());
                tasks.spawn(async move {
                    bridge.greeted().await;
                    bridge.out.result(&id, "{}").await;
                });
            }
            method => {
                let text = format!("apkit mcp serve does not offer {method}");
                let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None);
                let (bridge, id) = (Arc::clone(self), id.to_owned());
                tasks.spawn(async move {
                    bridge.greeted().await;
                    bridge.out.error(Some(&id), &error).await;
                });
            }
        }
    }

    /// Waits until `initialize` is answered, if it was asked: whatever a host sends
    /// behind it without waiting is answered behind it.
    async fn greeted(&self) {
        let mut greeting = self.greeting.subscribe();
        // It fails only without a sender, which is here.
        let _ = greeting.wait_for(|greeting| !greeting).await;
    }

    /// Sees to its end what is on its way when the input has ended. What waits for servers
    /// that are being opened is answered at the limit, too, with what is there.
    async fn finish(&self, tasks: &mut JoinSet<()>, limit: Duration) {
        if timeout(limit, drained(tasks)).await.is_err() {
            self.over.send_replace(true);
            // `initialize` is answered first, whatever else is on its way.
            let _ = timeout(FLUSH, self.greeted()).await;
            self.give_up(limit).await;
            let _ = timeout(FLUSH, drained(tasks)).await;
        }
    }

    /// Answers the calls that are not waited for any more.
    async fn give_up(&self, limit: Duration) {
        let calls: Vec<_> = lock(&self.calls).drain().collect();
        for (id, cancel) in calls {
            let _ = cancel.send(None);
            let Ok(id) = RawValue::from_string(id) else {
                continue;
            };
            let seconds = limit.as_secs_f32();
            let text = format!("the input ended, and there was no answer within {seconds} s");
            let error = ErrorData::internal_error(text, None);
            self.out.error(Some(&id), &error).await;
        }
    }

    /// Waits until every server is open or has failed, or for as long as a host
    /// is made to wait.
    async fn settle(&self) {
        let mut changes = self.changes.clone();
        let all = async {
            while !self.upstreams.iter().all(|upstream| upstream.is_settled()) {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        let until = self.started + *lock(&self.wait);
        let mut over = self.over.subscribe();
        tokio::select! {
            _ = tokio::time::timeout_at(until, all) => {}
            _ = over.wait_for(|over| *over) => {}
        }
    }

    fn table(&self) -> Arc<Table> {
        Arc::clone(&lock(&self.table))
    }

    /// Brings the table up to date and says whether a host would see a difference.
    fn refresh(&self) -> bool {
        let table = Table::of(&self.upstreams, self.allowed.as_ref());
        for (upstream, collisions) in self.upstreams.iter().zip(&table.collisions) {
            let news = lock(&upstream.collisions).news(&upstream.label, collisions);
            news.iter().for_each(|text| (self.report)(text));
        }
        self.tell_idle();
        let mut known = lock(&self.table);
        let differs = table.differs(&known);
        *known = Arc::new(table);
        differs
    }

    /// Tells of entries of the list that allow nothing, once all servers are there.
    fn tell_idle(&self) {
        let Some(allowed) = &self.allowed else { return };
        if !self.upstreams.iter().all(|upstream| upstream.is_settled()) {
            return;
        }
        let tools = self.upstreams.iter().flat_map(|upstream| {
            let names = |tool: &Tool| (upstream.servers(), tool.name.clone());
            let state = upstream.state();
            state.tools().iter().map(names).collect::<Vec<_>>()
        });
        let tools: Vec<_> = tools.collect();
        for entry in allowed.idle(&tools) {
            let text = format!("--allowed-tools: {entry} fits no tool");
            if lock(&self.told).insert(text.clone()) {
                (self.report)(&text);
            }
        }
    }

    /// Brings the table up to date, and tells the host if it was told otherwise.
    async fn renew(&self) {
        if self.refresh() && self.listed.load(Ordering::Relaxed) {
            let method = "notifications/tools/list_changed";
            self.out.notify(method, "").await;
        }
    }

    /// Follows the changes of all servers.
    async fn announce(self: Arc<Self>) {
        let mut changes = self.changes.clone();
        while changes.changed().await.is_ok() {
            self.renew().await;
        }
    }
}

async fn drained(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    protocol_version: String,
    client_info: Option<Value>,
}
