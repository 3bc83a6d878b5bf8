//! Names beside the place of a copy: where it is built, and where what stood there is
//! set aside until it is deleted.
//!
//! They are made of the name of the copy, so that what a process that died has left is
//! found again, and written down while a copy is built, so that any later change finds
//! it. What cannot be deleted is told and stays written down until it is gone.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Problem;
use super::record::Record;
use crate::store::Error;
use crate::store::disk;
use crate::store::layout::Layout;
use crate::store::staging::remove_all;

/// Where a copy is built.
pub(super) const NEW: &str = "new";
/// Where one is set aside.
pub(super) const OLD: &str = "old";

/// How many names a copy may be built under, should something stand in the way.
const NAMES: u32 = 9;

pub(super) fn beside(place: &Path, what: &str) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(".{name}.apkit-{what}"))
}

/// Whether [`beside`] or [`free_new`] gives such a path.
fn is_beside(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let what = name.rsplit_once(".apkit-").map_or("", |(_, what)| what);
    let is_number = |text: &str| text.parse::<u32>().is_ok();
    let what = match what.rsplit_once('-') {
        Some((what, number)) if is_number(number) => what,
        _ => what,
    };
    name.starts_with('.') && [NEW, OLD].contains(&what)
}

/// Where the copy at `place` is set aside; nothing is there.
pub(super) fn free_aside(place: &Path) -> Result<PathBuf, Error> {
    let aside = beside(place, OLD);
    match remove_all(&aside) {
        Ok(()) => Ok(aside),
        Err(error) => Err(stuck(&aside, &error)),
    }
}

/// Where the copy for `place` is built; nothing is there. What has such a name and
/// cannot be deleted is added to `left`, and no obstacle.
pub(super) fn free_new(place: &Path, left: &mut Vec<Problem>) -> Result<PathBuf, Error> {
    let first = beside(place, NEW);
    let mut why = None;
    for number in 1..=NAMES {
        let path = match number {
            1 => first.clone(),
            _ => beside(place, &format!("{NEW}-{number}")),
        };
        match remove_all(&path) {
            Ok(()) => return Ok(path),
            Err(error) => {
                left.push(undeleted(&path, &error));
                why.get_or_insert(error);
            }
        }
    }
    let why = why.unwrap_or_else(|| io::ErrorKind::AlreadyExists.into());
    Err(stuck(&first, &why))
}

/// Why there is no name for a copy.
fn stuck(path: &Path, error: &io::Error) -> Error {
    let problem = format!("{error}; it is left from an earlier change: delete it, and try again");
    Error::io("remove", path, io::Error::other(problem))
}

fn undeleted(path: &Path, error: &io::Error) -> Problem {
    Problem {
        path: path.to_owned(),
        problem: format!("cannot be deleted: {error}"),
        is_in_the_way: false,
        owner: None,
    }
}

/// Deletes what was set aside; says why not, if it cannot be.
pub(super) fn delete(path: &Path) -> Option<Problem> {
    let error = remove_all(path).err()?;
    Some(undeleted(path, &error))
}

/// The places where copies are being built, written down until they are gone.
pub(super) struct Built {
    layout: Layout,
    places: Vec<PathBuf>,
    before: Before,
}

/// What a change finds in the place of the record.
enum Before {
    Nothing,
    /// What says nothing to us: another store's record, which came along with a project
    /// that was copied, or an empty one.
    Nobodys(Vec<u8>),
    Ours,
}

impl Built {
    /// Writes them down. The caller holds the store.
    pub(super) fn at(places: Vec<PathBuf>, layout: &Layout) -> Result<Self, Error> {
        let mut record = Record::read(layout)?;
        let before = match Record::stored(&layout.folders())? {
            None => Before::Nothing,
            Some(text) if record.is_empty() => Before::Nobodys(text),
            Some(_) => Before::Ours,
        };
        let built = Self {
            layout: layout.clone(),
            before,
            places,
        };
        record.aside.extend(built.places.iter().cloned());
        record.write(layout)?;
        Ok(built)
    }
}

impl Drop for Built {
    fn drop(&mut self) {
        // What stays written down is looked at once more.
        let Ok(mut record) = Record::read(&self.layout) else {
            return;
        };
        let is_gone = |path: &PathBuf| path.symlink_metadata().is_err();
        record
            .aside
            .retain(|path| !self.places.contains(path) || !is_gone(path));
        let path = self.layout.folders();
        let _ = match &self.before {
            Before::Nothing if record.is_empty() => {
                fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))
            }
            // Nothing was changed, this neither.
            Before::Nobodys(text) if record.is_empty() => disk::replace(&path, text),
            _ => record.write(&self.layout),
        };
    }
}

/// Deletes what earlier changes could not delete, and gives what still cannot be. The
/// caller holds the store.
pub(in crate::store) fn sweep(layout: &Layout) -> Vec<Problem> {
    // One that cannot be read is told by whoever needs it.
    let Ok(mut record) = Record::read(layout) else {
        return Vec::new();
    };
    if record.aside.is_empty() {
        return Vec::new();
    }
    let mut left = Vec::new();
    let mut kept = BTreeSet::new();
    for path in record.aside.iter().filter(|path| is_beside(path)) {
        if layout.leads_out(path) {
            // Until the link on the way is gone, it is none of ours.
            if path.symlink_metadata().is_ok() {
                kept.insert(path.clone());
            }
        } else if let Some(problem) = delete(path) {
            kept.insert(path.clone());
            left.push(problem);
        }
    }
    if kept != record.aside {
        record.aside = kept;
        // Else it is tried once more.
        let _ = record.write(layout);
    }
    left
}
