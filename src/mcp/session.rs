//! A session with one server: opened by the transport its entry declares and no
//! other (§7.2.1), initialized, asked for its tools. Whatever goes wrong is a
//! [`Failure`] of that server alone (§7.2.2).
//!
//! The client announces no capability: it offers no roots, no sampling and no
//! elicitation, and says so to a server that asks for them.

mod connection;
mod failure;
#[cfg(test)]
pub(crate) mod fake;
mod handshake;
mod room;
#[cfg(test)]
mod tests;
mod tools;

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
pub use rmcp::model::ErrorData;
use rmcp::transport::Transport;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::Instant;

pub use connection::{Answer, Call, Heard};
pub use failure::{CallError, Failure, Step};
pub use handshake::{Facts, LATEST, VERSIONS};
pub use room::Room;
pub(super) use room::Waiting;
pub use tools::{Listed, Tool};

use connection::{Connection, Post, Words};

use super::credential::{Credentials, Secrets};
use super::plan::{Launch, ServerPlan};
use super::stdio::Stdio;
use super::wire::Results;
use super::{http, stdio};
use crate::spec::credential;

/// How many of the last lines of standard error are told with a failure.
const LINES: usize = 5;
/// How long the end of a process is waited for that does not read any more.
const DYING: Duration = Duration::from_secs(1);

/// How servers are treated.
#[derive(Clone)]
pub struct Options {
    /// How long starting or connecting and `initialize` may take together.
    pub opening: Duration,
    /// How long a request may go without a sign of progress; `None` is for ever.
    pub call: Option<Duration>,
    /// What a server that is a subprocess may take.
    pub stdio: stdio::Limits,
    /// How servers are reached over HTTP.
    pub http: http::Rules,
    /// Where what they say waits.
    pub room: Room,
}

/// An initialized session. It ends, and with it the server's process, when the
/// last handle is dropped or by [`Session::close`].
#[derive(Clone)]
pub struct Session {
    server: Arc<str>,
    connection: Connection,
    facts: Arc<Facts>,
    call: Option<Duration>,
    post: Arc<Post>,
}

/// Log messages of a server: the parameters of `notifications/message`. Those
/// that are not read in time are dropped.
pub type Logs = mpsc::Receiver<Box<RawValue>>;

/// Opens a session with a server.
///
/// # Errors
///
/// The server is off, cannot be started or connected to, does not speak a known
/// version of MCP, or takes too long.
pub async fn open(
    server: &ServerPlan,
    credentials: &Credentials,
    options: &Options,
) -> Result<(Session, Logs), Failure> {
    let name = server.name.as_str();
    let launch = match &server.launch {
        Ok(launch) => launch,
        Err(off) => return Err(Failure::new(name, Step::Start, off.to_string())),
    };
    let deadline = Deadline::after(options.opening);
    let (mut limits, mut rules) = (options.stdio.clone(), options.http.clone());
    (limits.results, rules.results) = (Results::Text, Results::Text);
    let secrets = Secrets::of(credentials);
    let failed = |step, error: &dyn std::error::Error| {
        Failure::new(name, step, secrets.masked(&error.to_string()))
    };
    let unusable = |error: http::StartError| failed(Step::Connect, &error).lasting();
    match launch {
        Launch::Stdio(process) => {
            let starting = Stdio::start(process, credentials, &limits);
            let stdio = deadline.keep(name, Step::Start, starting).await?;
            let stdio = stdio.map_err(|error| failed(Step::Start, &error))?;
            let watch = stdio.watch();
            let words = move || {
                // A server that is ended for such lines is told so already.
                let stray = watch.stray().filter(|_| watch.fault().is_none());
                Words {
                    ending: watch.ending().map(|ending| ending.to_string()),
                    stderr: watch.last_lines(LINES),
                    stray: stray.map(|stray| stray.to_string()),
                    lasting: false,
                }
            };
            let post = Post {
                words: Box::new(words),
                dying: DYING,
                secrets,
                room: options.room.clone(),
            };
            Session::over(name, stdio, post, options, deadline).await
        }
        Launch::StreamableHttp(endpoint) => {
            let transport = http::streamable(endpoint, credentials, &rules);
            let transport = transport.map_err(unusable)?;
            let post = last_words(transport.watch(), secrets, options);
            Session::over(name, transport, post, options, deadline).await
        }
        Launch::Sse(endpoint) => {
            let transport = http::sse(endpoint, credentials, &rules);
            let transport = transport.map_err(unusable)?;
            let post = last_words(transport.watch(), secrets, options);
            Session::over(name, transport, post, options, deadline).await
        }
    }
}

fn last_words(watch: http::Watch, secrets: Secrets, options: &Options) -> Post {
    Post {
        words: Box::new(move || Words {
            ending: watch.last(),
            lasting: watch.is_lasting(),
            stray: watch.stray().map(|stray| stray.to_string()),
            ..Words::default()
        }),
        dying: Duration::ZERO,
        secrets,
        room: options.room.clone(),
    }
}

/// Until when a server has to be open.
#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    fn after(limit: Duration) -> Self {
        let at = Instant::now() + limit;
        Self { at, limit }
    }

    /// What `future` gives, unless it takes too long.
    async fn keep<T>(
        self,
        server: &str,
        step: Step,
        future: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        tokio::time::timeout_at(self.at, future).await.map_err(|_| {
            let cause = format!("no answer within {} s", self.limit.as_secs_f32());
            Failure::new(server, step, cause).help("--timeout gives it more time")
        })
    }
}

impl Session {
    /// Initializes a session over `transport`; `post` tells of its end.
    async fn over<T>(
        server: &str,
        transport: T,
        post: Post,
        options: &Options,
        deadline: Deadline,
    ) -> Result<(Self, Logs), Failure>
    where
        T: Transport<RoleClient> + 'static,
    {
        let post = Arc::new(post);
        let (connection, logs) = Connection::over(server, transport, Arc::clone(&post));
        let initialized = handshake::initialize(server, &connection);
        let facts = match deadline.keep(server, Step::Initialize, initialized).await {
            Ok(Ok(facts)) => facts,
            Ok(Err(failure)) => {
                connection.close().await;
                return Err(failure.words((post.words)()));
            }
            Err(late) => {
                let failure = late.words((post.words)());
                // A server that does not answer may not end quickly either.
                tokio::spawn(async move { connection.close().await });
                return Err(failure);
            }
        };
        let session = Self {
            server: server.into(),
            connection,
            facts: Arc::new(facts),
            call: options.call,
            post,
        };
        Ok((session, logs))
    }

    /// What the server said of itself.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// All tools of the server.
    ///
    /// # Errors
    ///
    /// It answers with an error, not at all, or without end.
    pub async fn tools(&self) -> Result<Listed, Failure> {
        let listed = tools::list(&self.server, &self.facts, &self.connection, self.call).await;
        listed.map_err(|failure| failure.words((self.post.words)()))
    }

    /// `text` as a message may show it: without the values of what the server was
    /// given.
    pub fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.post.secrets.masked(text)
    }

    /// What no message about the server may show.
    pub(super) fn secrets(&self) -> &Secrets {
        &self.post.secrets
    }

    /// What the server sent or wrote to standard output that is no message, in a
    /// sentence.
    pub fn stray(&self) -> Option<String> {
        let stray = (self.post.words)().stray?;
        Some(credential::masked(&stray).into_owned())
    }

    /// Calls a tool. `params` are those of `tools/call`, whose text the server gets;
    /// with `progress` it is asked to report it.
    pub fn call(&self, params: Box<RawValue>, progress: bool) -> Call {
        self.connection.call("tools/call", params, progress)
    }

    /// How long a call may go without a sign of progress.
    pub fn limit(&self) -> Option<Duration> {
        self.call
    }

    /// Asks the server to log from this level on, if it logs. Its answer is of
    /// no consequence.
    pub fn set_level(&self, params: Value) {
        if self.facts.capabilities.get("logging").is_some() {
            let call = self.connection.ask("logging/setLevel", &params);
            let limit = self.call;
            tokio::spawn(async move { call.end(limit).await.ok() });
        }
    }

    /// Waits until the server says that its tools are others.
    pub async fn tools_changed(&self) {
        self.connection.changed.notified().await;
    }

    /// Waits for the end of the session and says why it ended.
    pub async fn ended(&self) -> Failure {
        self.connection.ended().await
    }

    /// Ends the session and waits until the server's process is gone.
    pub async fn close(&self) {
        self.connection.close().await;
    }
}
