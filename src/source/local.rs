//! What needs no network: directories and archives on this machine, and what
//! apkit brings along.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use super::builtin::{Builtin, Program};
use super::integrity::{Found, Hasher, Integrity};
use super::{ArchiveFile, Error, Fetched, Request, Resolved, Stop};
use crate::archive::{Limits, Stage, below_top, copy_directory, root_of, unpack};
use crate::sys;

pub(super) fn directory(
    path: &Path,
    request: &Request<'_>,
    mut stage: Stage,
) -> Result<Fetched, Error> {
    // A file or nothing at all is told by its name, not as an entry of itself.
    if path.is_file() {
        let above = path.parent().unwrap_or(path).display();
        let problem = format!("it is a file; a package is a directory: name {above}");
        return Err(at(
            path,
            io::Error::new(io::ErrorKind::NotADirectory, problem),
        ));
    }
    fs::read_dir(path).map_err(|error| at(path, error))?;
    request.progress.take_in(stage.count());
    copy_directory(path, &mut stage)?;
    Ok(Fetched {
        staged: stage.finish("")?,
        sub_path: None,
        resolved: Resolved::Content,
        is_weak: false,
    })
}

pub(super) fn archive(
    archive: &ArchiveFile,
    request: &Request<'_>,
    mut stage: Stage,
) -> Result<Fetched, Error> {
    let path = &archive.path;
    let mut file = open(path)?;
    let pinned = match request.pinned {
        Some(Resolved::Archive { integrity }) => Integrity::parse(integrity),
        _ => None,
    };
    let limit = stage.limits().total;
    let found = digests(archive, &mut file, limit, pinned.as_ref(), request.stop)?;
    if let Some(pinned) = pinned
        && let Some(found) = pinned.mismatch(&found)
    {
        return Err(Error::Integrity {
            found,
            pinned: pinned.to_string(),
        });
    }
    file.rewind().map_err(|error| at(path, error))?;
    request.progress.take_in(stage.count());
    unpack(&mut file, &mut stage)?;
    let sub_path = archive.sub_path.as_ref().map(|path| path.as_str());
    let root = root_of(&stage, sub_path)?;
    let sub_path = below_top(&stage, &root);
    Ok(Fetched {
        staged: stage.finish(&root)?,
        sub_path,
        resolved: Resolved::Archive {
            integrity: found.pin(),
        },
        is_weak: false,
    })
}

pub(super) fn builtin(
    builtin: Builtin,
    request: &Request<'_>,
    mut stage: Stage,
) -> Result<Fetched, Error> {
    let program = request.environment.program.as_deref();
    let program = program.ok_or_else(|| at(Path::new("apkit"), io::ErrorKind::NotFound.into()))?;
    let program = Program::read(program).map_err(|error| at(program, error))?;
    for file in builtin.files(program) {
        stage.file(file.path.as_bytes(), file.executable, &mut &file.bytes[..])?;
    }
    Ok(Fetched {
        staged: stage.finish("")?,
        sub_path: None,
        resolved: Resolved::Content,
        is_weak: false,
    })
}

/// What an archive file is now.
pub(super) fn integrity(archive: &ArchiveFile, stop: &Stop) -> Result<Resolved, Error> {
    let mut file = open(&archive.path)?;
    let limit = Limits::default().total;
    let found = digests(archive, &mut file, limit, None, stop)?;
    Ok(Resolved::Archive {
        integrity: found.pin(),
    })
}

fn open(path: &Path) -> Result<File, Error> {
    sys::open_regular(path).map_err(|error| at(path, error))
}

/// The digests of all of a file, which is at most what a download may be.
fn digests(
    archive: &ArchiveFile,
    file: &mut File,
    limit: u64,
    wanted: Option<&Integrity>,
    stop: &Stop,
) -> Result<Found, Error> {
    let failed = |error| at(&archive.path, error);
    let too_large = || {
        let problem = format!("it is larger than {limit} bytes, which is the most taken here");
        failed(io::Error::new(io::ErrorKind::FileTooLarge, problem))
    };
    if file.metadata().map_err(failed)?.len() > limit {
        return Err(too_large());
    }
    let mut hasher = Hasher::new(io::sink(), wanted);
    let mut piece = vec![0; 64 << 10];
    let mut done = 0;
    loop {
        if stop.is_requested() {
            return Err(Error::Interrupted);
        }
        let count = match file.read(&mut piece) {
            Ok(0) => return Ok(hasher.finish()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error)),
        };
        done += count as u64;
        // It may have grown meanwhile.
        if done > limit {
            return Err(too_large());
        }
        let read = piece.get(..count).unwrap_or_default();
        hasher.write_all(read).map_err(failed)?;
    }
}

fn at(path: &Path, error: io::Error) -> Error {
    Error::Io {
        path: PathBuf::from(path),
        error,
    }
}
