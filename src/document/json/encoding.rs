//! From bytes to text: RFC 8259 section 8.1 wants UTF-8 and no byte order mark.

use crate::diagnostic::Span;
use crate::document::{ParseError, ParseErrorKind};

/// The byte order marks. UTF-32 stands before UTF-16, whose mark it starts with.
const MARKS: [(&[u8], &str); 5] = [
    (b"\xEF\xBB\xBF", "UTF-8"),
    (b"\xFF\xFE\0\0", "UTF-32 (little-endian)"),
    (b"\0\0\xFE\xFF", "UTF-32 (big-endian)"),
    (b"\xFF\xFE", "UTF-16 (little-endian)"),
    (b"\xFE\xFF", "UTF-16 (big-endian)"),
];

pub(super) fn decode(bytes: &[u8]) -> Result<&str, ParseError> {
    for (mark, name) in MARKS {
        if bytes.starts_with(mark) {
            let message = match name {
                "UTF-8" => "a byte order mark stands before the JSON text".to_owned(),
                _ => format!("the file is {name}, JSON must be UTF-8"),
            };
            let span = Span::new(0, mark.len());
            return Err(ParseError::new(
                ParseErrorKind::ByteOrderMark,
                span,
                message,
            ));
        }
    }
    if let Some((name, width)) = wide(bytes) {
        let message = format!("the file is {name}, JSON must be UTF-8");
        let span = Span::new(0, width);
        return Err(ParseError::new(ParseErrorKind::InvalidUtf8, span, message));
    }
    std::str::from_utf8(bytes).map_err(|found| {
        let start = found.valid_up_to();
        let end = found
            .error_len()
            .map_or(bytes.len(), |length| start + length);
        let shown: Vec<String> = bytes
            .get(start..end)
            .unwrap_or_default()
            .iter()
            .map(|byte| format!("0x{byte:02X}"))
            .collect();
        let message = match found.error_len() {
            Some(_) => format!("{} is not UTF-8, as JSON must be", shown.join(" ")),
            None => "the file ends inside a UTF-8 character".to_owned(),
        };
        ParseError::new(ParseErrorKind::InvalidUtf8, Span::new(start, end), message)
    })
}

/// The encoding of a text whose first character takes more than one byte, told
/// by where its NUL bytes stand: a JSON text begins with ASCII.
fn wide(bytes: &[u8]) -> Option<(&'static str, usize)> {
    let ascii = |byte: u8| matches!(byte, 1..=0x7F);
    match *bytes {
        [0, 0, 0, x, ..] if ascii(x) => Some(("UTF-32 (big-endian)", 4)),
        [x, 0, 0, 0, ..] if ascii(x) => Some(("UTF-32 (little-endian)", 4)),
        [0, x, ..] if ascii(x) => Some(("UTF-16 (big-endian)", 2)),
        [x, 0, ..] if ascii(x) => Some(("UTF-16 (little-endian)", 2)),
        _ => None,
    }
}
