//! Removing the copies of a package, as a part of one change of the store.
//!
//! What goes is first set aside, which can be taken back, and deleted only when the
//! lock file says so. A folder that is half deleted thus never has its name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::aside::{NEW, OLD, beside, delete, free_aside};
use super::record::{Ours, Record};
use super::{Folders, Found, LeftAlone, Problem, WhyAlone, now};
use crate::store::Error;
use crate::store::layout::Layout;

/// Which copies go.
pub(in crate::store) struct Removal<'a> {
    /// Those of this package,
    pub(in crate::store) name: &'a str,
    /// and of them those in these directories; all without any.
    pub(in crate::store) only_in: Option<&'a [PathBuf]>,
}

impl Removal<'_> {
    /// Writes the record as it will be beside the one that is, if there is one.
    pub(in crate::store) fn prepare(&self, layout: &Layout) -> Result<(), Error> {
        if layout.folders().symlink_metadata().is_err() {
            return Ok(());
        }
        let mut record = Record::read(layout)?;
        if let Some(directories) = self.only_in {
            if let Some(allowed) = record.allowed.get_mut(self.name) {
                allowed.retain(|directory, _| !directories.contains(directory));
            }
            if let Some(ours) = record.packages.get_mut(self.name) {
                ours.retain(|place, _| !self.is_about(place));
            }
        } else {
            record.allowed.remove(self.name);
            record.packages.remove(self.name);
        }
        record.allowed.retain(|_, allowed| !allowed.is_empty());
        record.packages.retain(|_, ours| !ours.is_empty());
        record.write_next(layout)
    }

    /// Sets aside what goes, and says what that is. What somebody has changed is
    /// theirs, and stays.
    pub(in crate::store) fn set_aside(&self, layout: &Layout) -> Result<Folders, Error> {
        let mut result = Folders::default();
        for (place, digests) in self.places(layout)? {
            if layout.leads_out(&place) {
                result.outside.push(led_out(place));
            } else if put_aside(&place, &digests, &mut result.kept)? {
                result.removed.push(place);
            }
        }
        Ok(result)
    }

    /// Puts back what was set aside.
    pub(in crate::store) fn undo(&self, layout: &Layout) -> io::Result<()> {
        let places = self.places(layout).map_err(io::Error::other)?;
        for place in places.into_keys().filter(|place| !layout.leads_out(place)) {
            let aside = beside(&place, OLD);
            if aside.symlink_metadata().is_ok() && place.symlink_metadata().is_err() {
                fs::rename(&aside, &place)?;
            }
        }
        Ok(())
    }

    /// Deletes what was set aside. What cannot be deleted stops nothing else; it is
    /// told, and written down for the next change.
    pub(in crate::store) fn finish(&self, layout: &Layout) -> Result<Vec<Problem>, Error> {
        let places = self.places(layout)?.into_keys();
        let places = places.filter(|place| !layout.leads_out(place));
        let aside = places.flat_map(|place| [NEW, OLD].map(|what| beside(&place, what)));
        let left: Vec<Problem> = aside.filter_map(|path| delete(&path)).collect();
        if !left.is_empty() {
            // It is told in any case.
            let _ = Record::extend_next(layout, left.iter().map(|left| left.path.clone()));
        }
        Ok(left)
    }

    fn is_about(&self, place: &Path) -> bool {
        self.only_in.is_none_or(|directories| {
            directories
                .iter()
                .any(|directory| place.parent() == Some(directory))
        })
    }

    /// The copies, by the record as it is before.
    fn places(&self, layout: &Layout) -> Result<Ours, Error> {
        let mut ours = Record::read(layout)?
            .packages
            .remove(self.name)
            .unwrap_or_default();
        ours.retain(|place, _| self.is_about(place));
        Ok(ours)
    }
}

fn led_out(path: PathBuf) -> LeftAlone {
    let why = WhyAlone::LeadsOut;
    LeftAlone { path, why }
}

/// Removes one folder unless somebody changed it; then it is theirs.
pub(super) fn withdraw(
    layout: &Layout,
    place: &Path,
    ours: &mut Ours,
    result: &mut Folders,
) -> Result<(), Error> {
    let digests = ours.remove(place).unwrap_or_default();
    if layout.leads_out(place) {
        result.outside.push(led_out(place.to_owned()));
        return Ok(());
    }
    if put_aside(place, &digests, &mut result.kept)? {
        result.removed.push(place.to_owned());
    }
    let aside = [NEW, OLD].map(|what| beside(place, what));
    let left = aside.iter().filter_map(|path| delete(path));
    result.not_deleted.extend(left);
    Ok(())
}

/// Sets one folder aside, unless it is gone or somebody changed it.
fn put_aside(place: &Path, digests: &[String], kept: &mut Vec<PathBuf>) -> Result<bool, Error> {
    match now(place) {
        Found::Nothing => Ok(false),
        Found::Tree(digest) if digests.contains(&digest) => {
            let aside = free_aside(place)?;
            fs::rename(place, &aside).map_err(|error| Error::io("remove", place, error))?;
            Ok(true)
        }
        _ => {
            kept.push(place.to_owned());
            Ok(false)
        }
    }
}
