//! `apkit mcp serve`.

use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueHint};

use apkit::mcp::credential::{Credentials, Names};
use apkit::mcp::serve::{self, Allowed, Report, Server};
use apkit::render::visible;

use super::args::Common;
use super::connect;
use super::reports::Reports;
use super::stop::Stop;
use super::subjects::Subjects;
use super::trouble::Trouble;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  apkit mcp serve tide-table --allow-stdio
  apkit mcp serve tide-table almanac --allowed-tools 'mcp__api__* mcp__files__read'
  claude mcp add plugins -- apkit mcp serve tide-table --allow-stdio

Standard output carries MCP and nothing else; what goes wrong is told on standard error.
";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Installed packages, package directories, or sources to fetch
    #[arg(value_name = "SOURCE", required = true, value_hint = ValueHint::AnyPath)]
    sources: Vec<OsString>,

    /// Offer only these tools, written as in the field `allowed-tools` of a skill
    /// (repeatable)
    ///
    /// Spaces separate them; `*` stands for any text, and `mcp__SERVER` for all tools of a
    /// server. Tools of hosts, such as `Read` or `Bash(git *)`, are passed over.
    #[arg(long, value_name = "TOOLS", allow_hyphen_values = true)]
    allowed_tools: Vec<String>,

    /// How long a host waits at the start for servers that are still being started; 5
    /// if not given, and for Claude Code 1
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(0..=600))]
    wait: Option<u64>,

    /// How long opening a server and its list of tools may take and, once the input has
    /// ended, the calls on their way
    ///
    /// Until then a call may take as long as its server needs: when it has taken too long is
    /// for the host to say, which cancels it.
    #[arg(long, value_name = "SECONDS", default_value_t = connect::TIMEOUT, value_parser = clap::value_parser!(u64).range(connect::TIMEOUTS))]
    timeout: u64,

    #[command(flatten)]
    common: Common,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let reports = Reports::start();
    let served = serve(arguments, &reports);
    reports.finish();
    served
}

fn serve(arguments: &Arguments, reports: &Reports) -> Result<Exit, Failure> {
    let tell = |text: &str| reports.tell(&format!("apkit: {}", visible(text)));
    let allowed = allowed(&arguments.allowed_tools, tell)?;
    let subjects = Subjects::open_some(&arguments.sources, &arguments.common)?;
    let options = serve::Options {
        session: connect::options(&subjects, Duration::from_secs(arguments.timeout))?,
        wait: arguments.wait.map(Duration::from_secs),
        allowed,
    };
    let keys = Arc::new(subjects.keys.clone());
    let environment = Arc::new(subjects.session.environment().variables.clone());
    let hears = reports.clone();
    let listener = Arc::new(move |line: &str| hears.tell(&visible(line)));
    let helpers = connect::helpers(&options.session, listener);
    let mut servers = Vec::new();
    for subject in &subjects.all {
        let plan = &subject.plan;
        for problem in &plan.disabled {
            tell(&format!("package {}: {problem}", subject.label));
        }
        for server in &plan.servers {
            if let Err(off) = &server.launch {
                let name = match subjects.all.len() {
                    1 => format!("`{}`", server.name),
                    _ => format!("`{}` of {}", server.name, subject.label),
                };
                tell(&format!("server {name} is not offered: {off}"));
            }
            let (keys, environment) = (Arc::clone(&keys), Arc::clone(&environment));
            let (package, source) = (plan.package.clone(), subject.source.clone());
            let (own, is_taken) = (server.clone(), subject.is_taken);
            let helpers = helpers.clone();
            let credentials: serve::Giver = Box::new(move || {
                let (keys, environment) = (Arc::clone(&keys), Arc::clone(&environment));
                let (package, source, own) = (package.clone(), source.clone(), own.clone());
                let helpers = helpers.clone();
                Box::pin(async move {
                    let names = Names {
                        package: &package,
                        source: &source,
                        is_taken,
                    };
                    Credentials::for_server(&keys, names, &own, &environment, &helpers).await
                })
            });
            servers.push(Server {
                // Packages of one name are told apart by their SOURCE.
                package: subject.label.clone(),
                plan: server.clone(),
                credentials,
            });
        }
    }
    if let Some(how) = subjects.how(|_| true) {
        reports.tell(&format!("note: {how}"));
    }
    let reports = reports.clone();
    let report: Report = Arc::new(move |text: &str| {
        let lines: Vec<_> = text.lines().map(visible).collect();
        reports.tell(&format!("apkit: {}", lines.join("\n")));
    });
    connect::block_on(async {
        let mut stop = Stop::listen().map_err(Trouble::Runtime)?;
        let (input, output) = (io::stdin(), io::stdout());
        serve::run(servers, options, input, output, stop.asked(), report).await;
        Ok(Exit::Clean)
    })?
}

/// What is allowed. Each entry that allows nothing is told.
fn allowed(lists: &[String], tell: impl Fn(&str)) -> Result<Option<Allowed>, Trouble> {
    let mut all: Option<Allowed> = None;
    for list in lists {
        let (allowed, ignored) = Allowed::parse(list)?;
        for (entry, why) in ignored {
            tell(&format!("--allowed-tools: {entry} is passed over: {why}"));
        }
        match &mut all {
            Some(all) => all.and(allowed),
            None => all = Some(allowed),
        }
    }
    Ok(all)
}
