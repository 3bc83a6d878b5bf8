//! Where a report goes: standard output, or a file that is whole or not there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::failure::Failure;

/// Runs `write` with standard output. A reader that has seen enough (`| head`)
/// is no failure.
pub(crate) fn to_stdout(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Write { to: None, error })
        }
        _ => {
            // What a reader did not take must not be written when `out` drops.
            let _ = out.into_parts();
            Ok(())
        }
    }
}

/// Runs `write` with a file that replaces `path` when everything is written.
/// What is no regular file (a FIFO, `/dev/stdout`) is written to directly.
pub(crate) fn to_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    replace(path, write).or_else(|error| match error.kind() {
        ErrorKind::BrokenPipe => Ok(()),
        _ => Err(Failure::Write {
            to: Some(path.to_owned()),
            error,
        }),
    })
}

/// The file that writing to `path` changes: where its links lead, also to
/// something that does not exist yet.
pub(crate) fn destination(path: &Path) -> io::Result<PathBuf> {
    // As many as systems follow.
    const LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            // No link, or nothing at all.
            Err(_) => {
                let Some(name) = path.file_name() else {
                    return fs::canonicalize(&path);
                };
                let parent = path.parent().filter(|parent| *parent != Path::new(""));
                return Ok(fs::canonicalize(parent.unwrap_or(Path::new(".")))?.join(name));
            }
        }
    }
    Err(io::Error::other("a link that leads back to itself"))
}

fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let old = match fs::metadata(path) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        let file = OpenOptions::new().write(true).open(path)?;
        return write_all(file, write).map(drop);
    }
    // Through a link, the file it leads to is written and the link stays.
    let target = destination(path)?;
    let (file, temporary) = create_beside(&target)?;
    let mut guard = Temporary(Some(temporary));
    let file = write_all(file, write)?;
    if let Some(old) = old {
        file.set_permissions(old.permissions())?;
    }
    drop(file);
    guard.rename_to(&target)
}

fn write_all(file: File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<File> {
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

/// A new file in the directory of `target`, for a rename within one file system.
fn create_beside(target: &Path) -> io::Result<(File, PathBuf)> {
    let name = target
        .file_name()
        .ok_or_else(|| io::Error::new(ErrorKind::IsADirectory, "this names no file"))?;
    for attempt in 0_u32.. {
        let mut beside = std::ffi::OsString::from(".");
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

/// A file that goes away unless it gets its name.
struct Temporary(Option<PathBuf>);

impl Temporary {
    fn rename_to(&mut self, target: &Path) -> io::Result<()> {
        if let Some(path) = &self.0 {
            fs::rename(path, target)?;
            self.0 = None;
        }
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Nothing better can be done about it here.
            let _ = fs::remove_file(path);
        }
    }
}
