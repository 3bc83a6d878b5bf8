//! What we wrote where, and what the user allowed: `.apkit/folders.json`.
//!
//! It stays on this machine, unlike the lock file, which a project may bring along.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::store::Error;
use crate::store::change;
use crate::store::layout::Layout;

/// The version of the format.
const VERSION: u32 = 1;

/// Folders by their paths, each with the digests of what may stand there. There
/// are two while one replaces the other.
pub(super) type Ours = BTreeMap<PathBuf, Vec<String>>;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    record_version: u32,
    /// By package.
    pub(super) packages: BTreeMap<String, Ours>,
    /// By package: the directories that its skills may be copied to, because the
    /// user has asked for it here, and whether their scripts may come along.
    #[serde(default)]
    pub(super) allowed: BTreeMap<String, BTreeMap<PathBuf, bool>>,
}

impl Record {
    pub(super) fn read(layout: &Layout) -> Result<Self, Error> {
        let path = layout.folders();
        let record: Self = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .map_err(|error| Error::io("read", &path, io::Error::other(error)))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self {
                record_version: VERSION,
                ..Self::default()
            },
            Err(error) => return Err(Error::io("read", &path, error)),
        };
        if record.record_version == VERSION {
            Ok(record)
        } else {
            let error = io::Error::other("it was written by another version of apkit");
            Err(Error::io("read", &path, error))
        }
    }

    pub(super) fn write(&self, layout: &Layout) -> Result<(), Error> {
        let path = layout.folders();
        let text = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::io("write", &path, io::Error::other(error)))?;
        change::replace(&path, &text)
    }
}
