//! Finding packages below a directory.

use std::io;
use std::path::{Path, PathBuf};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};

use super::skill::SKILL_FILE;
use super::{manifest, mcp, skills};
use crate::spec::foreign;

/// Directories that hold other people's work or a build's: never searched.
const NOT_SEARCHED: &[&str] = &[".git", "node_modules", "target"];

/// What a search found.
#[derive(Debug, Default)]
pub struct Discovery {
    /// Directories that hold an entry named `plugin.json`, sorted.
    pub packages: Vec<PathBuf>,
    /// Manifests of single clients in their own places, which make no package,
    /// sorted, each with its client.
    pub native: Vec<(PathBuf, String)>,
    /// How many `SKILL.md` stand there, wherever they are.
    pub skill_files: usize,
    /// Directories with an `mcp.json` or with skills in `skills/` and without a
    /// `plugin.json`, sorted; those of single clients (hidden ones) left out.
    pub lacking: Vec<PathBuf>,
    /// What could not be searched.
    pub unreadable: Vec<Unreadable>,
}

/// A place that could not be searched.
#[derive(Debug)]
pub struct Unreadable {
    /// The directory or file.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

/// A pattern that is none. Reads after "failed to read a pattern: ".
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct PatternError(#[from] ignore::Error);

/// Finds every directory below `root` (or `root` itself) that holds an entry
/// named exactly `plugin.json`, whatever that entry is.
///
/// Not searched are `.git`, `node_modules` and `target`, what a `.gitignore`
/// names (inside of a repository also those above `root`), and what one of the
/// `exclude` patterns, in the same syntax and relative to `root`, names. Links
/// are not followed.
///
/// # Errors
///
/// When one of the patterns is none.
pub fn discover(root: &Path, exclude: &[String]) -> Result<Discovery, PatternError> {
    let mut discovery = Discovery::default();
    let walk = WalkBuilder::new(root)
        .hidden(false)
        .ignore(false)
        .git_global(false)
        .git_exclude(false)
        .require_git(false)
        .parents(is_in_repository(root))
        .overrides(exclusions(root, exclude)?)
        .filter_entry(is_searched)
        .build();
    for entry in walk {
        match entry {
            Ok(entry) if entry.depth() > 0 && entry.file_name() == manifest::FILE => {
                match native_client(entry.path()) {
                    Some(client) => discovery.native.push((entry.into_path(), client)),
                    None => {
                        let package = entry.path().parent().map(Path::to_owned);
                        discovery.packages.extend(package);
                    }
                }
            }
            Ok(entry) => {
                discovery.skill_files += usize::from(entry.file_name() == SKILL_FILE);
                discovery.lacking.extend(holder(root, entry.path()));
            }
            Err(error) => discovery.unreadable.extend(unreadable(root, error)),
        }
    }
    discovery.packages.sort_unstable();
    discovery.lacking.sort_unstable();
    discovery.lacking.dedup();
    let packages = &discovery.packages;
    discovery
        .lacking
        .retain(|lacking| packages.binary_search(lacking).is_err());
    discovery.native.sort_unstable();
    Ok(discovery)
}

fn exclusions(root: &Path, exclude: &[String]) -> Result<Override, PatternError> {
    let mut builder = OverrideBuilder::new(root);
    for pattern in exclude {
        builder.add(&format!("!{pattern}"))?;
    }
    Ok(builder.build()?)
}

/// Git looks for `.gitignore` up to the top of the repository and no further; a
/// stray one in a home directory must not decide about a directory outside of
/// any repository.
fn is_in_repository(root: &Path) -> bool {
    root.canonicalize().is_ok_and(|root| {
        root.ancestors()
            .any(|directory| directory.join(".git").exists())
    })
}

fn is_searched(entry: &DirEntry) -> bool {
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    let is_named = NOT_SEARCHED.iter().any(|name| entry.file_name() == *name);
    // What the user names is searched, whatever its name.
    entry.depth() == 0 || !is_directory || !is_named
}

/// The directory that would be a package root if it had a manifest, by the path
/// of its `mcp.json` or of a `SKILL.md` in its `skills/`.
fn holder(root: &Path, path: &Path) -> Option<PathBuf> {
    let parent = path.parent()?;
    let holder = if path.file_name()? == mcp::FILE {
        parent
    } else if path.file_name()? == SKILL_FILE && parent.parent()?.file_name()? == skills::DIRECTORY
    {
        parent.parent()?.parent()?
    } else {
        return None;
    };
    let below = holder.strip_prefix(root).unwrap_or(holder);
    let is_hidden = below
        .components()
        .any(|part| part.as_os_str().to_string_lossy().starts_with('.'));
    (!is_hidden).then(|| holder.to_owned())
}

/// The client that looks for its manifest at such a path.
fn native_client(manifest: &Path) -> Option<String> {
    let directory = manifest.parent()?.to_string_lossy().replace('\\', "/");
    foreign::native_directory(&directory).map(str::to_owned)
}

/// What is wrong with a place, if the walk stopped there. A `.gitignore` that
/// holds a bad pattern stops nothing.
fn unreadable(root: &Path, error: ignore::Error) -> Option<Unreadable> {
    let mut path = root.to_owned();
    let mut error = error;
    loop {
        error = match error {
            ignore::Error::WithPath { path: at, err } => {
                path = at;
                *err
            }
            ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
                *err
            }
            ignore::Error::Io(error) => {
                let error = bare(error);
                return Some(Unreadable { path, error });
            }
            _ => return None,
        };
    }
}

/// The error of the system inside of one that repeats the path.
fn bare(error: io::Error) -> io::Error {
    let inner = error.get_ref().and_then(|outer| outer.source());
    let system = inner
        .and_then(|inner| inner.downcast_ref::<io::Error>())
        .and_then(io::Error::raw_os_error);
    system.map_or(error, io::Error::from_raw_os_error)
}
