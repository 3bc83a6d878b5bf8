//! `apkit update`.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use apkit::render::visible;
use apkit::source::Source;
use apkit::store::{self, Entry, Outcome, State, Store, Updated, VersionChange, shown_version};

use super::super::args::When;
use super::super::exit::Exit;
use super::super::failure::Failure;
use super::super::output;
use super::args::Place;
use super::copies::Asked;
use super::gate::{self, Gate};
use super::{Session, Update, json, temporary, verify, words};

/// One package and what came of it.
struct Line {
    name: String,
    result: Result<Updated, store::Error>,
}

pub(crate) fn run(arguments: &Update, color: When) -> Result<Exit, Failure> {
    let mut session = Session::start()?;
    let store = session.store(&arguments.place)?;
    let lines = all(arguments, &store, &session)?;
    session.end();
    let mut exit = lines.iter().map(exit_of).max().unwrap_or(Exit::Clean);
    if session.stop().is_requested() && lines.len() < arguments.names.len() {
        exit = Exit::Failed;
    }
    let gate = Gate::of(&store, &arguments.place, &session);
    if arguments.shape.is_json() {
        let items = lines.into_iter().map(|line| as_json(line, &gate)).collect();
        output::to_stdout(|out| json::write("results", items, out))?;
        return Ok(exit);
    }
    let mut failures = Vec::new();
    output::to_stdout(|out| {
        if lines.is_empty() {
            writeln!(
                out,
                "no packages in {}",
                super::super::failure::show(store.root())
            )?;
        }
        for line in lines {
            if let Err(failure) = as_text(line, &store, &gate, &arguments.place, color, out)? {
                failures.push(failure.with_way_out(&arguments.place));
            }
        }
        Ok(())
    })?;
    for failure in failures {
        failure.tell();
    }
    Ok(exit)
}

fn all(arguments: &Update, store: &Store, session: &Session) -> Result<Vec<Line>, Failure> {
    if arguments.to.is_some() && arguments.names.len() > 1 {
        return Err(Failure::ToOfSeveral);
    }
    let mut names = Vec::new();
    if arguments.names.is_empty() {
        let installed = store
            .installed(session.stop())
            .map_err(|error| Failure::store("update".to_owned(), error))?;
        names.extend(installed.packages.into_keys().map(Ok));
    }
    for text in &arguments.names {
        let name = match arguments.to {
            Some(_) => store.name_of(text, session.environment(), session.stop()),
            None => store.name_to_update(text, session.environment(), session.stop()),
        };
        names.push(name.map_err(|error| (Source::shown(text), error)));
    }
    let mut lines = Vec::new();
    for name in names {
        // What one brought must not be in the way of the next.
        let scratch = arguments.check.then(temporary).transpose()?;
        let update = store::Update {
            check: scratch.as_ref().map(|scratch| scratch.path().to_owned()),
            to: arguments.to.clone(),
            strict: arguments.strict,
            drafts: arguments.draft.applies(),
        };
        lines.push(match name {
            Ok(name) => Line {
                result: store.update(&name, &session.request(), &update),
                name,
            },
            Err((name, error)) => Line {
                name,
                result: Err(error),
            },
        });
        if session.stop().is_requested() {
            break;
        }
    }
    Ok(lines)
}

fn exit_of(line: &Line) -> Exit {
    match &line.result {
        Ok(Updated::Current(_) | Updated::Done(_)) => Exit::Clean,
        Ok(Updated::Available { .. } | Updated::Repairable { .. } | Updated::Rejected(_)) => {
            Exit::Findings
        }
        Err(error) if error.is_denied() => Exit::Findings,
        Err(_) => Exit::Failed,
    }
}

fn as_text(
    line: Line,
    store: &Store,
    gate: &Gate,
    place: &Place,
    color: When,
    out: &mut dyn Write,
) -> io::Result<Result<(), Failure>> {
    let name = visible(&line.name).into_owned();
    match line.result {
        Ok(Updated::Current(entry)) => {
            writeln!(out, "{name}: current ({})", words::content(&entry))?;
        }
        Ok(Updated::Repairable {
            before,
            after,
            state,
        }) => {
            words::rewritten(Some(&before), &after, out)?;
            let what = match *state {
                State::Missing => "missing",
                // It is a copy of a skill.
                State::Intact => "its copied skills are not as they were copied",
                State::Misrecorded(_) => {
                    "the lock file says something else of it than its plugin.json"
                }
                State::Changed(_) | State::Odd(_) => "changed here",
            };
            writeln!(
                out,
                "{name}: {what}; {} puts it back",
                words::command(place, &["update", &name])
            )?;
        }
        Ok(Updated::Available {
            before,
            after,
            package,
        }) => {
            writeln!(
                out,
                "{name}: update available, {}",
                between(&before, &after)
            )?;
            words::rewritten(Some(&before), &after, out)?;
            gate::told(&gate.by(&package, &after.digest), &after.digest, out)?;
        }
        Ok(Updated::Done(done)) => {
            let step = done
                .before
                .as_ref()
                .map(|before| between(before, &done.entry))
                .unwrap_or_default();
            match done.outcome {
                Outcome::Recorded => {
                    writeln!(out, "{name}: same content, {step}")?;
                    let from = done.before.as_ref().map(|before| before.source.to_string());
                    let to = done.entry.source.to_string();
                    if from.is_some_and(|from| from != to) {
                        writeln!(out, "  updates follow {} from now on", visible(&to))?;
                    }
                }
                Outcome::Installed => writeln!(out, "{name}: imported")?,
                Outcome::Repaired => writeln!(out, "{name}: put back as it was")?,
                _ => writeln!(out, "{name}: updated, {step}")?,
            }
            let root = store.package_root(&done.name);
            words::notes(&done, &root, place, Asked::default(), out)?;
            gate::told(&gate.outdated(&done), &done.entry.digest, out)?;
        }
        Ok(Updated::Rejected(rejected)) => {
            words::rejected(*rejected, color, out)?;
            writeln!(
                out,
                "{name}: what its source has is rejected, what is installed stays"
            )?;
        }
        Err(error) => {
            let state = if error.is_unreachable() {
                "source not reachable; may be out of date"
            } else {
                "not updated"
            };
            writeln!(out, "{name}: {state}")?;
            return Ok(Err(Failure::store(format!("update {name}"), error)));
        }
    }
    Ok(Ok(()))
}

/// From one content to another.
fn between(before: &Entry, after: &Entry) -> String {
    let version = |entry: &Entry| shown_version(entry.version.as_deref(), &entry.digest);
    let change = match change(before, after) {
        Some(change) => format!(" ({})", change.as_str()),
        None => String::new(),
    };
    let versions = format!(
        "{} to {}{change}",
        visible(&version(before)),
        visible(&version(after))
    );
    // npm's version is that of the manifest, nearly always.
    let is_all = [before, after].iter().all(|entry| {
        words::pin(entry).is_some_and(|pin| pin == format!("version {}", visible(&version(entry))))
    });
    if is_all {
        return versions;
    }
    format!(
        "{versions}, {} to {}",
        words::content(before),
        words::content(after)
    )
}

fn change(before: &Entry, after: &Entry) -> Option<VersionChange> {
    VersionChange::between(before.version.as_deref(), after.version.as_deref())
}

fn as_json(line: Line, gate: &Gate) -> Value {
    let mut members = Map::new();
    let outcome = |word: &str| json!(word);
    match line.result {
        Ok(Updated::Current(entry)) => {
            members.insert("outcome".to_owned(), outcome("current"));
            members.insert("after".to_owned(), json::entry(&entry));
        }
        Ok(Updated::Available {
            before,
            after,
            package,
        }) => {
            let outdated = gate.by(&package, &after.digest);
            members.insert("outdated_rules".to_owned(), gate::as_json(&outdated));
            members.insert("outcome".to_owned(), outcome("available"));
            let change = change(&before, &after).map(VersionChange::as_str);
            members.insert("change".to_owned(), json!(change));
            members.insert(
                "rewritten".to_owned(),
                json::rewritten(Some(&before), &after),
            );
            members.insert("before".to_owned(), json::entry(&before));
            members.insert("after".to_owned(), json::entry(&after));
        }
        Ok(Updated::Repairable {
            before,
            after,
            state,
        }) => {
            members.insert("outcome".to_owned(), outcome("repairable"));
            members.insert("state".to_owned(), json!(verify::word(&state)));
            members.insert(
                "rewritten".to_owned(),
                json::rewritten(Some(&before), &after),
            );
            members.insert("before".to_owned(), json::entry(&before));
            members.insert("after".to_owned(), json::entry(&after));
        }
        Ok(Updated::Done(done)) => {
            let before = done.before.as_ref();
            let change = before.and_then(|before| change(before, &done.entry));
            let outdated = gate::as_json(&gate.outdated(&done));
            members = json::done(*done, outdated);
            let change = change.map(VersionChange::as_str);
            members.insert("change".to_owned(), json!(change));
        }
        Ok(Updated::Rejected(rejected)) => {
            members = json::rejected(*rejected);
        }
        Err(error) => {
            members.insert("outcome".to_owned(), outcome(json::failed(&error)));
            members.insert("message".to_owned(), json::message(&error));
        }
    }
    members.insert("name".to_owned(), json!(line.name));
    Value::Object(members)
}
