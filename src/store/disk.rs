//! Writing files of the store so that they last, or not at all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::Error;

/// Writes a file to the disk, or leaves none. What has its name goes, and if it is
/// a link, what it leads to is not touched.
pub(super) fn write_whole(path: &Path, content: &[u8]) -> Result<(), Error> {
    let write = || {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::create_new(path)?;
        file.write_all(content)?;
        file.sync_all()
    };
    write().map_err(|error| {
        let _ = fs::remove_file(path);
        Error::io("write", path, error)
    })
}

/// Makes names last through a power failure, where the system can.
pub(super) fn sync_directory(path: &Path) {
    #[cfg(unix)]
    {
        let _ = File::open(path).and_then(|directory| directory.sync_all());
    }
    #[cfg(not(unix))]
    {
        let _ = path;
    }
}

/// A file written beside `path` that replaces it.
pub(super) fn replace(path: &Path, content: &[u8]) -> Result<(), Error> {
    let mut beside = PathBuf::from(path);
    beside.as_mut_os_string().push(".next");
    write_whole(&beside, content)?;
    fs::rename(&beside, path).map_err(|error| {
        let _ = fs::remove_file(&beside);
        Error::io("write", path, error)
    })
}
