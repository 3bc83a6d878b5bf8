//! A file that is whole or not there: written beside its place, then renamed.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// New content for a file, written and not yet in its place. It goes away with
/// the value unless it is put there.
#[derive(Debug)]
pub struct Staged {
    temporary: Option<PathBuf>,
    target: PathBuf,
}

impl Staged {
    /// Writes what is to replace the regular file `path`, or to be created there,
    /// with the mode of what it replaces. Through a link, the file it leads to is
    /// replaced and the link stays.
    ///
    /// # Errors
    ///
    /// When the directory of the file cannot be written to, or `write` fails.
    pub fn new(
        path: &Path,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<Self> {
        let old = match fs::metadata(path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let target = match &old {
            Some(_) => fs::canonicalize(path)?,
            None => path.to_owned(),
        };
        let (file, temporary) = create_beside(&target)?;
        let staged = Self {
            temporary: Some(temporary),
            target,
        };
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        if let Some(old) = old {
            file.set_permissions(old.permissions())?;
        }
        Ok(staged)
    }

    /// Puts the content in its place.
    ///
    /// # Errors
    ///
    /// When the system refuses to rename; the file then is as it was.
    pub fn commit(mut self) -> io::Result<()> {
        if let Some(path) = &self.temporary {
            fs::rename(path, &self.target)?;
            self.temporary = None;
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(path) = &self.temporary {
            // Nothing better can be done about it here.
            let _ = fs::remove_file(path);
        }
    }
}

/// A new file in the directory of `target`, for a rename within one file system.
fn create_beside(target: &Path) -> io::Result<(File, PathBuf)> {
    let name = target
        .file_name()
        .ok_or_else(|| io::Error::new(ErrorKind::IsADirectory, "this names no file"))?;
    for attempt in 0_u32.. {
        let mut beside = OsString::from(".");
        beside.push(name);
        beside.push(format!(".{}-{attempt}.tmp", std::process::id()));
        let path = target.with_file_name(beside);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && attempt < 100 => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}
