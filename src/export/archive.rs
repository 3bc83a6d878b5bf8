//! Applying a plan as an archive: the same bytes for the same plan on any machine.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use super::apply::{Accepted, Beside, judge_all, stage};
use super::{Error, Options, Plan, place};
use crate::archive::{Content, Item, tgz, zip};

/// The formats of archives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A gzip-compressed tar archive.
    Tgz,
    /// A zip archive.
    Zip,
}

impl Format {
    /// The format that the name of a file asks for.
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        if name.ends_with(".tgz") || name.ends_with(".tar.gz") {
            Some(Self::Tgz)
        } else if name.ends_with(".zip") {
            Some(Self::Zip)
        } else {
            None
        }
    }
}

/// What an archive is like, beside its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Archive<'a> {
    /// How it is written.
    pub format: Format,
    /// The directory that everything lies in: `package` for npm, else none.
    pub prefix: &'a str,
    /// The time of every entry, in seconds since 1970.
    pub mtime: u64,
}

/// Writes everything that `plan` holds to the archive `target`, or nothing. A
/// file that is there already is replaced only if that is asked for, or if it
/// is the same.
///
/// # Errors
///
/// When the target is occupied, the result is not valid, a path is none for an
/// archive, or the file system refuses. The target then is as it was.
pub fn write_archive(
    plan: &Plan,
    target: &Path,
    archive: Archive<'_>,
    options: Options<'_>,
) -> Result<Vec<Accepted>, Error> {
    let target = &admit_archive(target, options)?;
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    let staging = stage(plan, target)?;
    let accepted = judge_all(plan, &staging.path, target, options)?;
    drop(staging);

    let bytes = bytes(plan, archive)?;
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
        Ok(metadata) if metadata.is_dir() => return Err(is_directory()),
        Ok(_) if fs::read(target).is_ok_and(|old| old == bytes) => return Ok(accepted),
        Ok(_) if !options.force => {
            return Err(Error::Occupied {
                why: "it is another file",
                files: 1,
            });
        }
        Ok(_) => {}
    }
    // In a directory of its own, the file has no name that somebody could take.
    let place = Beside::create(target, "new")?;
    let new = place.path.join("archive");
    let mut file = OpenOptions::new().write(true).create_new(true).open(&new)?;
    file.write_all(&bytes)?;
    drop(file);
    fs::rename(&new, target)?;
    Ok(accepted)
}

/// The physical path of an archive, if it may be written. A link there is replaced.
///
/// # Errors
///
/// When it lies in what is kept, or is a directory.
pub fn admit_archive(target: &Path, options: Options<'_>) -> Result<PathBuf, Error> {
    if target.file_name().is_none() {
        return Err(Error::NoName);
    }
    let target = place::physical(target, false)?;
    place::spare(&target, options.kept)?;
    match fs::symlink_metadata(&target) {
        Ok(metadata) if metadata.is_dir() => Err(is_directory()),
        _ => Ok(target),
    }
}

fn is_directory() -> Error {
    Error::Kept("is a directory, and an archive is a file".to_owned())
}

fn bytes(plan: &Plan, archive: Archive<'_>) -> Result<Vec<u8>, Error> {
    let mut items: Vec<Item<'_>> = plan
        .outputs
        .iter()
        .map(|output| Item {
            path: &output.path,
            executable: output.executable,
            content: Content::Bytes(&output.bytes),
        })
        .collect();
    let mut bytes = Vec::new();
    match archive.format {
        Format::Tgz => tgz(&mut items, archive.prefix, archive.mtime, &mut bytes)?,
        Format::Zip => zip(&mut items, archive.prefix, archive.mtime, &mut bytes)?,
    }
    Ok(bytes)
}
