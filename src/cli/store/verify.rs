//! `apkit verify`.

use std::io::{self, Write};

use serde_json::{Value, json};

use apkit::render::{self, visible};
use apkit::store::{State, Verified};

use super::super::exit::Exit;
use super::super::failure::{Failure, show};
use super::super::output;
use super::args::Place;
use super::{Session, Verify, json, words};

pub(crate) fn run(arguments: &Verify) -> Result<Exit, Failure> {
    let session = Session::start()?;
    let store = session.store(&arguments.place)?;
    let names = arguments.names.iter();
    let names = names.map(|text| store.name_of(text, session.environment(), session.stop()));
    let names: Vec<String> = names
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::store("verify".to_owned(), error))?;
    let verified = store
        .verify(&names, session.stop())
        .map_err(|error| Failure::store("verify".to_owned(), error))?;
    let strays = if arguments.names.is_empty() {
        let strays = store.unmanaged(session.stop());
        strays.map_err(|error| Failure::store("verify".to_owned(), error))?
    } else {
        Vec::new()
    };
    let is_good = |found: &Verified| found.is_good() && found.denied.is_none();
    let exit = if strays.is_empty() && verified.iter().all(is_good) {
        Exit::Clean
    } else {
        Exit::Findings
    };
    output::to_stdout(|out| {
        if arguments.shape.is_json() {
            let mut document = json::header();
            let packages = verified.iter().map(as_json).collect();
            document.insert("packages".to_owned(), packages);
            document.insert("strays".to_owned(), json!(strays));
            return render::write_json(out, &Value::Object(document), true);
        }
        if verified.is_empty() {
            writeln!(out, "no packages in {}", show(store.root()))?;
        }
        for stray in &strays {
            writeln!(
                out,
                "{}: the lock file does not name it; apkit has not put it into {}: move it away or delete it",
                visible(stray),
                show(&store.root().join("plugins"))
            )?;
        }
        verified
            .iter()
            .try_for_each(|found| as_text(found, &arguments.place, out))
    })?;
    Ok(exit)
}

pub(super) fn word(state: &State) -> &'static str {
    match state {
        State::Intact => "intact",
        State::Missing => "missing",
        State::Changed(_) => "changed",
        State::Odd(_) => "odd",
        State::Misrecorded(_) => "misrecorded",
    }
}

fn as_text(found: &Verified, place: &Place, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{}: {}",
        words::title(&found.name, &found.entry),
        word(&found.state)
    )?;
    match &found.state {
        State::Changed(changes) if changes.is_empty() => writeln!(
            out,
            "  which files were changed cannot be told, as apkit's list of them is missing"
        )?,
        State::Changed(changes) => {
            for change in changes {
                writeln!(out, "  {}", visible(&change.to_string()))?;
            }
        }
        State::Odd(refusal) => writeln!(out, "  {}", visible(&refusal.to_string()))?,
        State::Misrecorded(problem) => writeln!(out, "  {}", visible(problem))?,
        State::Intact | State::Missing => {}
    }
    for problem in &found.folders {
        writeln!(out, "  {} {}", show(&problem.path), problem.problem)?;
    }
    if found.is_new_here && matches!(found.state, State::Missing) {
        let frozen = words::command(place, &["import", "--frozen"]);
        writeln!(out, "  {frozen} puts it in place as the lock file has it")?;
    } else if !found.is_good() {
        let update = words::command(place, &["update", &found.name]);
        let in_the_way = found.folders.iter().any(|folder| folder.is_in_the_way);
        let first = if in_the_way {
            "after the changed folders were moved away, "
        } else {
            ""
        };
        writeln!(out, "  {first}{update} puts it back as it was or newer")?;
    }
    if let Some(denied) = &found.denied {
        writeln!(
            out,
            "  would not be imported now: {}; {} takes it away",
            visible(&denied.to_string()),
            words::command(place, &["remove", &found.name])
        )?;
    }
    Ok(())
}

fn as_json(found: &Verified) -> Value {
    let changes = match &found.state {
        State::Changed(changes) => json::changes(changes),
        _ => json!([]),
    };
    let message = match &found.state {
        State::Odd(refusal) => Some(refusal.to_string()),
        State::Misrecorded(problem) => Some(problem.clone()),
        _ => None,
    };
    json!({
        "name": found.name,
        "state": word(&found.state),
        "changes": changes,
        "message": message,
        "folders": json::problems(&found.folders),
        "denied": found.denied.as_ref().map(ToString::to_string),
        "digest": found.entry.digest.to_string(),
    })
}
