//! The steps of a change, each of which can be done again, and the way back.

use std::fs;
use std::io;
use std::path::Path;

use super::journal::{Journal, NewTree};
use crate::store::Error;
use crate::store::disk::sync_directory;
use crate::store::folders::{self, Folders};
use crate::store::layout::Layout;
use crate::store::staging;
use crate::sys;

pub(super) const NEW: &str = "new";
pub(super) const OLD: &str = "old";
pub(super) const DATA: &str = "data";

/// Removes what is written ahead of a change that does not take place.
pub(super) fn forget_next(layout: &Layout) {
    let _ = fs::remove_file(layout.next_lock_file());
    let _ = fs::remove_file(layout.next_folders());
}

/// Steps 3 to 5, each unless it was done. Says what became of the copies of skills.
pub(super) fn replay(layout: &Layout, journal: &Journal) -> Result<Folders, Error> {
    let staging = layout.staging().join(&journal.staging);
    let place = layout.package(&journal.name);
    match &journal.new {
        Some(new) => put_in_place(&staging, &place, new)?,
        None if journal.only_in.is_some() => {}
        None => set_aside(&place, &staging.join(OLD))?,
    }
    let removal = journal.folders();
    let mut told = match &removal {
        Some(removal) => removal.set_aside(layout)?,
        None => Folders::default(),
    };
    if journal.purge {
        set_aside(&layout.data(&journal.name), &staging.join(DATA))?;
    }
    let (next, lock_file) = (layout.next_lock_file(), layout.lock_file());
    match fs::rename(&next, &lock_file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::io("write", &lock_file, error));
        }
        _ => {}
    }
    sync_directory(&layout.root);
    if let Some(removal) = &removal {
        told.not_deleted = removal.finish(layout)?;
    }
    folders::replace_record(layout)?;
    let path = layout.journal();
    fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
    for left in [NEW, OLD, DATA] {
        let _ = staging::remove_all(&staging.join(left));
    }
    Ok(told)
}

fn put_in_place(staging: &Path, place: &Path, tree: &NewTree) -> Result<(), Error> {
    let new = staging.join(NEW);
    let error = |error| Error::io("replace", place, error);
    if !exists(&new) {
        // Swapped in, and what came out is gone already.
        return if exists(place) {
            Ok(())
        } else {
            Err(error(io::ErrorKind::NotFound.into()))
        };
    }
    if !exists(place) {
        return fs::rename(&new, place).map_err(error);
    }
    if tree.file.is_some() {
        if is_same_file(sys::file_id(place), tree.file) {
            return Ok(());
        }
        if sys::exchange(&new, place).map_err(error)? {
            return Ok(());
        }
    }
    fs::rename(place, staging.join(OLD)).map_err(error)?;
    fs::rename(&new, place).map_err(error)
}

/// By the number of the file alone: that of its file system may be another after
/// the machine was started again, and both lie in the same one.
fn is_same_file(one: Option<(u64, u64)>, other: Option<(u64, u64)>) -> bool {
    matches!((one, other), (Some((_, one)), Some((_, other))) if one == other)
}

fn set_aside(place: &Path, aside: &Path) -> Result<(), Error> {
    match fs::rename(place, aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", place, error))
        }
        _ => Ok(()),
    }
}

/// Takes a change back whose lock file has not got its name.
pub(super) fn undo(layout: &Layout, journal: &Journal) -> io::Result<()> {
    if !exists(&layout.next_lock_file()) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let staging = layout.staging().join(&journal.staging);
    let place = layout.package(&journal.name);
    let (new, old) = (staging.join(NEW), staging.join(OLD));
    if let Some(tree) = &journal.new {
        let is_in = match tree.file {
            Some(_) => is_same_file(sys::file_id(&place), tree.file),
            None => exists(&place) && !exists(&new),
        };
        if is_in && exists(&new) {
            if !sys::exchange(&new, &place)? {
                return Err(io::ErrorKind::Unsupported.into());
            }
        } else if is_in {
            fs::rename(&place, &new)?;
        }
    }
    if exists(&old) {
        fs::rename(&old, &place)?;
    }
    let data = staging.join(DATA);
    if exists(&data) {
        fs::rename(&data, layout.data(&journal.name))?;
    }
    match journal.folders() {
        Some(folders) => folders.undo(layout),
        None => Ok(()),
    }
}

pub(super) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
