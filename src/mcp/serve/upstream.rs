//! One server below: kept open, listed again when its tools change, started
//! again when a call needs it and it has ended.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::allowed::Allowed;
use super::collisions::Told;
use super::host::Out;
use super::names;
use super::pace::Pace;
use super::{Launcher, Report};
use crate::mcp::credential::Secrets;
use crate::mcp::members::Members;
use crate::mcp::session::{Failure, Logs, Session, Step, Tool};

/// How long a server stays down after its first end; twice as long after each
/// further one.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A server that ran this long starts with a clean record.
const LONG_RUN: Duration = Duration::from_secs(60);
/// A server that says without end that its tools are others is asked no more
/// often than this.
const BETWEEN_LISTS: Duration = Duration::from_millis(100);
/// How often it is looked whether the server has sent what is no message, until it is told.
const BETWEEN_LOOKS: Duration = Duration::from_secs(3);

/// How a server stands.
#[derive(Clone)]
pub(super) enum State {
    /// It is being opened for the first time.
    Opening,
    /// It is of use.
    Up(Session, Arc<[Tool]>),
    /// It ended; a call after this time starts it again.
    Down(Failure, Arc<[Tool]>, Instant),
    /// It is being started again.
    Again(Arc<[Tool]>),
    /// It never was of use. One that is connected to may become so.
    Failed(Failure),
}

impl State {
    /// The tools that are offered. Those of a server that ended stay: a call
    /// starts it again.
    pub(super) fn tools(&self) -> &[Tool] {
        match self {
            Self::Up(_, tools) | Self::Down(_, tools, _) | Self::Again(tools) => tools,
            Self::Opening | Self::Failed(_) => &[],
        }
    }
}

/// One server and how it stands.
pub(super) struct Upstream {
    /// Its name in `mcp.json`.
    server: String,
    /// What stands for it in the names of its tools.
    pub(super) label: String,
    launcher: Box<dyn Launcher>,
    state: watch::Sender<State>,
    wanted: Notify,
    /// A call found that the server refuses what it was given.
    refused: Notify,
    /// What was told of its list of tools last.
    told: Mutex<Option<String>>,
    /// Counts every change of every server.
    changes: Arc<watch::Sender<u64>>,
    /// What the host wants to be logged: the parameters of `logging/setLevel`.
    level: Arc<Mutex<Option<Value>>>,
    /// Which of its tools that are not offered were told.
    pub(super) collisions: Mutex<Told>,
    /// What no message about it may show.
    secrets: Mutex<Secrets>,
}

impl Upstream {
    pub(super) fn new(
        server: String,
        label: String,
        launcher: Box<dyn Launcher>,
        changes: Arc<watch::Sender<u64>>,
        level: Arc<Mutex<Option<Value>>>,
    ) -> Self {
        Self {
            server,
            label,
            launcher,
            state: watch::Sender::new(State::Opening),
            wanted: Notify::new(),
            refused: Notify::new(),
            told: Mutex::default(),
            changes,
            level,
            collisions: Mutex::default(),
            secrets: Mutex::default(),
        }
    }

    pub(super) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// The name by which one of its tools is offered.
    pub(super) fn offered(&self, tool: &str) -> String {
        names::offered(&self.label, tool)
    }

    /// Whether one of its tools is offered at all.
    pub(super) fn offers(&self, tool: &str, allowed: Option<&Allowed>) -> bool {
        allowed.is_none_or(|allowed| allowed.allows(self.servers(), tool))
    }

    /// `text` as a message may show it: without the values of what it was given.
    pub(super) fn shown(&self, text: &str) -> String {
        lock(&self.secrets).masked(text).into_owned()
    }

    /// The names that stand for it: its label, and its own.
    pub(super) fn servers(&self) -> [&str; 2] {
        [&self.label, &self.server]
    }

    /// A failure by the name that tells servers of several packages apart.
    pub(super) fn named(&self, mut failure: Failure) -> Failure {
        failure.server.clone_from(&self.label);
        failure
    }

    pub(super) fn is_settled(&self) -> bool {
        !matches!(*self.state.borrow(), State::Opening)
    }

    fn set(&self, state: State) {
        self.state.send_replace(state);
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// `report`, but no more often than one server may be spoken of.
    fn paced(self: &Arc<Self>, report: Report) -> Report {
        let pace = Mutex::new(Pace::new());
        let upstream = Arc::clone(self);
        Arc::new(move |text| {
            if let Some(text) = lock(&pace).paced(&upstream.label, text) {
                report(&text);
            }
        })
    }

    /// Opens the server and keeps it. Ends when it never was of use and will not be by itself:
    /// a program is mended by somebody, and so is what lasts elsewhere; the rest may only be
    /// late.
    pub(super) async fn keep(self: Arc<Self>, out: Out, report: Report) {
        let report = self.paced(report);
        let mut pause = PAUSE;
        let mut told = None;
        loop {
            let opened = self.open(&*report).await;
            let failure = match opened {
                Ok((session, logs, tools)) => {
                    let since = Instant::now();
                    *lock(&self.secrets) = session.secrets().clone();
                    if matches!(self.state(), State::Failed(_)) {
                        pause = PAUSE;
                    }
                    if let Some(level) = &*lock(&self.level) {
                        session.set_level(level.clone());
                    }
                    self.set(State::Up(session.clone(), tools.into()));
                    let failure = self.attend(&session, logs, &out, &*report).await;
                    if since.elapsed() >= LONG_RUN {
                        pause = PAUSE;
                    }
                    failure
                }
                Err(failure) => failure,
            };
            let mut failure = self.named(failure);
            let state = self.state();
            let never = matches!(state, State::Opening | State::Failed(_));
            let is_late = never && self.launcher.is_remote() && !failure.is_lasting();
            if is_late {
                let again = "it is tried again, ever less often";
                let help = failure.help.take();
                failure = failure
                    .help(help.map_or_else(|| again.to_owned(), |help| format!("{help}; {again}")));
            }
            let text = failure.to_string();
            // The same is not told with each attempt.
            if !never || told.as_ref() != Some(&text) {
                report(&text);
                told = Some(text);
            }
            if never {
                self.set(State::Failed(failure));
                if !is_late {
                    return;
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                continue;
            }
            let tools = state.tools().into();
            self.set(State::Down(failure, tools, Instant::now() + pause));
            pause = (pause * 2).min(LONGEST_PAUSE);
            self.wanted.notified().await;
            let tools = self.state().tools().into();
            self.set(State::Again(tools));
        }
    }

    async fn open(
        &self,
        report: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<(Session, Logs, Vec<Tool>), Failure> {
        let (session, logs) = self.launcher.open().await?;
        match self.list(&session, report).await {
            Ok(tools) => Ok((session, logs, tools)),
            Err(failure) => {
                session.close().await;
                Err(failure)
            }
        }
    }

    /// The tools of the server. What is wrong with its list is told once.
    async fn list(
        &self,
        session: &Session,
        report: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Vec<Tool>, Failure> {
        let listed = session.tools().await?;
        let mut told = lock(&self.told);
        if let Some(warning) = &listed.warning
            && told.as_ref() != Some(warning)
        {
            report(&format!("server `{}`: {warning}", self.label));
        }
        *told = listed.warning;
        Ok(listed.tools)
    }

    /// Follows what the server says by itself until it ends.
    async fn attend(
        &self,
        session: &Session,
        mut logs: Logs,
        out: &Out,
        report: &(dyn Fn(&str) + Send + Sync),
    ) -> Failure {
        let mut looks = tokio::time::interval(BETWEEN_LOOKS);
        let mut is_stray_told = false;
        loop {
            tokio::select! {
                failure = session.ended() => return failure,
                // It may have been an answer, for which a call waits in vain.
                _ = looks.tick(), if !is_stray_told => {
                    if let Some(stray) = session.stray() {
                        report(&format!("server `{}`: {stray}", self.label));
                        is_stray_told = true;
                    }
                }
                // Calls on their way keep the session until they end.
                () = self.refused.notified() => if self.launcher.is_refused() {
                    let text = "it does not accept its credentials any more; they are got anew when it is started again";
                    return Failure::new(&self.label, Step::Serve, text);
                },
                () = session.tools_changed() => {
                    match self.list(session, report).await {
                        Ok(tools) => self.set(State::Up(session.clone(), tools.into())),
                        Err(failure) => report(&self.named(failure).to_string()),
                    }
                    tokio::time::sleep(BETWEEN_LISTS).await;
                }
                Some(log) = logs.recv() => {
                    out.notify("notifications/message", &self.logged(&log)).await;
                }
            }
        }
    }

    /// A log message with the server's name as that of the logger.
    fn logged(&self, params: &RawValue) -> String {
        let Some(mut members) = Members::of(params) else {
            return params.get().to_owned();
        };
        let own = members.get("logger");
        let own = own.and_then(|name| serde_json::from_str::<String>(name.get()).ok());
        let logger = match own {
            Some(own) => format!("{}/{own}", self.label),
            None => self.label.clone(),
        };
        members.set("logger", Value::from(logger).to_string());
        members.text()
    }

    /// The session for a call. A server that ended is started again, unless it
    /// did so a moment ago.
    pub(super) async fn session(&self) -> Result<Session, Failure> {
        let mut states = self.state.subscribe();
        let mut asked = false;
        loop {
            let state = states.borrow_and_update().clone();
            match state {
                State::Up(session, _) => return Ok(session),
                State::Failed(failure) => return Err(failure),
                State::Down(failure, _, until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if asked || !left.is_zero() {
                        let seconds = left.as_secs() + 1;
                        let what = match failure.step {
                            Step::Start => "tries to start it again",
                            _ => "starts it again",
                        };
                        return Err(failure.help(format!("the next call after {seconds} s {what}")));
                    }
                    asked = true;
                    self.wanted.notify_one();
                }
                State::Opening | State::Again(_) => {}
            }
            if states.changed().await.is_err() {
                return Err(Failure::new(&self.label, Step::Serve, "it was ended"));
            }
        }
    }

    /// Hears of a call that failed: a server that refuses what it was given is of no use
    /// until it is given something else.
    pub(super) fn failed(&self) {
        if self.launcher.is_refused() {
            self.refused.notify_one();
        }
    }

    /// Ends the session, if there is one.
    pub(super) async fn close(&self) {
        let state = self.state();
        if let State::Up(session, _) = state {
            session.close().await;
        }
    }
}

/// What the lock guards; a panic elsewhere leaves it usable.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
