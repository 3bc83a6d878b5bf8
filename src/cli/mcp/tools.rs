//! `apkit mcp tools`.

use std::ffi::OsString;
use std::io::{self, Write};

use clap::{Args, ValueHint};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use apkit::mcp::plan::ServerPlan;
use apkit::mcp::serve::names;
use apkit::mcp::session::{self, Facts, Tool};
use apkit::render::{self, visible};

use super::args::Common;
use super::connect::{self, ProblemText, Waiting};
use super::place::Subjects;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output;

const EXAMPLES: &str = "\
Examples:
  apkit mcp tools . --allow-stdio
  apkit mcp tools tide-table --server almanac --json

Exit status: 0 every server listed its tools, 1 some are off or failed, or the package loads
none, 2 the run failed, 130 interrupted.
";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// An installed package, a package directory, or a source to fetch
    #[arg(value_name = "SOURCE", default_value = ".", value_hint = ValueHint::AnyPath)]
    source: OsString,

    /// Only this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,

    /// Write JSON, with the tools as the servers describe them
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    common: Common,
}

/// What a server answered.
enum Listed {
    Off(String),
    Failed(session::Failure),
    Tools(Facts, Vec<Tool>),
}

#[derive(Serialize)]
struct Document<'d> {
    schema_version: u32,
    package: &'d str,
    /// Why the package has no servers.
    disabled: Vec<ProblemText<'d>>,
    servers: Vec<Server<'d>>,
    #[serde(skip)]
    label: &'d str,
}

#[derive(Serialize)]
struct Server<'d> {
    name: &'d str,
    /// `ok`, `off` or `failed`.
    state: &'static str,
    /// What was being done when it failed.
    step: Option<&'static str>,
    /// Why there are no tools.
    reason: Option<String>,
    /// The last lines of its standard error, if it failed.
    stderr: &'d [String],
    tools: Vec<Described<'d>>,
    #[serde(skip)]
    facts: Option<&'d Facts>,
}

#[derive(Serialize)]
struct Described<'d> {
    /// As `apkit mcp serve` names it.
    name: String,
    /// As its server does.
    tool: &'d str,
    definition: &'d RawValue,
}

/// Names longer than this do not make the column wider, in characters.
const WIDEST: usize = 48;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Taken {
    input_schema: Schema,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Schema {
    properties: Map<String, Value>,
    required: Vec<String>,
}

#[derive(Default, Deserialize)]
struct Words {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let sources = std::slice::from_ref(&arguments.source);
    let subjects = Subjects::open(sources, &arguments.common)?;
    let options = connect::options(&subjects, arguments.waiting.limit())?;
    let mut exit = Exit::Clean;
    for subject in &subjects.all {
        let plan = &subject.plan;
        let servers: Vec<&ServerPlan> = match &arguments.server {
            Some(name) => vec![connect::server(plan, name)?],
            None => plan.servers.iter().collect(),
        };
        let asked = servers
            .iter()
            .map(|server| list(&subjects, &plan.package, server, &options));
        let Some(listed) = connect::interruptible(connect::all(asked))? else {
            return Ok(Exit::Interrupted);
        };
        let document = Document {
            schema_version: 1,
            package: &plan.package,
            disabled: plan.disabled.iter().map(ProblemText::of).collect(),
            label: &subject.label,
            servers: servers
                .iter()
                .zip(&listed)
                .map(|(server, listed)| Server::of(server, listed))
                .collect(),
        };
        if !document.disabled.is_empty()
            || document.servers.iter().any(|server| server.state != "ok")
        {
            exit = Exit::Findings;
        }
        output::to_stdout(|out| match arguments.json {
            true => render::write_json(out, &document, true),
            false => document.write(out),
        })?;
    }
    subjects.tell_how();
    Ok(exit)
}

async fn list(
    subjects: &Subjects,
    package: &str,
    server: &ServerPlan,
    options: &session::Options,
) -> Listed {
    if let Err(off) = &server.launch {
        return Listed::Off(off.to_string());
    }
    let session = match connect::open(subjects, package, server, options).await {
        Ok((session, _logs)) => session,
        Err(failure) => return Listed::Failed(failure),
    };
    let listed = match session.tools().await {
        Ok(tools) => Listed::Tools(session.facts().clone(), tools),
        Err(failure) => Listed::Failed(failure),
    };
    session.close().await;
    listed
}

impl<'d> Server<'d> {
    fn of(server: &'d ServerPlan, listed: &'d Listed) -> Self {
        let name = server.name.as_str();
        let (step, stderr) = match listed {
            Listed::Failed(failure) => (Some(failure.step.word()), &failure.stderr[..]),
            Listed::Off(_) | Listed::Tools(..) => (None, &[][..]),
        };
        let (state, reason, facts, tools) = match listed {
            Listed::Off(reason) => ("off", Some(reason.clone()), None, &[][..]),
            Listed::Failed(failure) => ("failed", Some(failure.sentence()), None, &[][..]),
            Listed::Tools(facts, tools) => ("ok", None, Some(facts), &tools[..]),
        };
        Self {
            name,
            state,
            step,
            reason,
            stderr,
            tools: tools
                .iter()
                .map(|tool| Described {
                    name: names::offered(name, &tool.name),
                    tool: &tool.name,
                    definition: &tool.raw,
                })
                .collect(),
            facts,
        }
    }
}

impl Document<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let label = visible(self.label);
        for problem in &self.disabled {
            let text = format!("{}: {}", problem.code, problem.message);
            writeln!(out, "{label}: failed, {}", visible(&text))?;
        }
        if self.disabled.is_empty() && self.servers.is_empty() {
            writeln!(out, "{label}: no servers")?;
        }
        for server in &self.servers {
            let name = visible(server.name);
            match (&server.reason, server.facts) {
                (Some(reason), _) => {
                    writeln!(out, "{name}: {}, {}", server.state, visible(reason))?;
                }
                (None, Some(facts)) => writeln!(
                    out,
                    "{name}: {} ({})",
                    connect::count(server.tools.len(), "tool"),
                    connect::program(facts)
                )?,
                (None, None) => writeln!(out, "{name}")?,
            }
            for line in server.stderr {
                writeln!(out, "  | {}", visible(line))?;
            }
            let calls: Vec<String> = server.tools.iter().map(Described::call).collect();
            let width = calls.iter().map(|call| call.chars().count());
            let width = width.filter(|width| *width <= WIDEST).max();
            for (tool, call) in server.tools.iter().zip(&calls) {
                let words = tool.words();
                let pad = width.unwrap_or_default();
                let line = format!("  {call:pad$}  {}", visible(&words));
                writeln!(out, "{}", line.trim_end())?;
            }
        }
        Ok(())
    }
}

impl Described<'_> {
    /// Its name and, if it has parameters, those: `add(a: integer, b?: string)`.
    fn call(&self) -> String {
        let taken: Taken = serde_json::from_str(self.definition.get()).unwrap_or_default();
        let Schema {
            properties,
            required,
        } = taken.input_schema;
        if properties.is_empty() {
            return self.name.clone();
        }
        let parameters = properties.iter().map(|(name, schema)| {
            let may = if required.contains(name) { "" } else { "?" };
            match schema.get("type").and_then(Value::as_str) {
                Some(kind) => format!("{name}{may}: {kind}"),
                None => format!("{name}{may}"),
            }
        });
        let parameters = parameters.collect::<Vec<_>>().join(", ");
        visible(&format!("{}({parameters})", self.name)).to_string()
    }

    /// Its own name where the other does not show it, and what it does in a line.
    fn words(&self) -> String {
        let words: Words = serde_json::from_str(self.definition.get()).unwrap_or_default();
        let text = words.description.or(words.title).unwrap_or_default();
        let line = text.lines().map(str::trim).find(|line| !line.is_empty());
        let line = line.unwrap_or_default();
        if self.name.ends_with(&format!("__{}", self.tool)) {
            return line.to_owned();
        }
        format!("[{}] {line}", self.tool)
    }
}
