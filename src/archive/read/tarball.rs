//! tar archives in. The crate reads the headers; what the extensions among them
//! say about the entry that follows is put together here, because readers differ
//! in it, and where they do the archive is refused.

use std::io::{self, Read};

use tar::{Archive, Entry, EntryType};

use super::gzip::Gunzip;
use super::unread;
use crate::archive::stage::lossy;
use crate::archive::{Refusal, Stage};

/// The most bytes of one extension: a long name, and whatever attributes some
/// system adds.
const MAX_EXTENSION: u64 = 1 << 20;
/// The most bytes behind the end: tapes were written in large blocks.
const MAX_PADDING: usize = 1 << 20;

pub(super) fn unpack(file: impl Read, stage: &mut Stage) -> Result<(), Refusal> {
    let mut archive = Archive::new(Gunzip::new(file, stage.limits()));
    let mut said = Said::default();
    for entry in archive.entries().map_err(unread)?.raw(true) {
        let mut entry = entry.map_err(unread)?;
        let kind = entry.header().entry_type();
        if !said.take(kind, &mut entry)? {
            take(&std::mem::take(&mut said), kind, entry, stage)?;
        }
    }
    if said != Said::default() {
        return Err(Refusal::Damaged {
            what: "it ends with the long name of an entry that is not there".to_owned(),
        });
    }
    check_end(archive.into_inner())
}

/// What the extensions said about the entry that follows.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    gnu_name: Option<Vec<u8>>,
    gnu_target: Option<Vec<u8>>,
    pax: Option<Pax>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Pax {
    path: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    size: Option<Vec<u8>>,
}

impl Said {
    /// Takes in an extension; `false` for every other entry.
    fn take(&mut self, kind: EntryType, entry: &mut Entry<'_, impl Read>) -> Result<bool, Refusal> {
        match kind {
            EntryType::GNULongName => once(&mut self.gnu_name, long_name(entry)?)?,
            EntryType::GNULongLink => once(&mut self.gnu_target, long_name(entry)?)?,
            EntryType::XHeader => once(&mut self.pax, pax(&extension(entry)?)?)?,
            // What is said of all entries that follow may only be comments: `git
            // archive` names its commit so.
            EntryType::XGlobalHeader => {
                if pax(&extension(entry)?)? != Pax::default() {
                    return Err(Refusal::Damaged {
                        what: "it gives one name or size to all its entries".to_owned(),
                    });
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn once<T>(place: &mut Option<T>, value: T) -> Result<(), Refusal> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Refusal::Damaged {
            what: "it describes one entry twice".to_owned(),
        }),
    }
}

fn extension(entry: &mut Entry<'_, impl Read>) -> Result<Vec<u8>, Refusal> {
    let size = entry.size();
    if size > MAX_EXTENSION {
        return Err(Refusal::Damaged {
            what: format!("a name or attribute in it has {size} bytes"),
        });
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 == size {
        Ok(bytes)
    } else {
        Err(short())
    }
}

fn long_name(entry: &mut Entry<'_, impl Read>) -> Result<Vec<u8>, Refusal> {
    let mut name = extension(entry)?;
    if name.last() == Some(&0) {
        name.pop();
    }
    Ok(name)
}

/// Reads records of the form `length key=value\n`.
fn pax(bytes: &[u8]) -> Result<Pax, Refusal> {
    let mut said = Pax::default();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (key, value, behind) = record(rest).ok_or_else(|| Refusal::Damaged {
            what: "the attributes of an entry in it cannot be read".to_owned(),
        })?;
        rest = behind;
        match key {
            b"path" => once(&mut said.path, value.to_vec())?,
            b"linkpath" => once(&mut said.target, value.to_vec())?,
            b"size" => once(&mut said.size, value.to_vec())?,
            key if key.starts_with(b"GNU.sparse") => {
                return Err(Refusal::Kind {
                    entry: lossy(said.path.as_deref().unwrap_or(b"?")),
                    kind: SPARSE,
                });
            }
            _ => {}
        }
    }
    Ok(said)
}

type Record<'b> = (&'b [u8], &'b [u8], &'b [u8]);

/// Key, value and what follows.
fn record(bytes: &[u8]) -> Option<Record<'_>> {
    let space = bytes.iter().take(20).position(|&byte| byte == b' ')?;
    let length = usize::try_from(number(bytes.get(..space)?)?).ok()?;
    let (record, rest) = bytes.split_at_checked(length)?;
    let pair = record.get(space + 1..)?.strip_suffix(b"\n")?;
    let equals = pair.iter().position(|&byte| byte == b'=')?;
    Some((pair.get(..equals)?, pair.get(equals + 1..)?, rest))
}

/// A number of digits alone: no sign, no blank.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.iter().all(u8::is_ascii_digit) {
        str::from_utf8(digits).ok()?.parse().ok()
    } else {
        None
    }
}

const SPARSE: &str = "a sparse file, which claims a size it does not have";

fn take(
    said: &Said,
    kind: EntryType,
    mut entry: Entry<'_, impl Read>,
    stage: &mut Stage,
) -> Result<(), Refusal> {
    let own = entry.header().path_bytes();
    let pax = said.pax.as_ref();
    let name = one_of(
        &own,
        &said.gnu_name,
        pax.and_then(|pax| pax.path.as_ref()),
        &own,
    )?;
    let name = name.to_vec();
    let size = entry.size();
    let said_size = pax.and_then(|pax| pax.size.as_ref());
    if said_size.is_some_and(|said| number(said) != Some(size)) {
        return Err(Refusal::Disagreement {
            entry: lossy(&name),
            what: "two sizes",
        });
    }
    // Old archives, and some readers of new ones, know a directory by its name.
    let is_named_directory = name.ends_with(b"/");
    let without_content = |()| {
        if size == 0 {
            return Ok(());
        }
        Err(Refusal::Disagreement {
            entry: lossy(&name),
            what: "it has content and is no file",
        })
    };
    match kind {
        EntryType::Directory => {
            without_content(())?;
            stage.directory(&name)
        }
        EntryType::Regular if is_named_directory => {
            without_content(())?;
            stage.directory(&name)
        }
        EntryType::Regular => {
            let executable = entry.header().mode().map_err(unread)? & 0o100 != 0;
            if size > stage.limits().file {
                return Err(Refusal::FileTooLarge {
                    entry: lossy(&name),
                    limit: stage.limits().file,
                });
            }
            stage.file(
                &name,
                executable,
                &mut Whole {
                    entry: &mut entry,
                    left: size,
                },
            )
        }
        EntryType::Symlink => {
            without_content(())?;
            let own = entry.header().link_name_bytes().unwrap_or_default();
            let target = one_of(
                &own,
                &said.gnu_target,
                pax.and_then(|pax| pax.target.as_ref()),
                &name,
            )?;
            stage.link(&name, target)
        }
        other => Err(Refusal::Kind {
            entry: lossy(&name),
            kind: noun(other),
        }),
    }
}

/// The name that counts. Two extensions that give one each are read differently.
fn one_of<'n>(
    own: &'n [u8],
    gnu: &'n Option<Vec<u8>>,
    pax: Option<&'n Vec<u8>>,
    entry: &[u8],
) -> Result<&'n [u8], Refusal> {
    match (gnu, pax) {
        (None, None) => Ok(own),
        (Some(name), None) | (None, Some(name)) => Ok(name),
        (Some(one), Some(other)) if one == other => Ok(one),
        (Some(_), Some(_)) => Err(Refusal::Disagreement {
            entry: lossy(entry),
            what: "two names",
        }),
    }
}

fn noun(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Link => "a hard link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Fifo => "a FIFO",
        EntryType::GNUSparse => SPARSE,
        _ => "of a kind that only some programs know",
    }
}

/// The content of an entry, which is an error if it is shorter than announced.
struct Whole<'e, R> {
    entry: &'e mut R,
    left: u64,
}

impl<R: Read> Read for Whole<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.entry.read(buffer)?;
        self.left = self.left.saturating_sub(count as u64);
        if count == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(io::Error::other(short()));
        }
        Ok(count)
    }
}

fn short() -> Refusal {
    Refusal::Damaged {
        what: "it ends too early".to_owned(),
    }
}

/// Behind the end there may be zeros only, and no second archive that other
/// readers go on to.
fn check_end(mut rest: impl Read) -> Result<(), Refusal> {
    let mut buffer = [0; 4096];
    let mut padding = 0;
    loop {
        match rest.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                padding += count;
                let bytes = buffer.get(..count).unwrap_or_default();
                if padding > MAX_PADDING || bytes.iter().any(|&byte| byte != 0) {
                    return Err(Refusal::Hidden {
                        place: "behind its end".to_owned(),
                    });
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unread(error)),
        }
    }
}
