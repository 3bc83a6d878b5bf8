//! Directories that are there only while a change is planned and made.

use std::fs;
use std::path::{Path, PathBuf};

use crate::store::Error;
use crate::store::staging::remove_all;

/// A directory that goes away with the value.
pub(super) struct Temporary(pub(super) PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = remove_all(&self.0);
    }
}

/// Directories that were made, the innermost first. Those that hold nothing go away
/// with the value.
pub(super) struct Made(Vec<PathBuf>);

impl Made {
    pub(super) fn directory(path: &Path) -> Result<Self, Error> {
        let missing = path.ancestors().take_while(|above| !above.exists());
        let made = Self(missing.map(Path::to_owned).collect());
        fs::create_dir_all(path).map_err(|error| Error::io("make", path, error))?;
        Ok(made)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for directory in &self.0 {
            let _ = fs::remove_dir(directory);
        }
    }
}
