//! Following a lock file: what it says, and nothing else.

use super::install::{Imported, Options};
use super::lock_file::{Entry, LockFile};
use super::{Error, Store, from_source};
use crate::package::Package;
use crate::source::{Request, Source, Stop};

/// What came of one package that a lock file names.
#[derive(Debug)]
pub struct Restored {
    /// Its name.
    pub name: String,
    /// What came of it.
    pub result: Result<Imported, Error>,
}

impl Store {
    /// Puts everything in place that the lock file names, and nothing else: each
    /// package with exactly the content recorded. What has it already is not fetched.
    /// One result for each, by name.
    ///
    /// # Errors
    ///
    /// When there is no lock file, or it cannot be read.
    pub fn restore(
        &self,
        request: &Request<'_>,
        options: &Options,
    ) -> Result<Vec<Restored>, Error> {
        let installed = self.recorded(request.stop)?;
        let mut options = options.clone();
        let scratch = options.dry_run.clone();
        let mut restored = Vec::new();
        for (at, (name, entry)) in installed.packages.iter().enumerate() {
            // What one brought must not be in the way of the next.
            options.dry_run = scratch.as_ref().map(|scratch| scratch.join(at.to_string()));
            if let Some(own) = &options.dry_run {
                std::fs::create_dir_all(own).map_err(|error| Error::io("make", own, error))?;
            }
            let result = self.restore_one(name, entry, request, &options);
            if let (Some(_), Ok(Imported::Done(done))) = (&scratch, &result) {
                options.foreseen.add(done);
            }
            restored.push(Restored {
                name: name.to_owned(),
                result,
            });
        }
        Ok(restored)
    }

    /// Imports `source` only if the lock file names it, with the content recorded.
    ///
    /// # Errors
    ///
    /// As for [`Store::import`], and when the lock file does not name it, or names
    /// another version, branch, tag or commit of it.
    pub fn import_frozen(
        &self,
        source: &Source,
        request: &Request<'_>,
        options: &Options,
    ) -> Result<Imported, Error> {
        let installed = self.recorded(request.stop)?;
        match from_source(&installed, source) {
            Some((name, entry)) => match entry.other_wanted(source) {
                Some(wanted) => Err(Error::FrozenOther {
                    lock_file: self.layout.lock_file(),
                    name: name.to_owned(),
                    installed: entry.source.to_string(),
                    wanted: wanted.to_owned(),
                }),
                None => self.restore_one(name, entry, request, options),
            },
            None => Err(Error::Frozen(format!(
                "{} does not name it, and --frozen allows nothing else; an import without --frozen adds it",
                self.layout.lock_file().display()
            ))),
        }
    }

    /// What the lock file says, which has to be there.
    fn recorded(&self, stop: &Stop) -> Result<LockFile, Error> {
        let installed = self.installed(stop)?;
        let path = self.layout.lock_file();
        if path.symlink_metadata().is_ok() {
            return Ok(installed);
        }
        Err(Error::Frozen(format!(
            "there is no {}, which would say what to install",
            path.display()
        )))
    }

    fn restore_one(
        &self,
        name: &str,
        entry: &Entry,
        request: &Request<'_>,
        options: &Options,
    ) -> Result<Imported, Error> {
        let pinned = Request {
            pinned: Some(&entry.resolved),
            ..*request
        };
        let frozen = Frozen { name, entry };
        self.bring(&entry.source, &pinned, options, Some(&frozen))
    }
}

/// The content that a lock file demands.
pub(super) struct Frozen<'a> {
    pub(super) name: &'a str,
    pub(super) entry: &'a Entry,
}

impl Frozen<'_> {
    pub(super) fn check(&self, package: &Package, name: &str, digest: &str) -> Result<(), Error> {
        let wanted = self.entry.digest.to_string();
        if name == self.name && digest == wanted {
            // One that was edited by hand and says two things means neither.
            return match self.entry.contradiction(package) {
                None => Ok(()),
                Some(problem) => Err(Error::NotAsLocked(problem)),
            };
        }
        Err(Error::NotAsLocked(format!(
            "the lock file names {} with the content {wanted}, and what is there is {name} with {digest}",
            self.name
        )))
    }
}
