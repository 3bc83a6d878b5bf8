//! The memory plugin: recall before a prompt, capture after a turn, seal at the
//! end, against a local EverOS server. Nothing here knows a particular host.
//!
//! # The map
//!
//! | module | what lives there |
//! | --- | --- |
//! | [`stages`] | one file per hook event: session start, recall, capture, seal |
//! | [`turn`] | the turn model: what hosts' transcripts have in common |
//! | [`message`] | a turn as EverOS messages |
//! | [`state`] | what is remembered between hook calls |
//! | [`client`], [`search`], [`http`] | the server |
//! | [`identity`], [`git`] | ids of user, project, agent |
//! | [`config`] | settings and the layer each comes from |
//! | [`query`], [`render`] | prompt in, memory block out |
//! | [`redact`] | credentials never leave |
//! | [`provision`] | starting a local server |
//! | [`handover`] | settings for the model's shell |
//! | [`status`] | a report on all of it |
//! | [`json`], [`text`], [`time`], [`digest`], [`deadline`], [`log`] | tools |
//!
//! A host (see [`Host`]) brings events as [`Call`]s and its transcripts as
//! [`turn::Transcript`]s, and takes an [`Outcome`] back. A hook must never be in
//! the way: every stage keeps its deadline, and whatever fails is noted and
//! left for a later stage.

pub mod client;
pub mod config;
pub mod deadline;
pub mod digest;
pub mod git;
pub mod handover;
pub mod http;
pub mod identity;
pub mod json;
pub mod log;
pub mod message;
pub mod provision;
pub mod query;
pub mod redact;
pub mod render;
pub mod search;
pub mod stages;
pub mod state;
pub mod status;
pub mod text;
pub mod time;
pub mod turn;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use client::Client;
use config::{Arguments, Config, Env};
use identity::Identity;
use log::Log;
use state::Store;
use text::Text;

/// Name of the tag around injected memory.
pub const FENCE: &str = "everos_memory";

/// The facts about a host that a stage asks for.
pub trait Host: Sync {
    /// The partition of this host's memories.
    fn app_id(&self) -> &'static str;
    /// The id under which the host's agent speaks.
    fn agent_id(&self) -> &'static str;
    /// What the names of our environment variables start with.
    fn env_prefix(&self) -> &'static str;
    /// The variable that carries the plugin option `name`.
    fn option_variable(&self, name: &str) -> String;
    /// The variable that names the plugin's data directory.
    fn data_dir_variable(&self) -> &'static str;
    /// The data directory below the home directory, when nothing names one.
    fn default_data_dir(&self) -> &'static str;
    /// The variable that tells our own children from the host's.
    fn guard_variable(&self) -> &'static str;
    /// The variable that names a file whose lines are run before each command of
    /// the model's shell. The host sets it when a session starts.
    fn shell_environment_variable(&self) -> &'static str;
    /// What the user types to see the status report.
    fn status_command(&self) -> &'static str;
    /// Names of tags the host puts around text that is not the user's own.
    fn wrappers(&self) -> &'static [&'static str];
    /// Opens a transcript.
    ///
    /// # Errors
    ///
    /// Fails when the file cannot be opened.
    fn transcript(&self, path: &Path) -> io::Result<Box<dyn turn::Transcript>>;
}

/// How a session came to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With nothing before it.
    Fresh,
    /// It goes on where it ended.
    Resumed,
    /// Its context was compacted.
    Compacted,
}

/// What happened in the host.
#[derive(Debug, Clone)]
pub enum Event {
    /// A session starts.
    SessionStart(Start),
    /// The user has sent a prompt.
    Prompt(Text),
    /// The model has finished a turn; its last words, if there are any.
    TurnEnd(Option<Text>),
    /// The session ends.
    SessionEnd,
    /// The context is about to be compacted.
    BeforeCompaction,
}

impl Event {
    fn stage(&self) -> &'static str {
        match self {
            Self::SessionStart(_) => "session-start",
            Self::Prompt(_) => "recall",
            Self::TurnEnd(_) => "capture",
            Self::SessionEnd => "session-end",
            Self::BeforeCompaction => "pre-compact",
        }
    }
}

/// One hook call.
#[derive(Debug, Clone)]
pub struct Call {
    /// What happened.
    pub event: Event,
    /// The session's id.
    pub session: String,
    /// The turn it happened in.
    pub turn: Option<String>,
    /// The session's transcript.
    pub transcript: Option<String>,
    /// The working directory.
    pub directory: PathBuf,
}

/// What a hook call gives back to the host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// For the model.
    pub context: Option<String>,
    /// For the user.
    pub notice: Option<String>,
}

impl Outcome {
    /// An outcome that only tells the user something.
    pub fn notice(text: impl Into<String>) -> Self {
        Self {
            context: None,
            notice: Some(text.into()),
        }
    }
}

/// What every stage works with.
pub struct Context<'a> {
    /// The host.
    pub host: &'a dyn Host,
    /// The environment.
    pub env: &'a Env,
    /// The settings.
    pub config: Config,
    /// The ids.
    pub identity: Identity,
    /// The data directory, if there can be one.
    pub store: Option<Store>,
    /// The debug log.
    pub log: Log,
}

impl<'a> Context<'a> {
    /// The context of work in `directory`.
    pub fn new(
        host: &'a dyn Host,
        env: &'a Env,
        arguments: &Arguments,
        directory: &Path,
        stage: &'static str,
    ) -> Self {
        let config = Config::resolve(host, env, arguments);
        let identity = Identity::resolve(host, &config, directory);
        let data_dir = config.data_dir.value.as_deref();
        let store = data_dir.map(Store::new);
        let log = Log::new(data_dir, config.debug.value, stage);
        Self {
            host,
            env,
            config,
            identity,
            store,
            log,
        }
    }

    /// The server.
    pub fn client(&self) -> Client<'_> {
        Client {
            endpoint: &self.config.base_url.value,
        }
    }
}

/// Runs the stage for one hook call.
pub fn run(host: &dyn Host, env: &Env, call: &Call) -> Outcome {
    // A child of ours must not observe itself.
    if is_guarded(host, env) {
        return Outcome::default();
    }
    let context = Context::new(
        host,
        env,
        &Arguments::new(),
        &call.directory,
        call.event.stage(),
    );
    let ours = |data_dir: &Path| call.directory.starts_with(data_dir);
    if context.config.data_dir.value.as_deref().is_some_and(ours) {
        return Outcome::default();
    }
    let outcome = match &call.event {
        Event::SessionStart(start) => stages::session_start::run(&context, call, *start),
        Event::Prompt(prompt) => stages::recall::run(&context, call, prompt),
        Event::TurnEnd(last_reply) => stages::capture::run(&context, call, last_reply.as_ref()),
        Event::SessionEnd | Event::BeforeCompaction => stages::seal::run(&context, call),
    };
    context.log.line("done");
    outcome
}

/// Whether this process descends from a server we started.
fn is_guarded(host: &dyn Host, env: &Env) -> bool {
    env.get(host.guard_variable()).is_some()
}

/// The longest that the stage of `event` may take, by the host's own limits.
pub fn limit(event: &Event, config: &Config) -> Duration {
    match event {
        Event::SessionStart(_) => Duration::from_secs(13),
        Event::Prompt(_) => config.recall_timeout.value + Duration::from_secs(1),
        Event::TurnEnd(_) => Duration::from_secs(6),
        // The host gives a session's end 1.5 seconds, whatever it is told.
        Event::SessionEnd => Duration::from_millis(1300),
        Event::BeforeCompaction => Duration::from_secs(6),
    }
}

/// Hook calls that said nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Empty {
    /// Since the last session that was warned of them.
    pub lately: u64,
    /// Altogether.
    pub total: u64,
    /// When the last one was, in milliseconds since 1970.
    pub last_at: i64,
}

impl Empty {
    /// File name in the data directory.
    pub const FILE: &'static str = "no-payload.json";
    /// After so many calls in a row the user is told.
    pub const WORTH_A_WARNING: u64 = 3;
}

/// Notes that a hook was called without a usable payload.
pub fn empty_call(host: &dyn Host, env: &Env) {
    if is_guarded(host, env) {
        return;
    }
    let config = Config::resolve(host, env, &Arguments::new());
    let Some(store) = config.data_dir.value.as_deref().map(Store::new) else {
        return;
    };
    let Ok(_lock) = store.lock_shared(
        "no-payload.lock",
        deadline::Deadline::after(Duration::from_millis(200)),
    ) else {
        return;
    };
    let path = store.path(Empty::FILE);
    let before: Empty = store.read(&path).unwrap_or_default();
    let now = state::millis(SystemTime::now());
    let _ = store.write(
        &path,
        &Empty {
            lately: before.lately + 1,
            total: before.total + 1,
            last_at: now,
        },
    );
}
