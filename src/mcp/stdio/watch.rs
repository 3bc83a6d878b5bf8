//! What can be seen of a server from outside.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::sys::child::Status;

use super::super::credential::{Credentials, Secrets};
use super::super::stray::{Over, Stray};
use super::Limits;
use super::log::Log;

/// The longest line of standard error in a message, in characters.
const SHOWN: usize = 500;

/// How long standard error is waited for after the end of a process. What it has
/// written is there by then, unless another process goes on writing.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A look at a server that is started: whether it still runs, how it ended, and
/// the last of what it wrote to its standard error. Cheap to clone; it keeps
/// nothing running.
#[derive(Debug, Clone)]
pub struct Watch(Arc<Shared>);

/// What a server did that it was ended for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It wrote a line longer than this many bytes.
    Line {
        /// The longest that is read.
        longest: usize,
    },
    /// It wrote nothing but lines that are no messages.
    NoMessages {
        /// How many there were in a row.
        lines: usize,
    },
}

/// Why a server does not run any more. Reads after "the server failed: ".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// What it was ended for, if it did not end by itself or was asked to.
    pub fault: Option<Fault>,
    /// How its process ended.
    pub status: Status,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { longest } => write!(
                f,
                "it wrote a line of more than {longest} bytes to its standard output, and was ended"
            ),
            Self::NoMessages { lines } => write!(
                f,
                "it wrote {lines} lines in a row to its standard output that are no JSON-RPC \
                 messages, and was ended"
            ),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.fault, self.status) {
            (Some(fault), _) => fault.fmt(f),
            (None, Status::Code(code)) => write!(f, "it exited with status {code}"),
            (None, Status::Signal(signal)) => write!(f, "it was ended by signal {signal}"),
            (None, Status::Unknown) => f.write_str("the process that guarded it was ended"),
        }
    }
}

impl Watch {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    /// The server's process id.
    pub fn id(&self) -> u32 {
        self.0.id
    }

    /// What the server is ended for, known before it has ended.
    pub fn fault(&self) -> Option<Fault> {
        self.0.fault.get().copied()
    }

    /// How the server ended; `None` while its process runs.
    pub fn ending(&self) -> Option<Ending> {
        let status = match *self.0.state.borrow() {
            State::Running => return None,
            State::Ended(status, _) | State::Gone(status, _) => status,
        };
        Some(Ending {
            fault: self.fault(),
            status,
        })
    }

    /// Waits for the end of the server's process, and a moment for the last of what
    /// it wrote to its standard error.
    pub async fn ended(&self) -> Ending {
        loop {
            self.exited().await;
            let mut silent = self.0.silent.subscribe();
            let _ = timeout(LAST_WORDS, silent.wait_for(|silent| *silent)).await;
            if let Some(ending) = self.ending() {
                return ending;
            }
        }
    }

    /// Waits for the end of the server's process and nothing else.
    pub(super) async fn exited(&self) {
        self.0.wait_for(|state| *state != State::Running).await;
    }

    /// Waits until the server has ended and nothing it started runs any more, as
    /// far as the system can tell.
    pub async fn gone(&self) {
        self.0
            .wait_for(|state| matches!(state, State::Gone(..)))
            .await;
    }

    /// How many lines on standard output were no messages and were skipped.
    pub fn skipped(&self) -> u64 {
        self.0.skipped.load(Ordering::Relaxed)
    }

    /// What it wrote to standard output that is no message, if it did.
    pub fn stray(&self) -> Option<Stray> {
        let stray = self.0.stray.lock().unwrap_or_else(PoisonError::into_inner);
        stray.clone()
    }

    /// What is kept of standard error, with credentials blacked out. It is the
    /// server's text: escape it for a terminal.
    pub fn stderr(&self) -> String {
        let longest = self.0.secrets.longest();
        let text = self.0.log(|log| log.text(longest));
        self.0.secrets.masked(&text).into_owned()
    }

    /// The last lines of standard error that are not blank, at most `count`, each
    /// cut to a length that fits a message.
    pub fn last_lines(&self, count: usize) -> Vec<String> {
        let text = self.stderr();
        let lines = text.lines().rev().map(str::trim_end);
        let mut lines: Vec<String> = lines
            .filter(|line| !line.is_empty())
            .take(count)
            .map(|line| line.chars().take(SHOWN).collect())
            .collect();
        lines.reverse();
        lines
    }
}

/// Where a server's process is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum State {
    Running,
    /// It has ended, then; what it started may not have.
    Ended(Status, Instant),
    Gone(Status, Instant),
}

/// What the parts of a transport know together.
#[derive(Debug)]
pub(super) struct Shared {
    id: u32,
    fault: OnceLock<Fault>,
    skipped: AtomicU64,
    stray: Mutex<Option<Stray>>,
    state: watch::Sender<State>,
    log: Mutex<Log>,
    /// Whether standard error has ended.
    silent: watch::Sender<bool>,
    secrets: Secrets,
}

impl Shared {
    pub(super) fn new(id: u32, credentials: &Credentials, limits: &Limits) -> Self {
        Self {
            id,
            fault: OnceLock::new(),
            skipped: AtomicU64::new(0),
            stray: Mutex::default(),
            state: watch::Sender::new(State::Running),
            log: Mutex::new(Log::new(limits.log)),
            silent: watch::Sender::new(false),
            secrets: Secrets::of(credentials),
        }
    }

    pub(super) fn set(&self, state: State) {
        self.state.send_replace(state);
    }

    pub(super) fn fault(&self, fault: Fault) {
        // The first one is why.
        let _ = self.fault.set(fault);
    }

    /// Notes a line on standard output that is no message.
    pub(super) fn skip(&self, line: &[u8]) {
        self.skipped.fetch_add(1, Ordering::Relaxed);
        if line.trim_ascii().is_empty() {
            return;
        }
        let mut stray = self.stray.lock().unwrap_or_else(PoisonError::into_inner);
        Stray::add(&mut stray, Over::Stdio, || {
            let first = String::from_utf8_lossy(line);
            self.secrets.masked(first.trim()).into_owned()
        });
    }

    pub(super) fn log<T>(&self, with: impl FnOnce(&mut Log) -> T) -> T {
        with(&mut self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn silence(&self) {
        self.silent.send_replace(true);
    }

    /// Waits until the process has been over for some time.
    pub(super) async fn ended_for(&self, long: Duration) {
        self.wait_for(|state| *state != State::Running).await;
        let state = *self.state.borrow();
        if let State::Ended(_, since) | State::Gone(_, since) = state {
            tokio::time::sleep_until(since + long).await;
        }
    }

    async fn wait_for(&self, wanted: impl FnMut(&State) -> bool) {
        // It fails only without a sender, which is here.
        let _ = self.state.subscribe().wait_for(wanted).await;
    }

    /// What is not shown.
    pub(super) fn secrets(&self) -> &Secrets {
        &self.secrets
    }
}
