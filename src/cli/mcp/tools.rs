//! `apkit mcp tools`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Write};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use apkit::mcp::plan::ServerPlan;
use apkit::mcp::serve;
use apkit::mcp::serve::names::{self, Spaces};
use apkit::mcp::session::{self, Facts, Tool};
use apkit::render::{self, visible};

use super::args::Several;
use super::connect::{self, Looked};
use super::subject::Subject;
use super::subjects::Subjects;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::output;

/// The JSON Schema (2020-12) of what `--json` writes.
pub(crate) const SCHEMA: &str = include_str!("../../../schemas/mcp-tools.v1.schema.json");

const EXAMPLES: &str = "\
Examples:
  apkit mcp tools . --allow-stdio
  apkit mcp tools tide-table --server almanac --json
  apkit mcp tools p q --allow-stdio     by the names that `apkit mcp serve p q` offers

Exit status: 0 every server listed its tools, 1 some are off or failed, or the package loads
none, 2 the run failed, 130 interrupted.
";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    several: Several,
}

/// What a server answered.
enum Listed {
    Off(String),
    Failed(session::Failure),
    Tools(Facts, Vec<Tool>, Vec<String>),
}

#[derive(Serialize)]
struct Document<'d> {
    schema_version: u32,
    packages: Vec<Looked<'d>>,
    servers: Vec<Server<'d>>,
}

#[derive(Serialize)]
struct Server<'d> {
    package: &'d str,
    /// The directory of the package.
    path: String,
    name: &'d str,
    /// `ok`, `off` or `failed`.
    state: &'static str,
    /// What was being done when it failed.
    step: Option<&'static str>,
    /// Why there are no tools.
    reason: Option<String>,
    /// What its author should mend though it works.
    warnings: &'d [String],
    /// The last lines of its standard error, if it failed.
    stderr: &'d [String],
    tools: Vec<Described<'d>>,
    #[serde(skip)]
    shown: &'d str,
    #[serde(skip)]
    label: &'d str,
    #[serde(skip)]
    facts: Option<&'d Facts>,
}

#[derive(Serialize)]
struct Described<'d> {
    /// As `apkit mcp serve` names it.
    name: String,
    /// As its server does.
    tool: &'d str,
    /// Why a host does not get it: another one has its name.
    hidden: Option<String>,
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
    let several = &arguments.several;
    let (subjects, options) = connect::open_several(several)?;
    // As `apkit mcp serve` with these packages names them.
    let servers: Vec<_> = subjects.servers().collect();
    let names = servers.iter();
    let names = names.map(|(subject, server)| (&*subject.label, &*server.name));
    let labels = serve::labels(names);
    let asked: Vec<_> = servers
        .into_iter()
        .zip(&labels)
        .filter(|((_, server), _)| several.is_meant(server))
        .collect();
    let lists = asked
        .iter()
        .map(|((subject, server), _)| list(&subjects, subject, server, &options));
    let Some(listed) = connect::interruptible(connect::all(lists))? else {
        return Ok(Exit::Interrupted);
    };
    let packages = subjects.all.iter();
    let mut document = Document {
        schema_version: 1,
        packages: packages.map(Looked::of).collect(),
        servers: asked
            .iter()
            .zip(&listed)
            .map(|(((subject, server), label), listed)| Server::of(subject, server, label, listed))
            .collect(),
    };
    let on = subjects.servers().zip(&labels);
    let on = on.filter(|((_, server), _)| server.launch.is_ok());
    document.mark_collisions(&Spaces::of(on.map(|(_, label)| label.as_str())));
    output::to_stdout(|out| match several.json {
        true => render::write_json(out, &document, true),
        false => document.write(out),
    })?;
    subjects.tell_how(|server| several.is_meant(server));
    let is_any_off = document.servers.iter().any(|server| server.state != "ok");
    let is_disabled = document.packages.iter().any(Looked::is_disabled);
    Ok(match is_any_off || is_disabled {
        true => Exit::Findings,
        false => Exit::Clean,
    })
}

async fn list(
    subjects: &Subjects,
    subject: &Subject,
    server: &ServerPlan,
    options: &session::Options,
) -> Listed {
    if let Err(off) = &server.launch {
        return Listed::Off(off.to_string());
    }
    let session = match connect::open(subjects, subject, server, options).await {
        Ok((session, _logs)) => session,
        Err(failure) => return Listed::Failed(failure),
    };
    let listed = match session.tools().await {
        Ok(session::Listed { tools, warning }) => {
            let warnings = session.stray().into_iter().chain(warning);
            Listed::Tools(session.facts().clone(), tools, warnings.collect())
        }
        Err(failure) => Listed::Failed(failure),
    };
    session.close().await;
    listed
}

impl<'d> Server<'d> {
    fn of(
        subject: &'d Subject,
        server: &'d ServerPlan,
        label: &'d str,
        listed: &'d Listed,
    ) -> Self {
        let name = server.name.as_str();
        let (step, stderr) = match listed {
            Listed::Failed(failure) => (Some(failure.step.word()), &failure.stderr[..]),
            Listed::Off(_) | Listed::Tools(..) => (None, &[][..]),
        };
        let (state, reason) = match listed {
            Listed::Off(reason) => ("off", Some(reason.clone())),
            Listed::Failed(failure) => ("failed", Some(failure.sentence())),
            Listed::Tools(..) => ("ok", None),
        };
        let (facts, tools, warnings) = match listed {
            Listed::Tools(facts, tools, warnings) => (Some(facts), &tools[..], &warnings[..]),
            Listed::Off(_) | Listed::Failed(_) => (None, &[][..], &[][..]),
        };
        Self {
            package: &subject.plan.package,
            path: subject.plan.root.to_string_lossy().into_owned(),
            shown: &subject.label,
            label,
            name,
            state,
            step,
            reason,
            warnings,
            stderr,
            tools: tools
                .iter()
                .map(|tool| Described {
                    name: names::offered(label, &tool.name),
                    tool: &tool.name,
                    hidden: None,
                    definition: &tool.raw,
                })
                .collect(),
            facts,
        }
    }
}

impl Document<'_> {
    /// Of several tools of one name a host gets the first, and of names that are kept for
    /// another server none.
    fn mark_collisions(&mut self, spaces: &Spaces) {
        let mut first: HashMap<String, String> = HashMap::new();
        for server in &mut self.servers {
            for tool in &mut server.tools {
                if let Some(other) = spaces.other(server.label, &tool.name) {
                    tool.hidden = Some(format!("its name is one of server `{other}`"));
                    continue;
                }
                let own = format!("tool `{}` of server `{}`", tool.tool, server.name);
                match first.entry(tool.name.clone()) {
                    Entry::Occupied(other) => {
                        tool.hidden = Some(format!("{} has its name", other.get()));
                    }
                    Entry::Vacant(place) => {
                        place.insert(own);
                    }
                }
            }
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for package in &self.packages {
            package.write(out)?;
        }
        for server in &self.servers {
            let name = connect::title(&self.packages, server.shown, server.name);
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
            for warning in server.warnings {
                writeln!(out, "  warning: {}", visible(warning))?;
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
        if let Some(hidden) = &self.hidden {
            return format!("[{}] not offered: {hidden}", self.tool);
        }
        if self.name.ends_with(&format!("__{}", self.tool)) {
            return line.to_owned();
        }
        format!("[{}] {line}", self.tool)
    }
}
