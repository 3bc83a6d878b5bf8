//! `apkit mcp check`.

use std::ffi::OsString;
use std::io::{self, Write};
use std::time::Instant;

use clap::{Args, ValueHint};
use serde::Serialize;

use apkit::mcp::plan::{Launch, ServerPlan};
use apkit::mcp::session::{self, Facts};
use apkit::render::{self, visible};

use super::args::Common;
use super::connect::{self, Waiting};
use super::place::Subjects;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output;

const EXAMPLES: &str = "\
Examples:
  apkit mcp check . --allow-stdio
  apkit mcp check plugins/* --allow-stdio --strict --json

Exit status: 0 no server failed, 1 some did or, with --strict, some are off, 2 the run
failed.
";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Installed packages, package directories, or sources to fetch
    #[arg(value_name = "SOURCE", default_value = ".", value_hint = ValueHint::AnyPath)]
    sources: Vec<OsString>,

    /// Count a server that is off as a failure
    #[arg(long)]
    strict: bool,

    /// Write JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    common: Common,
}

#[derive(Serialize)]
struct Document<'d> {
    schema_version: u32,
    servers: Vec<Checked<'d>>,
}

/// How one server answered.
#[derive(Serialize)]
struct Checked<'d> {
    package: &'d str,
    name: &'d str,
    transport: Option<&'static str>,
    /// `ok`, `off` or `failed`.
    state: &'static str,
    /// What was being done when it failed.
    step: Option<&'static str>,
    /// Why it is off or failed.
    reason: Option<String>,
    /// The last lines of its standard error, if it failed.
    stderr: Vec<String>,
    server: Option<Info>,
    protocol_version: Option<String>,
    tools: Option<usize>,
    /// How long opening it and asking for its tools took.
    milliseconds: Option<u128>,
    #[serde(skip)]
    facts: Option<Facts>,
}

#[derive(Serialize)]
struct Info {
    name: String,
    version: String,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let subjects = Subjects::open(&arguments.sources, &arguments.common)?;
    let options = connect::options(&subjects, arguments.waiting.limit())?;
    let servers = subjects.all.iter().flat_map(|subject| {
        let plan = &subject.plan;
        plan.servers
            .iter()
            .map(|server| (plan.package.as_str(), server))
    });
    let checks = servers.map(|(package, server)| check(&subjects, package, server, &options));
    let document = Document {
        schema_version: 1,
        servers: connect::block_on(connect::all(checks))?,
    };
    let several = subjects.all.len() > 1;
    output::to_stdout(|out| match arguments.json {
        true => render::write_json(out, &document, true),
        false => document.write(several, out),
    })?;
    let is_bad = |server: &Checked<'_>| match server.state {
        "failed" => true,
        "off" => arguments.strict,
        _ => false,
    };
    Ok(match document.servers.iter().any(is_bad) {
        true => Exit::Findings,
        false => Exit::Clean,
    })
}

async fn check<'d>(
    subjects: &Subjects,
    package: &'d str,
    server: &'d ServerPlan,
    options: &session::Options,
) -> Checked<'d> {
    let mut checked = Checked {
        package,
        name: &server.name,
        transport: server.launch.as_ref().ok().map(|launch| match launch {
            Launch::Stdio(_) => "stdio",
            Launch::StreamableHttp(_) => "streamable-http",
            Launch::Sse(_) => "sse",
        }),
        state: "ok",
        step: None,
        reason: None,
        stderr: Vec::new(),
        server: None,
        protocol_version: None,
        tools: None,
        milliseconds: None,
        facts: None,
    };
    if let Err(off) = &server.launch {
        checked.state = "off";
        checked.reason = Some(off.to_string());
        return checked;
    }
    let started = Instant::now();
    let opened = connect::open(subjects, package, server, options).await;
    let (session, _logs) = match opened {
        Ok(opened) => opened,
        Err(failure) => return checked.failed(failure),
    };
    let facts = session.facts().clone();
    let tools = session.tools().await;
    checked.milliseconds = Some(started.elapsed().as_millis());
    session.close().await;
    checked.protocol_version = Some(facts.protocol_version.clone());
    checked.server = Some(Info {
        name: facts.server_info.name.clone(),
        version: facts.server_info.version.clone(),
    });
    checked.facts = Some(facts);
    match tools {
        Ok(tools) => {
            checked.tools = Some(tools.len());
            checked
        }
        Err(failure) => checked.failed(failure),
    }
}

impl Checked<'_> {
    fn failed(mut self, failure: session::Failure) -> Self {
        self.state = "failed";
        self.step = Some(failure.step.word());
        self.reason = Some(failure.sentence());
        self.stderr = failure.stderr;
        self
    }
}

impl Document<'_> {
    fn write(&self, several: bool, out: &mut dyn Write) -> io::Result<()> {
        for server in &self.servers {
            let name = match several {
                true => format!("{}/{}", server.package, server.name),
                false => server.name.to_owned(),
            };
            write!(out, "{:6}  {}: ", server.state, visible(&name))?;
            match (&server.reason, &server.facts, server.tools) {
                (None, Some(facts), Some(tools)) => writeln!(
                    out,
                    "{}, {}, {} ms",
                    connect::program(facts),
                    connect::count(tools, "tool"),
                    server.milliseconds.unwrap_or_default()
                )?,
                (reason, ..) => {
                    let reason = reason.as_deref().unwrap_or_default();
                    writeln!(out, "{}", visible(reason))?;
                }
            }
            for line in &server.stderr {
                writeln!(out, "        | {}", visible(line))?;
            }
        }
        Ok(())
    }
}
