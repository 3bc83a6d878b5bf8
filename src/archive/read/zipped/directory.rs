//! The directory at the end of a zip archive.

use std::io::{Read, Seek, SeekFrom};

use super::super::unread;
use super::{DEFLATED, STORED};
use crate::archive::stage::lossy;
use crate::archive::{EntryPath, Limits, PathProblem, Refusal};

const RECORD: &[u8] = b"PK\x01\x02";
const END: &[u8] = b"PK\x05\x06";
const END_64: &[u8] = b"PK\x06\x06";
const LOCATOR_64: &[u8] = b"PK\x06\x07";
/// Bytes of the end without its comment, and of the locator before it.
const END_SIZE: u64 = 22;
const LOCATOR_SIZE: u64 = 20;

/// Fields that are too small say so, and the extra field 1 has the value.
const IN_EXTRA_16: u16 = u16::MAX;
const IN_EXTRA_32: u32 = u32::MAX;

pub(super) const FLAG_ENCRYPTED: u16 = 1;
/// Sizes and checksum follow the content.
pub(super) const FLAG_DESCRIPTOR: u16 = 1 << 3;
const FLAG_PATCH: u16 = 1 << 5;
const FLAG_STRONG: u16 = 1 << 6;
const FLAG_MASKED: u16 = 1 << 13;

/// What the directory says about one entry.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) name: Vec<u8>,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) compressed: u64,
    pub(super) size: u64,
    /// Where its own header starts.
    pub(super) start: u64,
    attributes: u32,
}

impl Record {
    /// The mode on Unix; zero where the archive was made without.
    pub(super) fn mode(&self) -> u32 {
        self.attributes >> 16
    }

    pub(super) fn shown(&self) -> String {
        lossy(&self.name)
    }
}

/// Numbers from the front of some bytes, least significant byte first.
pub(super) struct Fields<'b>(pub(super) &'b [u8]);

impl<'b> Fields<'b> {
    pub(super) fn bytes(&mut self, count: usize) -> Option<&'b [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.bytes(2)?.try_into().ok()?))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(4)?.try_into().ok()?))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(8)?.try_into().ok()?))
    }
}

pub(super) fn unreadable(what: &str) -> Refusal {
    Refusal::Damaged {
        what: what.to_owned(),
    }
}

fn odd_end() -> Refusal {
    unreadable("its list of entries is not where it should be")
}

/// Where the list is.
#[derive(Debug, PartialEq, Eq)]
struct End {
    count: u64,
    start: u64,
    size: u64,
}

/// Reads the directory: the entries in its order, and where it starts.
pub(super) fn read(
    file: &mut (impl Read + Seek),
    limits: &Limits,
) -> Result<(Vec<Record>, u64), Refusal> {
    let end = find_end(file)?;
    if end.count > limits.entries as u64 {
        return Err(Refusal::TooMany {
            limit: limits.entries,
        });
    }
    file.seek(SeekFrom::Start(end.start)).map_err(unread)?;
    let mut list = file.take(end.size);
    let mut records = Vec::new();
    for _ in 0..end.count {
        records.push(record(&mut list)?);
    }
    if list.limit() > 0 {
        return Err(Refusal::Hidden {
            place: "in its list of entries".to_owned(),
        });
    }
    Ok((records, end.start))
}

fn find_end(file: &mut (impl Read + Seek)) -> Result<End, Refusal> {
    let length = file.seek(SeekFrom::End(0)).map_err(unread)?;
    let most = END_SIZE + u64::from(u16::MAX);
    let from = length.saturating_sub(most);
    let tail = read_at(file, from, length - from)?;
    let places: Vec<usize> = tail
        .windows(END.len())
        .enumerate()
        .filter_map(|(at, window)| (window == END).then_some(at))
        .collect();
    // A reader that looks from the end stops at the last one, one that looks for
    // a comment of the right length perhaps at another. (The same bytes may stand
    // in the content of an entry, before the directory.)
    let fits = |&at: &usize| {
        let mut comment = Fields(tail.get(at + 20..)?);
        let length = usize::from(comment.u16()?);
        (comment.0.len() == length).then_some(at)
    };
    let fitting: Vec<usize> = places.iter().filter_map(fits).collect();
    let at = match *fitting {
        [at] if places.last() == Some(&at) => at,
        [] if places.is_empty() => return Err(unreadable("it ends too early")),
        [] => {
            return Err(Refusal::Hidden {
                place: "behind its end".to_owned(),
            });
        }
        _ => {
            return Err(Refusal::Hidden {
                place: "in its comment".to_owned(),
            });
        }
    };
    let mut fields = Fields(tail.get(at + END.len()..).unwrap_or_default());
    let mut read = || {
        let disks = (fields.u16()?, fields.u16()?);
        let counts = (fields.u16()?, fields.u16()?);
        Some((disks, counts, fields.u32()?, fields.u32()?))
    };
    let (disks, counts, size, start) = read().ok_or_else(odd_end)?;
    let at = from + at as u64;
    let (end, list_end) = match end_64(file, at)? {
        None => {
            if disks != (0, 0) {
                return Err(odd_end());
            }
            let end = End {
                count: counts.1.into(),
                start: start.into(),
                size: size.into(),
            };
            (end, at)
        }
        Some((end, list_end)) => {
            let agrees = (counts.1 == IN_EXTRA_16 || u64::from(counts.1) == end.count)
                && (size == IN_EXTRA_32 || u64::from(size) == end.size)
                && (start == IN_EXTRA_32 || u64::from(start) == end.start);
            if !agrees {
                return Err(odd_end());
            }
            (end, list_end)
        }
    };
    if counts.0 != counts.1 || end.start.checked_add(end.size) != Some(list_end) {
        return Err(odd_end());
    }
    Ok(end)
}

/// The end in its larger form, if the locator of one stands before `at`; and where
/// it starts, which is where the list ends.
fn end_64(file: &mut (impl Read + Seek), at: u64) -> Result<Option<(End, u64)>, Refusal> {
    let Some(locator_at) = at.checked_sub(LOCATOR_SIZE) else {
        return Ok(None);
    };
    let locator = read_at(file, locator_at, LOCATOR_SIZE)?;
    let Some(fields) = locator.strip_prefix(LOCATOR_64) else {
        return Ok(None);
    };
    let mut fields = Fields(fields);
    let mut read = || Some((fields.u32()?, fields.u64()?, fields.u32()?));
    let (disk, start, disks) = read().ok_or_else(odd_end)?;
    let size = locator_at
        .checked_sub(start)
        .filter(|size| *size <= 1 << 16);
    let (0, 0 | 1, Some(size)) = (disk, disks, size) else {
        return Err(odd_end());
    };
    let bytes = read_at(file, start, size)?;
    let mut fields = Fields(bytes.strip_prefix(END_64).ok_or_else(odd_end)?);
    let mut read = || {
        let rest = fields.u64()?;
        let _versions = fields.u32()?;
        let disks = (fields.u32()?, fields.u32()?);
        let counts = (fields.u64()?, fields.u64()?);
        let (size, start) = (fields.u64()?, fields.u64()?);
        Some((rest, disks, counts, size, start))
    };
    let (rest, disks, counts, list_size, list_start) = read().ok_or_else(odd_end)?;
    if rest.checked_add(12) != Some(size) || disks != (0, 0) || counts.0 != counts.1 {
        return Err(odd_end());
    }
    let end = End {
        count: counts.1,
        start: list_start,
        size: list_size,
    };
    Ok(Some((end, start)))
}

fn record(list: &mut impl Read) -> Result<Record, Refusal> {
    let header = read_exactly(list, 46)?;
    let mut fields = Fields(header.strip_prefix(RECORD).ok_or_else(odd_end)?);
    let mut read = || {
        let _versions = fields.u32()?;
        let (flags, method) = (fields.u16()?, fields.u16()?);
        let _time = fields.u32()?;
        let crc = fields.u32()?;
        let (compressed, size) = (fields.u32()?, fields.u32()?);
        let lengths = (fields.u16()?, fields.u16()?, fields.u16()?);
        let disk = fields.u16()?;
        let _internal = fields.u16()?;
        let (attributes, start) = (fields.u32()?, fields.u32()?);
        let found = Record {
            name: Vec::new(),
            flags,
            method,
            crc,
            compressed: compressed.into(),
            size: size.into(),
            start: start.into(),
            attributes,
        };
        Some((found, lengths, disk))
    };
    let (mut found, (name, extra, comment), disk) = read().ok_or_else(odd_end)?;
    found.name = read_exactly(list, name.into())?;
    let extra = read_exactly(list, extra.into())?;
    read_exactly(list, comment.into())?;
    if disk != 0 && disk != IN_EXTRA_16 {
        return Err(odd_end());
    }
    let large = [&mut found.size, &mut found.compressed, &mut found.start];
    if read_extra(&extra, &found.name, large).is_none() {
        return Err(Refusal::Disagreement {
            entry: lossy(&found.name),
            what: "its sizes or its name in the list of entries",
        });
    }
    check(&found)?;
    Ok(found)
}

/// Reads the extra fields of `name`: numbers that were too large, in their order,
/// and no second name. Nothing if they do not agree with the rest.
pub(super) fn read_extra<const N: usize>(
    extra: &[u8],
    name: &[u8],
    numbers: [&mut u64; N],
) -> Option<()> {
    const LARGE: u16 = 1;
    const UNICODE_NAME: u16 = 0x7075;
    let mut rest = Fields(extra);
    let mut large = None;
    // Some programs pad with zeros, fewer than a field has.
    while rest.0.len() >= 4 {
        let (id, length) = (rest.u16()?, rest.u16()?);
        let value = rest.bytes(length.into())?;
        match id {
            LARGE if large.replace(value).is_some() => return None,
            UNICODE_NAME if value.get(5..) != Some(name) => return None,
            _ => {}
        }
    }
    let mut large = Fields(large.unwrap_or_default());
    for number in numbers {
        if *number == u64::from(IN_EXTRA_32) {
            *number = large.u64()?;
        }
    }
    Some(())
}

fn check(record: &Record) -> Result<(), Refusal> {
    if record.flags & (FLAG_ENCRYPTED | FLAG_STRONG | FLAG_MASKED) != 0 {
        return Err(Refusal::Encrypted {
            entry: record.shown(),
        });
    }
    if record.flags & FLAG_PATCH != 0 || !matches!(record.method, STORED | DEFLATED) {
        return Err(Refusal::Method {
            entry: record.shown(),
            method: record.method,
        });
    }
    if record.method == STORED && record.compressed != record.size {
        return Err(Refusal::Disagreement {
            entry: record.shown(),
            what: "two sizes",
        });
    }
    // A name without the flag for it may be meant in another encoding, but bytes
    // that are UTF-8 never are in practice. Long ones are not worth keeping.
    if record.name.len() > EntryPath::MAX_LENGTH + 1 {
        return Err(Refusal::Path {
            entry: record.shown(),
            problem: PathProblem::TooLong,
        });
    }
    Ok(())
}

pub(super) fn read_at(
    file: &mut (impl Read + Seek),
    at: u64,
    count: u64,
) -> Result<Vec<u8>, Refusal> {
    file.seek(SeekFrom::Start(at)).map_err(unread)?;
    read_exactly(file, count)
}

fn read_exactly(file: &mut impl Read, count: u64) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    let read = file.take(count).read_to_end(&mut bytes).map_err(unread)?;
    if read as u64 == count {
        Ok(bytes)
    } else {
        Err(unreadable("it ends too early"))
    }
}
