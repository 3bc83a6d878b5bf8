//! The stdio transport: a server that is a subprocess and reads and writes one
//! JSON-RPC message a line.
//!
//! Whatever the server does costs only itself: what is kept of what it writes is
//! bounded, and nothing waits for it without end. It and what it started end with
//! this process, however that ends (see [`crate::sys::child`]).

mod close;
mod error;
mod lines;
mod log;
mod message;
mod place;
mod queue;
mod watch;

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

use crate::sys::child::{self, Start};

use super::credential::Credentials;
use super::plan::Process;
use super::wire::Results;

pub use crate::sys::child::{Status, this_program};
pub use error::{SendError, StartError};
pub use watch::{Ending, Fault, Watch};

use close::Closing;
use lines::Lines;
use queue::Queue;
use watch::Shared;

/// What hears each line that a server writes to its standard error.
pub type Listener = Arc<dyn Fn(&str) + Send + Sync>;

/// How much a server may take: of memory and of time.
#[derive(Clone)]
pub struct Limits {
    /// The absolute path of the apkit program, which is started once more beside
    /// the server ([`crate::sys::child`]). [`this_program`] names it if this
    /// process is apkit.
    pub guard: PathBuf,
    /// How long the system and the guard have to start the server.
    pub start: Duration,
    /// The longest line that is read, in bytes. A longer one ends the server.
    pub line: usize,
    /// How many lines in a row may be no messages. More end the server; so do more
    /// than [`Self::line`] bytes of them.
    pub skipped: usize,
    /// How many bytes may wait until the server reads them. A message beyond that
    /// is not sent.
    pub unsent: usize,
    /// How long a message may wait until the server reads it.
    pub send: Duration,
    /// How much is kept of what the server writes to its standard error, in bytes:
    /// the last of it.
    pub log: usize,
    /// How long a server has to end after its standard input has.
    pub end_of_input: Duration,
    /// How long it has to end after `SIGTERM`.
    pub terminate: Duration,
    /// Hears each line of standard error, with credentials blacked out. It must
    /// not block.
    pub listener: Option<Listener>,
    /// How results are handed on.
    pub results: Results,
}

impl Limits {
    /// The usual ones, with the program that is the guard.
    pub fn new(guard: PathBuf) -> Self {
        Self {
            guard,
            start: Duration::from_secs(10),
            line: 16 << 20,
            skipped: 1000,
            unsent: 32 << 20,
            send: Duration::from_secs(30),
            log: 64 << 10,
            end_of_input: Duration::from_secs(2),
            terminate: Duration::from_secs(2),
            listener: None,
            results: Results::default(),
        }
    }
}

impl fmt::Debug for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limits")
            .field("guard", &self.guard)
            .field("start", &self.start)
            .field("line", &self.line)
            .field("skipped", &self.skipped)
            .field("unsent", &self.unsent)
            .field("send", &self.send)
            .field("log", &self.log)
            .field("end_of_input", &self.end_of_input)
            .field("terminate", &self.terminate)
            .field("listener", &self.listener.is_some())
            .field("results", &self.results)
            .finish()
    }
}

/// A server that runs. When this goes away without [`Transport::close`], the
/// server is asked to end and then ended.
#[derive(Debug)]
pub struct Stdio {
    lines: Lines,
    pending: VecDeque<RxJsonRpcMessage<RoleClient>>,
    queue: Queue,
    closing: Closing,
    shared: Arc<Shared>,
    results: Results,
}

impl Stdio {
    /// Starts a server. Makes its data directory and, if the plan says so, its
    /// working directory first, and looks once more at where its paths lead and
    /// whether the package still has the content that the user lets be started.
    ///
    /// The environment is the plan's, with the credentials over it; `PLUGIN_ROOT`
    /// and `PLUGIN_DATA` stay what they are (§9.1). Needs a runtime of tokio with
    /// I/O and time.
    ///
    /// # Errors
    ///
    /// See [`StartError`].
    pub async fn start(
        process: &Process,
        credentials: &Credentials,
        limits: &Limits,
    ) -> Result<Self, StartError> {
        let env = environment(process, credentials);
        error::check_texts(process, &env)?;
        let cwd = place::prepare(process)?;
        place::check_content(process).await?;
        let start = Start {
            program: &process.program,
            args: &process.args,
            env: &env,
            cwd: &cwd,
            guard: &limits.guard,
            leave: false,
        };
        let mut child = tokio::time::timeout(limits.start, child::start(&start))
            .await
            .map_err(|_| StartError::guard(limits, std::io::ErrorKind::TimedOut.into()))?
            .map_err(|failed| StartError::new(failed, process, &cwd, limits))?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(StartError::guard(
                limits,
                std::io::ErrorKind::BrokenPipe.into(),
            ));
        };
        let shared = Arc::new(Shared::new(child.id(), credentials, limits));
        tokio::spawn(log::keep(
            stderr,
            Arc::clone(&shared),
            limits.listener.clone(),
        ));
        Ok(Self {
            lines: Lines::new(stdout, limits, &shared),
            pending: VecDeque::new(),
            queue: Queue::new(stdin, limits),
            closing: Closing::new(child, limits, &shared),
            results: limits.results,
            shared,
        })
    }

    /// What can be seen of the server from outside, also after its end.
    pub fn watch(&self) -> Watch {
        Watch::new(Arc::clone(&self.shared))
    }
}

/// The server's environment: the user's credentials win over what the package
/// sets, and what the client must set wins over both.
fn environment(process: &Process, credentials: &Credentials) -> BTreeMap<OsString, OsString> {
    let mut env = process.env.clone();
    let same = |one: &OsStr, other: &OsStr| {
        if cfg!(windows) {
            one.eq_ignore_ascii_case(other)
        } else {
            one == other
        }
    };
    for (name, value) in &credentials.env {
        let name = OsStr::new(name);
        if !place::RESERVED
            .iter()
            .any(|reserved| same(name, reserved.as_ref()))
        {
            env.retain(|old, _| !same(old, name));
            env.insert(name.to_owned(), value.into());
        }
    }
    env
}

impl Transport<RoleClient> for Stdio {
    type Error = SendError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SendError>> + Send + 'static {
        // The order of the calls is the order of the messages, whichever of the
        // futures is polled first.
        self.queue.push(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if let Some(message) = self.pending.pop_front() {
                return Some(message);
            }
            let line = self.lines.next().await?;
            let text = String::from_utf8_lossy(&line);
            let broken = matches!(text, Cow::Owned(_));
            let heard = message::read(&text, broken, self.results);
            if heard.is_useful {
                heard
                    .junk
                    .iter()
                    .for_each(|text| self.shared.skip(text.as_bytes()));
            }
            let (read, is_useful) = (heard.read, heard.is_useful);
            self.lines.took(line, is_useful);
            for message in read {
                match message {
                    message::Read::Message(message) => self.pending.push_back(*message),
                    // It waits for an answer that nobody else would give. If it
                    // does not read, so be it.
                    message::Read::Refuse(answer) => {
                        tokio::spawn(self.queue.push(*answer));
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), SendError> {
        self.closing.run(&mut self.queue, &mut self.lines).await;
        Ok(())
    }
}
