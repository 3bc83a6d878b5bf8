//! Names beside the place of a copy: where it is built, and where what stood there is
//! set aside until it is deleted.
//!
//! They are made of the name of the copy, so that what a process that died has left is
//! found again. What cannot be deleted is told and written down, and deleted by a later
//! change.

use std::path::{Path, PathBuf};

use super::Problem;
use super::record::Record;
use crate::store::Error;
use crate::store::layout::Layout;
use crate::store::staging::remove_all;

/// Where a copy is built.
pub(super) const NEW: &str = "new";
/// Where one is set aside.
pub(super) const OLD: &str = "old";

pub(super) fn beside(place: &Path, what: &str) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(".{name}.apkit-{what}"))
}

/// Whether [`beside`] gives such a path.
fn is_beside(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.')
        && [NEW, OLD]
            .iter()
            .any(|what| name.ends_with(&format!(".apkit-{what}")))
}

/// Where the copy at `place` is set aside; nothing is there.
pub(super) fn free_aside(place: &Path) -> Result<PathBuf, Error> {
    let aside = beside(place, OLD);
    remove_all(&aside).map_err(|error| Error::io("remove", &aside, error))?;
    Ok(aside)
}

/// Deletes what was set aside; says why not, if it cannot be.
pub(super) fn delete(path: &Path) -> Option<Problem> {
    let error = remove_all(path).err()?;
    Some(Problem {
        path: path.to_owned(),
        problem: format!("cannot be deleted: {error}"),
        is_in_the_way: false,
        owner: None,
    })
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
    let paths = record.aside.iter();
    let left: Vec<Problem> = paths
        .filter(|path| is_beside(path) && !layout.leads_out(path))
        .filter_map(|path| delete(path))
        .collect();
    if left.len() < record.aside.len() {
        record.aside = left.iter().map(|left| left.path.clone()).collect();
        // Else it is tried once more.
        let _ = record.write(layout);
    }
    left
}
