//! `apkit list`.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value, json};

use apkit::diagnostic::{Diagnostic, Effect, Severity};
use apkit::package::{self, Verdict};
use apkit::render::{self, visible};
use apkit::source::Source;
use apkit::store::{Available, Catalogue, LockFile, SameName, Store};

use super::super::exit::Exit;
use super::super::failure::{self, Failure, slashed};
use super::super::output;
use super::args::Place;
use super::{List, Session, json, words};

pub(crate) fn run(arguments: &List) -> Result<Exit, Failure> {
    let session = Session::start()?;
    let store = session.store(&arguments.place)?;
    let failure = |error| Failure::store("list packages".to_owned(), error);
    if arguments.available {
        let more = arguments.from.iter().map(|from| session.absolute(from));
        let options = package::Options {
            drafts: arguments.draft.applies(),
            keep_sources: false,
        };
        let more: Vec<PathBuf> = more.collect();
        if more.is_empty() && store.policy().sources().next().is_none() {
            let rules = store.policy_files().to_vec();
            return Err(Failure::NoCatalogue { rules });
        }
        let found = store
            .available(&more, &options, session.stop())
            .map_err(failure)?;
        return available(found, &store, arguments.shape.is_json());
    }
    let installed = store.installed(session.stop()).map_err(failure)?;
    let unmanaged = store.unmanaged(session.stop()).map_err(failure)?;
    if arguments.shape.is_json() {
        let items = installed.packages.iter().map(|(name, entry)| {
            let place = store.package_root(name);
            let mut item = json::entry(entry);
            if let Value::Object(members) = &mut item {
                members.insert("name".to_owned(), json!(name));
                members.insert("path".to_owned(), json!(slashed(&place)));
                members.insert("missing".to_owned(), json!(!place.is_dir()));
            }
            item
        });
        output::to_stdout(|out| json::write("packages", items.collect(), out))?;
    } else {
        output::to_stdout(|out| as_text(&installed, &store, &arguments.place, out))?;
    }
    if !unmanaged.is_empty() {
        failure::note(&format!(
            "apkit has not put these into {}: {}",
            failure::show(&store.root().join("plugins")),
            visible(&unmanaged.join(", "))
        ));
    }
    Ok(Exit::Clean)
}

fn as_text(
    installed: &LockFile,
    store: &Store,
    place: &Place,
    out: &mut dyn Write,
) -> io::Result<()> {
    if installed.packages.is_empty() {
        return writeln!(out, "no packages in {}", failure::show(store.root()));
    }
    let titles = installed
        .packages
        .iter()
        .map(|(name, entry)| words::title(name, entry));
    let titles: Vec<String> = titles.collect();
    let width = titles.iter().map(|title| title.chars().count()).max();
    let width = width.unwrap_or_default();
    for (title, (name, entry)) in titles.iter().zip(&installed.packages) {
        let missing = if store.package_root(name).is_dir() {
            String::new()
        } else if store.is_new_here(entry) {
            let frozen = words::command(place, &["import", "--frozen"]);
            format!("  missing; {frozen} puts it in place")
        } else {
            let update = words::command(place, &["update", name]);
            format!("  missing; {update} puts it back")
        };
        writeln!(out, "{title:width$}  {}{missing}", words::origin(entry))?;
    }
    Ok(())
}

fn available(found: Catalogue, store: &Store, is_json: bool) -> Result<Exit, Failure> {
    let unreadable = found.unreadable;
    output::to_stdout(|out| {
        if is_json {
            let items = found.available.into_iter().map(|available| {
                json!({
                    "source": available.source.to_string(),
                    "installed": available.installed,
                    "same_name": sources(&available.same_name.first),
                    "same_name_more": available.same_name.more,
                    "shown_version": available.shown_version,
                    "package": json::package(available.package),
                })
            });
            let mut document = json::header();
            document.insert("available".to_owned(), items.collect());
            let unreadable = unreadable
                .iter()
                .map(|(path, error)| json!({"path": slashed(path), "message": error.to_string()}));
            document.insert("unreadable".to_owned(), unreadable.collect());
            return render::write_json(out, &Value::Object(document), true);
        }
        if found.available.is_empty() && unreadable.is_empty() {
            writeln!(out, "no packages in the directories that were looked into")?;
        }
        for available in &found.available {
            one_available(available, out)?;
        }
        Ok(())
    })?;
    if unreadable.is_empty() {
        return Ok(Exit::Clean);
    }
    for (path, error) in unreadable {
        let directory = Source::directory(&path);
        let mut sources = store.policy().sources();
        let is_named = sources.any(|named| Source::directory(named) == directory);
        let named = is_named.then(|| {
            let files = store.policy_files().iter().filter(|file| file.exists());
            let files: Vec<String> = files.map(|file| failure::show(file)).collect();
            format!(
                "correct `sources` in {}, which names it",
                files.join(" or ")
            )
        });
        Failure::store("list packages".to_owned(), error)
            .or_by(named)
            .tell();
    }
    Ok(Exit::Failed)
}

fn sources(sources: &[Source]) -> Vec<String> {
    sources.iter().map(Source::to_string).collect()
}

fn one_available(available: &Available, out: &mut dyn Write) -> io::Result<()> {
    let package = &available.package;
    let source = available.source.to_string();
    let count = |severity| {
        let findings = package.diagnostics.iter();
        findings
            .filter(|found| found.severity() == severity)
            .count()
    };
    let findings = match (count(Severity::Error), count(Severity::Warning)) {
        (0, 0) => String::new(),
        (errors, warnings) => format!("  errors: {errors}, warnings: {warnings}"),
    };
    if package.verdict == Verdict::Rejected {
        let rejects = |found: &&Diagnostic| found.code.effect == Effect::PackageRejected;
        let why = package.diagnostics.iter().find(rejects);
        let why = why.map_or_else(String::new, |found| {
            format!("  {}: {}", visible(&found.path), visible(&found.message))
        });
        return writeln!(out, "rejected: {}{findings}{why}", visible(&source));
    }
    let name = package.name.as_deref().unwrap_or_default();
    let version = available.shown_version.as_deref();
    let version = version.unwrap_or("without a version");
    let installed = if available.installed {
        "  installed"
    } else {
        ""
    };
    writeln!(
        out,
        "{} {}  {}  {}{findings}{installed}",
        visible(name),
        visible(version),
        words::components(package),
        visible(&source),
    )?;
    let SameName { first, more } = &available.same_name;
    if first.is_empty() {
        return Ok(());
    }
    let mut others = sources(first).join(", ");
    if *more > 0 {
        let _ = write!(others, " and {more} more");
    }
    writeln!(
        out,
        "  has the name of {}; one of them can be installed at a time, and `import --replace` puts it in the place of another",
        visible(&others)
    )
}
