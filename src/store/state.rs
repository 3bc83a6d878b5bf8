//! Whether an installed tree is what the lock file says.

use std::path::Path;

use super::install::read_listing;
use super::lock_file::Entry;
use super::policy::{Content, Denied, Facts};
use super::{Error, Store, folders, listing_name};
use crate::archive::{Change, Limits, Refusal, Tree};
use crate::package::{self, Package};
use crate::source::Stop;

/// How often a package is compared that others go on changing.
const ATTEMPTS: u32 = 10;

/// The state of an installed tree.
#[derive(Debug)]
pub enum State {
    /// It is what the lock file says.
    Intact,
    /// There is no directory.
    Missing,
    /// It is another; without changes if they cannot be told, because no listing
    /// of the right one is there.
    Changed(Vec<Change>),
    /// It holds something that no package holds, or cannot be read.
    Odd(Refusal),
    /// It is what the lock file says, which says something else of it than its
    /// manifest; that, as a sentence.
    Misrecorded(String),
}

/// What was found about one package.
#[derive(Debug)]
pub struct Verified {
    /// Its name.
    pub name: String,
    /// What the lock file says.
    pub entry: Entry,
    /// Its tree.
    pub state: State,
    /// What is wrong with its plain skill folders.
    pub folders: Vec<folders::Problem>,
    /// Whether it was never put in place here, as in the clone of a project.
    pub is_new_here: bool,
    /// The rule that forbids it now, if one does: it would not be imported again.
    pub denied: Option<Denied>,
}

impl Verified {
    /// Whether all is as it should be.
    pub fn is_good(&self) -> bool {
        matches!(self.state, State::Intact) && self.folders.is_empty()
    }
}

impl Entry {
    /// What is recorded in the lock file and is not what the manifest says, though the
    /// content is the same: somebody has edited the lock file.
    pub(super) fn contradiction(&self, package: &Package) -> Option<String> {
        let shown = |text: Option<&str>| match text {
            Some(text) => format!("{text:?}"),
            None => "none".to_owned(),
        };
        [
            (
                "version",
                self.version.as_deref(),
                package.version.as_deref(),
            ),
            (
                "version of the specification",
                Some(self.spec_version.as_str()),
                package.spec_version,
            ),
        ]
        .into_iter()
        .find(|(_, recorded, found)| recorded != found)
        .map(|(what, recorded, found)| {
            format!(
                "its {what} is {} in the lock file, and {} in its plugin.json",
                shown(recorded),
                shown(found)
            )
        })
    }
}

impl Store {
    /// Compares the trees of these packages, or of all, with the lock file.
    ///
    /// # Errors
    ///
    /// When the lock file cannot be read, or one of the packages is not installed.
    pub fn verify(&self, names: &[String], stop: &Stop) -> Result<Vec<Verified>, Error> {
        let installed = self.installed(stop)?;
        for name in names {
            super::entry_of(&installed, name)?;
        }
        let wanted = installed
            .packages
            .iter()
            .filter(|(name, _)| names.is_empty() || names.contains(name));
        let mut verified = Vec::new();
        for (name, entry) in wanted {
            verified.extend(self.verify_one(name, entry.clone(), stop)?);
        }
        Ok(verified)
    }

    /// Compares one package; nothing if somebody has removed it meanwhile. A tree
    /// that is not what the lock file said may be what it says now.
    fn verify_one(
        &self,
        name: &str,
        mut entry: Entry,
        stop: &Stop,
    ) -> Result<Option<Verified>, Error> {
        for attempt in 1.. {
            let found = Verified {
                name: name.to_owned(),
                state: self.recorded_state(name, &entry),
                folders: folders::verify(&self.layout, name)?,
                is_new_here: self.is_new_here(&entry),
                denied: self.denied(name, &entry),
                entry: entry.clone(),
            };
            if found.is_good() || attempt == ATTEMPTS {
                return Ok(Some(found));
            }
            // Waits for a change that is being made.
            match self.installed(stop)?.packages.remove(name) {
                None => return Ok(None),
                Some(now) if now == entry => return Ok(Some(found)),
                Some(now) => entry = now,
            }
        }
        Ok(None)
    }

    /// The rule that forbids what the lock file says of package `name`.
    fn denied(&self, name: &str, entry: &Entry) -> Option<Denied> {
        let content = Content {
            plugin: Some(name),
            version: entry.version.as_deref(),
            resolved: &entry.resolved,
            digest: &entry.digest.to_string(),
        };
        self.policy
            .check(&Facts::after(&entry.source, content))
            .err()
    }

    /// The state of the tree of package `name`, and of what the lock file says of it.
    pub(super) fn recorded_state(&self, name: &str, entry: &Entry) -> State {
        let state = self.state(name, entry);
        if !matches!(state, State::Intact) {
            return state;
        }
        // An import with drafts recorded what those say.
        let options = package::Options {
            drafts: true,
            ..package::Options::default()
        };
        let package = package::load_manifest(&self.layout.package(name), name, &options);
        match package
            .ok()
            .and_then(|package| entry.contradiction(&package))
        {
            Some(problem) => State::Misrecorded(problem),
            None => State::Intact,
        }
    }

    /// The state of the tree of package `name`.
    pub(super) fn state(&self, name: &str, entry: &Entry) -> State {
        let place = self.layout.package(name);
        let listing = self.layout.listings().join(listing_name(&entry.digest));
        if let Some(tree) = read_listing(&listing).filter(|tree| tree.digest() == entry.digest) {
            return of(&place, &tree);
        }
        match now(&place) {
            Ok(None) => State::Missing,
            Ok(Some(tree)) if tree.digest() == entry.digest => State::Intact,
            Ok(Some(_)) => State::Changed(Vec::new()),
            Err(refusal) => State::Odd(refusal),
        }
    }
}

/// Compares a directory with what it should hold.
pub(super) fn of(place: &Path, tree: &Tree) -> State {
    match now(place) {
        Ok(None) => State::Missing,
        Ok(Some(now)) => {
            let changes = tree.changes(&now);
            if changes.is_empty() {
                State::Intact
            } else {
                State::Changed(changes)
            }
        }
        Err(refusal) => State::Odd(refusal),
    }
}

/// What a directory holds; nothing if there is none. A link in its place leads to
/// somebody else's.
fn now(place: &Path) -> Result<Option<Tree>, Refusal> {
    match place.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(metadata) => {
            let kind = if metadata.is_symlink() {
                "a link"
            } else {
                "a file"
            };
            return Err(Refusal::Kind {
                entry: place.display().to_string(),
                kind,
            });
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            return Err(Refusal::Read {
                entry: place.display().to_string(),
                source,
            });
        }
    }
    Tree::of_directory(place, &Limits::default()).map(Some)
}
