//! Requests of the host to the servers below, and their answers back.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{ErrorCode, ErrorData};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::allowed::Allowed;
use super::host::{self, Line, Message, Out};
use super::members::Members;
use super::table::Table;
use super::upstream::{State, Upstream, lock};
use super::{Launcher, Report};
use crate::mcp::session::{CallError, Heard, LATEST, VERSIONS};
use crate::spec::near;

/// How many calls may be on their way.
const CALLS: usize = 4096;
/// How long calls on their way may still take when the host's input has ended.
const GRACE: Duration = Duration::from_secs(1);
/// How long the last lines may take to be read.
const FLUSH: Duration = Duration::from_secs(1);
/// How many characters of the instructions of one server are passed on, and of
/// all of them.
const INSTRUCTIONS: (usize, usize) = (4_000, 16_000);

/// What the parts of the bridge share.
struct Bridge {
    upstreams: Vec<Arc<Upstream>>,
    allowed: Option<Allowed>,
    changes: watch::Receiver<u64>,
    /// Until when a host waits for servers that are being opened.
    patience: Instant,
    out: Out,
    table: Mutex<Arc<Table>>,
    /// Calls on their way, by the host's identifier.
    calls: Mutex<HashMap<String, oneshot::Sender<Option<String>>>>,
    level: Arc<Mutex<Option<Value>>>,
    /// The host has been told which tools there are.
    listed: AtomicBool,
    told: Mutex<HashSet<String>>,
    report: Report,
}

pub(super) async fn run(
    launchers: Vec<(String, String, Box<dyn Launcher>)>,
    wait: Duration,
    allowed: Option<Allowed>,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    stop: impl Future<Output = ()>,
    report: Report,
) {
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
    let (out, written) = host::write(output);
    let mut lines = host::read(input);
    let bridge = Arc::new(Bridge {
        upstreams,
        allowed,
        changes: changed,
        patience: Instant::now() + wait,
        out,
        table: Mutex::default(),
        calls: Mutex::default(),
        level,
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
    let ended = loop {
        tokio::select! {
            line = lines.recv() => match line {
                Some(line) => bridge.hear(line, &mut tasks).await,
                None => break true,
            },
            Some(_) = tasks.join_next() => {}
            () = bridge.out.closed() => break false,
            () = &mut stop => break false,
        }
    };
    if ended {
        let _ = timeout(GRACE, async { while tasks.join_next().await.is_some() {} }).await;
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
    async fn hear(self: &Arc<Self>, line: Line, tasks: &mut JoinSet<()>) {
        let line = match line {
            Line::Text(line) if line.trim_ascii().is_empty() => return,
            Line::Text(line) => line,
            Line::TooLong => {
                let error = ErrorData::invalid_request("the message is too long", None);
                return self.out.error(None, &error).await;
            }
        };
        for message in host::messages(&line) {
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
                let asked = params.and_then(|params| {
                    let params: Asked = serde_json::from_str(params.get()).ok()?;
                    Some(params.protocol_version)
                });
                let (bridge, id) = (Arc::clone(self), id.to_owned());
                tasks.spawn(async move {
                    bridge.settle().await;
                    let result = bridge.initialized(asked.as_deref()).to_string();
                    bridge.out.result(&id, &result).await;
                });
            }
            "tools/list" => {
                let (bridge, id) = (Arc::clone(self), id.to_owned());
                tasks.spawn(async move {
                    bridge.settle().await;
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
                self.out.result(id, "{}").await;
            }
            method => {
                let text = format!("apkit mcp serve does not offer {method}");
                let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None);
                self.out.error(Some(id), &error).await;
            }
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
        let _ = tokio::time::timeout_at(self.patience, all).await;
    }

    fn initialized(&self, asked: Option<&str>) -> Value {
        let version = asked
            .filter(|asked| VERSIONS.contains(asked))
            .unwrap_or(LATEST);
        let mut result = json!({
            "protocolVersion": version,
            "capabilities": {"tools": {"listChanged": true}, "logging": {}},
            "serverInfo": {"name": "apkit", "version": env!("CARGO_PKG_VERSION")},
        });
        let instructions = self.instructions();
        if let (false, Some(result)) = (instructions.is_empty(), result.as_object_mut()) {
            result.insert("instructions".to_owned(), Value::String(instructions));
        }
        result
    }

    /// What the servers say about how to use them, each below its name.
    fn instructions(&self) -> String {
        let mut text = String::new();
        for upstream in &self.upstreams {
            let State::Up(session, tools) = upstream.state() else {
                continue;
            };
            let Some(own) = session.facts().instructions.as_deref().map(str::trim) else {
                continue;
            };
            // Nothing of a server is offered: its words would mislead.
            if own.is_empty() || !tools.iter().any(|tool| self.allows(upstream, &tool.name)) {
                continue;
            }
            let part = format!("## {}\n\n{}\n\n", upstream.label, cut(own, INSTRUCTIONS.0));
            if text.chars().count() + part.chars().count() > INSTRUCTIONS.1 {
                break;
            }
            text.push_str(&part);
        }
        text.truncate(text.trim_end().len());
        text
    }

    fn allows(&self, upstream: &Upstream, tool: &str) -> bool {
        let names = upstream.names(tool);
        let names = names.each_ref().map(String::as_str);
        self.allowed
            .as_ref()
            .is_none_or(|allowed| allowed.allows(names))
    }

    fn table(&self) -> Arc<Table> {
        Arc::clone(&lock(&self.table))
    }

    /// Brings the table up to date and says whether a host would see a difference.
    fn refresh(&self) -> bool {
        let table = Table::of(&self.upstreams, self.allowed.as_ref());
        for collision in &table.collisions {
            if lock(&self.told).insert(collision.clone()) {
                (self.report)(collision);
            }
        }
        let mut known = lock(&self.table);
        let differs = table.differs(&known);
        *known = Arc::new(table);
        differs
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

    fn cancel(&self, params: Option<&RawValue>) {
        let cancelled: Option<Cancelled<'_>> =
            params.and_then(|params| serde_json::from_str(params.get()).ok());
        if let Some(cancelled) = cancelled
            && let Some(call) = lock(&self.calls).remove(cancelled.request_id.get())
        {
            let _ = call.send(cancelled.reason);
        }
    }

    /// Starts a call of a tool.
    async fn start(
        self: &Arc<Self>,
        id: &RawValue,
        params: Option<&RawValue>,
        tasks: &mut JoinSet<()>,
    ) {
        let called = params.and_then(|params| {
            let name: Named = serde_json::from_str(params.get()).ok()?;
            let params: Value = serde_json::from_str(params.get()).ok()?;
            Some((name.name, params))
        });
        let Some((name, params)) = called else {
            let error = ErrorData::invalid_params("tools/call needs the name of a tool", None);
            return self.out.error(Some(id), &error).await;
        };
        let (cancel, cancelled) = oneshot::channel();
        if let Err(error) = self.enter(id, cancel) {
            return self.out.error(Some(id), &error).await;
        }
        let (bridge, id) = (Arc::clone(self), id.to_owned());
        tasks.spawn(async move {
            match bridge.find(&name).await {
                Ok((upstream, own)) => {
                    let params = Params::of(params, own);
                    bridge.call(&id, &upstream, params, cancelled).await;
                }
                Err(error) => bridge.out.error(Some(&id), &error).await,
            }
            lock(&bridge.calls).remove(id.get());
        });
    }

    /// The server that has a tool, and the tool's own name. A tool that is not
    /// there may be one of a server that is being opened.
    async fn find(&self, name: &str) -> Result<(Arc<Upstream>, String), ErrorData> {
        let look = || {
            let table = self.table();
            let (place, own) = table.find(name)?;
            Some((Arc::clone(self.upstreams.get(place)?), own.to_owned()))
        };
        if let Some(found) = look() {
            return Ok(found);
        }
        self.settle().await;
        self.renew().await;
        look().ok_or_else(|| unknown(name, &self.table()))
    }

    /// Notes a call that is on its way, and how it is cancelled.
    fn enter(
        &self,
        id: &RawValue,
        cancel: oneshot::Sender<Option<String>>,
    ) -> Result<(), ErrorData> {
        let mut calls = lock(&self.calls);
        if calls.len() >= CALLS {
            let text = format!("{CALLS} calls are on their way already");
            return Err(ErrorData::internal_error(text, None));
        }
        match calls.entry(id.get().to_owned()) {
            Entry::Occupied(_) => {
                let text = "a call with this id is on its way already";
                Err(ErrorData::invalid_request(text, None))
            }
            Entry::Vacant(place) => {
                place.insert(cancel);
                Ok(())
            }
        }
    }

    /// Sees a call to its end. A call that the host cancels is not answered.
    async fn call(
        &self,
        id: &RawValue,
        upstream: &Upstream,
        Params { params, token }: Params,
        cancelled: oneshot::Receiver<Option<String>>,
    ) {
        let cancelled = async {
            match cancelled.await {
                Ok(reason) => reason,
                Err(_) => std::future::pending().await,
            }
        };
        tokio::pin!(cancelled);
        let session = tokio::select! {
            session = upstream.session() => session,
            _ = &mut cancelled => return,
        };
        let session = match session {
            Ok(session) => session,
            Err(failure) => {
                let error = CallError::Failed(failure);
                return self.failed(id, upstream, error).await;
            }
        };
        let mut call = session.call(params, token.is_some());
        loop {
            let heard = tokio::select! {
                heard = call.next() => heard,
                reason = &mut cancelled => return call.cancel(reason),
            };
            match heard {
                Heard::Progress(progress) => {
                    if let (Some(token), Some(mut members)) = (&token, Members::of(&progress)) {
                        members.set("progressToken", token.to_string());
                        self.out
                            .notify("notifications/progress", &members.text())
                            .await;
                    }
                }
                Heard::End(Ok(result)) => return self.out.result(id, result.get()).await,
                Heard::End(Err(error)) => return self.failed(id, upstream, error).await,
            }
        }
    }

    async fn failed(&self, id: &RawValue, upstream: &Upstream, error: CallError) {
        let error = match error {
            CallError::Answered(error) => error,
            CallError::Failed(failure) => {
                let failure = upstream.named(failure);
                ErrorData::internal_error(failure.to_string(), None)
            }
        };
        self.out.error(Some(id), &error).await;
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    protocol_version: String,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cancelled<'t> {
    #[serde(borrow)]
    request_id: &'t RawValue,
    #[serde(default)]
    reason: Option<String>,
}

/// What a server is asked, and the token by which the host wants progress.
struct Params {
    params: Value,
    token: Option<Value>,
}

impl Params {
    /// The host's parameters with the tool's own name, and without its token.
    fn of(mut params: Value, own: String) -> Self {
        let mut token = None;
        if let Some(params) = params.as_object_mut() {
            params.insert("name".to_owned(), Value::String(own));
            if let Some(Value::Object(meta)) = params.get_mut("_meta") {
                token = meta.remove("progressToken");
                if meta.is_empty() {
                    params.remove("_meta");
                }
            }
        }
        Self { params, token }
    }
}

fn unknown(name: &str, table: &Table) -> ErrorData {
    let mut text = format!("Unknown tool: {name}");
    if let Some(near) = near::nearest(name, table.names()) {
        text.push_str("; did you mean ");
        text.push_str(near);
        text.push('?');
    }
    ErrorData::invalid_params(text, None)
}

/// The beginning of `text`, at most `longest` characters of it.
fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let kept: String = text.chars().take(longest - 1).collect();
    format!("{}…", kept.trim_end())
}
