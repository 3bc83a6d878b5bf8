//! From a source to a package that was fetched and judged, before anything of the
//! store changes.

use std::path::{Path, PathBuf};

use super::former::Former;
use super::install::{Options, Rejected};
use super::lock_file::{Entry, LockFile, Mode, name_problem};
use super::policy::{Content, Facts};
use super::restore::Frozen;
use super::{Error, Store};
use crate::archive::{EntryPath, LeftOut, Limits, Tree};
use crate::diagnostic::Threshold;
use crate::package::{self, Package, Verdict, discover};
use crate::source::{self, Request, Resolved, Source};
use crate::spec::codes::manifest;

/// The most packages of a source that a message names.
const MOST_NAMED: usize = 100;

/// A package that was fetched and judged.
pub(super) struct Prepared {
    pub(super) name: String,
    pub(super) entry: Entry,
    pub(super) package: Package,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) tree: Tree,
    /// See [`source::Fetched`].
    pub(super) is_weak: bool,
    /// Where it was brought to; nothing if it is in its place already.
    pub(super) brought_to: Option<PathBuf>,
    /// Whether scripts come along to all directories that its skills are copied to,
    /// from now on.
    pub(super) brings_scripts: bool,
    /// See [`Store::former`].
    pub(super) former: Option<Former>,
}

impl Prepared {
    /// Directories that skills were copied to stay, and one that is asked for again
    /// is as it is asked for now.
    pub(super) fn keep_folders(&mut self, installed: &LockFile) {
        let folders = &mut self.entry.folders;
        if let Some(before) = installed.packages.get(&self.name) {
            for folder in &before.folders {
                if !folders.iter().any(|now| now.directory == folder.directory) {
                    folders.push(folder.clone());
                }
            }
        }
        if self.brings_scripts {
            folders.iter_mut().for_each(|folder| folder.scripts = true);
        }
        folders.sort();
        folders.dedup_by(|one, other| one.directory == other.directory);
    }
}

/// A tree on disk that is to be judged.
pub(super) struct Material {
    pub(super) directory: PathBuf,
    is_in_place: bool,
    pub(super) tree: Tree,
    left_out: Vec<LeftOut>,
    /// In the spelling that is recorded.
    source: Source,
    resolved: Resolved,
    is_weak: bool,
}

impl Material {
    fn rejected(self, package: Package) -> Judged {
        Judged::Bad(Box::new(Rejected {
            package,
            left_out: self.left_out,
        }))
    }
}

/// What came of fetching and judging.
pub(super) enum Judged {
    Good(Box<Prepared>),
    Bad(Box<Rejected>),
}

impl Store {
    /// Fetches into `directory` and judges what came.
    pub(super) fn prepare(
        &self,
        source: &Source,
        request: &Request<'_>,
        options: &Options,
        directory: &Path,
    ) -> Result<Judged, Error> {
        let material = self.fetch(source, request, directory)?;
        request.progress.judge();
        self.judge(source, material, options, None)
    }

    /// Brings what `source` has into `directory`.
    pub(super) fn fetch(
        &self,
        source: &Source,
        request: &Request<'_>,
        directory: &Path,
    ) -> Result<Material, Error> {
        let permit = self.policy.permit(source);
        let asking = Request {
            permit: Some(&permit),
            ..*request
        };
        let fetched = source::fetch(source, &asking, directory)?;
        if request.stop.is_requested() {
            return Err(Error::Interrupted);
        }
        let staged = fetched.staged;
        Ok(Material {
            directory: staged.directory,
            is_in_place: false,
            tree: staged.tree,
            left_out: staged.left_out,
            source: source.with_sub_path(fetched.sub_path),
            resolved: fetched.resolved,
            is_weak: fetched.is_weak,
        })
    }

    /// The installed tree of package `name`, if it is what the lock file says: then
    /// there is nothing to fetch.
    pub(super) fn in_place(&self, name: &str, entry: &Entry) -> Option<Material> {
        let directory = self.layout.package(name);
        // A link in its place leads to somebody else's.
        if !directory.symlink_metadata().ok()?.is_dir() {
            return None;
        }
        let tree = Tree::of_directory(&directory, &Limits::default()).ok()?;
        (tree.digest() == entry.digest).then(|| Material {
            directory,
            is_in_place: true,
            tree,
            left_out: Vec::new(),
            source: entry.source.clone(),
            resolved: entry.resolved.clone(),
            is_weak: false,
        })
    }

    /// Judges a tree as the package that `source` names.
    pub(super) fn judge(
        &self,
        source: &Source,
        material: Material,
        options: &Options,
        frozen: Option<&Frozen<'_>>,
    ) -> Result<Judged, Error> {
        let judge = package::Options {
            drafts: options.drafts,
            keep_sources: true,
        };
        let package = package::load(&material.directory, &named(source), &judge)
            .map_err(|error| Error::io("read", &material.directory, error))?;
        let threshold = if options.strict {
            Threshold::Warning
        } else {
            Threshold::Rejected
        };
        let lacks_something =
            options.strict && material.left_out.iter().any(|left| left.reason.is_loss());
        let is_bad = lacks_something
            || package.verdict == Verdict::Rejected
            || (package.diagnostics.iter()).any(|found| threshold.is_reached_by(found.code));
        if is_bad {
            if is_elsewhere(&package) {
                let found = packages_below(source, &material.directory, &judge);
                if !found.is_empty() {
                    let place = match source.sub_path() {
                        Some(path) => format!("{path} of it"),
                        None => "its root".to_owned(),
                    };
                    return Err(Error::NoPackage { place, found });
                }
            }
            return Ok(material.rejected(package));
        }
        // A package that loads has both.
        let (Some(name), Some(spec_version)) = (package.name.clone(), package.spec_version) else {
            return Ok(material.rejected(package));
        };
        if let Some(problem) = name_problem(&name) {
            return Err(Error::Name { name, problem });
        }
        let digest = material.tree.digest();
        let facts = Content {
            plugin: Some(&name),
            version: package.version.as_deref(),
            resolved: &material.resolved,
            digest: &digest.to_string(),
        };
        self.policy.check(&Facts::after(source, facts))?;
        if let Some(frozen) = frozen {
            frozen.check(&package, &name, &digest.to_string())?;
        }
        let entry = match frozen {
            Some(frozen) => frozen.entry.clone(),
            None => Entry {
                source: material.source,
                resolved: material.resolved,
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
            left_out: material.left_out,
            tree: material.tree,
            is_weak: material.is_weak,
            brought_to: (!material.is_in_place).then_some(material.directory),
            // Followed, the lock file says where they do.
            brings_scripts: options.allow_scripts && frozen.is_none(),
            former: None,
        })))
    }
}

/// How findings name a source: a directory by its path, which can be opened.
fn named(source: &Source) -> String {
    match source {
        Source::Directory(path) => path.to_string_lossy().into_owned(),
        _ => source.to_string(),
    }
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
