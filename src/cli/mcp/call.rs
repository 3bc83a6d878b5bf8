//! `apkit mcp call`.

use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal as _, Read as _, Write};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use apkit::mcp::arguments;
use apkit::mcp::plan::ServerPlan;
use apkit::mcp::serve::{self, names};
use apkit::mcp::session::{self, CallError, ErrorData, Session, Step, Tool};
use apkit::render::visible;
use apkit::spec::near;

use super::args::Common;
use super::connect::{self, Waiting};
use super::subject::Subject;
use super::subjects::Subjects;
use super::trouble::Trouble;
use crate::cli::exit::Exit;
use crate::cli::failure::{Failure, note, say};
use crate::cli::output;

/// The JSON Schema (2020-12) of what `--json` writes.
pub(crate) const SCHEMA: &str = include_str!("../../../schemas/mcp-call.v1.schema.json");

const EXAMPLES: &str = "\
Examples:
  apkit mcp call tide-table almanac tides --arg port=Brest --arg days=3
  apkit mcp call tide-table almanac tides --args '{\"port\": \"Brest\"}'
  apkit mcp call . files read --args @arguments.json --allow-stdio
  echo '{\"port\": \"Brest\"}' | apkit mcp call tide-table almanac tides --args - --json

Exit status: 0 the tool gave a result, 1 it or its server answered with an error, 2 there
is no answer, 130 interrupted: the call is cancelled and the server ended.
";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// An installed package, a package directory, or a source to fetch
    #[arg(value_name = "SOURCE", value_hint = ValueHint::AnyPath)]
    source: OsString,

    /// The server's name in mcp.json
    #[arg(value_name = "SERVER")]
    server: String,

    /// The tool's name, its own or as `apkit mcp tools` shows it
    #[arg(value_name = "TOOL")]
    tool: String,

    /// The arguments as a JSON object; @FILE reads them from a file, - from standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    args: Option<String>,

    /// One argument: a string of the tool's input schema as it is, all else as JSON
    /// (repeatable)
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    arg: Vec<String>,

    /// Write the result as the server wrote it; `apkit schema mcp-call` describes it
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    common: Common,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    // Before anything is started.
    let given = Given::of(arguments)?;
    let sources = std::slice::from_ref(&arguments.source);
    let subjects = Subjects::open(sources, &arguments.common)?;
    let options = connect::options(&subjects, arguments.waiting.limit())?;
    let Some(subject) = subjects.all.first() else {
        return Ok(Exit::Clean);
    };
    let server = connect::server(&subject.plan, &arguments.server)?;
    if let Err(off) = &server.launch {
        subjects.tell_how(|meant| meant.name == server.name);
        return Err(Trouble::Off(server.name.clone(), off.clone()).into());
    }
    // As `apkit mcp tools` with this package names it.
    let all = &subject.plan.servers;
    let labels = serve::labels(all.iter().map(|server| (&*subject.label, &*server.name)));
    let mut labels = all.iter().zip(labels);
    let label = labels.find(|(known, _)| known.name == server.name);
    let label = label.map_or_else(|| server.name.clone(), |(_, label)| label);
    let tool = Wanted {
        name: &arguments.tool,
        label: &label,
    };
    let called = call(&subjects, subject, server, &options, tool, given);
    let Some(answer) = connect::interruptible(called)? else {
        return Ok(Exit::Interrupted);
    };
    match answer? {
        Ok(result) => {
            let read: Value = serde_json::from_str(result.get()).unwrap_or_default();
            output::to_stdout(|out| match arguments.json {
                true => writeln!(out, "{}", result.get()),
                false => write(&read, out),
            })?;
            Ok(match read.get("isError") {
                Some(Value::Bool(true)) => Exit::Findings,
                _ => Exit::Clean,
            })
        }
        Err(error) => {
            if arguments.json {
                output::to_stdout(|out| writeln!(out, "{}", json!({ "error": error })))?;
            }
            let text = format!("error {}: {}", error.code.0, error.message);
            say(&format!("the server answered with {}", visible(&text)));
            Ok(Exit::Findings)
        }
    }
}

/// The arguments of the tool, as they were given.
struct Given {
    /// The object of `--args`.
    whole: Box<RawValue>,
    /// Those of `--arg`: names and texts.
    single: Vec<(String, String)>,
}

impl Given {
    fn of(arguments: &Arguments) -> Result<Self, Trouble> {
        let whole = whole(arguments.args.as_deref())?;
        let mut single: Vec<(String, String)> = Vec::new();
        for arg in &arguments.arg {
            let (name, text) = arg.split_once('=').ok_or(Trouble::NoArgument)?;
            let twice = |by| {
                let name = name.to_owned();
                Err(Trouble::ArgumentTwice { name, by })
            };
            if arguments::has(&whole, name) {
                return twice("by --args");
            }
            if single.iter().any(|(known, _)| known == name) {
                return twice("by another --arg; a list is JSON, NAME='[1, 2]'");
            }
            single.push((name.to_owned(), text.to_owned()));
        }
        Ok(Self { whole, single })
    }

    /// All of them for a tool.
    fn for_tool(self, tool: &Tool) -> Result<Box<RawValue>, Trouble> {
        let mut all = self.whole;
        // What holds a number that nobody reads says nothing about types here.
        let definition: Value = serde_json::from_str(tool.raw.get()).unwrap_or_default();
        let schema = definition.get("inputSchema").unwrap_or(&Value::Null);
        for (name, text) in self.single {
            let value = arguments::typed(schema, &name, &text)?;
            all = arguments::with(&all, &name, &value);
        }
        Ok(all)
    }
}

/// The object of `--args`.
fn whole(args: Option<&str>) -> Result<Box<RawValue>, Trouble> {
    let text = match args {
        None => "{}".to_owned(),
        Some("-") => {
            let mut text = String::new();
            let read = io::stdin().read_to_string(&mut text);
            read.map_err(|error| Trouble::ReadArguments {
                path: PathBuf::from("standard input"),
                error,
            })?;
            text
        }
        Some(args) => match args.strip_prefix('@') {
            Some(path) => fs::read_to_string(path).map_err(|error| Trouble::ReadArguments {
                path: PathBuf::from(path),
                error,
            })?,
            None => args.to_owned(),
        },
    };
    let value = arguments::read(&text)?;
    Err(Trouble::NoObject(match value.get().as_bytes().first() {
        Some(b'{') => return Ok(value),
        Some(b'n') => "null",
        Some(b't' | b'f') => "true or false",
        Some(b'"') => "a string",
        Some(b'[') => "a list",
        _ => "a number",
    }))
}

/// The tool that is asked for.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    /// Its own name, or the one by which it is offered.
    name: &'a str,
    /// What stands for its server there.
    label: &'a str,
}

type Answered = Result<Box<RawValue>, ErrorData>;

async fn call(
    subjects: &Subjects,
    subject: &Subject,
    server: &ServerPlan,
    options: &session::Options,
    tool: Wanted<'_>,
    given: Given,
) -> Result<Answered, Trouble> {
    let opened = connect::open(subjects, subject, server, options).await;
    let (session, _logs) = opened.map_err(failed)?;
    let answer = ask(&session, &server.name, tool, given).await;
    if let Some(stray) = session.stray() {
        note(&format!(
            "server `{}`: {}",
            visible(&server.name),
            visible(&stray)
        ));
    }
    session.close().await;
    answer
}

async fn ask(
    session: &Session,
    server: &str,
    tool: Wanted<'_>,
    given: Given,
) -> Result<Answered, Trouble> {
    let tools = session.tools().await.map_err(failed)?.tools;
    let Wanted { name: tool, label } = tool;
    let own = tools.iter().find(|known| known.name == tool);
    let own = own.or_else(|| {
        let offered = |name: &str| names::offered(label, name) == tool;
        tools.iter().find(|known| offered(&known.name))
    });
    let Some(own) = own else {
        let shown = |name: &str| session.shown(name).into_owned();
        let names = || tools.iter().map(|tool| tool.name.as_str());
        return Err(Trouble::Tool {
            name: tool.to_owned(),
            server: server.to_owned(),
            nearest: near::nearest(tool, names()).map(shown),
            known: names().map(shown).collect(),
        });
    };
    let params = arguments::call(&own.name, &given.for_tool(own)?);
    match session.call(params, true).end(session.limit()).await {
        Ok(result) => Ok(Ok(result)),
        Err(CallError::Answered(error)) => Ok(Err(error)),
        Err(error) => Err(failed(error.during(server, Step::Serve))),
    }
}

fn failed(failure: session::Failure) -> Trouble {
    Trouble::Failed(Box::new(failure))
}

/// Writes a result for people: texts as they are, all else by name.
fn write(result: &Value, out: &mut dyn Write) -> io::Result<()> {
    let blocks = result.get("content").and_then(Value::as_array);
    let blocks = blocks.map(Vec::as_slice).unwrap_or_default();
    for block in blocks {
        write_block(block, out)?;
    }
    match result.get("structuredContent") {
        Some(structured) if blocks.is_empty() => writeln!(out, "{structured:#}"),
        _ => Ok(()),
    }
}

fn write_block(block: &Value, out: &mut dyn Write) -> io::Result<()> {
    let text = |value: &Value, name: &str| {
        let text = value.get(name).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let bytes = |base64: &str| base64.trim_end_matches('=').len() * 3 / 4;
    let kind = text(block, "type");
    let named = match kind.as_str() {
        "text" => return write_text(&text(block, "text"), out),
        "image" | "audio" => format!(
            "{kind}: {}, {} bytes",
            text(block, "mimeType"),
            bytes(&text(block, "data"))
        ),
        "resource_link" => format!("resource: {}", text(block, "uri")),
        "resource" => {
            let Some(resource) = block.get("resource") else {
                return Ok(());
            };
            if resource.get("text").is_some() {
                return write_text(&text(resource, "text"), out);
            }
            format!(
                "resource: {}, {}, {} bytes",
                text(resource, "uri"),
                text(resource, "mimeType"),
                bytes(&text(resource, "blob"))
            )
        }
        "" => "content without a type".to_owned(),
        other => format!("{other}: not known here"),
    };
    writeln!(out, "[{}; --json shows it]", visible(&named))
}

/// A terminal obeys what it is sent; whatever else reads gets the text itself.
fn write_text(text: &str, out: &mut dyn Write) -> io::Result<()> {
    if !io::stdout().is_terminal() {
        return writeln!(out, "{text}");
    }
    for line in text.lines() {
        writeln!(out, "{}", visible(line))?;
    }
    Ok(())
}
