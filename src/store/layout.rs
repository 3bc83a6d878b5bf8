//! What lies where below the root.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::{Error, OF_PROJECT};
use crate::archive::{Digest, is_git};
use crate::sys;

/// The paths of a store.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) root: PathBuf,
    /// The directory of the project that the store belongs to, if it does to one:
    /// what is there may have come along with the project, from a stranger.
    pub(super) project: Option<PathBuf>,
}

impl Layout {
    /// What relative paths in the lock file and in the record of copies start from.
    pub(super) fn base(&self) -> &Path {
        if let Some(project) = &self.project {
            return project;
        }
        // The store of a project, named by its root, is the same store.
        match (self.root.file_name(), self.root.parent()) {
            (Some(name), Some(project)) if name == OF_PROJECT => project,
            _ => &self.root,
        }
    }

    /// `plugins/`: one directory for each package, by its name.
    pub(super) fn packages(&self) -> PathBuf {
        self.root.join("plugins")
    }

    pub(super) fn package(&self, name: &str) -> PathBuf {
        self.packages().join(name)
    }

    fn all_data(&self) -> PathBuf {
        self.root.join("plugin-data")
    }

    /// `plugin-data/NAME/`: what a package may write, `PLUGIN_DATA`.
    pub(super) fn data(&self, name: &str) -> PathBuf {
        self.all_data().join(name)
    }

    /// `plugin-data/NAME+…/`: the same for a package `name` that is not installed
    /// and comes from `key`. No installed one has such a name.
    pub(super) fn guest_data(&self, name: &str, key: &[u8]) -> PathBuf {
        const DIGITS: usize = 16;
        let digest = Digest::of(key).to_string();
        let digits = digest.split(':').next_back().unwrap_or_default();
        let digits = digits.get(..DIGITS).unwrap_or(digits);
        self.data(&format!("{name}+{digits}"))
    }

    pub(super) fn lock_file(&self) -> PathBuf {
        self.root.join("apkit.lock")
    }

    pub(super) fn policy(&self) -> PathBuf {
        self.root.join(super::policy::FILE)
    }

    /// What only apkit looks at, on the same file system as the packages.
    pub(super) fn internal(&self) -> PathBuf {
        self.root.join(".apkit")
    }

    pub(super) fn staging(&self) -> PathBuf {
        self.internal().join("staging")
    }

    /// What each tree consists of, by its digest.
    pub(super) fn listings(&self) -> PathBuf {
        self.internal().join("listings")
    }

    /// Which plain skill folders each package was copied to.
    pub(super) fn folders(&self) -> PathBuf {
        self.internal().join("folders.json")
    }

    /// The same as the change that is being made leaves it.
    pub(super) fn next_folders(&self) -> PathBuf {
        self.internal().join("folders.next")
    }

    /// Held by whoever changes anything.
    pub(super) fn writer(&self) -> PathBuf {
        self.internal().join("writer.lock")
    }

    /// The change that is being made.
    pub(super) fn journal(&self) -> PathBuf {
        self.internal().join("journal.json")
    }

    /// The lock file as the change leaves it.
    pub(super) fn next_lock_file(&self) -> PathBuf {
        self.internal().join("apkit.lock.next")
    }

    /// Refuses links where only directories and files of ours belong: a project
    /// from a stranger must not lead us elsewhere. The root of a user's own store
    /// may be a link.
    pub(super) fn check(&self) -> Result<(), Error> {
        let of_project = self.project.iter();
        let of_project = of_project.flat_map(|_| [self.root.clone(), self.lock_file()]);
        let ours = [
            self.packages(),
            self.all_data(),
            self.internal(),
            self.staging(),
            self.listings(),
            self.folders(),
            self.journal(),
            self.writer(),
        ];
        for path in of_project.chain(ours) {
            if path
                .symlink_metadata()
                .is_ok_and(|found| found.is_symlink())
            {
                return Err(Error::Link { path });
            }
        }
        Ok(())
    }

    /// Makes the directories. Gives those that were not there, each after what it
    /// lies in.
    pub(super) fn create(&self) -> Result<Vec<PathBuf>, Error> {
        self.check()?;
        let missing = self.root.ancestors().take_while(|above| !above.exists());
        let mut made: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        made.reverse();
        fs::create_dir_all(&self.root).map_err(|error| Error::io("make", &self.root, error))?;
        for directory in [
            self.internal(),
            self.packages(),
            self.listings(),
            self.staging(),
        ] {
            if make_directory(&directory)? {
                made.push(directory);
            }
        }
        Ok(made)
    }

    /// Removes the directories `made` by [`Self::create`], unless something has been
    /// installed since, or is about to be.
    pub(super) fn remove_unused(&self, made: &[PathBuf]) {
        let is_locked = self.lock_file().symlink_metadata().is_ok();
        // Whoever else is at work has a directory in it.
        if is_locked || !made.contains(&self.staging()) || fs::remove_dir(self.staging()).is_err() {
            return;
        }
        let writer = self.writer();
        let Ok(Some(_lock)) = sys::try_lock(&writer) else {
            return;
        };
        let _ = fs::remove_file(&writer);
        for directory in made.iter().rev().skip(1) {
            if fs::remove_dir(directory).is_err() {
                return;
            }
        }
    }

    /// What only this machine knows of the store: which directory `.apkit` is, and
    /// when it was made. A project does not bring it along, so what carries it was
    /// written here.
    pub(super) fn mark(&self) -> Option<String> {
        let internal = self.internal();
        let file = sys::file_id(&internal).map(|(_, file)| file);
        let made = internal
            .symlink_metadata()
            .and_then(|found| found.created());
        let made = made
            .ok()
            .and_then(|made| made.duration_since(UNIX_EPOCH).ok());
        match (file, made) {
            (None, None) => None,
            (file, made) => Some(format!(
                "{}-{}",
                file.unwrap_or_default(),
                made.unwrap_or_default().as_nanos()
            )),
        }
    }

    /// Whether what carries the mark `mark` counts: it was written here, or the
    /// store is the user's own and nobody else's.
    pub(super) fn is_ours(&self, mark: Option<&str>) -> bool {
        self.project.is_none() || (mark.is_some() && mark == self.mark().as_deref())
    }

    /// Whether a place in the project only seems to lie there, as a link on the way
    /// leads out of it.
    pub(super) fn leads_out(&self, place: &Path) -> bool {
        let Some(project) = &self.project else {
            return false;
        };
        as_written(place).starts_with(project) && !is_below(place, project)
    }
}

/// A path with `..` resolved by its text alone.
fn as_written(path: &Path) -> PathBuf {
    let mut written = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                written.pop();
            }
            _ => written.push(part),
        }
    }
    written
}

impl Layout {
    /// Whether a place is the root, or lies in one of the directories where nobody but
    /// apkit and the packages write.
    pub(super) fn is_own(&self, place: &Path) -> bool {
        let own = [self.packages(), self.all_data(), self.internal()].map(|own| physical(&own));
        let root = physical(&self.root);
        // What `..` leads to may be a matter of links that are made later.
        [physical(place), physical(&as_written(place))]
            .iter()
            .any(|place| *place == root || own.iter().any(|own| place.starts_with(own)))
    }
}

impl Layout {
    /// Whether a place is, or lies in, what some system takes for `.git`: git runs
    /// what it finds at places of its choice in there, and nothing of a package
    /// belongs into it.
    pub(super) fn is_git(&self, place: &Path) -> bool {
        [
            place.to_owned(),
            physical(place),
            physical(&as_written(place)),
        ]
        .iter()
        .flat_map(|place| place.components())
        .any(|part| matches!(part, Component::Normal(name) if is_git(&name.to_string_lossy())))
    }
}

/// Whether a place is the directory `above`, or lies in it, links considered.
pub(super) fn lies_in(place: &Path, above: &Path) -> bool {
    let above = physical(above);
    [physical(place), physical(&as_written(place))]
        .iter()
        .any(|place| place.starts_with(&above))
}

/// A path with the links resolved in what of it is there.
fn physical(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(there), Ok(below)) = (above.canonicalize(), path.strip_prefix(above)) {
            return there.join(below);
        }
    }
    path.to_owned()
}

/// Whether a path lies below `base`, links considered, and has no `..` in it.
pub(super) fn is_inside(path: &Path, base: &Path) -> bool {
    let is_plain = |part| {
        matches!(
            part,
            Component::Normal(_) | Component::RootDir | Component::Prefix(_)
        )
    };
    path.components().all(is_plain) && is_below(path, base)
}

/// Of what is not there yet, what is above it counts; a link that leads nowhere is
/// there.
fn is_below(path: &Path, base: &Path) -> bool {
    let there = path
        .ancestors()
        .find(|above| above.symlink_metadata().is_ok());
    let there = there.and_then(|above| above.canonicalize().ok());
    let base = base.canonicalize().ok();
    matches!((there, base), (Some(there), Some(base)) if there.starts_with(&base))
}

/// Whether it was not there.
fn make_directory(path: &Path) -> Result<bool, Error> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let found = fs::symlink_metadata(path);
            let found = found.map_err(|error| Error::io("read", path, error))?;
            if found.is_dir() {
                Ok(false)
            } else {
                Err(Error::io("make", path, error))
            }
        }
        Err(error) => Err(Error::io("make", path, error)),
        Ok(()) => Ok(true),
    }
}
