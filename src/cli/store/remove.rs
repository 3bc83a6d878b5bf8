//! `apkit remove`.

use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use apkit::render::visible;
use apkit::source::Source;
use apkit::store::{self, Removed, Store};

use super::super::exit::Exit;
use super::super::failure::{Failure, show};
use super::super::output;
use super::{Remove, Session, copies, json, words};

/// One package and what came of it.
struct Line {
    name: String,
    result: Result<Removed, store::Error>,
}

pub(crate) fn run(arguments: &Remove) -> Result<Exit, Failure> {
    let session = Session::start()?;
    let store = session.store(&arguments.place)?;
    let lines = arguments.names.iter();
    let lines: Vec<Line> = lines
        .map(|name| one(name, arguments, &store, &session))
        .collect();
    let mut failures = Vec::new();
    output::to_stdout(|out| {
        if arguments.shape.is_json() {
            let word = match arguments.skills_to.is_empty() {
                true => "removed",
                false => "copies_removed",
            };
            let items = lines.iter().map(|line| as_json(line, word)).collect();
            return json::write("results", items, out);
        }
        for line in &lines {
            if let Ok(removed) = &line.result {
                as_text(&line.name, removed, arguments, &store, out)?;
            }
        }
        Ok(())
    })?;
    let mut exit = Exit::Clean;
    for line in lines {
        if let Err(error) = line.result {
            exit = Exit::Failed;
            let what = format!("remove {}", visible(&line.name));
            failures.push(Failure::store(what, error));
        }
    }
    if !arguments.shape.is_json() {
        failures.iter().for_each(Failure::tell);
    }
    Ok(exit)
}

fn one(text: &str, arguments: &Remove, store: &Store, session: &Session) -> Line {
    let name = match store.name_of(text, session.environment(), session.stop()) {
        Ok(name) => name,
        // Of one that was removed, data may be left.
        Err(_) if arguments.purge => text.to_owned(),
        Err(error) => {
            return Line {
                name: Source::shown(text),
                result: Err(error),
            };
        }
    };
    let result = if arguments.skills_to.is_empty() {
        store.remove(&name, arguments.purge, session.stop())
    } else {
        let directories = arguments.skills_to.iter();
        let directories: Vec<PathBuf> = directories.map(|path| session.absolute(path)).collect();
        store.remove_folders(&name, &directories, session.stop())
    };
    let name = match result {
        Ok(_) => name,
        Err(_) => Source::shown(&name),
    };
    Line { name, result }
}

fn as_text(
    name: &str,
    removed: &Removed,
    arguments: &Remove,
    store: &Store,
    out: &mut dyn Write,
) -> io::Result<()> {
    let title = match &removed.entry {
        Some(entry) => words::title(name, entry),
        None => format!("what {} had stored", visible(name)),
    };
    if arguments.skills_to.is_empty() {
        writeln!(out, "removed {title}")?;
    } else {
        writeln!(out, "{title} stays; its skills are no longer copied")?;
    }
    words::discarded(&removed.discarded, out)?;
    copies::others(&removed.folders, false, out)?;
    if removed.data_kept {
        writeln!(
            out,
            "  what it has stored is kept in {}; {} deletes it",
            show(&store.package_data(name)),
            words::command(&arguments.place, &["remove", name, "--purge"])
        )?;
    }
    Ok(())
}

fn as_json(line: &Line, word: &str) -> Value {
    let mut members = Map::new();
    let mut set = |key: &str, value: Value| members.insert(key.to_owned(), value);
    set("name", json!(line.name));
    match &line.result {
        Ok(removed) => {
            set("outcome", json!(word));
            set("before", removed.entry.as_ref().map(json::entry).into());
            set("data_kept", json!(removed.data_kept));
            set("discarded", json::discarded(&removed.discarded));
            set("discarded_unknown", json!(removed.discarded.is_unknown));
            set("folders", json::folders(&removed.folders));
        }
        Err(error) => {
            set("outcome", json!("failed"));
            set("message", json::message(error));
        }
    }
    Value::Object(members)
}
