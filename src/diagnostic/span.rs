//! Places in a text: byte spans, and the lines and columns people read.

/// A half-open range of byte offsets into a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset just behind the last byte.
    pub end: usize,
}

impl Span {
    /// The span from `start` up to, not including, `end`.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Length in bytes.
    pub const fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Whether the span holds no byte (a place between two bytes).
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The same span, `by` bytes further on.
    #[must_use]
    pub const fn shifted(self, by: usize) -> Self {
        Self::new(self.start + by, self.end + by)
    }
}

/// A [`Span`] with the lines and columns it covers. Lines and columns count
/// from 1; a column is a Unicode code point; the end is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Location {
    /// Byte offset of the first byte.
    pub offset: usize,
    /// Length in bytes.
    pub length: usize,
    /// Line of the first byte.
    pub line: usize,
    /// Column of the first byte.
    pub column: usize,
    /// Line of the place just behind the last byte.
    pub end_line: usize,
    /// Column of the place just behind the last byte.
    pub end_column: usize,
}

/// Finds lines and columns in one text. A line ends with LF, CRLF or a lone CR.
#[derive(Debug)]
pub struct LineIndex<'t> {
    text: &'t [u8],
    starts: Vec<usize>,
    /// Code points before each block of [`BLOCK`] bytes: a column costs the same
    /// at the end of a line of megabytes as at its beginning.
    counts: Vec<usize>,
}

/// Bytes in a block of [`LineIndex::counts`].
const BLOCK: usize = 1024;

impl<'t> LineIndex<'t> {
    /// Indexes `text`, which need not be valid UTF-8.
    pub fn new(text: &'t [u8]) -> Self {
        let mut starts = vec![0];
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            at += 1;
            match byte {
                b'\n' => starts.push(at),
                b'\r' if text.get(at) != Some(&b'\n') => starts.push(at),
                _ => {}
            }
        }
        let mut counts = Vec::with_capacity(text.len() / BLOCK + 1);
        let mut count = 0;
        for block in text.chunks(BLOCK) {
            counts.push(count);
            count += code_points(block);
        }
        counts.push(count);
        Self {
            text,
            starts,
            counts,
        }
    }

    /// Number of lines; a final line ending opens no further line.
    pub fn line_count(&self) -> usize {
        match self.starts.last() {
            Some(&last) if last == self.text.len() => self.starts.len() - 1,
            _ => self.starts.len(),
        }
    }

    /// Byte offset of the beginning of a line, counted from 1; the end of the
    /// text for a line that is not there.
    pub fn line_start(&self, line: usize) -> usize {
        let start = line.checked_sub(1).and_then(|at| self.starts.get(at));
        start.copied().unwrap_or(self.text.len())
    }

    /// The place of `span`, cut to the text.
    pub fn locate(&self, span: Span) -> Location {
        let start = span.start.min(self.text.len());
        let end = span.end.clamp(start, self.text.len());
        let (line, column) = self.line_column(start);
        let (end_line, end_column) = self.line_column(end);
        Location {
            offset: start,
            length: end - start,
            line,
            column,
            end_line,
            end_column,
        }
    }

    fn line_column(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|&start| start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        let column = self.code_points_before(offset) - self.code_points_before(start) + 1;
        (line, column)
    }

    /// Code points that begin before `offset`, which is inside the text.
    fn code_points_before(&self, offset: usize) -> usize {
        let block = offset / BLOCK;
        let within = self.text.get(block * BLOCK..offset).unwrap_or_default();
        self.counts.get(block).copied().unwrap_or(0) + code_points(within)
    }
}

/// Code points that begin in `bytes`: UTF-8 continuation bytes begin none.
fn code_points(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, start: usize, end: usize) -> (usize, usize, usize, usize) {
        let place = LineIndex::new(text.as_bytes()).locate(Span::new(start, end));
        (place.line, place.column, place.end_line, place.end_column)
    }

    #[test]
    fn lines_and_columns_count_code_points_from_one() {
        assert_eq!(at("a\nbc\n", 0, 1), (1, 1, 1, 2));
        assert_eq!(at("a\nbc\n", 3, 4), (2, 2, 2, 3));
        assert_eq!(at("é€x", 5, 6), (1, 3, 1, 4));
        assert_eq!(at("a\r\nb", 3, 4), (2, 1, 2, 2));
        assert_eq!(at("a\rb", 2, 3), (2, 1, 2, 2));
        assert_eq!(at("", 7, 9), (1, 1, 1, 1));
        assert_eq!(at("ab\ncd", 1, 4), (1, 2, 2, 2));
    }

    #[test]
    fn columns_are_right_across_blocks() {
        let text = "é".repeat(2 * BLOCK);
        for chars in [
            0,
            1,
            BLOCK / 2 - 1,
            BLOCK / 2,
            BLOCK / 2 + 1,
            BLOCK,
            2 * BLOCK,
        ] {
            assert_eq!(at(&text, chars * 2, chars * 2).1, chars + 1, "{chars}");
        }
        let text = format!("{}\n{}", "a".repeat(BLOCK - 1), "b".repeat(BLOCK));
        assert_eq!(at(&text, BLOCK, 2 * BLOCK), (2, 1, 2, BLOCK + 1));
    }

    #[test]
    fn a_final_line_ending_opens_no_line() {
        for (text, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\n\n", 2)] {
            assert_eq!(
                LineIndex::new(text.as_bytes()).line_count(),
                lines,
                "{text:?}"
            );
        }
    }
}
