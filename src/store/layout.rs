//! What lies where below the root.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Error;
use crate::archive::Digest;

/// The paths of a store.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) root: PathBuf,
}

impl Layout {
    /// `plugins/`: one directory for each package, by its name.
    pub(super) fn packages(&self) -> PathBuf {
        self.root.join("plugins")
    }

    pub(super) fn package(&self, name: &str) -> PathBuf {
        self.packages().join(name)
    }

    /// `plugin-data/NAME/`: what a package may write, `PLUGIN_DATA`.
    pub(super) fn data(&self, name: &str) -> PathBuf {
        self.root.join("plugin-data").join(name)
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

    /// Makes the directories. Links in their places are refused: a project from a
    /// stranger must not lead our writes elsewhere.
    pub(super) fn create(&self) -> Result<(), Error> {
        fs::create_dir_all(&self.root).map_err(|error| Error::io("make", &self.root, error))?;
        for directory in [
            self.internal(),
            self.packages(),
            self.staging(),
            self.listings(),
        ] {
            make_directory(&directory)?;
        }
        let data = self.root.join("plugin-data");
        if data.symlink_metadata().is_ok_and(|data| data.is_symlink()) {
            return Err(Error::Link { path: data });
        }
        Ok(())
    }
}

fn make_directory(path: &Path) -> Result<(), Error> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let found = fs::symlink_metadata(path);
            let found = found.map_err(|error| Error::io("read", path, error))?;
            if found.is_dir() {
                Ok(())
            } else if found.is_symlink() {
                Err(Error::Link {
                    path: path.to_owned(),
                })
            } else {
                Err(Error::io("make", path, error))
            }
        }
        made => made.map_err(|error| Error::io("make", path, error)),
    }
}
