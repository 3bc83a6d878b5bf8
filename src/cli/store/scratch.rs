//! A temporary directory.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use apkit::sys;

use super::super::failure::Failure;

/// A directory that only the user can look into. It goes away with the value.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Result<Self, Failure> {
        let above = env::temp_dir();
        let failure = |error| Failure::Scratch {
            path: above.clone(),
            error,
        };
        for attempt in 0_u32..1000 {
            let path = above.join(format!("apkit-{}-{attempt}", std::process::id()));
            match sys::make_private_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failure(error)),
            }
        }
        Err(failure(io::ErrorKind::AlreadyExists.into()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing better can be done about it here.
        let _ = fs::remove_dir_all(&self.0);
    }
}
