//! A report on the memory plugin: the server, the ids, the settings and where
//! each comes from, what was captured, what waits, and what to do if something
//! is wrong.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;

use super::config::{Config, Key, Layer, Setting};
use super::deadline::Deadline;
use super::http::Failure;
use super::log::{DEBUG_LOG, last_lines};
use super::provision::SERVER_LOG;
use super::render::is_invisible;
use super::state::Session;
use super::{Context, Empty, time};

/// How long the server may take to answer.
const PROBE: Duration = Duration::from_secs(2);
/// How many sessions are listed.
const SESSIONS: usize = 5;
/// How many lines of a log are shown.
const LOG_LINES: usize = 5;

/// Everything the report says.
#[derive(Debug, Serialize)]
pub struct Status {
    /// The version of this document's form.
    pub schema_version: u32,
    /// Whether memory works: the server answers and nothing waits for it in vain.
    pub healthy: bool,
    /// The server.
    pub server: Server,
    /// The ids.
    pub identity: Ids,
    /// Every setting.
    pub configuration: Vec<Row>,
    /// What was captured.
    pub capture: Capture,
    /// Hook calls without a payload.
    pub empty_calls: Empty,
    /// The end of the debug log.
    pub debug_log: Vec<String>,
    /// The end of the server's log, if the server does not answer.
    pub server_log: Vec<String>,
    /// What to look at, if something is wrong.
    pub checklist: Vec<String>,
    /// Why nothing can be kept in the data directory, if so. Without it a turn is
    /// sent once or not at all.
    pub data_failure: Option<String>,
}

/// The server.
#[derive(Debug, Serialize)]
pub struct Server {
    /// Its address.
    pub base_url: String,
    /// Whether it answers.
    pub reachable: bool,
    /// Why it does not.
    pub failure: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// What it can do.
    pub capabilities: std::collections::BTreeMap<String, bool>,
    /// What is off.
    pub disabled_features: Vec<String>,
    /// Memories that wait for the index.
    pub pending: Option<u64>,
    /// Why its service is degraded.
    pub degraded: Vec<String>,
}

/// The ids of the working directory.
#[derive(Debug, Serialize)]
pub struct Ids {
    /// Partition of the host.
    pub app_id: &'static str,
    /// Partition of the project.
    pub project_id: String,
    /// What the project id comes from.
    pub project_source: &'static str,
    /// The user.
    pub user_id: Option<String>,
    /// The agent.
    pub agent_id: &'static str,
}

/// One setting.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The name of its variable.
    pub name: String,
    /// Its value.
    pub value: Option<String>,
    /// Where it comes from.
    pub source: &'static str,
    /// Whether a value of a stronger layer could not be used.
    pub ignored_invalid: bool,
}

/// What was captured, in all sessions that are remembered.
#[derive(Debug, Default, Serialize)]
pub struct Capture {
    /// When the last turn was stored.
    pub last_capture: Option<String>,
    /// Credentials taken out.
    pub redactions: u64,
    /// Pieces of transcripts that wait to be sent.
    pub pending: usize,
    /// Sessions with messages that are not sealed yet.
    pub unsealed: usize,
    /// Turns given up.
    pub lost: u64,
    /// Turns the server refused.
    pub refused: u64,
    /// The sessions seen last.
    pub sessions: Vec<Seen>,
}

/// One session.
#[derive(Debug, Serialize)]
pub struct Seen {
    /// Its id.
    pub session_id: String,
    /// Its project.
    pub project_id: String,
    /// Turns stored.
    pub turns: u64,
    /// Messages stored.
    pub messages: u64,
    /// Pieces that wait.
    pub pending: usize,
    /// Whether nothing stored is unsealed.
    pub sealed: bool,
    /// When the last turn was stored.
    pub last_capture: Option<String>,
    /// What went wrong last.
    pub trouble: Option<String>,
}

/// Gathers the report.
pub fn gather(context: &Context<'_>) -> Status {
    let health = context.client().health(Deadline::after(PROBE));
    let config = &context.config;
    let (capture, empty_calls) = match &context.store {
        Some(store) => {
            let states = store
                .sessions()
                .into_iter()
                .rev()
                .filter_map(|(path, _)| store.read::<Session>(&path));
            (
                capture_of(states),
                store.read(&store.path(Empty::FILE)).unwrap_or_default(),
            )
        }
        None => (Capture::default(), Empty::default()),
    };
    let lines = |name: &str| {
        context
            .store
            .as_ref()
            .map(|store| last_lines(&store.path(name), LOG_LINES))
            .unwrap_or_default()
    };
    let troubled = capture
        .sessions
        .first()
        .is_some_and(|session| session.pending > 0);
    let data_failure = context
        .store
        .as_ref()
        .and_then(|store| store.probe().err())
        .map(|error| error.to_string());
    let healthy = health.is_ok() && !troubled && data_failure.is_none();
    Status {
        schema_version: 1,
        healthy,
        data_failure,
        checklist: if healthy {
            Vec::new()
        } else {
            checklist(context, health.as_ref().err(), troubled)
        },
        debug_log: lines(DEBUG_LOG),
        server_log: if health.is_ok() {
            Vec::new()
        } else {
            lines(SERVER_LOG)
        },
        server: match health {
            Ok(health) => Server {
                base_url: config.base_url.value.to_string(),
                reachable: true,
                failure: None,
                version: health.version,
                capabilities: health.capabilities,
                disabled_features: health.disabled,
                pending: health.pending,
                degraded: health.degraded,
            },
            Err(failure) => Server {
                base_url: config.base_url.value.to_string(),
                reachable: false,
                failure: Some(failure.to_string()),
                version: None,
                capabilities: Default::default(),
                disabled_features: Vec::new(),
                pending: None,
                degraded: Vec::new(),
            },
        },
        identity: Ids {
            app_id: context.identity.app,
            project_id: context.identity.project.clone(),
            project_source: context.identity.project_source.describe(),
            user_id: context.identity.user.clone(),
            agent_id: context.identity.agent,
        },
        configuration: rows(context),
        capture,
        empty_calls,
    }
}

fn capture_of(states: impl Iterator<Item = Session>) -> Capture {
    let mut capture = Capture::default();
    let mut last = None;
    for state in states {
        last = last.max(state.report.captured_at);
        capture.redactions += state.report.redactions;
        capture.pending += state.pending.len();
        capture.unsealed += usize::from(!state.unsealed.is_empty());
        capture.lost += state.report.lost;
        capture.refused += state.report.refused;
        if capture.sessions.len() < SESSIONS {
            capture.sessions.push(Seen {
                session_id: state.session,
                project_id: state.project,
                turns: state.report.turns,
                messages: state.report.messages,
                pending: state.pending.len(),
                sealed: state.unsealed.is_empty() && state.pending.is_empty(),
                last_capture: state.report.captured_at.map(time::format),
                trouble: state.report.trouble,
            });
        }
    }
    capture.last_capture = last.map(time::format);
    capture
}

/// Every setting in the order of their list, with its source.
fn rows(context: &Context<'_>) -> Vec<Row> {
    let Config {
        base_url,
        everos_dir,
        start_cmd,
        user_id,
        project_id,
        recall_timeout,
        data_dir,
        verbose,
        debug,
        redact,
    } = &context.config;
    let path =
        |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let flag = |flag: &bool| Some(if *flag { "1" } else { "0" }.to_owned());
    let command = |words: &Vec<String>| {
        let quote = |word: &String| {
            if word.is_empty() || word.contains(char::is_whitespace) {
                format!("{word:?}")
            } else {
                word.clone()
            }
        };
        Some(words.iter().map(quote).collect::<Vec<_>>().join(" "))
    };
    let rows: [(Key, Option<String>, (Layer, bool)); 10] = [
        (
            Key::BaseUrl,
            Some(base_url.value.to_string()),
            origin(base_url),
        ),
        (Key::EverosDir, path(&everos_dir.value), origin(everos_dir)),
        (Key::StartCmd, command(&start_cmd.value), origin(start_cmd)),
        (Key::UserId, user_id.value.clone(), origin(user_id)),
        (Key::ProjectId, project_id.value.clone(), origin(project_id)),
        (
            Key::RecallTimeoutMs,
            Some(recall_timeout.value.as_millis().to_string()),
            origin(recall_timeout),
        ),
        (Key::DataDir, path(&data_dir.value), origin(data_dir)),
        (Key::Verbose, flag(&verbose.value), origin(verbose)),
        (Key::Debug, flag(&debug.value), origin(debug)),
        (Key::Redact, flag(&redact.value), origin(redact)),
    ];
    rows.into_iter()
        .map(|(key, value, (layer, ignored_invalid))| Row {
            name: format!("{}{}", context.host.env_prefix(), key.suffix()),
            value,
            source: layer.name(),
            ignored_invalid,
        })
        .collect()
}

fn origin<T>(setting: &Setting<T>) -> (Layer, bool) {
    (setting.layer, setting.ignored)
}

/// What a person has to look at, in this order. Nothing here is probed.
fn checklist(context: &Context<'_>, failure: Option<&Failure>, troubled: bool) -> Vec<String> {
    let config = &context.config;
    let url = &config.base_url.value;
    let mut list = Vec::new();
    if failure.is_some() && url.is_loopback() {
        list.push(format!(
            "Installed? `{}` must be on PATH, or set {prefix}EVEROS_DIR and {prefix}START_CMD.",
            config.start_cmd.value.join(" "),
            prefix = context.host.env_prefix()
        ));
        list.push("Initialised? `everos init` writes everos.toml and ome.toml.".to_owned());
        list.push("Keys filled in? everos.toml needs a model address and key under [llm]; without an embedding only keyword search works.".to_owned());
        list.push(format!("Started? `{}` takes 5 to 18 seconds until it listens at {url}; a new session starts it too.", config.start_cmd.value.join(" ")));
    } else if failure.is_some() {
        list.push(format!("Is {url} the right address, and is it reachable from here? Only a server on this machine is started automatically."));
    } else if troubled {
        list.push("The server answers, but turns wait to be sent: they go with the next turn or the next session. See `trouble` above.".to_owned());
    }
    list.push(format!(
        "Details: set {}DEBUG=1 and look at {DEBUG_LOG} and {SERVER_LOG} in the data directory.",
        context.host.env_prefix()
    ));
    list
}

impl Status {
    /// The report for people.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        let Self {
            server,
            identity,
            capture,
            ..
        } = self;
        let verdict = match (self.healthy, server.reachable) {
            (true, _) => "ok".to_owned(),
            (false, true) => match &self.data_failure {
                Some(error) => format!("the data directory cannot be written: {error}"),
                None => "turns are waiting".to_owned(),
            },
            (false, false) => format!(
                "unreachable: {}",
                server.failure.as_deref().unwrap_or_default()
            ),
        };
        // Writing to a string cannot fail.
        let mut line = |text: String| writeln!(out, "{}", harmless(&text)).unwrap_or_default();
        line(format!("EverOS memory: {verdict}"));
        line(format!(
            "  server        {}{}",
            server.base_url,
            server
                .version
                .as_deref()
                .map(|version| format!(" (EverOS {version})"))
                .unwrap_or_default()
        ));
        if server.reachable {
            let list = |wanted: bool| {
                server
                    .capabilities
                    .iter()
                    .filter(|(_, on)| **on == wanted)
                    .map(|(name, _)| name.as_str())
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            line(format!(
                "  capabilities  {}{}",
                or_none(&list(true)),
                if list(false).is_empty() {
                    String::new()
                } else {
                    format!("; off: {}", list(false))
                }
            ));
            if !server.disabled_features.is_empty() {
                line(format!(
                    "  disabled      {}",
                    server.disabled_features.join(", ")
                ));
            }
            if let Some(pending) = server.pending {
                line(format!("  indexing      {pending} waiting"));
            }
            if !server.degraded.is_empty() {
                line(format!("  degraded      {}", server.degraded.join(", ")));
            }
        }
        line("\nIdentity".to_owned());
        line(format!("  app_id        {}", identity.app_id));
        line(format!(
            "  project_id    {} (from {})",
            identity.project_id, identity.project_source
        ));
        line(format!(
            "  user_id       {}",
            identity
                .user_id
                .as_deref()
                .unwrap_or("none: personal memory is off")
        ));
        line(format!("  agent_id      {}", identity.agent_id));
        line("\nConfiguration".to_owned());
        for row in &self.configuration {
            let ignored = if row.ignored_invalid {
                ", an invalid value was ignored"
            } else {
                ""
            };
            line(format!(
                "  {:<28}{} ({}{ignored})",
                row.name,
                row.value.as_deref().unwrap_or("not set"),
                row.source
            ));
        }
        line("\nCapture".to_owned());
        line(format!(
            "  last          {}",
            capture.last_capture.as_deref().unwrap_or("never")
        ));
        line(format!(
            "  waiting       {} to be sent, {} sessions unsealed",
            capture.pending, capture.unsealed
        ));
        line(format!("  redacted      {}", capture.redactions));
        line(format!(
            "  lost          {} given up, {} refused",
            capture.lost, capture.refused
        ));
        line(format!(
            "  empty calls   {}{}",
            self.empty_calls.total,
            if self.empty_calls.total == 0 {
                String::new()
            } else {
                format!(", the last at {}", time::format(self.empty_calls.last_at))
            }
        ));
        for session in &capture.sessions {
            let state = if session.sealed { "sealed" } else { "open" };
            let trouble = session
                .trouble
                .as_deref()
                .map(|trouble| format!(", trouble: {trouble}"))
                .unwrap_or_default();
            line(format!(
                "  {} in {}: {} turns, {} messages, {} waiting, {state}, last {}{trouble}",
                session.session_id,
                session.project_id,
                session.turns,
                session.messages,
                session.pending,
                session.last_capture.as_deref().unwrap_or("never"),
            ));
        }
        for (title, lines) in [
            ("Debug log", &self.debug_log),
            ("Server log", &self.server_log),
            ("To check", &self.checklist),
        ] {
            if !lines.is_empty() {
                line(format!("\n{title}"));
                lines.iter().for_each(|text| line(format!("  {text}")));
            }
        }
        out
    }
}

/// The line with everything replaced that a terminal obeys or a reader does not
/// see: versions, ids and reasons come from the server and from the host.
fn harmless(text: &str) -> String {
    let (before, line) = match text.strip_prefix('\n') {
        Some(line) => ("\n", line),
        None => ("", text),
    };
    let shown = line.chars().map(|ch| {
        if ch.is_control() || is_invisible(ch) {
            char::REPLACEMENT_CHARACTER
        } else {
            ch
        }
    });
    before.chars().chain(shown).collect()
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}
