//! From a PATH of the command line to a package directory.

use std::io;
use std::path::{Path, PathBuf};

use super::failure::{Failure, slashed};

/// The name of the manifest.
const MANIFEST: &str = "plugin.json";

/// A package directory to load.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target {
    /// The directory.
    pub(crate) root: PathBuf,
    /// How reports name it.
    pub(crate) display: String,
}

impl Target {
    /// The package that `path` names: a directory, or the manifest in it. The
    /// manifest need not be a regular file: what is wrong with it is a finding.
    pub(crate) fn of(path: &Path) -> Result<Self, Failure> {
        let failure = |error: io::Error| Failure::Read {
            path: path.to_owned(),
            error,
        };
        let is_directory = match path.metadata() {
            Ok(metadata) => metadata.is_dir(),
            // A link that leads nowhere is there all the same.
            Err(error) => match path.symlink_metadata() {
                Ok(_) => false,
                Err(_) => return Err(failure(error)),
            },
        };
        if is_directory {
            return Ok(Self::new(path.to_owned()));
        }
        if path.file_name().is_none_or(|name| name != MANIFEST) {
            return Err(Failure::NotAPackage {
                path: path.to_owned(),
            });
        }
        Ok(Self::new(match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        }))
    }

    /// The package in the directory `root`.
    pub(crate) fn new(root: PathBuf) -> Self {
        let display = slashed(&root);
        Self { root, display }
    }
}
