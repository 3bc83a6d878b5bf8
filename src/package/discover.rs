//! Finding packages below a directory.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::file::{Entry, list};
use super::skill::SKILL_FILE;
use super::{manifest, mcp, skills};
use crate::spec::foreign;
use crate::sys;

/// Directories that hold other people's work or a build's: never searched.
const NOT_SEARCHED: &[&str] = &[".git", "node_modules", "target"];
/// The file whose patterns name what is left out.
const IGNORE_FILE: &str = ".gitignore";
/// Largest such file that is read, in bytes, and most of its lines: a stranger's
/// tree must not decide how much memory a search takes.
const MAX_IGNORE_BYTES: u64 = 256 * 1024;
const MAX_IGNORE_LINES: usize = 5_000;

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
/// are not followed, and a `.gitignore` that is no regular file is none.
///
/// # Errors
///
/// When one of the patterns is none.
pub fn discover(root: &Path, exclude: &[String]) -> Result<Discovery, PatternError> {
    let mut builder = GitignoreBuilder::new(root);
    for pattern in exclude {
        builder.add_line(None, pattern)?;
    }
    let mut search = Search {
        root,
        // A root that is not there is reported when it is listed.
        physical: root.canonicalize().unwrap_or_else(|_| root.to_owned()),
        excluded: builder.build()?,
        found: Discovery::default(),
        pending: Vec::new(),
    };
    let above = search.ignored_above();
    search.pending.push((root.to_owned(), above));
    while let Some((directory, ignored)) = search.pending.pop() {
        search.visit(&directory, ignored);
    }
    let mut found = search.found;
    found.packages.sort_unstable();
    found.native.sort_unstable();
    found.lacking.sort_unstable();
    found.lacking.dedup();
    let packages = &found.packages;
    found
        .lacking
        .retain(|lacking| packages.binary_search(lacking).is_err());
    Ok(found)
}

/// The patterns of one directory and of those above it.
struct Ignored {
    patterns: Gitignore,
    /// Whether the directory is above the searched one, whose physical path it
    /// then begins.
    is_above: bool,
    above: Option<Rc<Self>>,
}

struct Search<'s> {
    root: &'s Path,
    /// The root without links.
    physical: PathBuf,
    excluded: Gitignore,
    found: Discovery,
    pending: Vec<(PathBuf, Option<Rc<Ignored>>)>,
}

impl Search<'_> {
    fn visit(&mut self, directory: &Path, above: Option<Rc<Ignored>>) {
        let entries = match list(directory) {
            Ok(entries) => entries,
            Err(error) => {
                let path = directory.to_owned();
                self.found.unreadable.push(Unreadable { path, error });
                return;
            }
        };
        let has_patterns = |entry: &Entry| entry.name == IGNORE_FILE && entry.kind.is_file();
        let ignored = if entries.iter().any(has_patterns) {
            self.ignored(directory, above, false)
        } else {
            above
        };
        for entry in entries {
            let path = directory.join(&entry.name);
            if self.is_left_out(&path, entry.kind.is_dir(), ignored.as_deref()) {
                continue;
            }
            if entry.kind.is_dir() {
                if !NOT_SEARCHED.iter().any(|name| entry.name == *name) {
                    self.pending.push((path, ignored.clone()));
                }
            } else {
                self.file(directory, &path, &entry);
            }
        }
    }

    fn file(&mut self, directory: &Path, path: &Path, entry: &Entry) {
        if entry.name == manifest::FILE {
            match native_client(directory) {
                Some(client) => self.found.native.push((path.to_owned(), client)),
                None => self.found.packages.push(directory.to_owned()),
            }
        } else {
            self.found.skill_files += usize::from(entry.name == SKILL_FILE);
            self.found.lacking.extend(holder(self.root, path));
        }
    }

    fn is_left_out(&self, path: &Path, is_directory: bool, ignored: Option<&Ignored>) -> bool {
        if self.excluded.matched(path, is_directory).is_ignore() {
            return true;
        }
        let mut level = ignored;
        while let Some(ignored) = level {
            // The nearest file that says anything decides.
            let physical = ignored.is_above.then(|| {
                let below = path.strip_prefix(self.root).unwrap_or(path);
                self.physical.join(below)
            });
            let path = physical.as_deref().unwrap_or(path);
            match ignored.patterns.matched(path, is_directory) {
                Match::None => level = ignored.above.as_deref(),
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }

    /// Git looks for `.gitignore` up to the top of the repository and no further;
    /// a stray one in a home directory must not decide about a directory outside
    /// of any repository.
    fn ignored_above(&mut self) -> Option<Rc<Ignored>> {
        let root = self.physical.clone();
        let top = root
            .ancestors()
            .position(|directory| directory.join(".git").exists())?;
        let mut above: Vec<_> = root.ancestors().skip(1).take(top).collect();
        above.reverse();
        let mut ignored = None;
        for directory in above {
            let file = directory.join(IGNORE_FILE);
            if fs::symlink_metadata(&file).is_ok_and(|file| file.is_file()) {
                ignored = self.ignored(directory, ignored, true);
            }
        }
        ignored
    }

    /// The patterns of the `.gitignore` in `directory`, before those above it.
    fn ignored(
        &mut self,
        directory: &Path,
        above: Option<Rc<Ignored>>,
        is_above: bool,
    ) -> Option<Rc<Ignored>> {
        let file = directory.join(IGNORE_FILE);
        let text = match read_patterns(&file) {
            Ok(text) => text,
            Err(error) => {
                self.found.unreadable.push(Unreadable { path: file, error });
                return above;
            }
        };
        let mut builder = GitignoreBuilder::new(directory);
        for line in text.lines() {
            // A line that is no pattern leaves nothing out, as in git.
            let _ = builder.add_line(None, line);
        }
        match builder.build() {
            Ok(patterns) => Some(Rc::new(Ignored {
                patterns,
                is_above,
                above,
            })),
            Err(_) => above,
        }
    }
}

fn read_patterns(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    sys::open_regular(path)?
        .take(MAX_IGNORE_BYTES + 1)
        .read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if bytes.len() as u64 > MAX_IGNORE_BYTES || text.lines().count() > MAX_IGNORE_LINES {
        return Err(io::Error::other(format!(
            "larger than {MAX_IGNORE_BYTES} bytes or {MAX_IGNORE_LINES} lines"
        )));
    }
    Ok(text)
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

/// The client that looks for its manifest in such a directory.
fn native_client(directory: &Path) -> Option<String> {
    let directory = directory.to_string_lossy().replace('\\', "/");
    foreign::native_directory(&directory).map(str::to_owned)
}
