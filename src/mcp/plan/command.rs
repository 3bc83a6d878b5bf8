//! Which file `command` names (§7.2.1): one of the package, or a program that
//! the platform's search finds. No placeholder is expanded in it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::{Off, Platform, Resolver, invalid};
use crate::package::containment::{self, Resolution};
use crate::spec::codes::mcp as codes;
use crate::sys;

/// Most directories that a message names.
const MOST_NAMED: usize = 20;

pub(super) fn resolve(
    resolver: &Resolver<'_>,
    command: &str,
    env: &BTreeMap<OsString, OsString>,
) -> Result<PathBuf, Off> {
    if command.starts_with("./") {
        return bundled(resolver, command);
    }
    if command.is_empty() || command.contains(['/', '\\', '\0']) {
        return Err(invalid(
            &codes::COMMAND_FORM,
            format!("command {command:?} is neither a bare name nor a path that begins with ./"),
        ));
    }
    let path = resolver.platform.get(env, "PATH");
    search(&resolver.platform, command, path).map_err(Off::Unavailable)
}

/// A file of the package. It is run by the name it has there, which programs
/// look at; where that leads is inside.
fn bundled(resolver: &Resolver<'_>, command: &str) -> Result<PathBuf, Off> {
    let root = &resolver.places.root;
    let unavailable = |what: String| Err(Off::Unavailable(what));
    let escape = |what: &str| {
        let message = format!("command {command} {what}");
        Err(invalid(&codes::COMMAND_ESCAPE, message))
    };
    for spelling in spellings(&resolver.platform, command, true) {
        return match containment::resolve(root, root, Path::new(&spelling)) {
            Resolution::Missing(_) => continue,
            Resolution::File(file) => match fs::metadata(&file) {
                Ok(metadata) if sys::is_executable(&metadata) => {
                    let below = Path::new(&spelling).components();
                    let mut program = sys::plain_path(root);
                    program.extend(below.filter(|part| *part != Component::CurDir));
                    Ok(program)
                }
                Ok(_) => unavailable(format!(
                    "{command} is not executable; chmod +x makes it so, and the package should ship it so"
                )),
                Err(error) => unavailable(format!("{command} cannot be looked at: {error}")),
            },
            Resolution::Directory(_) => unavailable(format!("{command} is a directory")),
            Resolution::Special(kind) => unavailable(format!("{command} is {kind}")),
            Resolution::Escape => escape("leads out of the package"),
            Resolution::Loop => escape("is a link that leads back to itself"),
            Resolution::Unreadable(error) => {
                unavailable(format!("{command} cannot be reached: {error}"))
            }
        };
    }
    unavailable(format!(
        "there is no file {command} in the package at {}",
        resolver.places.root().display()
    ))
}

/// The platform's search, in absolute directories alone: an empty or relative
/// entry would find what lies in the working directory.
pub(super) fn search(
    platform: &Platform,
    command: &str,
    path: Option<&OsStr>,
) -> Result<PathBuf, String> {
    let directories = path.into_iter().flat_map(std::env::split_paths);
    let directories: Vec<PathBuf> = directories
        .filter(|directory| directory.is_absolute())
        .collect();
    let mut not_executable = None;
    for directory in &directories {
        for spelling in spellings(platform, command, false) {
            let file = directory.join(&spelling);
            match fs::metadata(&file) {
                Ok(metadata) if metadata.is_file() && sys::is_executable(&metadata) => {
                    return Ok(file);
                }
                Ok(metadata) if metadata.is_file() => {
                    not_executable.get_or_insert(file);
                }
                _ => {}
            }
        }
    }
    let mut why = format!("there is no program {command}");
    if let Some(file) = not_executable {
        why.push_str(&format!("; {} is not executable", file.display()));
    }
    if directories.is_empty() {
        why.push_str("; PATH names no directory to search");
    } else {
        let named = directories.iter().take(MOST_NAMED);
        let named: Vec<String> = named.map(|named| named.display().to_string()).collect();
        why.push_str(&format!("; searched: {}", named.join(", ")));
        if let more @ 1.. = directories.len().saturating_sub(MOST_NAMED) {
            why.push_str(&format!(" and {more} more"));
        }
    }
    Err(why)
}

/// The names of files that `command` may mean, in the order of preference. Where
/// the end of a name makes a file a program, the command need not have it.
fn spellings(platform: &Platform, command: &str, bare_too: bool) -> Vec<String> {
    let has = |extension: &String| {
        let start = command.len().checked_sub(extension.len());
        let end = start.and_then(|start| command.get(start..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(extension))
    };
    let extensions = &platform.extensions;
    if extensions.is_empty() || extensions.iter().any(has) {
        return vec![command.to_owned()];
    }
    let mut spellings: Vec<String> = extensions
        .iter()
        .map(|extension| format!("{command}{extension}"))
        .collect();
    if bare_too {
        spellings.push(command.to_owned());
    }
    spellings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows() -> Platform {
        let env = BTreeMap::from([("PathExt".into(), ".EXE;.CMD".into())]);
        Platform::windows(&env)
    }

    #[test]
    fn names_get_the_ends_that_make_programs() {
        let none = Platform {
            ignores_case: false,
            extensions: Vec::new(),
        };
        assert_eq!(spellings(&none, "npx", false), ["npx"]);
        assert_eq!(spellings(&windows(), "npx", false), ["npx.EXE", "npx.CMD"]);
        assert_eq!(
            spellings(&windows(), "./bin/x", true),
            ["./bin/x.EXE", "./bin/x.CMD", "./bin/x"]
        );
        assert_eq!(spellings(&windows(), "node.exe", false), ["node.exe"]);
        assert_eq!(spellings(&windows(), "é", false), ["é.EXE", "é.CMD"]);
        let usual = Platform::windows(&BTreeMap::new());
        assert_eq!(usual.extensions, [".COM", ".EXE", ".BAT", ".CMD"]);
    }
}
