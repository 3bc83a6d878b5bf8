//! The headers before each entry of a zip archive, held against its directory.

use std::io::{Read, Seek};

use super::directory::{FLAG_DESCRIPTOR, Fields, Record, read_at, read_extra, unreadable};
use crate::archive::Refusal;

const HEADER: &[u8] = b"PK\x03\x04";
const HEADER_SIZE: u64 = 30;
const DESCRIPTOR: &[u8] = b"PK\x07\x08";

/// Checks that the entries lie one behind the other from the start of the file to
/// the directory at `end`, and that each says of itself what the directory does.
/// Tells where the content of each starts, in the order of `records`.
pub(super) fn check(
    file: &mut (impl Read + Seek),
    records: &[Record],
    end: u64,
) -> Result<Vec<u64>, Refusal> {
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&index| records.get(index).map(|record| record.start));
    let mut starts = vec![0; records.len()];
    let mut at = 0;
    let mut before: Option<&Record> = None;
    for index in order {
        let Some(record) = records.get(index) else {
            continue;
        };
        if record.start < at {
            return Err(Refusal::Overlap {
                entry: record.shown(),
                other: before.map(Record::shown).unwrap_or_default(),
            });
        }
        if record.start > at {
            return Err(hidden(before));
        }
        let (content, behind) = one(file, record, end)?;
        if let Some(start) = starts.get_mut(index) {
            *start = content;
        }
        at = behind;
        before = Some(record);
    }
    if at == end {
        Ok(starts)
    } else {
        Err(hidden(before))
    }
}

fn hidden(before: Option<&Record>) -> Refusal {
    Refusal::Hidden {
        place: match before {
            Some(before) => format!("behind the entry {:?}", before.shown()),
            None => "before its first entry".to_owned(),
        },
    }
}

/// Where the content of the entry starts, and where the next thing does.
fn one(file: &mut (impl Read + Seek), record: &Record, end: u64) -> Result<(u64, u64), Refusal> {
    let disagreement = |what| Refusal::Disagreement {
        entry: record.shown(),
        what,
    };
    let early = || unreadable("an entry in it goes beyond its end");
    let header_end = record
        .start
        .checked_add(HEADER_SIZE)
        .filter(|at| *at <= end);
    header_end.ok_or_else(early)?;
    let header = read_at(file, record.start, HEADER_SIZE)?;
    let mut fields = Fields(
        header
            .strip_prefix(HEADER)
            .ok_or_else(|| disagreement("no entry is where the list says"))?,
    );
    let mut read = || {
        let _version = fields.u16()?;
        let (flags, method) = (fields.u16()?, fields.u16()?);
        let _time = fields.u32()?;
        let sums = (fields.u32()?, fields.u32()?, fields.u32()?);
        Some((flags, method, sums, fields.u16()?, fields.u16()?))
    };
    let (flags, method, (crc, compressed, size), name, extra) = read().ok_or_else(early)?;
    let lengths = u64::from(name) + u64::from(extra);
    let start = record.start + HEADER_SIZE + lengths;
    let behind = start.checked_add(record.compressed).filter(|at| *at <= end);
    let behind = behind.ok_or_else(early)?;
    let rest = read_at(file, record.start + HEADER_SIZE, lengths)?;
    let mut rest = Fields(&rest);
    if rest.bytes(name.into()) != Some(&record.name) {
        return Err(disagreement("two names"));
    }
    if (flags, method) != (record.flags, record.method) {
        return Err(disagreement("two ways of compression or encoding"));
    }
    let (mut compressed, mut size) = (u64::from(compressed), u64::from(size));
    if read_extra(rest.0, &record.name, [&mut size, &mut compressed]).is_none() {
        return Err(disagreement("two sizes or names"));
    }
    let sums = (crc, compressed, size);
    let wanted = (record.crc, record.compressed, record.size);
    if flags & FLAG_DESCRIPTOR == 0 {
        return if sums == wanted {
            Ok((start, behind))
        } else {
            Err(disagreement("two sizes or checksums"))
        };
    }
    // They may stand here all the same, or parts of them.
    let may_be = |here: u64, wanted: u64| here == 0 || here == wanted;
    if !may_be(crc.into(), record.crc.into())
        || !may_be(compressed, record.compressed)
        || !may_be(size, record.size)
    {
        return Err(disagreement("two sizes or checksums"));
    }
    let length = descriptor(file, record, behind, end)?
        .ok_or_else(|| disagreement("two sizes or checksums"))?;
    Ok((start, behind + length))
}

/// The length of the descriptor at `at`, if there is one that says what the
/// directory does. It may or may not begin with a mark, and have small or large
/// numbers.
fn descriptor(
    file: &mut (impl Read + Seek),
    record: &Record,
    at: u64,
    end: u64,
) -> Result<Option<u64>, Refusal> {
    let bytes = read_at(file, at, (end - at).min(24))?;
    for mark in [DESCRIPTOR, b""] {
        for large in [false, true] {
            let mut wanted = mark.to_vec();
            wanted.extend(record.crc.to_le_bytes());
            for number in [record.compressed, record.size] {
                let number = number.to_le_bytes();
                wanted.extend(if large { &number[..] } else { &number[..4] });
            }
            // A large one of small numbers begins like a small one.
            let is_whole = |length: usize| {
                let next = bytes.get(length..length + 2);
                next.is_none_or(|next| next == b"PK") || at + length as u64 == end
            };
            if bytes.starts_with(&wanted) && is_whole(wanted.len()) {
                return Ok(Some(wanted.len() as u64));
            }
        }
    }
    Ok(None)
}
