//! Claude Code: what its hooks are given, what they may answer, and the names
//! it gives things (measured with 2.1.197).

mod transcript;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use serde::Serialize;

use crate::everos::config::{Arguments, Config, Env};
use crate::everos::json::Json;
use crate::everos::text::Text;
use crate::everos::turn::Transcript;
use crate::everos::{self, Call, Event, Host, Outcome, Start};

/// Tags that Claude Code puts around what the user did not type.
const WRAPPERS: &[&str] = &[
    "system-reminder",
    "ide_selection",
    "ide_opened_file",
    "ide_diagnostics",
    "command-name",
    "command-message",
    "command-args",
    "local-command-stdout",
    "local-command-stderr",
    "local-command-caveat",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "task-notification",
    "attachment",
    "function_results",
    "tool_result",
];

/// Claude Code as a host of the memory plugin.
#[derive(Debug, Clone, Copy)]
pub struct ClaudeCode;

impl Host for ClaudeCode {
    fn app_id(&self) -> &'static str {
        "claude-code"
    }

    fn agent_id(&self) -> &'static str {
        "claude-code"
    }

    fn env_prefix(&self) -> &'static str {
        "EVEROS_CC_"
    }

    fn option_variable(&self, name: &str) -> String {
        format!("CLAUDE_PLUGIN_OPTION_{}", name.to_ascii_uppercase())
    }

    fn data_dir_variable(&self) -> &'static str {
        "CLAUDE_PLUGIN_DATA"
    }

    fn default_data_dir(&self) -> &'static str {
        ".everos/.claude-code"
    }

    fn guard_variable(&self) -> &'static str {
        "EVEROS_CC_INSIDE"
    }

    fn shell_environment_variable(&self) -> &'static str {
        "CLAUDE_ENV_FILE"
    }

    fn status_command(&self) -> &'static str {
        "/everos:status"
    }

    fn wrappers(&self) -> &'static [&'static str] {
        WRAPPERS
    }

    fn transcript(&self, path: &Path) -> io::Result<Box<dyn Transcript>> {
        Ok(Box::new(transcript::File::open(path)?))
    }
}

/// A hook event, by the name it has on our command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// `session-start`
    SessionStart,
    /// `user-prompt-submit`
    UserPromptSubmit,
    /// `stop`
    Stop,
    /// `session-end`
    SessionEnd,
    /// `pre-compact`
    PreCompact,
}

impl Hook {
    /// All hooks with their names on our command line.
    pub const ALL: [(&'static str, Self); 5] = [
        ("session-start", Self::SessionStart),
        ("user-prompt-submit", Self::UserPromptSubmit),
        ("stop", Self::Stop),
        ("session-end", Self::SessionEnd),
        ("pre-compact", Self::PreCompact),
    ];

    /// The hook called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, hook)| *hook)
    }

    /// Claude Code's own name of the event.
    fn event_name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::Stop => "Stop",
            Self::SessionEnd => "SessionEnd",
            Self::PreCompact => "PreCompact",
        }
    }

    /// An event of this hook, for everything that does not depend on a payload.
    fn blank_event(self) -> Event {
        match self {
            Self::SessionStart => Event::SessionStart(Start::Fresh),
            Self::UserPromptSubmit => Event::Prompt(Text::default()),
            Self::Stop => Event::TurnEnd(None),
            Self::SessionEnd => Event::SessionEnd,
            Self::PreCompact => Event::BeforeCompaction,
        }
    }
}

/// Runs a hook: the payload that `input` reads in, the bytes for standard output
/// back. Whatever happens, it returns within the hook's time and never fails;
/// work that is not done by then ends with the process.
pub fn run(
    hook: Hook,
    input: impl FnOnce() -> io::Result<Vec<u8>> + Send + 'static,
    env: Env,
) -> Vec<u8> {
    let limit = everos::limit(
        &hook.blank_event(),
        &Config::resolve(&ClaudeCode, &env, &Arguments::new()),
    );
    let (sender, receiver) = mpsc::channel();
    let work = move || {
        let payload = input().unwrap_or_default();
        let outcome = match call_of(hook, &payload, &env) {
            Some(call) => everos::run(&ClaudeCode, &env, &call),
            None => {
                everos::empty_call(&ClaudeCode, &env);
                Outcome::default()
            }
        };
        let _ = sender.send(answer(hook, outcome));
    };
    if std::thread::Builder::new()
        .name(hook.event_name().to_owned())
        .spawn(work)
        .is_err()
    {
        return Vec::new();
    }
    receiver.recv_timeout(limit).unwrap_or_default()
}

/// Reads a payload. `None` if it names no session.
fn call_of(hook: Hook, payload: &[u8], env: &Env) -> Option<Call> {
    // Some shells put a byte order mark before what they pipe.
    let payload = Json::parse(payload.strip_prefix(b"\xef\xbb\xbf").unwrap_or(payload))?;
    let text = |name: &str| {
        payload
            .str(name)
            .filter(|text| !text.trim().is_empty())
            .map(str::to_owned)
    };
    let event = match hook.blank_event() {
        Event::SessionStart(_) => Event::SessionStart(match payload.str("source") {
            Some("resume") => Start::Resumed,
            Some("compact") => Start::Compacted,
            _ => Start::Fresh,
        }),
        Event::Prompt(_) => Event::Prompt(payload.text("prompt").cloned().unwrap_or_default()),
        Event::TurnEnd(_) => Event::TurnEnd(
            payload
                .text("last_assistant_message")
                .filter(|text| !text.is_blank())
                .cloned(),
        ),
        event => event,
    };
    let directory = text("cwd")
        .map(PathBuf::from)
        .or_else(|| env.get("CLAUDE_PROJECT_DIR").map(PathBuf::from));
    Some(Call {
        event,
        session: text("session_id")?,
        turn: text("prompt_id"),
        transcript: text("transcript_path"),
        directory: directory.unwrap_or_default(),
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<Specific>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Specific {
    hook_event_name: &'static str,
    additional_context: String,
}

/// The outcome as Claude Code wants it; nothing if there is nothing to say.
fn answer(hook: Hook, outcome: Outcome) -> Vec<u8> {
    if outcome == Outcome::default() {
        return Vec::new();
    }
    let hook_specific_output = outcome.context.map(|additional_context| Specific {
        hook_event_name: hook.event_name(),
        additional_context,
    });
    let answer = Answer {
        hook_specific_output,
        system_message: outcome.notice,
    };
    serde_json::to_vec(&answer).unwrap_or_default()
}
