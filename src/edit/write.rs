//! Several files changed together, or none.

use std::fs;
use std::io;
use std::path::PathBuf;

use similar::TextDiff;

use crate::sys::Staged;

/// What a file holds and what it is to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The file, as a physical path.
    pub path: PathBuf,
    /// How to name it, with `/` on every platform.
    pub display: String,
    /// What it held when the change was made.
    pub before: String,
    /// What it will hold.
    pub after: String,
}

impl FileChange {
    /// The change as a unified diff, as `patch` reads it.
    pub fn diff(&self) -> String {
        TextDiff::from_lines(&self.before, &self.after)
            .unified_diff()
            .context_radius(2)
            .header(
                &format!("a/{}", self.display),
                &format!("b/{}", self.display),
            )
            .to_string()
    }
}

/// Why nothing was written. Messages read after "failed to write FILE: ".
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Somebody changed the file meanwhile.
    #[error("change {0}: it was changed meanwhile; run it again")]
    Changed(String),
    /// The file is not to be written to.
    #[error("change {0}: it is write-protected")]
    Protected(String),
    /// The file system refused.
    #[error("change {path}: {error}")]
    Io {
        /// The file, for people.
        path: String,
        /// What the system says.
        error: io::Error,
    },
}

/// Writes all changes: every file is replaced as a whole, with the mode it has.
///
/// # Errors
///
/// When a file does not hold what the change was made for, is write-protected, or
/// cannot be replaced. Then every file is as it was, unless the file system also
/// refuses to put back what was replaced already.
pub fn write(changes: &[FileChange]) -> Result<(), WriteError> {
    let mut staged = Vec::new();
    for change in changes {
        let fail = |error| WriteError::Io {
            path: change.display.clone(),
            error,
        };
        let metadata = fs::metadata(&change.path).map_err(fail)?;
        // Replacing needs no right to the file, only to its directory.
        if metadata.permissions().readonly() {
            return Err(WriteError::Protected(change.display.clone()));
        }
        staged.push((change, stage(change, &change.after).map_err(fail)?));
    }
    for change in changes {
        if fs::read(&change.path).ok().as_deref() != Some(change.before.as_bytes()) {
            return Err(WriteError::Changed(change.display.clone()));
        }
    }
    let mut done: Vec<&FileChange> = Vec::new();
    for (change, staged) in staged {
        if let Err(error) = staged.commit() {
            for change in done {
                // Nothing better can be done if this fails, too.
                let _ = stage(change, &change.before).and_then(Staged::commit);
            }
            return Err(WriteError::Io {
                path: change.display.clone(),
                error,
            });
        }
        done.push(change);
    }
    Ok(())
}

fn stage(change: &FileChange, text: &str) -> io::Result<Staged> {
    Staged::new(&change.path, |out| out.write_all(text.as_bytes()))
}
