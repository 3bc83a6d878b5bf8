//! Files of one JSON value per line, of any size: read forward from an offset
//! with bounded memory, and searched backward for where a line starts.

use std::fs::File;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::path::Path;

use crate::everos::digest;
use crate::everos::json::find;
use crate::sys;

/// The largest read. The first read after a jump is smaller: often one line is
/// all that is wanted.
const BUFFER: usize = 128 * 1024;
const FIRST_READ: usize = 8 * 1024;
/// Bytes before an offset that tell one file from another.
const MARK_BYTES: u64 = 512;
const MARK_DIGITS: usize = 16;

/// A file of lines.
pub(super) struct Lines {
    file: File,
    buffer: Vec<u8>,
    /// The unread part of the buffer.
    at: usize,
    filled: usize,
    /// Within the buffer: the next line end, or `filled`.
    edge: usize,
    /// Offset in the file of the end of the buffer.
    offset: u64,
    /// Nothing at or after this offset is read.
    limit: u64,
}

impl Lines {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = sys::open_regular(path)?;
        Ok(Self {
            file,
            buffer: Vec::new(),
            at: 0,
            filled: 0,
            edge: 0,
            offset: 0,
            limit: 0,
        })
    }

    pub(super) fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Goes to `offset`, to read up to `limit`.
    pub(super) fn seek(&mut self, offset: u64, limit: u64) -> io::Result<()> {
        self.limit = limit;
        let start = self.offset - self.filled as u64;
        match usize::try_from(offset.wrapping_sub(start)) {
            Ok(at) if offset >= start && at < self.filled => {
                self.at = at;
                self.find_edge();
            }
            _ => {
                self.file.seek(SeekFrom::Start(offset))?;
                self.offset = offset;
                (self.at, self.filled, self.edge) = (0, 0, 0);
            }
        }
        Ok(())
    }

    /// The offset of the next unread byte.
    pub(super) fn position(&self) -> u64 {
        self.offset - (self.filled - self.at) as u64
    }

    /// The rest of the current line.
    pub(super) fn line(&mut self) -> Line<'_> {
        Line(self)
    }

    /// Passes over the rest of the current line and its end; whether it had one.
    pub(super) fn finish_line(&mut self) -> io::Result<bool> {
        loop {
            if self.edge < self.filled {
                self.at = self.edge + 1;
                self.find_edge();
                return Ok(true);
            }
            if !self.refill()? {
                return Ok(false);
            }
        }
    }

    fn find_edge(&mut self) {
        let rest = self.buffer.get(self.at..self.filled).unwrap_or_default();
        self.edge = find(rest, b'\n').map_or(self.filled, |found| self.at + found);
    }

    /// Reads more once the buffer is used up; whether there was more.
    fn refill(&mut self) -> io::Result<bool> {
        let left = usize::try_from(self.limit.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let grown = if self.filled == 0 { FIRST_READ } else { BUFFER };
        let wanted = grown.min(left);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        // The position may be elsewhere after a look backward.
        self.file.seek(SeekFrom::Start(self.offset))?;
        let length = loop {
            match self
                .file
                .read(self.buffer.get_mut(..wanted).unwrap_or_default())
            {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if length == 0 {
            self.at = self.filled;
            self.edge = self.filled;
            return Ok(false);
        }
        self.offset += length as u64;
        (self.at, self.filled) = (0, length);
        self.find_edge();
        Ok(true)
    }

    /// Where the last line that ends at or before `before` starts after its
    /// predecessor's end: the byte after the last line end before `before`.
    fn after_newline_before(&mut self, before: u64) -> io::Result<u64> {
        let mut piece = vec![0; BUFFER / 2];
        let mut end = before;
        while end > 0 {
            let start = end.saturating_sub(piece.len() as u64);
            let length = usize::try_from(end - start).unwrap_or(piece.len());
            let bytes = piece.get_mut(..length).unwrap_or_default();
            self.file.seek(SeekFrom::Start(start))?;
            self.file.read_exact(bytes)?;
            if let Some(found) = bytes.iter().rposition(|byte| *byte == b'\n') {
                return Ok(start + found as u64 + 1);
            }
            end = start;
        }
        Ok(0)
    }

    /// The byte after the last finished line.
    pub(super) fn end(&mut self) -> io::Result<u64> {
        let size = self.size()?;
        self.after_newline_before(size)
    }

    /// The starts of all lines, the last one first; an unfinished line counts.
    pub(super) fn backward(&mut self) -> io::Result<Backward> {
        let size = self.size()?;
        Ok(Backward {
            next: size,
            starts: Vec::new(),
            scanned: size,
        })
    }

    /// See [`crate::everos::turn::Transcript::mark`].
    pub(super) fn mark(&mut self, at: u64) -> io::Result<Option<String>> {
        if at == 0 {
            return Ok(Some(String::new()));
        }
        if self.size()? < at {
            return Ok(None);
        }
        let start = at.saturating_sub(MARK_BYTES);
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(start))?;
        (&mut self.file).take(at - start).read_to_end(&mut bytes)?;
        Ok(Some(digest::hex(&bytes, MARK_DIGITS)))
    }
}

/// Finds line starts from the end of a file, piece by piece.
pub(super) struct Backward {
    /// End of the line whose start comes next.
    next: u64,
    /// Starts already found, the last to be given first.
    starts: Vec<u64>,
    /// Everything from here on has been looked at.
    scanned: u64,
}

impl Backward {
    /// The start of the line before the one given last.
    pub(super) fn previous(&mut self, lines: &mut Lines) -> io::Result<Option<u64>> {
        let mut piece = Vec::new();
        while self.starts.is_empty() && self.scanned > 0 {
            let start = self.scanned.saturating_sub(BUFFER as u64 / 2);
            piece.resize(usize::try_from(self.scanned - start).unwrap_or_default(), 0);
            lines.file.seek(SeekFrom::Start(start))?;
            lines.file.read_exact(&mut piece)?;
            let ends = piece.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            // A line end that is the last byte of the file starts no line.
            self.starts = ends
                .map(|(at, _)| start + at as u64 + 1)
                .filter(|at| *at < self.next)
                .collect();
            self.scanned = start;
            if start == 0 && self.next > 0 {
                self.starts.insert(0, 0);
            }
        }
        let found = self.starts.pop();
        if let Some(found) = found {
            self.next = found;
        }
        Ok(found)
    }
}

/// One line, as a source to read from; it ends where the line ends.
pub(super) struct Line<'a>(&'a mut Lines);

impl Read for Line<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(out)?;
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Line<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let lines = &mut *self.0;
        if lines.at == lines.edge && lines.edge == lines.filled {
            lines.refill()?;
        }
        Ok(lines.buffer.get(lines.at..lines.edge).unwrap_or_default())
    }

    fn consume(&mut self, length: usize) {
        self.0.at = (self.0.at + length).min(self.0.edge);
    }
}
