//! One MCP server over standard input and output that offers the tools of the
//! servers of many packages as `mcp__<server>__<tool>`.
//!
//! What a server says passes through with its text unchanged: results, errors,
//! descriptions of tools, log messages. Only names are replaced: those of tools,
//! of progress tokens and of requests, and the logger of a log message.
//!
//! Servers are opened at the same time. A host that asks for the tools waits
//! for them no longer than [`Options::wait`]; those that come later are
//! announced by `notifications/tools/list_changed`. A server that ends takes
//! nothing along: its calls are answered with an error, and the next call starts
//! it again, after a pause that grows with each end. One that is connected to and
//! was not there at the start is tried again after such pauses.
//!
//! Of what a host offers nothing is passed down (no roots, no sampling, no
//! elicitation), and of what servers offer only tools and log messages are
//! passed up.

mod allowed;
mod bridge;
mod collisions;
mod host;
pub mod names;
mod pace;
mod table;
#[cfg(test)]
mod tests;
mod upstream;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::future::Future;
use std::io::{Read, Write};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub use allowed::{Allowed, AllowedError, Ignored};

use super::credential::{CredentialError, Credentials};
use super::plan::{Launch as Planned, ServerPlan};
use super::session::{self, Failure, Logs, Session, Step};

/// A server to offer.
pub struct Server {
    /// What tells the package it is of from the others: its name, or where it lies.
    pub package: String,
    /// How it is reached.
    pub plan: ServerPlan,
    /// Gets what is sent to it beside what the package says. Asked when it is opened
    /// first, and again when it is opened after it has refused what it was given.
    pub credentials: Giver,
}

/// Gets the credentials of one server.
pub type Giver = Box<dyn Fn() -> Giving + Send + Sync>;

/// What a [`Giver`] gives.
pub type Giving = Pin<Box<dyn Future<Output = Result<Credentials, CredentialError>> + Send>>;

/// How servers are offered.
pub struct Options {
    /// How they are opened. The time this may take is also what calls on their way may
    /// take when the host's input has ended. The limit of a call counts for lists of tools only:
    /// how long a call may take is for the host to say.
    pub session: session::Options,
    /// How long a host waits for servers at the start; `None` is for as long as is
    /// known to be right for it ([`patience`]).
    pub wait: Option<Duration>,
    /// What is offered; everything if there is no list.
    pub allowed: Option<Allowed>,
}

/// How long hosts wait for servers at the start, by what they call themselves.
/// Claude Code 2.1.197 with `-p` begins without a server whose list of tools takes
/// two seconds, and hears of later ones when they are announced.
const PATIENCE: &[(&str, Duration)] = &[("claude-code", Duration::from_secs(1))];

/// How long any other host waits: many ask for the tools once and never again.
const LONG_PATIENCE: Duration = Duration::from_secs(5);

/// How long a host that calls itself `name` waits for servers at the start.
pub fn patience(name: Option<&str>) -> Duration {
    let known = PATIENCE.iter().find(|(known, _)| name == Some(*known));
    known.map_or(LONG_PATIENCE, |(_, patience)| *patience)
}

/// Takes what is to be told to whoever runs the program.
pub type Report = Arc<dyn Fn(&str) + Send + Sync>;

type Opening<'l> = Pin<Box<dyn Future<Output = Result<(Session, Logs), Failure>> + Send + 'l>>;

/// Opens sessions with one server.
trait Launcher: Send + Sync {
    fn open(&self) -> Opening<'_>;

    /// Whether the server is connected to, not started.
    fn is_remote(&self) -> bool;

    /// Whether the server has refused the credentials that it was opened with last.
    fn is_refused(&self) -> bool;
}

struct Launch {
    server: Server,
    options: session::Options,
    given: tokio::sync::Mutex<Option<Credentials>>,
    /// See [`Launcher::is_refused`]. Sessions from before have flags of their own.
    refused: Mutex<Arc<AtomicBool>>,
}

impl Launcher for Launch {
    fn open(&self) -> Opening<'_> {
        Box::pin(async {
            let plan = &self.server.plan;
            let mut given = self.given.lock().await;
            // A token may have run out, and its helper has another one.
            let known = given.take().filter(|_| !self.is_refused());
            let known = match known {
                Some(known) => known,
                None => (self.server.credentials)()
                    .await
                    .map_err(|error| Failure::new(&plan.name, Step::Start, error.to_string()))?,
            };
            let mut options = self.options.clone();
            options.http.refused = Arc::default();
            *upstream::lock(&self.refused) = Arc::clone(&options.http.refused);
            session::open(plan, given.insert(known), &options).await
        })
    }

    fn is_remote(&self) -> bool {
        let launch = &self.server.plan.launch;
        matches!(launch, Ok(Planned::StreamableHttp(_) | Planned::Sse(_)))
    }

    fn is_refused(&self) -> bool {
        upstream::lock(&self.refused).load(Ordering::Relaxed)
    }
}

/// Serves a host until its input ends, it reads no more, or `stop` is ready.
/// When this returns, the servers are gone.
///
/// Servers that are off are not opened and not spoken of here.
pub async fn run(
    servers: Vec<Server>,
    options: Options,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    stop: impl Future<Output = ()>,
    report: Report,
) {
    let labels = labels(
        servers
            .iter()
            .map(|server| (&*server.package, &*server.plan.name)),
    );
    let launchers = servers
        .into_iter()
        .zip(labels)
        .filter(|(server, _)| server.plan.launch.is_ok())
        .map(|(server, label)| {
            let options = options.session.clone();
            let name = server.plan.name.clone();
            let launcher: Box<dyn Launcher> = Box::new(Launch {
                server,
                options,
                given: tokio::sync::Mutex::default(),
                refused: Mutex::default(),
            });
            (name, label, launcher)
        })
        .collect();
    let terms = bridge::Terms {
        start: options.wait,
        end: options.session.opening,
        allowed: options.allowed,
        room: options.session.room,
    };
    bridge::run(launchers, terms, input, output, stop, report).await;
}

/// What stands for each server in the names of its tools: its own name, and in
/// front of it that of its package if servers of two packages have that name. Names
/// are the same if they are in the characters that hosts take; of several labels that
/// are the same then, all but the first end in a digest. Nothing depends on
/// which servers are up, and when.
pub fn labels<'s>(servers: impl Iterator<Item = (&'s str, &'s str)> + Clone) -> Vec<String> {
    let mut packages: HashMap<String, Vec<&str>> = HashMap::new();
    for (package, name) in servers.clone() {
        let of = packages.entry(names::sanitized(name)).or_default();
        if !of.contains(&package) {
            of.push(package);
        }
    }
    let mut owners: HashMap<String, (&str, &str)> = HashMap::new();
    servers
        .map(|(package, name)| {
            let mut label = match packages.get(&names::sanitized(name)) {
                Some(several) if several.len() > 1 => format!("{package}_{name}"),
                _ => name.to_owned(),
            };
            loop {
                match owners.entry(names::sanitized(&label)) {
                    Entry::Occupied(owner) if *owner.get() != (package, name) => {
                        label = format!("{label}_{}", names::digest(package, name));
                    }
                    owner => {
                        owner.or_insert((package, name));
                        return label;
                    }
                }
            }
        })
        .collect()
}
