//! gzip in, with an eye on how much comes out.

use std::cell::Cell;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;

use crate::archive::{Limits, Refusal};

/// How much may come out of an archive, over all its entries.
#[derive(Debug)]
pub(super) struct Meter {
    /// Bytes, with what an archive needs besides the files.
    most: u64,
    ratio: u64,
    out: u64,
}

impl Meter {
    pub(super) fn new(limits: &Limits) -> Self {
        // A header for each entry, its padding, and a long name now and then.
        let overhead = (limits.entries as u64).saturating_mul(4 << 10);
        Self {
            most: limits.total.saturating_add(overhead),
            ratio: limits.ratio,
            out: 0,
        }
    }

    /// Notes that `count` more bytes came out of `compressed` so far.
    pub(super) fn add(&mut self, count: usize, compressed: u64) -> Result<(), Refusal> {
        self.out += count as u64;
        let fair = compressed.saturating_mul(self.ratio);
        if self.out > Limits::RATIO_FROM && self.out > fair {
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
    decoder: MultiGzDecoder<BufReader<Counted<R>>>,
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
            decoder: MultiGzDecoder::new(BufReader::with_capacity(64 << 10, counted)),
            compressed,
            meter: Meter::new(limits),
        }
    }
}

impl<R: Read> Read for Gunzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match self.decoder.read(buffer) {
            Ok(count) => count,
            Err(error) if error.raw_os_error().is_some() => return Err(error),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) => return Err(io::Error::other(damaged(&error))),
        };
        self.meter
            .add(count, self.compressed.get())
            .map_err(io::Error::other)?;
        Ok(count)
    }
}

/// The refusal for what a decoder cannot decode.
pub(super) fn damaged(error: &io::Error) -> Refusal {
    let what = match error.kind() {
        io::ErrorKind::UnexpectedEof => "it ends too early".to_owned(),
        _ => error.to_string(),
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
