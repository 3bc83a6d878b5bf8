//! Where a report goes: standard output, or a file that is whole or not there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use apkit::sys::Staged;

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
    Staged::new(&destination(path)?, write)?.commit()
}

fn write_all(file: File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<File> {
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}
