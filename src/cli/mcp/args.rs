//! The arguments of `apkit mcp`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use apkit::mcp::plan::ServerPlan;

use super::connect::Waiting;
use crate::cli::args::Draft;
use crate::cli::store::Place;

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Show what would be started and connected to, and what is off and why
    ///
    /// Nothing is started, connected to or made.
    Plan(Plan),
    /// List the tools of the servers
    Tools(super::tools::Arguments),
    /// Call a tool
    Call(super::call::Arguments),
    /// Open every server and say how it went
    Check(super::check::Arguments),
    /// Offer the tools of all servers as one MCP server over standard input and output
    Serve(super::serve::Arguments),
}

const PLAN_EXAMPLES: &str = "\
Examples:
  apkit mcp plan                        the package in this directory
  apkit mcp plan tide-table             an installed one
  apkit mcp plan github:OWNER/REPO --json | jq '.servers[]'
  apkit mcp plan tide-table --allow-stdio --credential almanac:API_KEY=env:TIDES_KEY

Exit status: 0 every server would be started or connected to, 1 some are off or the package
loads none, 2 the run failed.
";

#[derive(Debug, Args)]
#[command(after_help = PLAN_EXAMPLES)]
pub(super) struct Plan {
    /// An installed package, a package directory, or a source to fetch, as `apkit import`
    /// takes it
    #[arg(value_name = "SOURCE", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub(super) source: OsString,

    /// Write JSON, which `apkit schema mcp-plan` describes
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) common: Common,
}

/// What the commands that ask the servers of several packages take.
#[derive(Debug, Args)]
pub(super) struct Several {
    /// Installed packages, package directories, or sources to fetch
    #[arg(value_name = "SOURCE", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub(super) sources: Vec<OsString>,

    /// Only this server
    #[arg(long, value_name = "NAME")]
    pub(super) server: Option<String>,

    /// Write JSON, which `apkit schema mcp-tools` and `mcp-check` describe
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) waiting: Waiting,

    #[command(flatten)]
    pub(super) common: Common,
}

impl Several {
    /// Whether a server is the one that is meant, or all are.
    pub(super) fn is_meant(&self, server: &ServerPlan) -> bool {
        let only = self.server.as_ref();
        only.is_none_or(|name| *name == server.name)
    }
}

/// What all commands about servers take.
#[derive(Debug, Args)]
pub(super) struct Common {
    /// Start the programs of all packages named: they can do whatever you can
    ///
    /// Without it, only those that a rule [[stdio.allow]] of apkit.toml names.
    #[arg(long)]
    pub(super) allow_stdio: bool,

    /// Give a server a variable or header, SERVER:NAME=env:VARIABLE or =file:PATH;
    /// `Bearer env:VARIABLE` puts the word before it (repeatable)
    ///
    /// Where several packages have a server of that name, write PACKAGE/SERVER, and where
    /// they have one name SOURCE/SERVER. A SOURCE wins
    /// over the name of another package.
    /// Nobody but you may read the file (mode 0600 or 0400), unless it lies on a mount that
    /// is read-only, as the secrets of containers do.
    #[arg(long = "credential", value_name = "SERVER:NAME=SOURCE")]
    pub(super) given: Vec<String>,

    /// The file of credentials [default: apkit/credentials.toml in the directory of
    /// configuration: $XDG_CONFIG_HOME, ~/.config or %APPDATA%]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) credentials: Option<PathBuf>,

    #[command(flatten)]
    pub(super) place: Place,

    #[command(flatten)]
    pub(super) draft: Draft,
}
