//! `apkit export`.

mod program;
mod source;
mod text;

use std::path::Path;

use apkit::export::report::{self, Report};
use apkit::export::{
    self, Accepted, Archive, Client, Descriptor, Format, Identity, Input, Kept, Launch, Plan,
    Target, Transport, Weight, everos,
};
use apkit::spec::metadata::Person;

use super::args::{
    Export, ExportClient, ExportIdentity, ExportServer, ExportTarget, ExportTransport, TextOrJson,
};
use super::exit::Exit;
use super::failure::{Failure, slashed};
use super::output;

/// The time of every entry of an archive unless `SOURCE_DATE_EPOCH` tells
/// another one: 26 October 1985, which npm writes.
const MTIME: u64 = 499_162_500;

pub(crate) fn run(arguments: &Export) -> Result<Exit, Failure> {
    let target = target(arguments.target);
    let shown = arguments.out.as_deref().map(slashed);
    let mut kept = Vec::new();
    let plan = match plan(arguments, target, &mut kept) {
        Ok(plan) => plan,
        Err(failure) => {
            if arguments.format == TextOrJson::Json {
                let report = Report {
                    plan: &Plan::default(),
                    target,
                    out: shown.as_deref(),
                    written: false,
                    receipt: None,
                    deleted: &[],
                    error: Some(&failure.to_string()),
                    accepted: &[],
                };
                tell(arguments, &report, false)?;
            }
            return Err(failure);
        }
    };
    kept.extend(surroundings());
    let options = export::Options {
        force: arguments.force,
        allow_warnings: arguments.allow_warnings,
        kept: &kept,
    };
    let denied = arguments.deny_losses && !plan.losses.is_empty();
    let out = arguments.out.as_deref();
    let archive = out.and_then(Format::of);
    let writes = out.filter(|_| !denied && !arguments.dry_run);
    let deleted = match (out, archive) {
        (Some(out), None) if !denied => export::deletes(&plan, out, options),
        (Some(out), Some(_)) if !denied => export::admit_archive(out, options).map(|_| Vec::new()),
        _ => Ok(Vec::new()),
    };
    let (deleted, done) = match (deleted, writes) {
        (Err(error), _) => (Vec::new(), Err(error)),
        (Ok(deleted), Some(out)) => (deleted, write(&plan, out, arguments.npm, options)?),
        (Ok(deleted), None) => (
            deleted,
            export::check(&plan, &std::env::temp_dir(), options),
        ),
    };
    // What was lost on the way explains most of what stands against the result.
    let (accepted, failure) = match done {
        Ok(accepted) => (accepted, None),
        Err(error) => {
            let path = out.unwrap_or(Path::new("a package")).to_owned();
            (Vec::new(), Some(Failure::Export { path, error }))
        }
    };
    let error = match &failure {
        Some(failure) => Some(failure.to_string()),
        None => denied.then(|| "something would be lost".to_owned()),
    };
    let receipt = archive.is_none().then(|| export::receipt(&plan));
    let report = Report {
        plan: &plan,
        target,
        out: shown.as_deref(),
        written: writes.is_some() && failure.is_none(),
        receipt: receipt.as_ref(),
        deleted: &deleted,
        error: error.as_deref(),
        accepted: &accepted,
    };
    tell(arguments, &report, denied)?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let component = plan
        .losses
        .iter()
        .any(|loss| loss.kind.weight() == Weight::Component);
    Ok(if denied || component {
        Exit::Findings
    } else {
        Exit::Clean
    })
}

/// Whether a name is that of an archive of a kind that is not written.
fn is_other_archive(out: &Path) -> bool {
    const OTHERS: &[&str] = &["tar", "gz", "bz2", "xz", "zst", "7z", "rar", "txz", "tbz2"];
    let extension = out.extension().and_then(|extension| extension.to_str());
    Format::of(out).is_none()
        && extension
            .is_some_and(|extension| OTHERS.contains(&extension.to_ascii_lowercase().as_str()))
}

/// What no export replaces, beside its sources.
fn surroundings() -> impl Iterator<Item = Kept> {
    let places = [
        (std::env::current_dir().ok(), "the working directory"),
        (std::env::home_dir(), "the home directory"),
    ];
    places.into_iter().filter_map(|(path, what)| {
        Some(Kept {
            path: path.filter(|path| path.is_absolute())?,
            what: what.to_owned(),
            closed: false,
        })
    })
}

/// Writes the plan where the name of `out` says; the outer error is one of usage.
fn write(
    plan: &Plan,
    out: &Path,
    npm: bool,
    options: export::Options<'_>,
) -> Result<Result<Vec<Accepted>, export::Error>, Failure> {
    Ok(match Format::of(out) {
        None => export::apply(plan, out, options),
        Some(format) => {
            let archive = Archive {
                format,
                prefix: if npm { "package" } else { "" },
                mtime: mtime()?,
            };
            export::write_archive(plan, out, archive, options)
        }
    })
}

/// The time that the environment asks for, or the fixed one.
fn mtime() -> Result<u64, Failure> {
    match std::env::var_os("SOURCE_DATE_EPOCH") {
        None => Ok(MTIME),
        Some(text) if text.is_empty() => Ok(MTIME),
        Some(text) => {
            let seconds = text.to_str().and_then(|text| text.parse().ok());
            seconds.ok_or_else(|| Failure::Epoch(text.to_string_lossy().into_owned()))
        }
    }
}

fn tell(arguments: &Export, report: &Report<'_>, denied: bool) -> Result<(), Failure> {
    output::to_stdout(|to| match arguments.format {
        TextOrJson::Json => to.write_all(report::json(report).as_bytes()),
        TextOrJson::Text => {
            let outcome = text::Outcome {
                denied,
                dry_run: arguments.dry_run,
                marketplace: arguments.marketplace,
            };
            text::write(report, outcome, to)
        }
    })
}

fn plan(arguments: &Export, target: Target, kept: &mut Vec<Kept>) -> Result<Plan, Failure> {
    if let Some(out) = arguments.out.as_deref().filter(|out| is_other_archive(out)) {
        return Err(Failure::ArchiveKind(out.to_owned()));
    }
    if arguments
        .sources
        .iter()
        .any(|source| source == everos::SOURCE)
    {
        let program = program::program(arguments.bin.as_deref())?;
        return Ok(everos::plan(program, arguments.marketplace));
    }
    let mut sources = Vec::new();
    for source in &arguments.sources {
        sources.push(source::read(source, kept)?);
    }
    let input = Input {
        sources,
        plugin: arguments.plugin.clone(),
        from: arguments.from.map(client),
        target,
        identity: identity(&arguments.identity),
        namespace: arguments.namespace.clone(),
        rename: arguments.rename,
        marketplace: arguments.marketplace,
        server: server(&arguments.server)?,
        npm: arguments.npm,
    };
    export::plan(input).map_err(|error| {
        let sources = arguments.sources.iter();
        let sources: Vec<_> = sources.map(|source| source::shown(source)).collect();
        Failure::Plan {
            what: match &arguments.server.server {
                Some(server) if sources.is_empty() => format!("the server {server}"),
                _ => sources.join(", "),
            },
            error,
        }
    })
}

fn identity(arguments: &ExportIdentity) -> Identity {
    Identity {
        name: arguments.name.clone(),
        version: arguments.version.clone(),
        description: arguments.description.clone(),
        author: arguments.author.as_deref().map(Person::named),
        homepage: arguments.homepage.clone(),
        repository: arguments.repository.clone(),
        license: arguments.license.clone(),
        keywords: arguments.keywords.clone(),
    }
}

fn server(arguments: &ExportServer) -> Result<Option<Descriptor>, Failure> {
    let Some(name) = arguments.server.clone() else {
        return Ok(None);
    };
    let launch = match (&arguments.url, &arguments.command) {
        (Some(url), _) => Launch::Remote {
            transport: match arguments.transport {
                ExportTransport::StreamableHttp => Transport::StreamableHttp,
                ExportTransport::Sse => Transport::Sse,
            },
            url: url.clone(),
            headers: arguments.headers.clone(),
        },
        (None, Some(command)) => Launch::Stdio {
            command: command.clone(),
            args: arguments.args.clone(),
            env: arguments.env.clone(),
            cwd: arguments.cwd.clone(),
        },
        (None, None) => return Err(Failure::NoLaunch),
    };
    Ok(Some(Descriptor { name, launch }))
}

fn target(target: ExportTarget) -> Target {
    match target {
        ExportTarget::AgentPlugins => Target::AgentPlugins,
        ExportTarget::ClaudeCode => Target::ClaudeCode,
        ExportTarget::Codex => Target::Codex,
        ExportTarget::Copilot => Target::Copilot,
        ExportTarget::All => Target::All,
        ExportTarget::Skills => Target::Skills,
    }
}

fn client(client: ExportClient) -> Client {
    match client {
        ExportClient::ClaudeCode => Client::ClaudeCode,
        ExportClient::Codex => Client::Codex,
        ExportClient::Copilot => Client::Copilot,
    }
}
