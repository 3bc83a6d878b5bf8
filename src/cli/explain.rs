//! `apkit explain`.

use std::iter;

use apkit::diagnostic::Code;
use apkit::edit::fixes;
use apkit::render::explain;
use apkit::spec::codes;
use apkit::spec::near::distance;

use super::args::{Explain, TextOrJson, When};
use super::exit::Exit;
use super::failure::Failure;
use super::{output, screen};

pub(crate) fn run(arguments: &Explain, color: When) -> Result<Exit, Failure> {
    let screen = screen::of(color, false);
    let group = match arguments.code.as_deref() {
        None => codes::all().collect(),
        Some(wanted) => group(wanted),
    };
    let code = match arguments.code.as_deref() {
        Some(wanted) if group.is_empty() => Some(look_up(wanted)?),
        _ => None,
    };
    output::to_stdout(|out| match (code, arguments.format) {
        (None, TextOrJson::Text) => explain::write_list(group.into_iter(), screen, out),
        (None, TextOrJson::Json) => explain::write_json(group.into_iter(), &mends, out),
        (Some(code), TextOrJson::Text) => explain::write_code(code, &mends, screen, out),
        (Some(code), TextOrJson::Json) => explain::write_json(iter::once(code), &mends, out),
    })?;
    Ok(Exit::Clean)
}

/// What `apkit fix` does about findings with this code.
fn mends(code: &Code) -> Vec<String> {
    fixes::of(code)
        .map(|fix| match fix.risk {
            None => format!("apkit fix {}", fix.does),
            Some(risk) => format!("apkit fix --unsafe {}: {risk}", fix.does),
        })
        .collect()
}

/// The codes of a family (`mcp`) or of a requirement (`AP-13`).
fn group(wanted: &str) -> Vec<&'static Code> {
    codes::all()
        .filter(|code| code.family() == wanted || code.requirement == Some(wanted))
        .collect()
}

/// The code with this identifier, or the only one with this name behind `::`.
fn look_up(wanted: &str) -> Result<&'static Code, Failure> {
    if let Some(code) = codes::find(wanted) {
        return Ok(code);
    }
    let named: Vec<&'static Code> = codes::all().filter(|code| name(code) == wanted).collect();
    match named.as_slice() {
        [code] => Ok(code),
        [] => Err(Failure::UnknownCode {
            code: wanted.to_owned(),
            similar: similar(wanted),
        }),
        several => Err(Failure::AmbiguousCode {
            name: wanted.to_owned(),
            codes: several.iter().map(|code| code.id).collect(),
        }),
    }
}

/// The part behind `::`.
fn name(code: &Code) -> &'static str {
    code.id.split_once("::").map_or(code.id, |(_, name)| name)
}

/// Up to three codes that were probably meant.
fn similar(wanted: &str) -> Vec<&'static str> {
    let wanted = wanted.to_ascii_lowercase().replace('_', "-");
    // Longer than any code: nothing is near, and the comparison would be long.
    if wanted.len() > 100 {
        return Vec::new();
    }
    let mut near: Vec<(usize, &'static str)> = codes::all()
        .filter_map(|code| {
            let distance = distance(&wanted, code.id).min(distance(&wanted, name(code)));
            let contained = wanted.len() >= 3 && code.id.contains(&wanted);
            let near = distance <= 1 + wanted.len() / 4;
            (near || contained).then_some((if contained { 0 } else { distance }, code.id))
        })
        .collect();
    near.sort_unstable();
    near.into_iter().map(|(_, id)| id).take(3).collect()
}
