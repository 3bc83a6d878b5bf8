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

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::disk::{sync_directory, write_whole};
use super::folders::{self, Folders, Removal};
use super::layout::Layout;
use super::lock_file::LockFile;
use super::staging::{self, Staging};
use super::{Error, Store};
use crate::source::Stop;
use crate::sys;

/// The version of the journal.
const VERSION: u32 = 1;

/// Largest journal that is read, in bytes.
const MAX_JOURNAL: u64 = 64 << 10;

/// How often a lock that somebody else holds is asked for.
const ASK_AGAIN: Duration = Duration::from_millis(20);
/// From when on the user is told that we wait.
const TELL_AFTER: Duration = Duration::from_millis(500);

/// The change that is being made.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Journal {
    journal_version: u32,
    /// The package.
    name: String,
    /// The mark of the store that it is about: see [`Layout::mark`].
    mark: Option<String>,
    /// The staging directory that takes part.
    staging: String,
    /// Which file the new tree is, by its numbers, where the system has them;
    /// nothing for a removal.
    new: Option<NewTree>,
    /// Whether the package's data goes, too.
    purge: bool,
    /// For a removal, the directories that the skills alone are removed from; the
    /// package stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    only_in: Option<Vec<PathBuf>>,
}

impl Journal {
    /// The copies of skills that go.
    fn folders(&self) -> Option<Removal<'_>> {
        self.new.is_none().then_some(Removal {
            name: &self.name,
            only_in: self.only_in.as_deref(),
        })
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewTree {
    file: Option<(u64, u64)>,
}

/// The store, while nobody else can change it.
#[derive(Debug)]
pub(super) struct Writer<'s> {
    layout: &'s Layout,
    base: &'s Path,
    /// What is installed.
    pub(super) lock_file: LockFile,
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
                (self.on_wait)(&self.layout.root);
                told = true;
            }
            std::thread::sleep(ASK_AGAIN);
        };
        recover(&self.layout)?;
        let lock_file = LockFile::read(&self.layout.lock_file(), &self.base)?;
        staging::sweep(&self.layout);
        Ok(Writer {
            layout: &self.layout,
            base: &self.base,
            lock_file,
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
            journal_version: VERSION,
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
            journal_version: VERSION,
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
            .and_then(|()| write_journal(self.layout, journal));
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

const NEW: &str = "new";
const OLD: &str = "old";
const DATA: &str = "data";

/// Finishes what a process that died has begun. The caller holds the lock.
fn recover(layout: &Layout) -> Result<(), Error> {
    let path = layout.journal();
    match sys::read_unlinked(&path, MAX_JOURNAL) {
        Ok(text) => {
            let journal: Journal = serde_json::from_slice(&text)
                .map_err(|error| Error::io("read", &path, io::Error::other(error)))?;
            let problem = if journal.journal_version != VERSION {
                Some("it was written by another version of apkit".to_owned())
            } else {
                super::lock_file::name_problem(&journal.name)
            };
            let problem = problem.or_else(|| foreign(layout, &journal));
            if let Some(problem) = problem {
                return Err(Error::io("read", &path, io::Error::other(problem)));
            }
            replay(layout, &journal).map(drop)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Written, but its change was never begun.
            forget_next(layout);
            Ok(())
        }
        Err(error) => Err(Error::io("read", &path, error)),
    }
}

/// Why what a journal says is not done: it was written elsewhere, by whoever the
/// project comes from, or leads out of the staging directory.
fn foreign(layout: &Layout, journal: &Journal) -> Option<String> {
    if !staging::is_id(&journal.staging) {
        return Some("it names no staging directory".to_owned());
    }
    let staging = layout.staging().join(&journal.staging);
    let is_link = |found: fs::Metadata| found.is_symlink();
    if staging.symlink_metadata().is_ok_and(is_link) {
        return Some(format!("{} is a link", staging.display()));
    }
    (!layout.is_ours(journal.mark.as_deref())).then(|| {
        "it is about a change that was not begun here; remove it, then see what `apkit verify` says"
            .to_owned()
    })
}

/// Removes what is written ahead of a change that does not take place.
fn forget_next(layout: &Layout) {
    let _ = fs::remove_file(layout.next_lock_file());
    let _ = fs::remove_file(layout.next_folders());
}

/// Steps 3 to 5, each unless it was done. Says what became of the copies of skills.
fn replay(layout: &Layout, journal: &Journal) -> Result<Folders, Error> {
    let staging = layout.staging().join(&journal.staging);
    let place = layout.package(&journal.name);
    match &journal.new {
        Some(new) => put_in_place(&staging, &place, new)?,
        None if journal.only_in.is_some() => {}
        None => set_aside(&place, &staging.join(OLD))?,
    }
    let removal = journal.folders();
    let told = match &removal {
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
        removal.finish(layout)?;
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
fn undo(layout: &Layout, journal: &Journal) -> io::Result<()> {
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

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn write_journal(layout: &Layout, journal: &Journal) -> Result<(), Error> {
    let path = layout.journal();
    let text = serde_json::to_vec(journal)
        .map_err(|error| Error::io("write", &path, io::Error::other(error)))?;
    let beside = path.with_extension("next");
    write_whole(&beside, &text)?;
    fs::rename(&beside, &path).map_err(|error| {
        let _ = fs::remove_file(&beside);
        Error::io("write", &path, error)
    })?;
    sync_directory(&layout.internal());
    Ok(())
}
