//! Where a result may go: not where it would take away, or write into, what
//! people keep.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::Error;
use crate::sys;

/// A place that an export leaves alone, whatever the user asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Where it is; an absolute path.
    pub path: PathBuf,
    /// What it is, for people: `the source ./skills`.
    pub what: String,
    /// Whether nothing is written into it either.
    pub closed: bool,
}

/// The physical path of a target that need not be there. With `through`, a link
/// at its end is followed.
pub(super) fn physical(target: &Path, through: bool) -> io::Result<PathBuf> {
    let mut place = PathBuf::new();
    let absolute = std::path::absolute(target)?;
    let mut parts = absolute.components().peekable();
    while let Some(part) = parts.next() {
        match part {
            Component::Prefix(_) | Component::RootDir => place.push(part),
            Component::CurDir => {}
            // What is there has no links in it by now; what is not, neither.
            Component::ParentDir => {
                place.pop();
            }
            Component::Normal(name) => {
                place.push(name);
                let follows = through || parts.peek().is_some();
                if follows && fs::symlink_metadata(&place).is_ok() {
                    place = fs::canonicalize(&place)?;
                }
            }
        }
    }
    Ok(place)
}

/// Refuses a physical target that is, or holds, one of the kept places, or lies
/// in one that is closed.
pub(super) fn spare(target: &Path, kept: &[Kept]) -> Result<(), Error> {
    for kept in kept {
        let place = physical(&kept.path, true)?;
        let what = &kept.what;
        if same(target, &place) {
            return Err(Error::Kept(format!("is {what}")));
        }
        if within(&place, target) {
            return Err(Error::Kept(format!("holds {what}")));
        }
        if kept.closed && within(target, &place) {
            return Err(Error::Kept(format!("lies in {what}")));
        }
    }
    Ok(())
}

/// Refuses a target, of which these are the files, that holds a repository, with
/// or without a work tree.
pub(super) fn spare_repository(files: &BTreeSet<String>) -> Result<(), Error> {
    let is_bare = |path: &str| {
        let Some(top) = path.strip_suffix("HEAD") else {
            return false;
        };
        (top.is_empty() || top.ends_with('/'))
            && ["objects", "refs"].iter().all(|part| {
                let inside = format!("{top}{part}");
                files
                    .range(inside.clone()..)
                    .next()
                    .is_some_and(|path| path.starts_with(&inside))
            })
    };
    let found = files.iter().any(|path| {
        let mut parts = path.split('/');
        parts.any(|part| part.eq_ignore_ascii_case(".git")) || is_bare(path)
    });
    match found {
        false => Ok(()),
        true => Err(Error::Kept("holds a git repository".to_owned())),
    }
}

/// Whether `inner` lies below `outer`. A path that is spelt otherwise, as file
/// systems without regard to case allow, is the same if the file is.
fn within(inner: &Path, outer: &Path) -> bool {
    inner.ancestors().skip(1).any(|above| same(above, outer))
}

fn same(one: &Path, other: &Path) -> bool {
    one == other || sys::file_id(one).is_some_and(|id| sys::file_id(other) == Some(id))
}

/// The paths of everything below `directory` but directories that hold something.
pub(super) fn list(directory: &Path) -> io::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    add(directory, "", &mut found)?;
    Ok(found)
}

fn add(directory: &Path, prefix: &str, found: &mut BTreeSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name: &OsStr = &entry.file_name();
        let path = format!("{prefix}{}", name.to_string_lossy());
        let before = found.len();
        if entry.file_type()?.is_dir() {
            add(&entry.path(), &format!("{path}/"), found)?;
        }
        if found.len() == before {
            found.insert(path);
        }
    }
    Ok(())
}
