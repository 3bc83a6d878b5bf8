//! `apkit remove`.

use serde_json::{Value, json};

use apkit::render::{self, visible};

use super::super::exit::Exit;
use super::super::failure::{Failure, show};
use super::super::output;
use super::{Remove, Session, import, json, words};

pub(crate) fn run(arguments: &Remove) -> Result<Exit, Failure> {
    let session = Session::start()?;
    let store = session.store(&arguments.place)?;
    let name = &arguments.name;
    let failure = |error| Failure::store(format!("remove {}", visible(name)), error);
    let name = match store.name_of(name, session.environment(), session.stop()) {
        Ok(name) => name,
        // Of one that was removed, data may be left.
        Err(_) if arguments.purge => name.clone(),
        Err(error) => return Err(failure(error)),
    };
    let removed = store
        .remove(&name, arguments.purge, session.stop())
        .map_err(failure)?;
    output::to_stdout(|out| {
        if arguments.shape.is_json() {
            let mut document = json::header();
            let mut set = |key: &str, value: Value| document.insert(key.to_owned(), value);
            set("name", json!(name));
            set("before", removed.entry.as_ref().map(json::entry).into());
            set("data_kept", json!(removed.data_kept));
            set("discarded", json::changes(&removed.discarded));
            set("folders", json::folders(&removed.folders));
            return render::write_json(out, &Value::Object(document), true);
        }
        let title = match &removed.entry {
            Some(entry) => words::title(&name, entry),
            None => format!("what {} had stored", visible(&name)),
        };
        writeln!(out, "removed {title}")?;
        words::discarded(&removed.discarded, out)?;
        words::folders(&removed.folders, out)?;
        if removed.data_kept {
            writeln!(
                out,
                "  what it has stored is kept in {}; apkit remove {} --purge deletes it",
                show(&store.package_data(&name)),
                visible(&name)
            )?;
        }
        Ok(())
    })?;
    import::problems(&removed.folders.problems)?;
    Ok(Exit::Clean)
}
