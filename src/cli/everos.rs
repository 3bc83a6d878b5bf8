//! `apkit everos`: the memory plugin, asked by hand.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};

use apkit::everos::config::{Arguments, Env, Key};
use apkit::everos::deadline::Deadline;
use apkit::everos::json::Json;
use apkit::everos::query::MAX_CHARS;
use apkit::everos::redact::Redactor;
use apkit::everos::text::clip;
use apkit::everos::{Context, render, search, status};
use apkit::host::claude_code::ClaudeCode;

use super::exit::Exit;
use super::failure::{self, Failure};
use super::output;

#[derive(Debug, Args)]
pub(crate) struct Everos {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show whether memory works: server, ids, settings, captures, what to check
    ///
    /// The exit status is 0 if it does, 1 if it does not.
    Status(Status),
    /// Search memory as a prompt would, and show what the model would be given
    Search(Search),
}

/// Where to look. A model's shell has no plugin variables, so everything a hook
/// reads from them can be given here; a literal `${…}` counts as not given.
#[derive(Debug, Args)]
struct Place {
    /// Address of the EverOS server
    #[arg(long, value_name = "URL")]
    base_url: Option<OsString>,

    /// Directory of the plugin's state and logs
    #[arg(long, value_name = "DIR")]
    data_dir: Option<OsString>,

    /// Directory to start the server in
    #[arg(long, value_name = "DIR")]
    everos_dir: Option<OsString>,

    /// Id of the user
    #[arg(long, value_name = "ID")]
    user_id: Option<OsString>,

    /// Id of the project, instead of the one the directory stands for
    #[arg(long, value_name = "ID")]
    project_id: Option<OsString>,

    /// The project's directory, instead of the present one
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Status {
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Args)]
struct Search {
    /// What to search for
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,

    #[command(flatten)]
    place: Place,
}

/// Runs the command.
pub(crate) fn run(everos: &Everos) -> Result<Exit, Failure> {
    match &everos.command {
        Command::Status(arguments) => show_status(&arguments.place),
        Command::Search(arguments) => show_search(arguments),
    }
}

impl Place {
    fn arguments(&self) -> Arguments {
        let given = [
            (Key::BaseUrl, &self.base_url),
            (Key::DataDir, &self.data_dir),
            (Key::EverosDir, &self.everos_dir),
            (Key::UserId, &self.user_id),
            (Key::ProjectId, &self.project_id),
        ];
        given
            .into_iter()
            .filter_map(|(key, value)| Some((key, value.clone()?)))
            .collect()
    }

    fn context<'a>(&self, env: &'a Env, stage: &'static str) -> Context<'a> {
        let unfilled = |path: &PathBuf| {
            let text = path.to_string_lossy();
            text.trim().is_empty() || text.starts_with("${") && text.ends_with('}')
        };
        let here = std::env::current_dir().unwrap_or_default();
        // A name is what a project without a remote is told by, and `.` has none.
        let directory = match self.cwd.as_ref().filter(|path| !unfilled(path)) {
            Some(path) => std::fs::canonicalize(path).unwrap_or_else(|_| here.join(path)),
            None => here,
        };
        Context::new(&ClaudeCode, env, &self.arguments(), &directory, stage)
    }
}

fn show_status(place: &Place) -> Result<Exit, Failure> {
    let env = Env::new(std::env::vars_os());
    let report = status::gather(&place.context(&env, "status"));
    output::to_stdout(|out| match place.json {
        true => write_json(out, &report),
        false => out.write_all(report.to_text().as_bytes()),
    })?;
    Ok(if report.healthy {
        Exit::Clean
    } else {
        Exit::Findings
    })
}

fn show_search(arguments: &Search) -> Result<Exit, Failure> {
    let env = Env::new(std::env::vars_os());
    let context = arguments.place.context(&env, "search");
    let words = Redactor::new(context.config.redact.value).string(&arguments.query.join(" "));
    let query = clip(words.trim(), MAX_CHARS);
    if query.is_empty() {
        return Err(Failure::EmptyQuery);
    }
    let deadline = Deadline::after(context.config.recall_timeout.value);
    let both = search::both(
        context.client(),
        &context.identity,
        query,
        true,
        false,
        deadline,
    );
    let failures: Vec<String> = both
        .failures()
        .iter()
        .map(|(track, failure)| format!("{track} memory: {failure}"))
        .collect();
    if arguments.place.json {
        let report = serde_json::json!({
            "schema_version": 1,
            "query": query,
            "project_id": context.identity.project,
            "user_id": context.identity.user,
            "agent_id": context.identity.agent,
            "keyword_only": both.keyword_only(),
            "failures": failures,
            "user": both.user_data(),
            "agent": both.agent_data(),
        });
        output::to_stdout(|out| write_json(out, &report))?;
    } else if !both.all_failed() {
        output::to_stdout(|out| write_found(out, &both, &context.identity.project))?;
        failures.iter().for_each(|failure| failure::note(failure));
    }
    if both.all_failed() {
        let url = context.config.base_url.value.to_string();
        return Err(Failure::Search {
            url,
            reasons: failures,
        });
    }
    Ok(Exit::Clean)
}

fn write_found(out: &mut dyn Write, both: &search::Both, project: &str) -> io::Result<()> {
    let Some(rendered) = render::render(both.user_data(), both.agent_data(), &[]) else {
        return writeln!(out, "Nothing found in {project}.");
    };
    let how = if both.keyword_only() {
        " (by keyword only)"
    } else {
        ""
    };
    writeln!(
        out,
        "{}\n\nFound: {}{how}",
        rendered.block,
        rendered.counts.summary()
    )?;
    scores(both)
        .iter()
        .try_for_each(|line| writeln!(out, "  {line}"))
}

/// One line for each thing found: score, kind, id.
fn scores(both: &search::Both) -> Vec<String> {
    let lists = [
        (both.user_data(), "episodes", "episode"),
        (both.agent_data(), "agent_cases", "case"),
        (both.agent_data(), "agent_skills", "skill"),
    ];
    let mut lines = Vec::new();
    for (data, list, kind) in lists {
        for item in data.map(|data| data.list(list)).unwrap_or_default() {
            let score = match item.get("score") {
                Some(Json::Number(digits)) => digits
                    .parse::<f64>()
                    .map(|score| format!("{score:.3}"))
                    .unwrap_or_default(),
                _ => "-".to_owned(),
            };
            let id: String = item
                .str("id")
                .unwrap_or_default()
                .chars()
                .filter(|ch| !ch.is_control())
                .collect();
            lines.push(format!("{score:>8}  {kind:<8}{id}"));
        }
    }
    lines
}

fn write_json(out: &mut dyn Write, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    out.write_all(b"\n")
}
