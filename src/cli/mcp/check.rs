//! `apkit mcp check`.

use std::io::{self, Write};
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use apkit::mcp::plan::{Off, ServerPlan};
use apkit::mcp::session::{self, Facts};
use apkit::render::{self, visible};

use super::args::Several;
use super::connect::{self, Looked};
use super::subject::Subject;
use super::subjects::Subjects;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output;

/// The JSON Schema (2020-12) of what `--json` writes.
pub(crate) const SCHEMA: &str = include_str!("../../../schemas/mcp-check.v1.schema.json");

const EXAMPLES: &str = "\
Examples:
  apkit mcp check . --allow-stdio
  apkit mcp check plugins/* --allow-stdio --strict --json
  apkit mcp check tide-table --server almanac --allow-stdio

A server that your rules keep off is `off`; one that cannot work here, or whose entry breaks
a rule, is `failed`, and so is a package that loads no servers although it should.

Exit status: 0 nothing failed, 1 something did or, with --strict, some server is off, 2 the
run failed: a wrong SOURCE or option. Nothing is written to standard output then,
nor at 130: interrupted.
";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    several: Several,

    /// Count a server that your rules keep off as a failure
    #[arg(long)]
    strict: bool,
}

#[derive(Serialize)]
struct Document<'d> {
    schema_version: u32,
    packages: Vec<Looked<'d>>,
    servers: Vec<Checked<'d>>,
}

/// How one server answered.
#[derive(Serialize)]
struct Checked<'d> {
    package: &'d str,
    /// The directory of the package.
    path: String,
    name: &'d str,
    transport: Option<&'static str>,
    /// `ok`, `off` or `failed`.
    state: &'static str,
    /// What `apkit mcp plan` says: `on`, `disabled`, `invalid` or `unavailable`.
    plan: &'static str,
    /// What was being done when it failed.
    step: Option<&'static str>,
    /// Why it is off or failed.
    reason: Option<String>,
    /// What its author should mend though it works.
    warnings: Vec<String>,
    /// The last lines of its standard error, if it failed.
    stderr: Vec<String>,
    server: Option<Info>,
    protocol_version: Option<String>,
    tools: Option<usize>,
    /// How long opening it and asking for its tools took, or until it failed.
    milliseconds: Option<u128>,
    #[serde(skip)]
    label: &'d str,
    #[serde(skip)]
    facts: Option<Facts>,
}

#[derive(Serialize)]
struct Info {
    name: String,
    version: String,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let several = &arguments.several;
    let (subjects, options) = connect::open_several(several)?;
    let packages: Vec<_> = subjects.all.iter().map(Looked::of).collect();
    let servers = subjects.servers();
    let servers = servers.filter(|(_, server)| several.is_meant(server));
    let checks = servers.map(|(subject, server)| check(&subjects, subject, server, &options));
    let Some(servers) = connect::interruptible(connect::all(checks))? else {
        return Ok(Exit::Interrupted);
    };
    let document = Document {
        schema_version: 1,
        packages,
        servers,
    };
    output::to_stdout(|out| match several.json {
        true => render::write_json(out, &document, true),
        false => document.write(out),
    })?;
    subjects.tell_how(|server| several.is_meant(server));
    let is_bad = |server: &Checked<'_>| match server.state {
        "failed" => true,
        "off" => arguments.strict,
        _ => false,
    };
    let is_disabled = document.packages.iter().any(Looked::is_disabled);
    Ok(match is_disabled || document.servers.iter().any(is_bad) {
        true => Exit::Findings,
        false => Exit::Clean,
    })
}

async fn check<'d>(
    subjects: &Subjects,
    subject: &'d Subject,
    server: &'d ServerPlan,
    options: &session::Options,
) -> Checked<'d> {
    let package = subject.plan.package.as_str();
    let loaded = &subject.package.mcp.loaded;
    let loaded = loaded.iter().find(|loaded| loaded.name == server.name);
    let off = server.launch.as_ref().err();
    let mut checked = Checked {
        package,
        path: subject.plan.root.to_string_lossy().into_owned(),
        name: &server.name,
        transport: loaded.map(|loaded| loaded.transport.type_name()),
        state: match off {
            None => "ok",
            Some(Off::Policy(_)) => "off",
            Some(Off::Invalid(_) | Off::Unavailable(_)) => "failed",
        },
        plan: off.map_or("on", Off::word),
        step: None,
        reason: None,
        warnings: Vec::new(),
        stderr: Vec::new(),
        server: None,
        protocol_version: None,
        tools: None,
        milliseconds: None,
        label: &subject.label,
        facts: None,
    };
    if let Some(off) = off {
        checked.reason = Some(off.to_string());
        return checked;
    }
    let started = Instant::now();
    let opened = connect::open(subjects, subject, server, options).await;
    let (session, _logs) = match opened {
        Ok(opened) => opened,
        Err(failure) => {
            checked.milliseconds = Some(started.elapsed().as_millis());
            return checked.failed(failure);
        }
    };
    let facts = session.facts().clone();
    let tools = session.tools().await;
    checked.milliseconds = Some(started.elapsed().as_millis());
    checked.warnings.extend(session.stray());
    session.close().await;
    checked.protocol_version = Some(facts.protocol_version.clone());
    checked.server = Some(Info {
        name: facts.server_info.name.clone(),
        version: facts.server_info.version.clone(),
    });
    checked.facts = Some(facts);
    match tools {
        Ok(listed) => {
            checked.tools = Some(listed.tools.len());
            checked.warnings.extend(listed.warning);
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
        // It is in the sentence.
        self.warnings.clear();
        self.stderr = failure.stderr;
        self
    }
}

impl Document<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for package in &self.packages {
            package.write(out)?;
        }
        for server in &self.servers {
            let name = connect::title(&self.packages, server.label, server.name);
            write!(out, "{:6}  {name}: ", server.state)?;
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
            for warning in &server.warnings {
                writeln!(out, "        warning: {}", visible(warning))?;
            }
            for line in &server.stderr {
                writeln!(out, "        | {}", visible(line))?;
            }
        }
        Ok(())
    }
}
