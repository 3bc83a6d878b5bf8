//! Changing the store: all of it or nothing, wherever the process ends.
//!
//! A change is one package put in place, replaced or removed, and the lock file
//! that says so. Its steps:
//!
//! 1. the new tree lies whole in `staging/ID/new`, and the lock file as it will be
//!    in `.apkit/apkit.lock.next`;
//! 2. `.apkit/journal.json` is written: from here on the change will happen;
//! 3. the trees are swapped, in one step where the system can; for a removal, the
//!    tree and the copies of its skills are set aside;
//! 4. the new lock file gets its name;
//! 5. copies that were set aside are deleted, the record of copies, written before
//!    step 2, gets its name, the journal is removed, then the old tree.
//!
//! After step 2 only names change, so a full disk stops nothing halfway. Whoever
//! next opens the store and finds a journal does steps 3 to 5 again; each of them
//! can tell whether it was done.
//!
//! | module | |
//! | --- | --- |
//! | `journal` | what is written down of a change, and whether it is followed |
//! | `replay` | steps 3 to 5, and the way back |

mod journal;
mod replay;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use self::journal::{Begun, Journal, NewTree};
use self::replay::{NEW, forget_next, replay, undo};
use super::disk::{sync_directory, write_whole};
use super::folders::{self, Folders, Problem};
use super::layout::Layout;
use super::lock_file::LockFile;
use super::staging::{self, Staging};
use super::{Error, Notice, Store};
use crate::source::Stop;
use crate::sys;

/// How often a lock that somebody else holds is asked for.
const ASK_AGAIN: Duration = Duration::from_millis(20);
/// From when on the user is told that we wait.
const TELL_AFTER: Duration = Duration::from_millis(500);

/// The store, while nobody else can change it.
#[derive(Debug)]
pub(super) struct Writer<'s> {
    layout: &'s Layout,
    base: &'s Path,
    /// What is installed.
    pub(super) lock_file: LockFile,
    /// What earlier changes have set aside, and cannot be deleted now either.
    not_deleted: Vec<Problem>,
    _lock: sys::Lock,
}

impl Store {
    /// Waits until nobody else changes the store, and makes good what a process
    /// that died has begun.
    pub(super) fn writer(&self, stop: &Stop) -> Result<Writer<'_>, Error> {
        self.layout.create()?;
        let path = self.layout.writer();
        let started = Instant::now();
        let mut told = false;
        let lock = loop {
            match sys::try_lock(&path) {
                Ok(Some(lock)) => break lock,
                Ok(None) => {}
                // Whoever made the store has just removed it again.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.layout.create()?;
                }
                Err(error) => return Err(Error::io("lock", &path, error)),
            }
            if stop.is_requested() {
                return Err(Error::Interrupted);
            }
            let waited = started.elapsed();
            if waited > self.patience {
                return Err(Error::Busy {
                    root: self.layout.root.clone(),
                    seconds: waited.as_secs(),
                });
            }
            if waited > TELL_AFTER && !told {
                (self.tell)(Notice::Waits {
                    root: &self.layout.root,
                });
                told = true;
            }
            std::thread::sleep(ASK_AGAIN);
        };
        recover(&self.layout, &self.tell)?;
        let lock_file = LockFile::read(&self.layout.lock_file(), &self.base)?;
        staging::sweep(&self.layout);
        Ok(Writer {
            layout: &self.layout,
            base: &self.base,
            lock_file,
            not_deleted: folders::sweep(&self.layout),
            _lock: lock,
        })
    }

    /// What is installed, after making good what a process that died has begun.
    ///
    /// # Errors
    ///
    /// When the lock file cannot be read, or a begun change cannot be finished.
    pub fn installed(&self, stop: &Stop) -> Result<LockFile, Error> {
        self.layout.check()?;
        if self.layout.journal().symlink_metadata().is_ok() {
            return Ok(self.writer(stop)?.lock_file);
        }
        let lock_file = LockFile::read(&self.layout.lock_file(), &self.base)?;
        Ok(lock_file)
    }
}

impl Writer<'_> {
    /// Puts the tree in the directory `tree` in the place of package `name`, or
    /// replaces the one that is there; `next` is the lock file that says so.
    pub(super) fn put(
        &mut self,
        name: &str,
        tree: &Path,
        staging: &Staging,
        next: LockFile,
    ) -> Result<(), Error> {
        let new = staging.path().join(NEW);
        fs::rename(tree, &new).map_err(|error| Error::io("move", tree, error))?;
        let journal = Journal {
            journal_version: journal::VERSION,
            name: name.to_owned(),
            mark: self.layout.mark(),
            staging: staging.id.clone(),
            new: Some(NewTree {
                file: sys::file_id(&new),
            }),
            purge: false,
            only_in: None,
        };
        self.make(&journal, next).map(drop)
    }

    /// Removes package `name` and the copies of its skills, with `purge` its data as
    /// well; or, with `only_in`, no more than the copies in these directories.
    pub(super) fn take(
        &mut self,
        name: &str,
        purge: bool,
        only_in: Option<Vec<PathBuf>>,
        staging: &Staging,
        next: LockFile,
    ) -> Result<Folders, Error> {
        let journal = Journal {
            journal_version: journal::VERSION,
            name: name.to_owned(),
            mark: self.layout.mark(),
            staging: staging.id.clone(),
            new: None,
            purge,
            only_in,
        };
        self.make(&journal, next)
    }

    /// Changes the lock file alone.
    pub(super) fn record(&mut self, next: LockFile) -> Result<(), Error> {
        if next == self.lock_file {
            return Ok(());
        }
        let path = self.layout.next_lock_file();
        write_whole(&path, next.text(self.base).as_bytes())?;
        let lock_file = self.layout.lock_file();
        fs::rename(&path, &lock_file).map_err(|error| Error::io("write", &lock_file, error))?;
        sync_directory(&self.layout.root);
        self.lock_file = next;
        Ok(())
    }

    fn make(&mut self, journal: &Journal, next: LockFile) -> Result<Folders, Error> {
        let path = self.layout.next_lock_file();
        let written = write_whole(&path, next.text(self.base).as_bytes())
            .and_then(|()| match journal.folders() {
                Some(folders) => folders.prepare(self.layout),
                None => Ok(()),
            })
            .and_then(|()| journal.write(self.layout));
        if let Err(error) = written {
            forget_next(self.layout);
            return Err(error);
        }
        match replay(self.layout, journal) {
            Ok(folders) => {
                self.lock_file = next;
                Ok(folders)
            }
            Err(error) => {
                // What can be taken back is, and the rest waits for the next command.
                if undo(self.layout, journal).is_ok() {
                    let _ = fs::remove_file(self.layout.journal());
                    forget_next(self.layout);
                }
                Err(error)
            }
        }
    }

    /// Adds to what is told of the copies of skills what earlier changes have left.
    pub(super) fn tell_not_deleted(&mut self, folders: &mut Folders) {
        let told: Vec<&Path> = folders.not_deleted.iter().map(|left| &*left.path).collect();
        self.not_deleted.retain(|left| !told.contains(&&*left.path));
        folders.not_deleted.append(&mut self.not_deleted);
    }

    /// Removes listings of trees that are no longer installed.
    pub(super) fn sweep_listings(&self) {
        let Ok(entries) = fs::read_dir(self.layout.listings()) else {
            return;
        };
        let wanted: Vec<String> = self
            .lock_file
            .packages
            .values()
            .map(|entry| super::listing_name(&entry.digest))
            .collect();
        for entry in entries.flatten() {
            let name = entry.file_name();
            if !wanted.iter().any(|wanted| name == **wanted) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Finishes what a process that died has begun; what was begun elsewhere is given up,
/// and told. The caller holds the lock.
fn recover(layout: &Layout, tell: &dyn Fn(Notice<'_>)) -> Result<(), Error> {
    match Journal::read(layout)? {
        Begun::Here(journal) => replay(layout, &journal).map(drop),
        Begun::Nothing => {
            // Written, but its change was never begun.
            forget_next(layout);
            Ok(())
        }
        // Which file is the new tree cannot be told in a copy, and a stranger's journal
        // must not remove anything. Without it, the store is one with changes made by
        // hand, whatever step it was at.
        Begun::Elsewhere(name) => {
            let path = layout.journal();
            fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
            forget_next(layout);
            tell(Notice::GivenUp {
                root: &layout.root,
                name: name.as_deref(),
            });
            Ok(())
        }
    }
}
