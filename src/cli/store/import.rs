//! `apkit import`.

use std::io::{self, Write};
use std::path::Path;

use serde_json::{Map, Value, json};

use apkit::package::discover;
use apkit::render::visible;
use apkit::source::{self, Source, git, npm, remote};
use apkit::store::{
    self, Done, Entry, Folder, Foreseen, Imported, Options, Outcome, Store, VersionChange,
    shown_version,
};

use super::super::args::When;
use super::super::exit::Exit;
use super::super::failure::{Failure, show};
use super::super::output;
use super::copies::Asked;
use super::gate::{self, Gate};
use super::{Import, Scratch, Session, json, temporary, words};

/// One package, as asked for, and what came of it.
struct Line {
    asked: String,
    /// What moves on where the lock file cannot be followed.
    way_out: Option<String>,
    result: Result<Imported, store::Error>,
}

pub(crate) fn run(arguments: &Import, color: When) -> Result<Exit, Failure> {
    if arguments.sources.is_empty() && !arguments.frozen {
        return Err(Failure::NoSources);
    }
    let mut session = Session::start()?;
    let store = session.store(&arguments.place)?;
    let mut exit = Exit::Clean;
    let mut results = Vec::new();
    if arguments.sources.is_empty() {
        let scratch = scratch(arguments)?;
        let options = options(arguments, &session, scratch.as_ref());
        let restored = store
            .restore(&session.request(), &options)
            .map_err(|error| Failure::store("restore".to_owned(), error))?;
        results.extend(restored.into_iter().map(|restored| Line {
            way_out: moves_on(
                &restored.result,
                &restored.name,
                &store,
                &session,
                arguments,
            ),
            asked: restored.name,
            result: restored.result,
        }));
    }
    let mut foreseen = Foreseen::default();
    for text in &arguments.sources {
        // What one brought must not be in the way of the next.
        let scratch = scratch(arguments)?;
        let mut options = options(arguments, &session, scratch.as_ref());
        options.foreseen = foreseen.clone();
        let result = one(text, arguments.frozen, &store, &session, &options);
        if let (true, Ok(Imported::Done(done))) = (arguments.dry_run, &result) {
            foreseen.add(done);
        }
        results.push(Line {
            asked: Source::shown(text),
            way_out: moves_on(&result, text, &store, &session, arguments),
            result,
        });
        if session.stop().is_requested() {
            break;
        }
    }
    session.end();
    if session.stop().is_requested() && results.len() < arguments.sources.len() {
        exit = Exit::Failed;
    }
    let gate = Gate::of(&store, &arguments.place, &session);
    for result in &results {
        exit = exit.max(exit_of(result));
    }
    if arguments.shape.is_json() {
        let items = results
            .into_iter()
            .map(|result| as_json(result, &store, &gate));
        output::to_stdout(|out| json::write("results", items.collect(), out))?;
    } else {
        let mut failures = Vec::new();
        output::to_stdout(|out| {
            if results.is_empty() {
                writeln!(
                    out,
                    "the lock file of {} names no package",
                    show(store.root())
                )?;
            }
            for result in results {
                if let Ok(Imported::Done(done)) = &result.result {
                    done_text(done, &store, &gate, arguments, out)?;
                    if arguments.place.project {
                        here_alone(done, &session, out)?;
                    }
                    continue;
                }
                let way_out = result.way_out.clone();
                if let Err(failure) = undone_text(result, color, out)? {
                    failures.push(failure.with_way_out(&arguments.place).or_by(way_out));
                }
            }
            Ok(())
        })?;
        for failure in failures {
            failure.tell();
        }
    }
    Ok(exit)
}

fn scratch(arguments: &Import) -> Result<Option<Scratch>, Failure> {
    arguments.dry_run.then(temporary).transpose()
}

fn options(arguments: &Import, session: &Session, scratch: Option<&Scratch>) -> Options {
    let folders = arguments.skills_to.iter().map(|directory| Folder {
        directory: session.absolute(directory),
        scripts: arguments.allow_scripts,
    });
    Options {
        replace: arguments.replace,
        strict: arguments.strict,
        drafts: arguments.draft.applies(),
        folders: folders.collect(),
        allow_scripts: arguments.allow_scripts,
        dry_run: scratch.map(|scratch| scratch.path().to_owned()),
        foreseen: Foreseen::default(),
    }
}

fn one(
    text: &str,
    frozen: bool,
    store: &Store,
    session: &Session,
    options: &Options,
) -> Result<Imported, store::Error> {
    let request = session.request();
    // The lock file says what the name of a package stands for.
    let named = match frozen {
        true => store.installed(session.stop())?.packages.remove(text),
        false => None,
    };
    let source = match named {
        Some(entry) => entry.source,
        None => Source::parse(text, session.environment())?,
    };
    if frozen {
        store.import_frozen(&source, &request, options)
    } else {
        store.import(&source, &request, options)
    }
}

/// The command that takes what a source has now, where it no longer has what the
/// lock file demands.
fn moves_on(
    result: &Result<Imported, store::Error>,
    asked: &str,
    store: &Store,
    session: &Session,
    arguments: &Import,
) -> Option<String> {
    let Err(error) = result else {
        return None;
    };
    if !arguments.frozen {
        return None;
    }
    let name = (store.name_of(asked, session.environment(), session.stop())).ok()?;
    let entry = store
        .installed(session.stop())
        .ok()?
        .packages
        .remove(&name)?;
    let to = elsewhere(error, &entry)?;
    let words = [&["update", name.as_str()][..], to].concat();
    let command = words::command(&arguments.place, &words);
    Some(format!(
        "{command} takes what is there now, if you trust that"
    ))
}

/// How an update gets past content that is gone or was replaced; nothing if that is
/// not what failed.
fn elsewhere(error: &store::Error, entry: &Entry) -> Option<&'static [&'static str]> {
    // An update stays with the one content that its source names.
    let names_it = |id: &str| {
        entry
            .source
            .wanted()
            .is_some_and(|wanted| id.starts_with(wanted))
    };
    match error {
        store::Error::NotAsLocked(_) => Some(&[]),
        store::Error::Fetch(error) => match error {
            source::Error::Npm(npm::Error::Unpublished { version, .. }) if names_it(version) => {
                Some(&["--to", "latest"])
            }
            source::Error::Git(git::Error::NoCommit { id }) if names_it(id) => {
                Some(&["--to", "HEAD"])
            }
            source::Error::Integrity { .. }
            | source::Error::Npm(npm::Error::Unpublished { .. } | npm::Error::Replaced { .. })
            | source::Error::Git(git::Error::NoCommit { .. })
            | source::Error::Remote(remote::Error::Replaced { .. }) => Some(&[]),
            _ => None,
        },
        _ => None,
    }
}

fn exit_of(result: &Line) -> Exit {
    match &result.result {
        Ok(Imported::Done(_)) => Exit::Clean,
        Ok(Imported::Rejected(_)) => Exit::Findings,
        Err(error) if error.is_denied() => Exit::Findings,
        _ => Exit::Failed,
    }
}

fn done_text(
    done: &Done,
    store: &Store,
    gate: &Gate,
    arguments: &Import,
    out: &mut dyn Write,
) -> io::Result<()> {
    let asked = Asked {
        scripts: arguments.allow_scripts,
        dry_run: arguments.dry_run,
    };
    said(done, asked.dry_run, out)?;
    let root = store.package_root(&done.name);
    words::notes(done, &root, &arguments.place, asked, out)?;
    gate::told(&gate.outdated(done), &done.entry.digest, out)
}

/// Tells that the lock file of a project names what other machines do not have.
fn here_alone(done: &Done, session: &Session, out: &mut dyn Write) -> io::Result<()> {
    let source = &done.entry.source;
    let is_known = (done.before.as_ref()).is_some_and(|before| before.source == *source);
    let text = source.to_string();
    let is_here = match source {
        Source::Directory(_) | Source::ArchiveFile(_) => {
            source.written_from(&session.environment().directory) == text
        }
        Source::Git(_) => text.starts_with("git+file:"),
        _ => false,
    };
    if is_known || !is_here {
        return Ok(());
    }
    writeln!(
        out,
        "  the lock file names {}, which is on this machine alone: in a clone elsewhere nothing can import it; inside the project it is named from there",
        visible(&text)
    )
}

/// What keeps a package from being in place.
fn undone_text(result: Line, color: When, out: &mut dyn Write) -> io::Result<Result<(), Failure>> {
    match result.result {
        Ok(Imported::Done(_)) => Ok(Ok(())),
        Ok(Imported::Rejected(rejected)) => {
            words::rejected(*rejected, color, out)?;
            writeln!(out, "nothing was imported from {}", visible(&result.asked))?;
            if let Some(hint) = instead(&result.asked) {
                writeln!(out, "hint: {hint}")?;
            }
            Ok(Ok(()))
        }
        Err(error) => Ok(Err(Failure::store(
            format!("import {}", visible(&result.asked)),
            error,
        ))),
    }
}

/// What makes a package of a directory that is none, if it can be one.
fn instead(asked: &str) -> Option<String> {
    let path = Path::new(asked);
    if !path.is_dir() || path.join("plugin.json").exists() {
        return None;
    }
    let has = |name: &str| path.join(name).exists();
    if has("HEAD") && has("objects") && has("refs") {
        let whole = path.canonicalize().ok()?;
        let source = format!("git+file://{}", show(&whole));
        return Some(format!("it is a repository: {}", words::import(&source)));
    }
    let found = discover::discover(path, &[]).ok()?;
    let name = match (found.native.is_empty(), found.skill_files) {
        (false, _) => "",
        (true, 0) => return None,
        (true, _) => " --name NAME",
    };
    Some(format!(
        "{}{name} --out DIR makes a package of it",
        words::export(asked)
    ))
}

fn said(done: &Done, dry_run: bool, out: &mut dyn Write) -> io::Result<()> {
    let would = if dry_run { "would be " } else { "" };
    let what = match done.outcome {
        Outcome::Installed => format!("{would}imported"),
        Outcome::Updated => format!("{would}{}", updated(done)),
        Outcome::Repaired => format!("{would}put back as it was"),
        Outcome::Recorded => format!("same content; {would}recorded in the lock file"),
        Outcome::Unchanged => "is in place already".to_owned(),
    };
    writeln!(
        out,
        "{}: {what}, {}, from {}",
        words::title(&done.name, &done.entry),
        words::components(&done.package),
        words::origin(&done.entry)
    )
}

fn updated(done: &Done) -> String {
    let Some(before) = &done.before else {
        return "updated".to_owned();
    };
    let change = VersionChange::between(before.version.as_deref(), done.entry.version.as_deref());
    let what = match change {
        Some(VersionChange::Downgrade) => "downgraded",
        _ => "updated",
    };
    let version = shown_version(before.version.as_deref(), &before.digest);
    format!("{what} from {}", visible(&version))
}

fn as_json(result: Line, store: &Store, gate: &Gate) -> Value {
    let mut members = Map::new();
    match result.result {
        Ok(Imported::Done(done)) => {
            let outdated = gate::as_json(&gate.outdated(&done));
            members = json::done(*done, outdated);
            let name = members.get("name").and_then(Value::as_str);
            let place = name.map(|name| store.package_root(name));
            let place = place.map(|place| super::super::failure::slashed(&place));
            members.insert("path".to_owned(), json!(place));
        }
        Ok(Imported::Rejected(rejected)) => {
            members = json::rejected(*rejected);
        }
        Err(error) => {
            members.insert("outcome".to_owned(), json!(json::failed(&error)));
            members.insert("message".to_owned(), json::message(&error));
        }
    }
    members.insert("asked".to_owned(), json!(result.asked));
    Value::Object(members)
}
