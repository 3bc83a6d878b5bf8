//! `apkit sync`.

use serde::Serialize;

use apkit::edit::sync::{self, Drift, Options, Plan};
use apkit::render::{self, visible};

use super::args::{Sync, TextOrJson};
use super::exit::Exit;
use super::failure::Failure;
use super::output;
use super::target::Target;

pub(crate) fn run(arguments: &Sync) -> Result<Exit, Failure> {
    let target = Target::of(&arguments.path)?;
    let options = Options {
        from: &arguments.from,
        fields: &arguments.field,
    };
    let fail = |error| Failure::Sync {
        path: target.root.clone(),
        error,
    };
    let plan = sync::plan(&target.root, &options).map_err(fail)?;
    if !arguments.check {
        apkit::edit::write(&plan.files).map_err(|error| fail(error.into()))?;
    }
    match arguments.format {
        TextOrJson::Text => write_text(&plan, arguments)?,
        TextOrJson::Json => write_json(&plan, arguments)?,
    }
    for (path, reason) in &plan.unread {
        fail(sync::Error::Source(path.clone(), reason.clone())).tell();
    }
    let left = plan.drifts.iter().any(|drift| drift.by_hand);
    Ok(if !plan.unread.is_empty() {
        Exit::Failed
    } else if left || (arguments.check && !plan.drifts.is_empty()) {
        Exit::Findings
    } else {
        Exit::Clean
    })
}

fn write_text(plan: &Plan, arguments: &Sync) -> Result<(), Failure> {
    output::to_stdout(|out| {
        for drift in &plan.drifts {
            let Drift {
                path,
                location,
                field,
                says,
                source,
                by_hand,
            } = drift;
            let says = match by_hand {
                true => visible(says).into_owned(),
                false => quoted(says),
            };
            let (path, source) = (visible(path), quoted(source));
            let (line, column) = (location.line, location.column);
            if arguments.check || *by_hand {
                let from = visible(&arguments.from);
                let left = match by_hand {
                    true => "; correct it by hand",
                    false => "",
                };
                writeln!(
                    out,
                    "{path}:{line}:{column}: {field} is {says}, and {source} in {from}{left}"
                )?;
            } else {
                writeln!(
                    out,
                    "{path}:{line}:{column}: {field} was {says}, is {source}"
                )?;
            }
        }
        let compared = match &plan.compared[..] {
            [] if plan.unread.is_empty() => "no other manifest is there".to_owned(),
            // What cannot be read is told behind the report.
            [] => return writeln!(out, "compared nothing"),
            compared => format!("compared {}", visible(&compared.join(", "))),
        };
        match (plan.drifts.len(), arguments.check || plan.files.is_empty()) {
            (0, _) if plan.unread.is_empty() => writeln!(out, "in step: {compared}"),
            (0, _) => writeln!(out, "no difference in what can be read: {compared}"),
            (1, true) => writeln!(out, "1 difference: {compared}"),
            (count, true) => writeln!(out, "{count} differences: {compared}"),
            (_, false) => {
                let files: Vec<_> = plan
                    .files
                    .iter()
                    .map(|file| visible(&file.display))
                    .collect();
                writeln!(out, "wrote {}", files.join(", "))
            }
        }
    })
}

/// A value for people: on one line, and no more of it than they read.
fn quoted(value: &str) -> String {
    const LONGEST: usize = 80;
    let value = match value.char_indices().nth(LONGEST) {
        None => format!("{value:?}"),
        Some((cut, _)) => format!("{:?}…", value.get(..cut).unwrap_or_default()),
    };
    visible(&value).into_owned()
}

#[derive(Serialize)]
struct Document<'p> {
    schema_version: u32,
    check: bool,
    from: &'p str,
    compared: &'p [String],
    drifts: Vec<Entry<'p>>,
    unread: Vec<Unread<'p>>,
}

#[derive(Serialize)]
struct Entry<'p> {
    path: &'p str,
    line: usize,
    column: usize,
    field: &'p str,
    says: &'p str,
    source: &'p str,
    /// `says` is a type, and only the file's author can correct it.
    by_hand: bool,
}

#[derive(Serialize)]
struct Unread<'p> {
    path: &'p str,
    reason: &'p str,
}

fn write_json(plan: &Plan, arguments: &Sync) -> Result<(), Failure> {
    let document = Document {
        schema_version: 1,
        check: arguments.check,
        from: &arguments.from,
        compared: &plan.compared,
        drifts: plan
            .drifts
            .iter()
            .map(|drift| Entry {
                path: &drift.path,
                line: drift.location.line,
                column: drift.location.column,
                field: &drift.field,
                says: &drift.says,
                source: &drift.source,
                by_hand: drift.by_hand,
            })
            .collect(),
        unread: plan
            .unread
            .iter()
            .map(|(path, reason)| Unread { path, reason })
            .collect(),
    };
    output::to_stdout(|out| render::write_json(out, &document, true))
}
