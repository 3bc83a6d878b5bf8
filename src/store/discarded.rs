//! What goes of a tree that somebody has changed.

use super::lock_file::Entry;
use super::state::State;
use super::{Store, listing_name};
use crate::archive::{Change, Limits, Tree};

/// What somebody had changed in a tree that was replaced or removed.
#[derive(Debug, Default)]
pub struct Discarded {
    /// The changes, compared with what was imported; or, where that
    /// [`is_unknown`](Self::is_unknown), with the new content.
    pub changes: Vec<Change>,
    /// The paths of what was there and can be no part of a package; of a directory
    /// that alone.
    pub others: Vec<String>,
    /// The list of what was imported is missing, or too much was there to be compared.
    pub is_unknown: bool,
}

impl Store {
    /// What goes of the tree of package `name`, which is in the state `state`, when
    /// `new` takes its place or it is removed.
    pub(super) fn discarded(
        &self,
        name: &str,
        before: &Entry,
        state: State,
        new: Option<&Tree>,
    ) -> Discarded {
        match state {
            State::Intact | State::Misrecorded(_) | State::Missing => return Discarded::default(),
            State::Changed(changes) if !changes.is_empty() => {
                return Discarded {
                    changes,
                    ..Discarded::default()
                };
            }
            State::Changed(_) | State::Odd(_) => {}
        }
        let unknown = Discarded {
            is_unknown: true,
            ..Discarded::default()
        };
        let place = self.layout.package(name);
        // What a link leads to stays.
        if !place.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Discarded::default();
        }
        let Some((now, others)) = Tree::survey(&place, &Limits::default()) else {
            return unknown;
        };
        let listing = self.layout.listings().join(listing_name(&before.digest));
        let imported = super::install::read_listing(&listing);
        let imported = imported.as_ref().into_iter().chain(new);
        let mut imported = imported.filter(|tree| tree.digest() == before.digest);
        match (imported.next(), new) {
            (Some(imported), _) => Discarded {
                changes: imported.changes(&now),
                others,
                is_unknown: false,
            },
            (None, Some(new)) => Discarded {
                changes: new.changes(&now),
                others,
                is_unknown: true,
            },
            (None, None) => Discarded { others, ..unknown },
        }
    }
}
