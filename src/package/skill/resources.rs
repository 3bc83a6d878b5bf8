//! The other files of a skill (§4.1, boundary 5): links that lead out of the
//! package are denied by clients, and the skill loads all the same.

use std::path::{Path, PathBuf};

use super::super::Loader;
use super::super::containment::{self, Resolution, display_name};
use super::super::file::{Entry, list};
use crate::diagnostic::Diagnostic;
use crate::spec::codes::skill as codes;

/// Most entries of one skill that are looked at, so that a vendored dependency
/// tree does not cost more than the package.
const MAX_ENTRIES: usize = 10_000;

/// Looks for links below `directory`, whose entries are `entries` and whose
/// path in the package is `path`. Links are resolved, not followed.
pub(super) fn check(loader: &mut Loader<'_>, directory: &Path, path: &str, entries: &[Entry]) {
    let mut seen = 0;
    let mut pending: Vec<(PathBuf, String)> = Vec::new();
    level(loader, directory, path, entries, &mut pending, &mut seen);
    while let Some((directory, path)) = pending.pop() {
        if seen > MAX_ENTRIES {
            return;
        }
        // A directory that cannot be listed holds nothing a client could read.
        let Ok(entries) = list(&directory) else {
            continue;
        };
        level(loader, &directory, &path, &entries, &mut pending, &mut seen);
    }
}

fn level(
    loader: &mut Loader<'_>,
    directory: &Path,
    path: &str,
    entries: &[Entry],
    pending: &mut Vec<(PathBuf, String)>,
    seen: &mut usize,
) {
    *seen += entries.len();
    for entry in entries {
        let inner = || format!("{path}/{}", display_name(&entry.name));
        if entry.kind.is_dir() {
            pending.push((directory.join(&entry.name), inner()));
        } else if entry.kind.is_symlink()
            && matches!(
                containment::resolve(loader.root, directory, Path::new(&entry.name)),
                Resolution::Escape
            )
        {
            loader.report(
                Diagnostic::new(
                    &codes::RESOURCE_ESCAPES,
                    inner(),
                    "the link leads out of the package, so clients deny access to it",
                )
                .with_help("copy what it leads to into the skill"),
            );
        }
    }
}
