//! Brings a local server up (design document, section 6.1 and D6): once for all
//! windows, independent of this process, and honest about what came of it.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::Context;
use super::client::{Client, Health};
use super::deadline::Deadline;
use super::http::Failure;
use super::log::set_aside;
use super::state::millis;
use crate::sys;

/// Name of the server's log in the data directory.
pub const SERVER_LOG: &str = "everos-server.log";
/// How long the first question for health may take.
const PROBE: Duration = Duration::from_secs(2);
/// How long to wait for a server that was started.
const WAIT: Duration = Duration::from_secs(5);
/// Pause between two questions while waiting.
const PAUSE: Duration = Duration::from_millis(100);
/// Within this time of a start nobody starts another. A server needs 5 to 18
/// seconds until it listens.
const SINGLE_FLIGHT: Duration = Duration::from_secs(30);
/// A server that old and not listening has failed, even if its process lives.
const START_LIMIT: Duration = Duration::from_secs(120);
const MAX_SERVER_LOG: u64 = 5 * 1024 * 1024;

/// What came of looking for a server.
#[derive(Debug)]
pub enum Found {
    /// It was up.
    Healthy(Health),
    /// It was started and is up.
    Started(Health),
    /// It was started, by us or by another window, and is not up yet.
    Starting,
    /// It could not be started; why.
    NotStarted(String),
    /// It is not up, and not ours to start; why.
    Unreachable(Failure),
}

/// The last start, for the other windows.
#[derive(Debug, Serialize, Deserialize)]
struct Launch {
    /// The process; `None` once it has handed over to a service and ended well.
    process: Option<u32>,
    at: i64,
}

/// Looks for the server; starts it if it is on this machine and nothing listens.
pub fn ensure(context: &Context<'_>, deadline: Deadline) -> Found {
    let client = context.client();
    let failure = match client.health(deadline.within(PROBE)) {
        Ok(health) => return Found::Healthy(health),
        Err(failure) => failure,
    };
    context.log.line(&format!("health: {failure}"));
    let endpoint = &context.config.base_url.value;
    // Whatever listens there already would only be in the way of a second one.
    if !endpoint.is_loopback()
        || !matches!(failure, Failure::Unreachable(kind) if kind != std::io::ErrorKind::Unsupported)
    {
        return Found::Unreachable(failure);
    }
    let mut child = match launch(context, client, deadline) {
        Ok(Launched::Here(child)) => Some(child),
        Ok(Launched::Elsewhere) => None,
        Ok(Launched::Meanwhile(health)) => return Found::Healthy(health),
        Err(reason) => return Found::NotStarted(reason),
    };
    let wait = deadline.within(WAIT);
    loop {
        if let Ok(health) = client.health(wait) {
            return if child.is_some() {
                Found::Started(health)
            } else {
                Found::Healthy(health)
            };
        }
        match child.as_mut().map(Child::try_wait) {
            // A command that hands over to a service ends well and at once.
            Some(Ok(Some(status))) if status.success() => note_launch(context, None),
            // A server that has failed will not come up, and to say otherwise
            // would be a lie.
            Some(Ok(Some(status))) => {
                return Found::NotStarted(format!("the start command ended with {status}"));
            }
            _ => {}
        }
        if !wait.sleep(PAUSE) {
            break;
        }
    }
    if child.is_some() || last_launch(context).is_some_and(|launch| launch.is_alive()) {
        Found::Starting
    } else {
        Found::NotStarted("the start command has ended".to_owned())
    }
}

/// Whether a server was started a moment ago and may still come up.
pub fn is_starting(context: &Context<'_>) -> bool {
    last_launch(context).is_some_and(|launch| launch.age() < SINGLE_FLIGHT && launch.is_alive())
}

impl Launch {
    fn age(&self) -> Duration {
        let age = millis(SystemTime::now()).saturating_sub(self.at);
        Duration::from_millis(u64::try_from(age).unwrap_or(u64::MAX))
    }

    fn is_alive(&self) -> bool {
        self.process.is_none_or(sys::is_running)
    }
}

enum Launched {
    /// This process started it.
    Here(Child),
    /// Another window did, just now.
    Elsewhere,
    /// It is up by now.
    Meanwhile(Health),
}

fn launch_file(context: &Context<'_>) -> Option<PathBuf> {
    context
        .store
        .as_ref()
        .map(|store| store.path("server-start.json"))
}

fn last_launch(context: &Context<'_>) -> Option<Launch> {
    context.store.as_ref()?.read(&launch_file(context)?)
}

fn note_launch(context: &Context<'_>, process: Option<u32>) {
    if let (Some(store), Some(path)) = (&context.store, launch_file(context)) {
        let at = millis(SystemTime::now());
        let _ = store.write(&path, &Launch { process, at });
    }
}

/// Starts the server unless another window is doing so. The lock is held only
/// for the start; its record guards the time until the server listens.
fn launch(
    context: &Context<'_>,
    client: Client<'_>,
    deadline: Deadline,
) -> Result<Launched, String> {
    // Without a usable data directory there is no lock; a second server on the
    // same memory ends by itself.
    let lock = context
        .store
        .as_ref()
        .map(|store| store.lock_shared("server-start.lock", deadline.within(WAIT)));
    if let Some(launch) = last_launch(context) {
        let age = launch.age();
        if age < SINGLE_FLIGHT || age < START_LIMIT && launch.is_alive() {
            return Ok(Launched::Elsewhere);
        }
    }
    if let Ok(health) = client.health(deadline.within(PROBE)) {
        return Ok(Launched::Meanwhile(health));
    }
    let child = spawn(context)?;
    note_launch(context, Some(child.id()));
    drop(lock);
    Ok(Launched::Here(child))
}

fn spawn(context: &Context<'_>) -> Result<Child, String> {
    let config = &context.config;
    let (program, arguments) = config
        .start_cmd
        .value
        .split_first()
        .ok_or("the start command is empty")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("EVEROS_MEMORIZE__MODE", "agent")
        .env("EVEROS_API__PORT", config.base_url.value.port().to_string())
        .env(context.host.guard_variable(), "1")
        .stdin(Stdio::null());
    // Not in the project: the server would keep the directory busy.
    if let Some(directory) = config
        .everos_dir
        .value
        .clone()
        .or_else(|| context.env.home())
    {
        command.current_dir(directory);
    }
    let log = context.store.as_ref().and_then(|store| {
        let path = store.path(SERVER_LOG);
        set_aside(&path, MAX_SERVER_LOG);
        let file = sys::keep_private(OpenOptions::new().create(true).append(true))
            .open(path)
            .ok()?;
        Some((file.try_clone().ok()?, file))
    });
    match log {
        Some((out, err)) => command.stdout(out).stderr(err),
        None => command.stdout(Stdio::null()).stderr(Stdio::null()),
    };
    sys::detach(&mut command);
    context.log.line(&format!("starting {program}"));
    command
        .spawn()
        .map_err(|error| format!("{program}: {error}"))
}
