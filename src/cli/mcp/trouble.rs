//! Why a command about servers does not do what it was asked. Messages read
//! after "failed to".

use std::io;
use std::path::PathBuf;

use apkit::mcp::arguments::{Unfitting, Unreadable};
use apkit::mcp::plan::Off;
use apkit::mcp::serve::AllowedError;
use apkit::mcp::session;
use apkit::net::{BadAllowance, BadProxy};
use apkit::render::visible;

use crate::cli::failure::show;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// There is no runtime.
    #[error("set up for servers: {0}")]
    Runtime(io::Error),

    /// A variable names a proxy that cannot be used.
    #[error("set up for servers: {0}")]
    Proxy(#[from] BadProxy),

    /// A rule names what cannot be connected to.
    #[error("read the rules for servers: {0}")]
    Allowance(#[from] BadAllowance),

    /// The server is not there.
    #[error(
        "find the server {}: {}",
        visible(name),
        missing_server(known, nearest, disabled)
    )]
    Server {
        name: String,
        nearest: Option<String>,
        known: Vec<String>,
        /// Why the package has no servers.
        disabled: Vec<String>,
    },

    /// The server has no such tool.
    #[error(
        "find the tool {} of {}: {}",
        visible(name),
        visible(server),
        near(known, nearest, "it has no tools")
    )]
    Tool {
        name: String,
        server: String,
        nearest: Option<String>,
        known: Vec<String>,
    },

    /// `--args` cannot be read.
    #[error("read --args from {}: {error}", show(path))]
    ReadArguments { path: PathBuf, error: io::Error },

    /// `--args` is no JSON, or none that can be sent.
    #[error("read --args: it {}", visible(&.0.to_string()))]
    NoJson(#[from] Unreadable),

    /// `--args` is no object.
    #[error(
        "read --args: it is {0}, and the arguments of a tool are an object, such as '{{\"path\": \"a\"}}'"
    )]
    NoObject(&'static str),

    /// An `--arg` is not written as one.
    #[error("read --arg: write NAME=VALUE")]
    NoArgument,

    /// A name is given a value twice.
    #[error("read --arg: `{}` has a value already, {by}", visible(name))]
    ArgumentTwice { name: String, by: &'static str },

    /// The tool does not take an `--arg`.
    #[error("read --arg: {}", visible(&.0.to_string()))]
    Unfitting(#[from] Unfitting),

    /// `--allowed-tools` is no list of tools.
    #[error("read --allowed-tools: {0}")]
    Allowed(#[from] AllowedError),

    /// The server is off.
    #[error("call the tool: server `{}` is {}", visible(.0), visible(&.1.to_string()))]
    Off(String, Off),

    /// The server failed.
    #[error("call the tool: {}", shown(.0))]
    Failed(Box<session::Failure>),
}

/// A failure for people: what a server wrote is written out harmlessly.
pub(super) fn shown(failure: &session::Failure) -> String {
    let text = failure.to_string();
    let lines: Vec<_> = text.lines().map(visible).collect();
    lines.join("\n")
}

fn missing_server(known: &[String], nearest: &Option<String>, disabled: &[String]) -> String {
    match disabled {
        [] => near(known, nearest, "the package has no servers"),
        reasons => format!(
            "the package loads no servers: {}",
            visible(&reasons.join("; "))
        ),
    }
}

/// What is meant, or what there is.
fn near(known: &[String], nearest: &Option<String>, none: &str) -> String {
    // More do not help.
    const SHOWN: usize = 20;
    if let Some(nearest) = nearest {
        return format!("did you mean {}?", visible(nearest));
    }
    match known {
        [] => none.to_owned(),
        known => {
            let some: Vec<_> = known.iter().take(SHOWN).map(|name| visible(name)).collect();
            let more = if known.len() > SHOWN { ", …" } else { "" };
            format!("there are {}{more}", some.join(", "))
        }
    }
}
