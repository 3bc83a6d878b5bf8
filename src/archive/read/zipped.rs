//! zip archives in. An archive tells everything twice, in its directory at the
//! end and before each entry, and programs read the one or the other: it is taken
//! only when both say the same, and when its entries lie one after the other with
//! nothing between. (The crate that writes zip archives reads the directory
//! alone, and keeps one of two entries of the same name.)

mod directory;
mod local;

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use self::directory::Record;
use super::gzip::{Meter, damaged};
use super::unread;
use crate::archive::{EntryPath, Refusal, Stage};

/// The methods that are read, by their numbers in the format.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// Of the upper half of the external attributes: the kind of a file on Unix.
const KIND: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

pub(super) fn unpack(file: &mut (impl Read + Seek), stage: &mut Stage) -> Result<(), Refusal> {
    let mut file = BufReader::with_capacity(64 << 10, file);
    let (records, end) = directory::read(&mut file, stage.limits())?;
    let starts = local::check(&mut file, &records, end)?;
    let files = records.iter().filter(|record| !record.name.ends_with(b"/"));
    stage.expect(files.count());
    let mut meter = Meter::new(stage.limits());
    let mut compressed = 0;
    for (record, start) in records.iter().zip(starts) {
        compressed += record.compressed;
        take(record, start, compressed, &mut file, &mut meter, stage)?;
    }
    Ok(())
}

fn take(
    record: &Record,
    start: u64,
    compressed: u64,
    file: &mut BufReader<impl Read + Seek>,
    meter: &mut Meter,
    stage: &mut Stage,
) -> Result<(), Refusal> {
    let disagreement = |what| {
        Err(Refusal::Disagreement {
            entry: record.shown(),
            what,
        })
    };
    if record.size > stage.limits().file {
        return Err(Refusal::FileTooLarge {
            entry: record.shown(),
            limit: stage.limits().file,
        });
    }
    let mode = record.mode();
    let is_named_directory = record.name.ends_with(b"/");
    let kind = mode & KIND;
    if is_named_directory || kind == DIRECTORY {
        if !is_named_directory || !matches!(kind, 0 | DIRECTORY) {
            return disagreement("it is a directory by its name or its mode only");
        }
        if record.size != 0 {
            return disagreement("it has content and is no file");
        }
        return stage.directory(&record.name);
    }
    if !matches!(kind, 0 | REGULAR | LINK) {
        return Err(Refusal::Kind {
            entry: record.shown(),
            kind: "neither a file, a directory nor a link",
        });
    }
    file.seek(SeekFrom::Start(start)).map_err(unread)?;
    let mut content = Content {
        record,
        source: match record.method {
            STORED => Source::Stored(file.take(record.compressed)),
            _ => Source::Deflated(DeflateDecoder::new(file.take(record.compressed))),
        },
        crc: Crc::new(),
        size: 0,
        compressed,
        meter,
    };
    if kind == LINK {
        let most = EntryPath::MAX_LENGTH as u64 + 1;
        if record.size > most {
            // Read no further: no target is that long.
            return stage.link(&record.name, &vec![b'?'; EntryPath::MAX_LENGTH + 1]);
        }
        let mut target = Vec::new();
        content.read_to_end(&mut target).map_err(unread)?;
        return stage.link(&record.name, &target);
    }
    stage.file(&record.name, mode & 0o100 != 0, &mut content)
}

/// The content of an entry: an error at its end unless it is what was announced.
struct Content<'a, R: Read> {
    record: &'a Record,
    source: Source<'a, R>,
    crc: Crc,
    size: u64,
    compressed: u64,
    meter: &'a mut Meter,
}

enum Source<'a, R: Read> {
    Stored(io::Take<&'a mut BufReader<R>>),
    Deflated(DeflateDecoder<io::Take<&'a mut BufReader<R>>>),
}

impl<R: Read> Content<'_, R> {
    fn check_end(&self) -> Result<(), Refusal> {
        let left = match &self.source {
            Source::Stored(rest) => rest.limit(),
            Source::Deflated(decoder) => self.record.compressed - decoder.total_in(),
        };
        if left > 0 {
            return Err(Refusal::Hidden {
                place: format!("in the entry {:?}", self.record.shown()),
            });
        }
        if self.size != self.record.size {
            return Err(Refusal::Disagreement {
                entry: self.record.shown(),
                what: "its size is another than announced",
            });
        }
        if self.crc.sum() != self.record.crc {
            return Err(Refusal::Damaged {
                what: format!("the checksum of {:?} is another", self.record.shown()),
            });
        }
        Ok(())
    }
}

impl<R: Read> Read for Content<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match &mut self.source {
            Source::Stored(stored) => stored.read(buffer),
            Source::Deflated(deflated) => deflated.read(buffer),
        };
        let count = match count {
            Ok(count) => count,
            Err(error) if error.raw_os_error().is_some() => return Err(error),
            Err(error) => return Err(io::Error::other(damaged(&error))),
        };
        if count == 0 && !buffer.is_empty() {
            self.check_end().map_err(io::Error::other)?;
        }
        self.crc.update(buffer.get(..count).unwrap_or_default());
        self.size += count as u64;
        if self.size > self.record.size {
            return Err(io::Error::other(Refusal::Disagreement {
                entry: self.record.shown(),
                what: "its size is another than announced",
            }));
        }
        self.meter
            .add(count, self.compressed)
            .map_err(io::Error::other)?;
        Ok(count)
    }
}
