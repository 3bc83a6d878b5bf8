//! Plain skill folders: copies of the skills for clients that read
//! `DIR/SKILL/SKILL.md` and know no packages (user story US-6).
//!
//! Nothing in them is executable, and `scripts/` come along only if the user says
//! so, as whoever runs a script of a skill runs a stranger's program. A directory
//! that we did not write, or that somebody changed since, is never replaced.

mod aside;
mod copy;
mod permitted;
mod plan;
mod record;
mod removal;
mod temporary;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use self::aside::free_aside;
use self::record::Record;
use super::Error;
use super::layout::Layout;
use super::lock_file::{Entry, Folder};
use crate::archive::{Limits, Tree};
use crate::sys;

pub(super) use self::aside::sweep;
pub(super) use self::plan::{Plan, Wanted};
pub(super) use self::removal::Removal;

/// What became of the folders of a package.
#[derive(Debug, Default)]
pub struct Folders {
    /// What stands there now.
    pub copied: Vec<Copied>,
    /// Folders that were removed.
    pub removed: Vec<PathBuf>,
    /// Directories and folders that the lock file or the record names and that were
    /// left alone.
    pub outside: Vec<LeftAlone>,
    /// Folders that somebody has changed, so that they are theirs now.
    pub kept: Vec<PathBuf>,
    /// Folders that hold what would be copied and that are somebody else's: no
    /// update and no removal touches them.
    pub already_there: Vec<PathBuf>,
    /// Copies that were set aside, by this change or an earlier one, and cannot be
    /// deleted. The next change tries again.
    pub not_deleted: Vec<Problem>,
}

/// A place that is not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftAlone {
    /// The directory, or one folder in it.
    pub path: PathBuf,
    /// Why it is left alone.
    pub why: WhyAlone,
}

/// Why a place is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyAlone {
    /// Only the lock file asks for it, and whose that is nobody knows.
    Unasked,
    /// What is there was not copied on this machine, and a removal leaves it.
    CameAlong,
    /// A link on the way leads out of the project.
    LeadsOut,
    /// Git keeps its own files there, some of which it runs.
    Git,
    /// The store keeps its own files there.
    Store,
    /// It lies in the directory that the package comes from, which an update would
    /// take the copies for a part of.
    Source,
}

/// A skill that was copied.
#[derive(Debug)]
pub struct Copied {
    /// Its folder.
    pub path: PathBuf,
    /// Files of `scripts/` that were left out, relative to the skill.
    pub scripts_left_out: Vec<String>,
    /// Those of them that stood there until now.
    pub scripts_removed: Vec<String>,
    /// Links that were left out, as they lead out of the package, to a directory or
    /// nowhere; relative to the skill.
    pub links_left_out: Vec<String>,
    /// Whether the same stood there before.
    pub is_unchanged: bool,
}

impl Copied {
    fn to(path: PathBuf) -> Self {
        Self {
            path,
            scripts_left_out: Vec::new(),
            scripts_removed: Vec::new(),
            links_left_out: Vec::new(),
            is_unchanged: false,
        }
    }
}

/// A folder that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The folder.
    pub path: PathBuf,
    /// What is wrong, as a phrase that follows its path.
    pub problem: String,
    /// Whether something stands there that is not replaced.
    pub is_in_the_way: bool,
    /// The other package that has the place.
    pub owner: Option<String>,
}

/// What is wrong with a place that package `other` has, whether or not its copy stands
/// there now.
pub(super) fn taken_by(other: &str, is_there: bool) -> String {
    let what = if is_there { "is" } else { "is kept for" };
    format!("{what} the copy of a skill of the package {other}")
}

/// Gives the record that a change has written beside the one that was its name.
pub(super) fn replace_record(layout: &Layout) -> Result<(), Error> {
    Record::replace(layout)
}

/// Whether there is a directory that the lock file has the skills of package `name`
/// copied to, and this machine has not seen yet: what is in it came along.
pub(super) fn came_along(layout: &Layout, name: &str, entry: &Entry) -> Result<bool, Error> {
    let mut folders = entry.folders.iter();
    if entry.folders.is_empty() {
        return Ok(false);
    }
    let record = Record::read(layout)?;
    Ok(folders.any(|folder| {
        let directory = &folder.directory;
        !record.has_seen(name, directory) && !layout.leads_out(directory) && directory.is_dir()
    }))
}

/// What a removal of the copies of package `name` leaves behind, as this machine has
/// not made it: the copies of its skills, or the directory if nobody knows which those
/// are.
pub(super) fn left_behind<'s>(
    layout: &Layout,
    name: &str,
    entry: &Entry,
    skills: impl Iterator<Item = &'s str> + Clone,
) -> Result<Vec<LeftAlone>, Error> {
    let record = Record::read(layout)?;
    let mut left = Vec::new();
    for Folder { directory, .. } in &entry.folders {
        if record.has_seen(name, directory) {
            continue;
        }
        let mut places: Vec<PathBuf> = skills.clone().map(|skill| directory.join(skill)).collect();
        if places.is_empty() {
            places.push(directory.clone());
        }
        places.retain(|place| place.symlink_metadata().is_ok());
        left.extend(places.into_iter().map(|path| LeftAlone {
            path,
            why: WhyAlone::CameAlong,
        }));
    }
    Ok(left)
}

/// What is wrong with the folders of a package.
pub(super) fn verify(layout: &Layout, name: &str) -> Result<Vec<Problem>, Error> {
    let record = Record::read(layout)?;
    let folders = record.packages.get(name).into_iter().flatten();
    let folders = folders.filter(|(path, _)| !layout.leads_out(path));
    let wrong = folders.filter_map(|(path, digests)| {
        let (problem, is_in_the_way) = match now(path) {
            Found::Nothing => ("is missing", false),
            Found::Tree(digest) if digests.last() == Some(&digest) => return None,
            Found::Tree(digest) if digests.contains(&digest) => {
                ("was not brought up to date with the package", false)
            }
            _ => ("was changed", true),
        };
        Some(Problem {
            path: path.clone(),
            problem: problem.to_owned(),
            is_in_the_way,
            owner: None,
        })
    });
    Ok(wrong.collect())
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

/// Puts a copy in its place. Gives what stood there, under its name for now.
fn swap(new: &Path, place: &Path) -> Result<Option<PathBuf>, Error> {
    let error = |error| Error::io("replace", place, error);
    if place.symlink_metadata().is_err() {
        return fs::rename(new, place).map(|()| None).map_err(error);
    }
    if sys::exchange(new, place).map_err(error)? {
        return Ok(Some(new.to_owned()));
    }
    let old = free_aside(place)?;
    fs::rename(place, &old).map_err(error)?;
    fs::rename(new, place).map_err(error)?;
    Ok(Some(old))
}
