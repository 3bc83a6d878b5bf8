//! Why a server is of no use: values that say what to do, not errors of the run.

use std::fmt;

use rmcp::model::ErrorData;

use super::connection::Words;
use crate::mcp::credential::Secrets;
use crate::spec::credential;

/// What was being done when a server failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Starting its process.
    Start,
    /// Connecting to its address.
    Connect,
    /// The exchange of `initialize`.
    Initialize,
    /// Asking for its tools.
    ListTools,
    /// A request, or waiting for one.
    Serve,
}

impl Step {
    /// The step in one word, for reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Connect => "connect",
            Self::Initialize => "initialize",
            Self::ListTools => "tools/list",
            Self::Serve => "serve",
        }
    }
}

/// How a server failed. No part of it holds what looks like a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The server's name in `mcp.json`.
    pub server: String,
    /// What was being done.
    pub step: Step,
    /// What went wrong.
    pub cause: String,
    /// The way out, if one is known.
    pub help: Option<String>,
    /// What it sent or wrote to standard output that is no message, in a sentence.
    pub stray: Option<Box<str>>,
    /// The last lines that its process wrote to standard error.
    pub stderr: Vec<String>,
    /// See [`Self::is_lasting`].
    pub(super) lasting: bool,
}

impl Failure {
    /// A failure of `server` without a way out and without its output.
    pub fn new(server: &str, step: Step, cause: impl AsRef<str>) -> Self {
        Self {
            server: server.to_owned(),
            step,
            cause: credential::masked(cause.as_ref()).into_owned(),
            help: None,
            stray: None,
            stderr: Vec::new(),
            // What a start needs is all on this machine.
            lasting: step == Step::Start,
        }
    }

    /// The same failure, which lasts.
    #[must_use]
    pub(super) fn lasting(mut self) -> Self {
        self.lasting = true;
        self
    }

    /// Whether it lasts until somebody changes something, here or there, so that trying
    /// again helps nobody.
    pub fn is_lasting(&self) -> bool {
        self.lasting
    }

    /// The same failure with the way out of it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same failure with what the process wrote to standard error last.
    #[must_use]
    pub fn stderr(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.stderr = lines
            .into_iter()
            .map(|line| credential::masked(&line).into_owned())
            .collect();
        self
    }

    /// The same failure with what the server did besides its messages.
    #[must_use]
    pub(super) fn words(mut self, words: Words) -> Self {
        let stray = words.stray.as_deref();
        self.stray = stray.map(|stray| credential::masked(stray).into());
        self.stderr(words.stderr)
    }

    /// What went wrong in one line: the step, the cause and the way out.
    pub fn sentence(&self) -> String {
        let doing = match self.step {
            Step::Start => "failed to start",
            Step::Connect => "failed to connect",
            Step::Initialize => "failed to initialize",
            Step::ListTools => "failed to list its tools",
            Step::Serve => "failed",
        };
        let mut sentence = format!("{doing}: {}", self.cause);
        for more in self
            .stray
            .as_deref()
            .into_iter()
            .chain(self.help.as_deref())
        {
            sentence.push_str("; ");
            sentence.push_str(more);
        }
        sentence
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server `{}` {}", self.server, self.sentence())?;
        for line in &self.stderr {
            write!(f, "\n  | {line}")?;
        }
        Ok(())
    }
}

/// Why a request has no result.
#[derive(Debug, Clone)]
pub enum CallError {
    /// The server's own answer: an error of JSON-RPC, passed on as it came.
    Answered(ErrorData),
    /// There is no answer, and why.
    Failed(Failure),
}

impl CallError {
    /// The same without the values of credentials.
    #[must_use]
    pub fn without(self, secrets: &Secrets) -> Self {
        match self {
            Self::Answered(mut error) => {
                error.message = secrets.masked(&error.message).into_owned().into();
                Self::Answered(error)
            }
            // It was made without them.
            Self::Failed(failure) => Self::Failed(failure),
        }
    }

    /// The failure it is while doing `step` with `server`.
    pub fn during(self, server: &str, step: Step) -> Failure {
        match self {
            Self::Answered(error) => Failure::new(
                server,
                step,
                format!("it answered with error {}: {}", error.code.0, error.message),
            ),
            Self::Failed(failure) => Failure { step, ..failure },
        }
    }
}
