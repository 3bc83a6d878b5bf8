//! Importing: from a source to a package in its place, or to a reason why not.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::change::{self, Writer};
use super::folders::{self, Folders};
use super::lock_file::{Entry, Folder, LockFile, Mode, name_problem};
use super::policy::{Content, Facts};
use super::staging::Staging;
use super::state::State;
use super::{Error, Store, listing_name};
use crate::archive::{Change, EntryPath, LeftOut, Tree};
use crate::diagnostic::Threshold;
use crate::package::{self, Package, Verdict, discover};
use crate::source::{self, Request, Source};
use crate::spec::codes::manifest;

/// The most packages of a source that a message names.
const MOST_NAMED: usize = 100;

/// How to import.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Replace a package of the same name that comes from another source.
    pub replace: bool,
    /// Install nothing that has a finding at or above warning.
    pub strict: bool,
    /// Apply drafts of the specification too.
    pub drafts: bool,
    /// Also copy the skills to these directories, for clients that read plain
    /// skill folders.
    pub folders: Vec<Folder>,
    /// When a lock file is followed: copy scripts where it says so.
    pub allow_scripts: bool,
    /// Fetch and judge into this directory, and change nothing in the store. It is
    /// for the caller to remove.
    pub dry_run: Option<PathBuf>,
}

/// What came of it.
#[derive(Debug)]
pub enum Imported {
    /// The package is in place.
    Done(Box<Done>),
    /// What was found in it forbids it; nothing was changed.
    Rejected(Box<Package>),
}

/// What came of one package that a lock file names.
#[derive(Debug)]
pub struct Restored {
    /// Its name.
    pub name: String,
    /// What came of it.
    pub result: Result<Imported, Error>,
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
    /// What somebody had changed in the tree that was replaced.
    pub discarded: Vec<Change>,
    /// Its plain skill folders.
    pub folders: Folders,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The package is new.
    Installed,
    /// Other content has taken its place.
    Updated,
    /// The same content was put back, as it was missing or had been changed.
    Repaired,
    /// Only the lock file has changed: the same content has another source,
    /// commit or version.
    Recorded,
    /// Nothing.
    Unchanged,
}

/// A package that was fetched and judged.
pub(super) struct Prepared {
    pub(super) name: String,
    pub(super) entry: Entry,
    package: Package,
    left_out: Vec<LeftOut>,
    tree: Tree,
    directory: PathBuf,
    is_frozen: bool,
}

/// What a lock file and a directory say about a package that is to be put there.
struct Plan {
    outcome: Outcome,
    before: Option<Entry>,
    /// What is in its place differs from this.
    discarded: Vec<Change>,
    /// Whether the tree has to be put in place.
    swap: bool,
}

/// What came of fetching and judging.
pub(super) enum Judged {
    Good(Box<Prepared>),
    Bad(Box<Package>),
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

    /// Puts everything in place that the lock file names, and nothing else: each
    /// package with exactly the content recorded. One result for each, by name.
    ///
    /// # Errors
    ///
    /// When the lock file cannot be read.
    pub fn restore(
        &self,
        request: &Request<'_>,
        options: &Options,
    ) -> Result<Vec<Restored>, Error> {
        let installed = self.installed(request.stop)?;
        let restored = installed.packages.iter().map(|(name, entry)| {
            let result = self.restore_one(name, entry, request, options);
            Restored {
                name: name.clone(),
                result,
            }
        });
        Ok(restored.collect())
    }

    /// Imports `source` only if the lock file names it, with the content recorded.
    ///
    /// # Errors
    ///
    /// As for [`Store::import`], and when the lock file does not name it.
    pub fn import_frozen(
        &self,
        source: &Source,
        request: &Request<'_>,
        options: &Options,
    ) -> Result<Imported, Error> {
        let installed = self.installed(request.stop)?;
        let found = installed
            .packages
            .iter()
            .find(|(_, entry)| entry.source.key() == source.key());
        match found {
            Some((name, entry)) => self.restore_one(name, entry, request, options),
            None => Err(Error::Frozen(format!(
                "{} does not name it, and --frozen allows nothing else",
                self.layout.lock_file().display()
            ))),
        }
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

    fn bring(
        &self,
        source: &Source,
        request: &Request<'_>,
        options: &Options,
        frozen: Option<&Frozen<'_>>,
    ) -> Result<Imported, Error> {
        self.policy.check(&Facts::before(source))?;
        // A lock file that cannot be read is told before anything is fetched.
        let installed = self.installed(request.stop)?;
        if let Some(scratch) = &options.dry_run {
            let fetched = scratch.join("fetched");
            let prepared = match self.prepare(source, request, options, &fetched, frozen)? {
                Judged::Good(prepared) => prepared,
                Judged::Bad(package) => return Ok(Imported::Rejected(package)),
            };
            let plan = self.plan(&installed, &prepared, options.replace)?;
            return Ok(Imported::Done(Box::new(done(
                *prepared,
                plan,
                Folders::default(),
            ))));
        }
        let staging = Staging::create(&self.layout)?;
        match self.prepare(source, request, options, &staging.fetched(), frozen)? {
            Judged::Good(prepared) => {
                let done = self.commit(*prepared, staging, request, options, |_| Ok(()))?;
                Ok(Imported::Done(Box::new(done)))
            }
            Judged::Bad(package) => Ok(Imported::Rejected(package)),
        }
    }

    /// Holds hosts that only the configuration of a source names against the rules.
    pub(super) fn permit(&self, source: &Source) -> impl Fn(&str) -> Result<(), String> + Sync {
        move |host| {
            let facts = Facts::at(source, host);
            self.policy
                .check(&facts)
                .map_err(|denied| denied.to_string())
        }
    }

    /// Fetches into `directory` and judges what came.
    pub(super) fn prepare(
        &self,
        source: &Source,
        request: &Request<'_>,
        options: &Options,
        directory: &Path,
        frozen: Option<&Frozen<'_>>,
    ) -> Result<Judged, Error> {
        let permit = self.permit(source);
        let asking = Request {
            permit: Some(&permit),
            ..*request
        };
        let fetched = source::fetch(source, &asking, directory)?;
        if request.stop.is_requested() {
            return Err(Error::Interrupted);
        }
        let staged = fetched.staged;
        let judge = package::Options {
            drafts: options.drafts,
            keep_sources: true,
        };
        let package = package::load(&staged.directory, &source.to_string(), &judge)
            .map_err(|error| Error::io("read", &staged.directory, error))?;
        let threshold = if options.strict {
            Threshold::Warning
        } else {
            Threshold::Rejected
        };
        let is_bad = package.verdict == Verdict::Rejected
            || (package.diagnostics.iter()).any(|found| threshold.is_reached_by(found.code));
        if is_bad {
            if is_elsewhere(&package) {
                let found = packages_below(source, &staged.directory, &judge);
                if !found.is_empty() {
                    let place = match source.sub_path() {
                        Some(path) => format!("{path} of it"),
                        None => "its root".to_owned(),
                    };
                    return Err(Error::NoPackage { place, found });
                }
            }
            return Ok(Judged::Bad(Box::new(package)));
        }
        // A package that loads has both.
        let (Some(name), Some(spec_version)) = (package.name.clone(), package.spec_version) else {
            return Ok(Judged::Bad(Box::new(package)));
        };
        if let Some(problem) = name_problem(&name) {
            return Err(Error::Name { name, problem });
        }
        let digest = staged.tree.digest();
        let facts = Content {
            plugin: &name,
            version: package.version.as_deref(),
            resolved: &fetched.resolved,
            digest: &digest.to_string(),
        };
        self.policy.check(&Facts::after(source, facts))?;
        if let Some(frozen) = frozen {
            frozen.check(&name, &digest.to_string())?;
        }
        let entry = match frozen {
            Some(frozen) => frozen.entry.clone(),
            None => Entry {
                source: source.clone(),
                resolved: fetched.resolved,
                digest,
                version: package.version.clone(),
                spec_version: spec_version.to_owned(),
                mode: Mode::Copy,
                folders: options.folders.clone(),
            },
        };
        Ok(Judged::Good(Box::new(Prepared {
            name,
            entry,
            package,
            left_out: staged.left_out,
            tree: staged.tree,
            directory: staged.directory,
            is_frozen: frozen.is_some(),
        })))
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
        if let Some(before) = writer.lock_file.packages.get(&prepared.name) {
            keep_folders(&mut prepared.entry, before);
        }
        let plan = self.plan(&writer.lock_file, &prepared, options.replace)?;
        let mut next = writer.lock_file.clone();
        next.packages
            .insert(prepared.name.clone(), prepared.entry.clone());
        self.write_listing(&prepared)?;
        if plan.swap {
            writer.put(&prepared.name, &prepared.directory, &staging, next)?;
        } else {
            writer.record(next)?;
        }
        writer.sweep_listings();
        let folders = self.bring_folders(&writer, &prepared, options)?;
        drop(staging);
        Ok(done(prepared, plan, folders))
    }

    /// Compares what is to be put in place with what is there.
    fn plan(
        &self,
        installed: &LockFile,
        prepared: &Prepared,
        replace: bool,
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
                discarded: Vec::new(),
                swap,
            });
        };
        if before.source.key() != entry.source.key() && !replace {
            return Err(Error::OtherSource {
                name: name.clone(),
                installed: before.source.to_string(),
            });
        }
        let state = self.state(name, before);
        let is_same = before.digest == entry.digest;
        let outcome = match (is_same, &state) {
            (false, _) => Outcome::Updated,
            (true, State::Intact) if before == entry => Outcome::Unchanged,
            (true, State::Intact) => Outcome::Recorded,
            (true, _) => Outcome::Repaired,
        };
        Ok(Plan {
            outcome,
            before: Some(before.clone()),
            discarded: match state {
                State::Changed(changes) => changes,
                _ => Vec::new(),
            },
            swap: matches!(outcome, Outcome::Updated | Outcome::Repaired),
        })
    }

    /// What the tree consists of, so that `verify` can name what was changed.
    fn write_listing(&self, prepared: &Prepared) -> Result<(), Error> {
        let path = self
            .layout
            .listings()
            .join(listing_name(&prepared.entry.digest));
        if path.is_file() {
            return Ok(());
        }
        change::replace(&path, prepared.tree.listing().as_bytes())
    }

    fn bring_folders(
        &self,
        writer: &Writer<'_>,
        prepared: &Prepared,
        options: &Options,
    ) -> Result<Folders, Error> {
        let mut folders = prepared.entry.folders.clone();
        let mut outside = Vec::new();
        if prepared.is_frozen {
            // A lock file may be a stranger's: it writes nowhere but here, and
            // brings no scripts unless the user says so now.
            let recorded = std::mem::take(&mut folders).into_iter();
            let (inside, others): (Vec<_>, Vec<_>) =
                recorded.partition(|folder| is_inside(&folder.directory, &self.base));
            outside.extend(others.into_iter().map(|folder| folder.directory));
            folders.extend(inside.into_iter().map(|folder| Folder {
                scripts: folder.scripts && options.allow_scripts,
                ..folder
            }));
        }
        let mut brought = folders::bring(
            &self.layout,
            writer,
            &prepared.name,
            &folders,
            &prepared.package.skills.loaded,
        )?;
        brought.outside = outside;
        Ok(brought)
    }
}

/// The content that a lock file demands.
pub(super) struct Frozen<'a> {
    name: &'a str,
    entry: &'a Entry,
}

impl Frozen<'_> {
    fn check(&self, name: &str, digest: &str) -> Result<(), Error> {
        let wanted = self.entry.digest.to_string();
        if name == self.name && digest == wanted {
            return Ok(());
        }
        Err(Error::Frozen(format!(
            "the lock file names {} with the content {wanted}, and what is there is {name} with {digest}",
            self.name
        )))
    }
}

/// Whether a directory lies below `base`, links considered.
fn is_inside(directory: &Path, base: &Path) -> bool {
    let Ok(base) = base.canonicalize() else {
        return false;
    };
    let is_plain = |part| {
        matches!(
            part,
            Component::Normal(_) | Component::RootDir | Component::Prefix(_)
        )
    };
    directory.components().all(is_plain)
        && directory
            .ancestors()
            .find_map(|above| above.canonicalize().ok())
            .is_some_and(|above| above.starts_with(&base))
}

fn done(prepared: Prepared, plan: Plan, folders: Folders) -> Done {
    Done {
        name: prepared.name,
        outcome: plan.outcome,
        entry: prepared.entry,
        before: plan.before,
        package: prepared.package,
        left_out: prepared.left_out,
        discarded: plan.discarded,
        folders,
    }
}

/// Directories that skills were copied to stay, and one that is asked for again is
/// as it is asked for now.
pub(super) fn keep_folders(entry: &mut Entry, before: &Entry) {
    let asked: BTreeSet<PathBuf> = entry
        .folders
        .iter()
        .map(|folder| folder.directory.clone())
        .collect();
    let kept = before.folders.iter();
    entry.folders.extend(
        kept.filter(|folder| !asked.contains(&folder.directory))
            .cloned(),
    );
    entry.folders.sort();
    entry
        .folders
        .dedup_by(|one, other| one.directory == other.directory);
}

/// Whether the package may be somewhere else in the source: there is no manifest
/// here, or another client's.
fn is_elsewhere(package: &Package) -> bool {
    package.verdict == Verdict::Rejected
        && package
            .diagnostics
            .iter()
            .any(|found| [&manifest::MISSING, &manifest::FOREIGN_FORMAT].contains(&found.code))
}

/// The packages below the root that load, as sources.
fn packages_below(source: &Source, root: &Path, options: &package::Options) -> Vec<Source> {
    let Ok(found) = discover::discover(root, &[]) else {
        return Vec::new();
    };
    let loads = |directory: &PathBuf| {
        package::load(directory, "", options).is_ok_and(|found| found.verdict == Verdict::Loaded)
    };
    let below = found
        .packages
        .iter()
        .filter(|directory| directory.as_path() != root && loads(directory));
    below
        .filter_map(|directory| {
            let below = directory.strip_prefix(root).ok()?;
            let below = below.to_str()?.replace('\\', "/");
            Some(source.at(&EntryPath::parse(below.as_bytes()).ok()?))
        })
        .take(MOST_NAMED)
        .collect()
}

/// The listing of a tree that is installed.
pub(super) fn read_listing(path: &Path) -> Option<Tree> {
    let text = fs::read_to_string(path).ok()?;
    Tree::parse_listing(&text).ok()
}
