//! What is written down of a change, and whether what is found is followed.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::store::Error;
use crate::store::disk::{sync_directory, write_whole};
use crate::store::error::quoted;
use crate::store::folders::Removal;
use crate::store::layout::Layout;
use crate::store::lock_file::name_problem;
use crate::store::staging;
use crate::sys;

/// The version of the journal.
pub(super) const VERSION: u32 = 1;

/// Largest journal that is read, in bytes.
const MAX_JOURNAL: u64 = 64 << 10;

/// The change that is being made.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Journal {
    pub(super) journal_version: u32,
    /// The package.
    pub(super) name: String,
    /// The mark of the store that it is about: see [`Layout::mark`].
    pub(super) mark: Option<String>,
    /// The staging directory that takes part.
    pub(super) staging: String,
    /// Which file the new tree is, by its numbers, where the system has them;
    /// nothing for a removal.
    pub(super) new: Option<NewTree>,
    /// Whether the package's data goes, too.
    pub(super) purge: bool,
    /// For a removal, the directories that the skills alone are removed from; the
    /// package stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) only_in: Option<Vec<PathBuf>>,
}

impl Journal {
    /// The copies of skills that go.
    pub(super) fn folders(&self) -> Option<Removal<'_>> {
        self.new.is_none().then_some(Removal {
            name: &self.name,
            only_in: self.only_in.as_deref(),
        })
    }

    /// Writes it: from here on the change will happen.
    pub(super) fn write(&self, layout: &Layout) -> Result<(), Error> {
        let path = layout.journal();
        let text = serde_json::to_vec(self)
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

    /// What was begun.
    ///
    /// # Errors
    ///
    /// When what stands there cannot be read, or is not followed.
    pub(super) fn read(layout: &Layout) -> Result<Begun, Error> {
        let path = layout.journal();
        let refused = |problem| Error::io("read", &path, problem);
        let unread = |problem: &dyn Display| {
            // Whatever store the command was about, and from wherever.
            let root = quoted(&layout.root.to_string_lossy());
            refused(io::Error::other(format!(
                "{problem}; remove it, then `apkit verify --root {root}` says whether anything is half done, and `apkit import --frozen --root {root}` puts back what the lock file names"
            )))
        };
        let text = match sys::read_unlinked(&path, MAX_JOURNAL) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Begun::Nothing),
            Err(error) => return Err(unread(&error)),
        };
        let version: Version = serde_json::from_slice(&text).map_err(|error| unread(&error))?;
        if version.journal_version != VERSION {
            return Err(unread(&"it was written by another version of apkit"));
        }
        let journal: Self = serde_json::from_slice(&text).map_err(|error| unread(&error))?;
        if !layout.is_ours(journal.mark.as_deref()) {
            let name = Some(journal.name).filter(|name| name_problem(name).is_none());
            return Ok(Begun::Elsewhere(name));
        }
        match name_problem(&journal.name).or_else(|| astray(layout, &journal)) {
            Some(problem) => Err(unread(&problem)),
            None => Ok(Begun::Here(journal)),
        }
    }
}

/// The version alone, which decides how to read the rest.
#[derive(Deserialize)]
struct Version {
    journal_version: u32,
}

/// What a process that died has begun.
pub(super) enum Begun {
    Nothing,
    /// A change of this store.
    Here(Journal),
    /// A change of another one, which this is a copy of: a project that was copied or
    /// moved brings it along, or comes with it from a stranger. By the name of the
    /// package, if it is one.
    Elsewhere(Option<String>),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewTree {
    pub(super) file: Option<(u64, u64)>,
}

/// Why what a journal says is not done: it leads out of the staging directory.
fn astray(layout: &Layout, journal: &Journal) -> Option<String> {
    if !staging::is_id(&journal.staging) {
        return Some("it names no staging directory".to_owned());
    }
    let staging = layout.staging().join(&journal.staging);
    let is_link = |found: fs::Metadata| found.is_symlink();
    let is_astray = staging.symlink_metadata().is_ok_and(is_link);
    is_astray.then(|| format!("{} is a link", staging.display()))
}
