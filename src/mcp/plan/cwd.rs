//! The working directory (§7.2.1): three forms, expanded and then resolved.

use std::io;
use std::path::{Component, Path, PathBuf};

use super::{Off, Resolver, invalid};
use crate::package::containment::{self, Resolution};
use crate::spec::codes::mcp as codes;
use crate::spec::placeholder::{DATA, ROOT};
use crate::sys;

/// The directory, and whether it is made when it is missing.
pub(super) fn resolve(resolver: &Resolver<'_>, cwd: Option<&str>) -> Result<(PathBuf, bool), Off> {
    let places = resolver.places;
    let Some(cwd) = cwd else {
        return Ok((places.root(), false));
    };
    let below = |base: &str| {
        let rest = cwd.strip_prefix(base)?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    };
    let (base, rest, in_data) = if let Some(rest) = cwd.strip_prefix("./").or_else(|| below(ROOT)) {
        (&places.root, rest, false)
    } else if let Some(rest) = below(DATA) {
        (&places.data, rest, true)
    } else {
        return Err(invalid(
            &codes::CWD_FORM,
            format!("cwd {cwd:?} is not a permitted form"),
        ));
    };
    let rest = resolver.expand(rest);
    // What an expansion brings in is below the base, too.
    let rest = match rest.to_str() {
        Some(rest) => PathBuf::from(rest.trim_start_matches('/')),
        None => relative(Path::new(&rest)),
    };
    let unavailable = |what: String| Err(Off::Unavailable(what));
    let escape = |what: &str| {
        let message = format!("cwd {cwd} {what}");
        Err(invalid(&codes::CWD_ESCAPE, message))
    };
    match containment::resolve(base, base, &rest) {
        Resolution::Directory(path) => Ok((sys::plain_path(&path), false)),
        Resolution::Missing(path) if in_data => Ok((sys::plain_path(&path), true)),
        Resolution::Missing(_) => unavailable(format!(
            "there is no directory {cwd} in the package; what is made at run time goes below {DATA}"
        )),
        Resolution::File(_) => unavailable(format!("cwd {cwd} is a file")),
        Resolution::Special(kind) => unavailable(format!("cwd {cwd} is {kind}")),
        // The data directory itself is not there yet.
        Resolution::Unreadable(error) if in_data && error.kind() == io::ErrorKind::NotFound => {
            Ok((places.data(), true))
        }
        Resolution::Unreadable(error) => {
            unavailable(format!("cwd {cwd} cannot be reached: {error}"))
        }
        Resolution::Loop => escape("is a link that leads back to itself"),
        Resolution::Escape if in_data => escape("leads out of the data directory"),
        Resolution::Escape => escape("leads out of the package"),
    }
}

/// A path without what makes it absolute.
fn relative(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| !matches!(part, Component::Prefix(_) | Component::RootDir))
        .collect()
}
