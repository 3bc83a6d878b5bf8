//! Applying a plan as an archive: the same bytes for the same plan on any machine.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use super::apply::{Accepted, Beside, judge_all, stage};
use super::{Error, Options, Plan};
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
    options: Options,
) -> Result<Vec<Accepted>, Error> {
    if target.file_name().is_none() {
        return Err(Error::NoName);
    }
    if let Some(parent) = target
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        fs::create_dir_all(parent)?;
    }
    let staging = stage(plan, target)?;
    let accepted = judge_all(plan, &staging.path, target, options)?;
    drop(staging);

    let bytes = bytes(plan, archive)?;
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
        Ok(metadata) if metadata.is_dir() => return Err(Error::Occupied("it is a directory")),
        Ok(_) if fs::read(target).is_ok_and(|old| old == bytes) => return Ok(accepted),
        Ok(_) if !options.force => return Err(Error::Occupied("it is another file")),
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
