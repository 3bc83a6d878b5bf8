//! gzip in, with an eye on how much comes out.

use std::cell::Cell;
use std::io::{self, BufRead as _, BufReader, Read};
use std::rc::Rc;

use flate2::bufread::GzDecoder;

use crate::archive::{Limits, Refusal};

/// How much may come out of an archive, over all its entries.
#[derive(Debug)]
pub(super) struct Meter {
    /// Bytes, with what an archive needs besides the files.
    most: u64,
    ratio: u64,
    /// Bytes up to which no ratio is held against it.
    ratio_from: u64,
    out: u64,
}

impl Meter {
    pub(super) fn new(limits: &Limits) -> Self {
        // A header for each entry, its padding, and a long name now and then.
        let overhead = (limits.entries as u64).saturating_mul(4 << 10);
        Self {
            most: limits.total.saturating_add(overhead),
            ratio: limits.ratio,
            ratio_from: limits.total / 32,
            out: 0,
        }
    }

    /// Notes that `count` more bytes came out of `compressed` so far.
    pub(super) fn add(&mut self, count: usize, compressed: u64) -> Result<(), Refusal> {
        self.out += count as u64;
        let fair = compressed.saturating_mul(self.ratio);
        if self.out > self.ratio_from && self.out > fair {
            return Err(Refusal::Ratio { limit: self.ratio });
        }
        if self.out > self.most {
            return Err(Refusal::TotalTooLarge {
                entry: "the archive".to_owned(),
                limit: self.most,
            });
        }
        Ok(())
    }
}

/// The content of a gzip file of one or more members.
pub(super) struct Gunzip<R: Read> {
    /// Nothing once the end was met.
    member: Option<GzDecoder<BufReader<Counted<R>>>>,
    compressed: Rc<Cell<u64>>,
    meter: Meter,
}

impl<R: Read> Gunzip<R> {
    pub(super) fn new(file: R, limits: &Limits) -> Self {
        let compressed = Rc::new(Cell::new(0));
        let counted = Counted {
            inner: file,
            count: Rc::clone(&compressed),
        };
        Self {
            member: Some(GzDecoder::new(BufReader::with_capacity(64 << 10, counted))),
            compressed,
            meter: Meter::new(limits),
        }
    }

    /// Begins the next member, if one follows. What follows and is none was
    /// appended.
    fn next_member(&mut self) -> io::Result<()> {
        let Some(member) = self.member.take() else {
            return Ok(());
        };
        let mut rest = member.into_inner();
        match rest.fill_buf()?.first() {
            None => Ok(()),
            Some(0x1f) => {
                self.member = Some(GzDecoder::new(rest));
                Ok(())
            }
            Some(_) => Err(io::Error::other(Refusal::Hidden {
                place: "behind its end".to_owned(),
            })),
        }
    }
}

impl<R: Read> Read for Gunzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while let Some(member) = &mut self.member {
            let count = match member.read(buffer) {
                Ok(count) => count,
                Err(error) if error.raw_os_error().is_some() => return Err(error),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
                Err(error) => return Err(io::Error::other(damaged(&error))),
            };
            self.meter
                .add(count, self.compressed.get())
                .map_err(io::Error::other)?;
            if count > 0 {
                return Ok(count);
            }
            self.next_member()?;
        }
        Ok(0)
    }
}

/// The refusal for what a decoder cannot decode.
pub(super) fn damaged(error: &io::Error) -> Refusal {
    let what = match error.kind() {
        io::ErrorKind::UnexpectedEof => "it ends too early".to_owned(),
        // Some messages quote the archive.
        _ => crate::archive::stage::lossy(error.to_string().as_bytes())
            .escape_debug()
            .to_string(),
    };
    Refusal::Damaged { what }
}

struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}
