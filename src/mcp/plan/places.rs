//! Where a package lies, and where it may write (§9.1).

use std::io;
use std::path::{Path, PathBuf};

use crate::sys;

/// Where a package lies, and where it may write.
#[derive(Debug, Clone)]
pub struct Places {
    /// Physical, as the system resolves it.
    pub(super) root: PathBuf,
    /// The same, as far as it is there.
    pub(super) data: PathBuf,
}

impl Places {
    /// The package directory `root`, and the directory `data`, which need not be
    /// there yet.
    ///
    /// # Errors
    ///
    /// When the package directory cannot be resolved, or there is no working
    /// directory for a relative `data`.
    pub fn new(root: &Path, data: &Path) -> io::Result<Self> {
        Ok(Self {
            root: root.canonicalize()?,
            data: physical(&std::path::absolute(data)?),
        })
    }

    /// `PLUGIN_ROOT` (§9.1).
    pub fn root(&self) -> PathBuf {
        sys::plain_path(&self.root)
    }

    /// `PLUGIN_DATA` (§9.1).
    pub fn data(&self) -> PathBuf {
        sys::plain_path(&self.data)
    }
}

/// The physical path of what is there, and the rest as it is.
fn physical(path: &Path) -> PathBuf {
    path.ancestors()
        .find_map(|above| {
            let found = above.canonicalize().ok()?;
            let rest = path.strip_prefix(above).ok()?;
            // Joining nothing would add a slash.
            Some(match rest.as_os_str().is_empty() {
                true => found,
                false => found.join(rest),
            })
        })
        .unwrap_or_else(|| path.to_owned())
}
