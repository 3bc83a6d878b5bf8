//! What imports that were only tried would have left of the store, so that each one
//! meets what the ones before it would have left, as in a real run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Error;
use super::folders::{Folders, Problem, taken_by};
use super::install::Done;
use super::lock_file::{Entry, LockFile};

/// What dry runs before this one would have put in place.
#[derive(Debug, Clone, Default)]
pub struct Foreseen {
    packages: BTreeMap<String, Entry>,
    /// The packages that folders of skills would belong to.
    copies: BTreeMap<PathBuf, String>,
}

impl Foreseen {
    /// Takes in what a dry run would have done.
    pub fn add(&mut self, done: &Done) {
        self.copies.retain(|_, name| *name != done.name);
        let copied = done.folders.copied.iter();
        self.copies
            .extend(copied.map(|copied| (copied.path.clone(), done.name.clone())));
        self.packages.insert(done.name.clone(), done.entry.clone());
    }

    /// Whether package `name` would be in its place, whatever is there now.
    pub(super) fn has(&self, name: &str) -> bool {
        self.packages.contains_key(name)
    }

    /// What the lock file would say.
    pub(super) fn over(&self, mut installed: LockFile) -> LockFile {
        installed.packages.extend(self.packages.clone());
        installed
    }

    /// Refuses to copy a skill of package `name` to where a copy of another package's
    /// would be.
    pub(super) fn check(&self, name: &str, folders: &Folders) -> Result<(), Error> {
        let problems: Vec<Problem> = (folders.copied.iter())
            .filter_map(|copied| {
                let other = self.copies.get(&copied.path)?;
                (other != name).then(|| Problem {
                    path: copied.path.clone(),
                    problem: taken_by(other, true),
                    is_in_the_way: true,
                    owner: Some(other.clone()),
                })
            })
            .collect();
        if problems.is_empty() {
            return Ok(());
        }
        Err(Error::Folders {
            name: name.to_owned(),
            problems,
            recorded: Vec::new(),
        })
    }
}
