//! Plain skill folders: copies of the skills for clients that read
//! `DIR/SKILL/SKILL.md` and know no packages (user story US-6).
//!
//! Nothing in them is executable, and `scripts/` come along only if the user says
//! so, as whoever runs a script of a skill runs a stranger's program. A directory
//! that we did not write, or that somebody changed since, is never replaced.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Error;
use super::change::{self, Writer};
use super::layout::Layout;
use super::lock_file::Folder;
use super::staging::remove_all;
use crate::archive::{Limits, Links, Stage, Tree};
use crate::package::Skill;
use crate::sys;

/// What holds programs in a skill.
const SCRIPTS: &str = "scripts";
/// The version of the record.
const VERSION: u32 = 1;
/// How deep directories of a skill may lie in each other.
const MAX_DEPTH: usize = 32;

/// What became of the folders of a package.
#[derive(Debug, Default)]
pub struct Folders {
    /// What stands there now.
    pub copied: Vec<Copied>,
    /// Folders that were removed.
    pub removed: Vec<PathBuf>,
    /// Directories that the lock file names and that lie elsewhere, so that they
    /// were left alone.
    pub outside: Vec<PathBuf>,
    /// What was not done.
    pub problems: Vec<Problem>,
}

/// A skill that was copied.
#[derive(Debug)]
pub struct Copied {
    /// Its folder.
    pub path: PathBuf,
    /// Files of `scripts/` that were left out, relative to the skill.
    pub scripts_left_out: Vec<String>,
    /// Links that were left out, as they lead out of the package, to a directory or
    /// nowhere; relative to the skill.
    pub links_left_out: Vec<String>,
}

/// A folder that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The folder.
    pub path: PathBuf,
    /// What is wrong, as a phrase that follows its path.
    pub problem: &'static str,
}

/// What we wrote where: `.apkit/folders.json`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    record_version: u32,
    /// By package, then by path: the digests of what may stand there. There are
    /// two while one replaces the other.
    packages: BTreeMap<String, BTreeMap<PathBuf, Vec<String>>>,
}

impl Record {
    fn read(layout: &Layout) -> Result<Self, Error> {
        let path = layout.folders();
        let record: Self = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .map_err(|error| Error::io("read", &path, io::Error::other(error)))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self {
                record_version: VERSION,
                ..Self::default()
            },
            Err(error) => return Err(Error::io("read", &path, error)),
        };
        if record.record_version == VERSION {
            Ok(record)
        } else {
            let error = io::Error::other("it was written by another version of apkit");
            Err(Error::io("read", &path, error))
        }
    }

    fn write(&self, layout: &Layout) -> Result<(), Error> {
        let path = layout.folders();
        let text = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::io("write", &path, io::Error::other(error)))?;
        change::replace(&path, &text)
    }
}

/// Makes the folders of a package what they should be: those of its skills in each
/// directory, and no others that we wrote.
pub(super) fn bring(
    layout: &Layout,
    // Whoever writes to them holds the store.
    _writer: &Writer<'_>,
    name: &str,
    directories: &[Folder],
    skills: &[Skill],
) -> Result<Folders, Error> {
    let mut record = Record::read(layout)?;
    if directories.is_empty() && !record.packages.contains_key(name) {
        return Ok(Folders::default());
    }
    let mut ours = record.packages.remove(name).unwrap_or_default();
    let root = layout.package(name);
    let root = root
        .canonicalize()
        .map_err(|error| Error::io("read", &root, error))?;
    let mut result = Folders::default();
    let mut wanted = Vec::new();
    for folder in directories {
        fs::create_dir_all(&folder.directory)
            .map_err(|error| Error::io("make", &folder.directory, error))?;
        for skill in skills {
            let place = folder.directory.join(&skill.name);
            let new = beside(&place, "new");
            remove_all(&new).map_err(|error| Error::io("remove", &new, error))?;
            let guard = Temporary(new);
            let mut copied = Copied {
                path: place.clone(),
                scripts_left_out: Vec::new(),
                links_left_out: Vec::new(),
            };
            let tree = copy(&root, skill, folder.scripts, &guard.0, &mut copied)?;
            let digest = tree.digest().to_string();
            wanted.push(place.clone());
            if let Some(problem) = occupied(&place, &tree, ours.get(&place)) {
                result.problems.push(Problem {
                    path: place,
                    problem,
                });
                continue;
            }
            let known = ours.entry(place.clone()).or_default();
            if !known.contains(&digest) {
                known.push(digest.clone());
            }
            // Written before the folder, so that it is known as ours even if this
            // process ends in between.
            record.packages.insert(name.to_owned(), ours.clone());
            record.write(layout)?;
            if !matches!(now(&place), Found::Tree(there) if there == digest) {
                swap(&guard.0, &place)?;
            }
            ours.insert(place, vec![digest]);
            result.copied.push(copied);
        }
    }
    let gone: Vec<PathBuf> = ours
        .keys()
        .filter(|place| !wanted.contains(place))
        .cloned()
        .collect();
    for place in gone {
        withdraw(&place, &mut ours, &mut result)?;
    }
    if !ours.is_empty() {
        record.packages.insert(name.to_owned(), ours);
    }
    record.write(layout)?;
    Ok(result)
}

/// Removes the folders of a package.
pub(super) fn remove(layout: &Layout, name: &str) -> Result<Folders, Error> {
    let mut result = Folders::default();
    let mut record = Record::read(layout)?;
    let Some(mut ours) = record.packages.remove(name) else {
        return Ok(result);
    };
    for place in ours.keys().cloned().collect::<Vec<_>>() {
        withdraw(&place, &mut ours, &mut result)?;
    }
    record.write(layout)?;
    Ok(result)
}

/// What is wrong with the folders of a package.
pub(super) fn verify(layout: &Layout, name: &str) -> Result<Vec<Problem>, Error> {
    let record = Record::read(layout)?;
    let folders = record.packages.get(name).into_iter().flatten();
    let wrong = folders.filter_map(|(path, digests)| {
        let problem = match now(path) {
            Found::Nothing => "is missing",
            Found::Tree(digest) if digests.contains(&digest) => return None,
            _ => "was changed",
        };
        Some(Problem {
            path: path.clone(),
            problem,
        })
    });
    Ok(wrong.collect())
}

/// Removes one folder unless somebody changed it; then it is theirs.
fn withdraw(
    place: &Path,
    ours: &mut BTreeMap<PathBuf, Vec<String>>,
    result: &mut Folders,
) -> Result<(), Error> {
    let digests = ours.remove(place).unwrap_or_default();
    match now(place) {
        Found::Nothing => {}
        Found::Tree(digest) if digests.contains(&digest) => {
            remove_all(place).map_err(|error| Error::io("remove", place, error))?;
            result.removed.push(place.to_owned());
        }
        _ => result.problems.push(Problem {
            path: place.to_owned(),
            problem: "was changed and is kept; it is yours now",
        }),
    }
    for left in ["new", "old"] {
        let left = beside(place, left);
        remove_all(&left).map_err(|error| Error::io("remove", &left, error))?;
    }
    Ok(())
}

/// Why a folder may not be written, if so.
fn occupied(place: &Path, tree: &Tree, ours: Option<&Vec<String>>) -> Option<&'static str> {
    match now(place) {
        Found::Nothing => None,
        Found::Tree(digest) if digest == tree.digest().to_string() => None,
        Found::Tree(digest) if ours.is_some_and(|ours| ours.contains(&digest)) => None,
        _ if ours.is_some() => Some("was changed and is not replaced; move it away"),
        _ => Some("is there already, and apkit has not put it there; move it away"),
    }
}

enum Found {
    Nothing,
    Tree(String),
    Other,
}

fn now(place: &Path) -> Found {
    match place.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Found::Nothing,
        Ok(metadata) if metadata.is_dir() => Tree::of_directory(place, &Limits::default())
            .map_or(Found::Other, |tree| Found::Tree(tree.digest().to_string())),
        _ => Found::Other,
    }
}

/// Where a folder is built or set aside: its own name, so that what a process that
/// died has left is found again.
fn beside(place: &Path, what: &str) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(".{name}.apkit-{what}"))
}

fn swap(new: &Path, place: &Path) -> Result<(), Error> {
    let error = |error| Error::io("replace", place, error);
    let old = beside(place, "old");
    remove_all(&old).map_err(error)?;
    if place.symlink_metadata().is_err() {
        return fs::rename(new, place).map_err(error);
    }
    if sys::exchange(new, place).map_err(error)? {
        return Ok(());
    }
    fs::rename(place, &old).map_err(error)?;
    fs::rename(new, place).map_err(error)?;
    remove_all(&old).map_err(error)
}

/// Copies a skill to `to`, without executable bits but for its scripts.
fn copy(
    root: &Path,
    skill: &Skill,
    scripts: bool,
    to: &Path,
    copied: &mut Copied,
) -> Result<Tree, Error> {
    let from = root.join(&skill.path);
    let failed = |error: io::Error| Error::io("copy to", to, error);
    let mut stage = Stage::new(to, Limits::default(), Links::Refuse).map_err(failed)?;
    let mut copier = Copier {
        root,
        scripts,
        stage: &mut stage,
        copied,
    };
    copier.directory(&from, "", 0)?;
    let staged = stage
        .finish("")
        .map_err(|refusal| failed(io::Error::other(refusal)))?;
    Ok(staged.tree)
}

struct Copier<'c> {
    root: &'c Path,
    scripts: bool,
    stage: &'c mut Stage,
    copied: &'c mut Copied,
}

impl Copier<'_> {
    fn directory(&mut self, from: &Path, below: &str, depth: usize) -> Result<(), Error> {
        let unread = |error| Error::io("read", from, error);
        if depth > MAX_DEPTH {
            return Err(unread(io::Error::other("it lies too deep")));
        }
        let entries = fs::read_dir(from).map_err(unread)?;
        let mut entries = entries.collect::<Result<Vec<_>, _>>().map_err(unread)?;
        entries.sort_unstable_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            // Every name has passed the stage of the import.
            let name = entry.file_name().to_string_lossy().into_owned();
            let relative = if below.is_empty() {
                name
            } else {
                format!("{below}/{name}")
            };
            let kind = entry.file_type().map_err(unread)?;
            let is_script = relative.split('/').next() == Some(SCRIPTS);
            if kind.is_dir() {
                self.directory(&path, &relative, depth + 1)?;
            } else if is_script && !self.scripts {
                self.copied.scripts_left_out.push(relative);
            } else if kind.is_symlink() {
                // What it leads to may lie outside of the skill, but not outside
                // of the package.
                match path.canonicalize() {
                    Ok(target) if target.starts_with(self.root) && target.is_file() => {
                        self.file(&target, &relative, is_script)?;
                    }
                    _ => self.copied.links_left_out.push(relative),
                }
            } else {
                self.file(&path, &relative, is_script)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, from: &Path, relative: &str, is_script: bool) -> Result<(), Error> {
        let unread = |error| Error::io("read", from, error);
        let mut file = File::open(from).map_err(unread)?;
        let executable = is_script && is_executable(&file.metadata().map_err(unread)?);
        self.stage
            .file(relative.as_bytes(), executable, &mut file)
            .map_err(|refusal| unread(io::Error::other(refusal)))
    }
}

fn is_executable(metadata: &fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        metadata.permissions().mode() & 0o100 != 0
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}

/// A directory that goes away with the value.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = remove_all(&self.0);
    }
}
