//! Importing: from a source to a package in its place, or to a reason why not.

use std::path::{Path, PathBuf};

use super::discarded::Discarded;
use super::disk;
use super::folders::{self, Folders};
use super::foreseen::Foreseen;
use super::judge::{Judged, Prepared};
use super::layout::lies_in;
use super::lock_file::{Entry, Folder, LockFile};
use super::policy::Facts;
use super::restore::Frozen;
use super::staging::Staging;
use super::state::State;
use super::{Error, Store, listing_name};
use crate::archive::{LeftOut, Tree};
use crate::package::Package;
use crate::source::{NoSource, Request, Source};
use crate::sys;

/// Where content is fetched to that is only looked at, beside that which is put in
/// place.
pub(super) const FORMER: &str = "former";
/// Largest listing that is read, in bytes: 100 000 files with long paths.
const MAX_LISTING: u64 = 64 << 20;

/// How to import.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Replace a package of the same name that comes from another source.
    pub replace: bool,
    /// Install nothing that has a finding at or above warning, or lacks something
    /// that the source has.
    pub strict: bool,
    /// Apply drafts of the specification too.
    pub drafts: bool,
    /// Also copy the skills to these directories, for clients that read plain
    /// skill folders.
    pub folders: Vec<Folder>,
    /// Copy scripts, too, wherever the skills are copied to, now or by the lock file;
    /// if that is followed, wherever it says that they come along.
    pub allow_scripts: bool,
    /// Fetch and judge into this directory, and change nothing in the store. It is
    /// for the caller to remove.
    pub dry_run: Option<PathBuf>,
    /// In a dry run: what the ones before it would have done.
    pub foreseen: Foreseen,
}

/// What came of it.
#[derive(Debug)]
pub enum Imported {
    /// The package is in place.
    Done(Box<Done>),
    /// What was found in it forbids it; nothing was changed.
    Rejected(Box<Rejected>),
}

/// A package that is not installed for what was found in it.
#[derive(Debug)]
pub struct Rejected {
    /// What a client would get of it, with all findings.
    pub package: Package,
    /// What of the source is not in it.
    pub left_out: Vec<LeftOut>,
}

/// A package that is in place.
#[derive(Debug)]
pub struct Done {
    /// Its name.
    pub name: String,
    /// What was done.
    pub outcome: Outcome,
    /// What the lock file says of it now.
    pub entry: Entry,
    /// What the lock file said before.
    pub before: Option<Entry>,
    /// What a client gets of it, with all findings.
    pub package: Package,
    /// What of the source is not in it.
    pub left_out: Vec<LeftOut>,
    /// Whether nothing but the SHA-1 digest of a registry says that it is the right
    /// content; it is pinned by a better one from now on.
    pub is_weak: bool,
    /// What somebody had changed in the tree that was replaced.
    pub discarded: Discarded,
    /// Its plain skill folders.
    pub folders: Folders,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The package is new, or new on this machine.
    Installed,
    /// Other content has taken its place.
    Updated,
    /// The same content was put back, or a plain skill folder of it, as it was missing
    /// or had been changed.
    Repaired,
    /// Only the lock file has changed: the same content has another source,
    /// commit or version.
    Recorded,
    /// Nothing.
    Unchanged,
}

/// What a lock file and a directory say about a package that is to be put there.
struct Plan {
    outcome: Outcome,
    before: Option<Entry>,
    /// What somebody has changed in its place.
    discarded: Discarded,
    /// Whether the tree has to be put in place.
    swap: bool,
}

impl Store {
    /// Imports the package that `source` names. What a client would skip of it is
    /// no obstacle; a package that it would reject is.
    ///
    /// # Errors
    ///
    /// When a rule forbids it, the source gives nothing, or the store cannot be
    /// changed. The store then is as it was.
    pub fn import(
        &self,
        source: &Source,
        request: &Request<'_>,
        options: &Options,
    ) -> Result<Imported, Error> {
        self.bring(source, request, options, None)
    }

    /// Fetches, judges and puts in place; with `frozen`, exactly that content, and
    /// without fetching where it is in its place already.
    pub(super) fn bring(
        &self,
        source: &Source,
        request: &Request<'_>,
        options: &Options,
        frozen: Option<&Frozen<'_>>,
    ) -> Result<Imported, Error> {
        if !source.is_recordable() {
            return Err(Error::NoSource(NoSource {
                text: source.to_string(),
                understood: "its address holds a credential, which a lock file would show"
                    .to_owned(),
                spellings: Vec::new(),
            }));
        }
        for folder in &options.folders {
            let path = folder.directory.clone();
            if self.layout.is_git(&path) {
                return Err(Error::InGit { path });
            }
            if self.layout.is_own(&path) {
                return Err(Error::InStore { path });
            }
            if let Source::Directory(from) = source
                && lies_in(&path, from)
            {
                let from = from.clone();
                return Err(Error::InSource { path, from });
            }
        }
        self.policy.check(&Facts::before(source))?;
        // A lock file that cannot be read is told before anything is fetched.
        let installed = self.installed(request.stop)?;
        let staging = match &options.dry_run {
            Some(_) => None,
            None => Some(Staging::create(&self.layout)?),
        };
        let directory = match (&staging, &options.dry_run) {
            (Some(staging), _) => staging.fetched(),
            (None, scratch) => scratch.clone().unwrap_or_default().join("fetched"),
        };
        let in_place = frozen.and_then(|frozen| self.in_place(frozen.name, frozen.entry));
        let material = match in_place {
            Some(material) => material,
            None => self.fetch(source, request, &directory)?,
        };
        request.progress.judge();
        let mut prepared = match self.judge(source, material, options, frozen)? {
            Judged::Good(prepared) => *prepared,
            Judged::Bad(rejected) => return Ok(Imported::Rejected(rejected)),
        };
        let former = directory.with_file_name(FORMER);
        prepared.former = self.former(&installed, &prepared, request, &former)?;
        let done = match staging {
            Some(staging) => self.commit(prepared, staging, request, options, |_| Ok(()))?,
            None => {
                let installed = options.foreseen.over(installed);
                prepared.keep_folders(&installed);
                let scratch = options.dry_run.as_deref();
                let (plan, folders) = self.plan(&installed, &prepared, options, scratch)?;
                let folders = folders.preview();
                options.foreseen.check(&prepared.name, &folders)?;
                done(prepared, plan, folders)
            }
        };
        Ok(Imported::Done(Box::new(done)))
    }

    /// Puts a prepared package in place. `check` may still object when nobody else
    /// can change anything any more.
    pub(super) fn commit(
        &self,
        mut prepared: Prepared,
        staging: Staging,
        request: &Request<'_>,
        options: &Options,
        check: impl FnOnce(&LockFile) -> Result<(), Error>,
    ) -> Result<Done, Error> {
        let mut writer = self.writer(request.stop)?;
        if request.stop.is_requested() {
            return Err(Error::Interrupted);
        }
        check(&writer.lock_file)?;
        prepared.keep_folders(&writer.lock_file);
        let (plan, mut folders) = self.plan(&writer.lock_file, &prepared, options, None)?;
        let mut next = writer.lock_file.clone();
        next.packages
            .insert(prepared.name.clone(), prepared.entry.clone());
        self.write_listing(&prepared)?;
        match (plan.swap, &prepared.brought_to) {
            (true, Some(directory)) => {
                folders.announce(&self.layout)?;
                writer.put(&prepared.name, directory, &staging, next)?;
            }
            // It was in its place a moment ago.
            (true, None) => {
                return Err(Error::Meanwhile {
                    name: prepared.name,
                });
            }
            (false, _) => writer.record(next)?,
        }
        writer.sweep_listings();
        let mut folders = folders.apply(&self.layout, &writer)?;
        writer.tell_not_deleted(&mut folders);
        drop(staging);
        Ok(done(prepared, plan, folders))
    }

    /// What will be done, before anything changes: what is in the way of the plain
    /// skill folders stops all of it.
    fn plan(
        &self,
        installed: &LockFile,
        prepared: &Prepared,
        options: &Options,
        scratch: Option<&Path>,
    ) -> Result<(Plan, folders::Plan), Error> {
        let mut plan = self.compare(installed, prepared, options)?;
        let folders = self.plan_folders(installed, prepared, options, scratch)?;
        if plan.outcome == Outcome::Unchanged && folders.mends_anything() {
            plan.outcome = Outcome::Repaired;
        }
        Ok((plan, folders))
    }

    /// Compares what is to be put in place with what is there.
    fn compare(
        &self,
        installed: &LockFile,
        prepared: &Prepared,
        options: &Options,
    ) -> Result<Plan, Error> {
        let Prepared { name, entry, .. } = prepared;
        let place = self.layout.package(name);
        let Some(before) = installed.packages.get(name) else {
            // What is there may be a copy of the very same content.
            let swap = match super::state::of(&place, &prepared.tree) {
                State::Missing => true,
                State::Intact => false,
                _ => return Err(Error::Foreign { path: place }),
            };
            return Ok(Plan {
                outcome: Outcome::Installed,
                before: None,
                discarded: Discarded::default(),
                swap,
            });
        };
        if before.source.key() != entry.source.key() && !options.replace {
            return Err(Error::OtherSource {
                name: name.clone(),
                installed: before.source.to_string(),
            });
        }
        let state = if options.foreseen.has(name) {
            State::Intact
        } else {
            self.state(name, before)
        };
        let is_same = before.digest == entry.digest;
        let outcome = match (is_same, &state) {
            (false, _) => Outcome::Updated,
            (true, State::Intact) if before == entry => Outcome::Unchanged,
            (true, State::Intact) => Outcome::Recorded,
            // Only the lock file knows it, which came from another machine.
            (true, State::Missing) if self.is_new_here(before) => Outcome::Installed,
            (true, _) => Outcome::Repaired,
        };
        Ok(Plan {
            outcome,
            before: Some(before.clone()),
            discarded: self.discarded(name, before, state, Some(&prepared.tree)),
            swap: !matches!(outcome, Outcome::Recorded | Outcome::Unchanged),
        })
    }

    /// Whether what the lock file says was never put in place here, as in the clone of
    /// a project.
    pub fn is_new_here(&self, entry: &Entry) -> bool {
        let listing = self.layout.listings().join(listing_name(&entry.digest));
        listing.symlink_metadata().is_err()
    }

    /// What the tree consists of, so that `verify` can name what was changed.
    fn write_listing(&self, prepared: &Prepared) -> Result<(), Error> {
        let path = self
            .layout
            .listings()
            .join(listing_name(&prepared.entry.digest));
        // A link in its place is replaced, not followed.
        if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
            return Ok(());
        }
        disk::replace(&path, prepared.tree.listing().as_bytes())
    }

    /// What the plain skill folders will be, copied to `scratch` or beside their
    /// places; `installed` is what the lock file says until now.
    fn plan_folders(
        &self,
        installed: &LockFile,
        prepared: &Prepared,
        options: &Options,
        scratch: Option<&Path>,
    ) -> Result<folders::Plan, Error> {
        let in_place = self.layout.package(&prepared.name);
        let wanted = folders::Wanted {
            name: &prepared.name,
            source: &prepared.entry.source,
            root: prepared.brought_to.as_deref().unwrap_or(&in_place),
            skills: &prepared.package.skills.loaded,
            folders: &prepared.entry.folders,
            installed,
            asked: &options.folders,
            scripts: options.allow_scripts,
            base: self.layout.project.as_deref().unwrap_or(self.root()),
            former: prepared.former.as_ref(),
            scratch,
        };
        folders::Plan::make(&self.layout, &wanted)
    }
}

fn done(prepared: Prepared, plan: Plan, folders: Folders) -> Done {
    Done {
        name: prepared.name,
        outcome: plan.outcome,
        entry: prepared.entry,
        before: plan.before,
        package: prepared.package,
        left_out: prepared.left_out,
        is_weak: prepared.is_weak,
        discarded: plan.discarded,
        folders,
    }
}

/// The listing of a tree that is installed.
pub(super) fn read_listing(path: &Path) -> Option<Tree> {
    let text = String::from_utf8(sys::read_unlinked(path, MAX_LISTING).ok()?).ok()?;
    Tree::parse_listing(&text).ok()
}
