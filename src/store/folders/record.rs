//! What we wrote where, and what the user allowed: `.apkit/folders.json`.
//!
//! It stays on this machine, unlike the lock file, which a project may bring along.
//! One that a project brings along is none: it does not carry the mark of the store.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::store::Error;
use crate::store::disk;
use crate::store::layout::Layout;
use crate::sys;

/// The version of the format.
const VERSION: u32 = 2;
/// The one before: all paths in it are absolute, and so mean the same. A build that
/// writes it would take those of today to be relative to where it runs.
const ABSOLUTE: u32 = 1;
/// Largest record that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Folders by their paths, each with the digests of what may stand there. There
/// are two while one replaces the other.
pub(super) type Ours = BTreeMap<PathBuf, Vec<String>>;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    record_version: u32,
    /// See [`Layout::mark`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mark: Option<String>,
    /// By package.
    pub(super) packages: BTreeMap<String, Ours>,
    /// By package: the directories that its skills may be copied to, because the
    /// user has asked for it here, and whether their scripts may come along.
    #[serde(default)]
    pub(super) allowed: BTreeMap<String, BTreeMap<PathBuf, bool>>,
    /// What was set aside and could not be deleted.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) aside: BTreeSet<PathBuf>,
}

impl Record {
    /// Whether skills of package `name` were copied to `directory` here before.
    pub(super) fn has_seen(&self, name: &str, directory: &Path) -> bool {
        let allowed = self.allowed.get(name);
        allowed.is_some_and(|allowed| allowed.contains_key(directory))
    }

    /// The same with its paths made others.
    fn with_paths(&self, other: impl Fn(&Path) -> PathBuf) -> Self {
        Self {
            record_version: self.record_version,
            mark: self.mark.clone(),
            packages: renamed(&self.packages, &other),
            allowed: renamed(&self.allowed, &other),
            aside: self.aside.iter().map(|path| other(path)).collect(),
        }
    }

    fn new(layout: &Layout) -> Self {
        Self {
            record_version: VERSION,
            mark: layout.mark(),
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packages.is_empty() && self.allowed.is_empty() && self.aside.is_empty()
    }

    pub(super) fn read(layout: &Layout) -> Result<Self, Error> {
        Self::read_from(layout.folders(), layout)
    }

    /// What stands there, whosever it is.
    pub(super) fn stored(path: &Path) -> Result<Option<Vec<u8>>, Error> {
        match sys::read_unlinked(path, MAX_BYTES) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", path, error)),
        }
    }

    fn read_from(path: PathBuf, layout: &Layout) -> Result<Self, Error> {
        let record: Self = match Self::stored(&path)? {
            Some(text) => serde_json::from_slice(&text)
                .map_err(|error| Error::io("read", &path, io::Error::other(error)))?,
            None => Self::new(layout),
        };
        if !layout.is_ours(record.mark.as_deref()) {
            return Ok(Self::new(layout));
        }
        if [ABSOLUTE, VERSION].contains(&record.record_version) {
            let base = layout.base();
            Ok(Self {
                record_version: VERSION,
                mark: layout.mark(),
                ..record.with_paths(|path| match path.as_os_str().is_empty() {
                    true => base.to_owned(),
                    false => base.join(path),
                })
            })
        } else {
            let error = io::Error::other("it was written by another version of apkit");
            Err(Error::io("read", &path, error))
        }
    }

    pub(super) fn write(&self, layout: &Layout) -> Result<(), Error> {
        let path = layout.folders();
        disk::replace(&path, &self.text(layout, &path)?)
    }

    /// Writes it beside the one that is, to take its place later.
    pub(super) fn write_next(&self, layout: &Layout) -> Result<(), Error> {
        let path = layout.next_folders();
        disk::write_whole(&path, &self.text(layout, &path)?)
    }

    /// Adds to the one that was written beside it, if there is one.
    pub(super) fn extend_next(
        layout: &Layout,
        aside: impl Iterator<Item = PathBuf>,
    ) -> Result<(), Error> {
        let path = layout.next_folders();
        if path.symlink_metadata().is_err() {
            return Ok(());
        }
        let mut record = Self::read_from(path.clone(), layout)?;
        record.aside.extend(aside);
        disk::replace(&path, &record.text(layout, &path)?)
    }

    /// Gives the one that was written beside it its name, if there is one.
    pub(super) fn replace(layout: &Layout) -> Result<(), Error> {
        let path = layout.folders();
        match fs::rename(layout.next_folders(), &path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("write", &path, error))
            }
            _ => Ok(()),
        }
    }

    /// Paths below the base are written from there, as in the lock file: the project
    /// may be renamed.
    fn text(&self, layout: &Layout, path: &Path) -> Result<Vec<u8>, Error> {
        let base = layout.base();
        let written = self.with_paths(|path| match path.strip_prefix(base) {
            // Not below it.
            Ok(below) if below.components().any(|part| part == Component::ParentDir) => {
                path.to_owned()
            }
            Ok(below) => below.to_owned(),
            Err(_) => path.to_owned(),
        });
        serde_json::to_vec_pretty(&written)
            .map_err(|error| Error::io("write", path, io::Error::other(error)))
    }
}

/// By package, by path: the same with other paths.
fn renamed<T: Clone>(
    packages: &BTreeMap<String, BTreeMap<PathBuf, T>>,
    other: impl Fn(&Path) -> PathBuf,
) -> BTreeMap<String, BTreeMap<PathBuf, T>> {
    let packages = packages.iter().map(|(name, paths)| {
        let paths = paths.iter();
        let paths = paths.map(|(path, value)| (other(path), value.clone()));
        (name.clone(), paths.collect())
    });
    packages.collect()
}
