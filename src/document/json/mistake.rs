//! What is wrong with a text that is not JSON, for people: the usual slips are
//! named, and the span is as small as the slip.

use crate::diagnostic::{LineIndex, Span};
use crate::document::ParseError;
use crate::document::show::{character, clip};

/// A collection that has been opened.
#[derive(Clone, Copy)]
pub(super) struct Opened {
    what: &'static str,
    start: usize,
    /// The bracket that ends it.
    pub(super) close: u8,
}

impl Opened {
    pub(super) const fn array(start: usize) -> Self {
        Self {
            what: "array",
            start,
            close: b']',
        }
    }

    pub(super) const fn object(start: usize) -> Self {
        Self {
            what: "object",
            start,
            close: b'}',
        }
    }

    fn close(self) -> char {
        char::from(self.close)
    }
}

pub(super) fn empty(text: &str) -> ParseError {
    let message = match text {
        "" => "the file is empty, a JSON value was expected",
        _ => "the file holds only white space, a JSON value was expected",
    };
    ParseError::syntax(Span::new(text.len(), text.len()), message)
}

pub(super) fn behind(text: &str, at: usize) -> ParseError {
    known_slip(text, at).unwrap_or_else(|| {
        let token = Token::at(text, at);
        let message = format!("{} behind the JSON value", token.name);
        ParseError::syntax(token.span, message)
    })
}

pub(super) fn too_deep(at: usize, limit: usize) -> ParseError {
    let message = format!("nested deeper than {limit} levels");
    ParseError::too_complex(Span::new(at, at + 1), message)
}

pub(super) fn too_large(text: &str, at: usize, limit: usize) -> ParseError {
    let message = format!("more than {limit} keys and values");
    ParseError::too_complex(Token::at(text, at).span, message)
}

pub(super) fn no_value(text: &str, at: usize, inside: Option<Opened>) -> ParseError {
    if let Some(slip) = ended(text, at, inside).or_else(|| known_slip(text, at)) {
        return slip;
    }
    let word = word(text, at);
    let span = Span::new(at, at + word.len());
    match word {
        "" => {}
        "NaN" | "Infinity" | "inf" | "nan" => {
            return ParseError::syntax(span, format!("JSON has no number `{word}`"));
        }
        "undefined" | "None" | "nil" => {
            return ParseError::syntax(span, format!("`{word}` is no JSON value, write `null`"));
        }
        _ => {
            let lower = word.to_ascii_lowercase();
            let message = match lower.as_str() {
                "true" | "false" | "null" => format!("`{word}` must be written `{lower}`"),
                _ => format!("`{}` must be in double quotes", clip(word)),
            };
            return ParseError::syntax(span, message);
        }
    }
    if text
        .as_bytes()
        .get(at)
        .is_some_and(|byte| b"+.".contains(byte))
    {
        return number(text, at);
    }
    let token = Token::at(text, at);
    ParseError::syntax(
        token.span,
        format!("a value was expected, found {}", token.name),
    )
}

pub(super) fn no_key(text: &str, at: usize, opened: Opened) -> ParseError {
    if let Some(slip) = ended(text, at, Some(opened)).or_else(|| known_slip(text, at)) {
        return slip;
    }
    let word = word(text, at);
    if word.is_empty() {
        let token = Token::at(text, at);
        let message = format!("a key in double quotes was expected, found {}", token.name);
        return ParseError::syntax(token.span, message);
    }
    let message = format!("the key `{}` must be in double quotes", clip(word));
    ParseError::syntax(Span::new(at, at + word.len()), message)
}

pub(super) fn no_colon(text: &str, at: usize, opened: Opened) -> ParseError {
    if let Some(slip) = ended(text, at, Some(opened)).or_else(|| known_slip(text, at)) {
        return slip;
    }
    let token = Token::at(text, at);
    let message = format!("`:` was expected behind the key, found {}", token.name);
    ParseError::syntax(token.span, message)
}

pub(super) fn no_comma(text: &str, at: usize, opened: Opened) -> ParseError {
    if let Some(slip) = ended(text, at, Some(opened)).or_else(|| known_slip(text, at)) {
        return slip;
    }
    let token = Token::at(text, at);
    let close = opened.close();
    let message = if token.starts_element {
        format!("`,` is missing before {}", token.name)
    } else {
        format!("`,` or `{close}` was expected, found {}", token.name)
    };
    ParseError::syntax(token.span, message)
}

pub(super) fn trailing_comma(comma: usize, opened: Opened) -> ParseError {
    let message = format!("JSON allows no comma before `{}`", opened.close());
    ParseError::syntax(Span::new(comma, comma + 1), message)
}

pub(super) fn unclosed_string(start: usize, end: usize) -> ParseError {
    ParseError::syntax(Span::new(start, end), "the string is not closed")
}

pub(super) fn control(text: &str, at: usize) -> ParseError {
    let rest = text.get(at..).unwrap_or_default();
    let (length, message) = if rest.starts_with("\r\n") {
        (2, LINE_BREAK.to_owned())
    } else {
        let message = match rest.chars().next() {
            Some('\n' | '\r') => LINE_BREAK.to_owned(),
            Some('\t') => "a tab in a string must be written `\\t`".to_owned(),
            found => {
                let code = found.map_or(0, u32::from);
                format!(
                    "the control character U+{code:04X} in a string must be written `\\u{code:04x}`"
                )
            }
        };
        (1, message)
    };
    ParseError::syntax(Span::new(at, at + length), message)
}

const LINE_BREAK: &str =
    "the string is not closed on its line; a line break in it is written `\\n`";

pub(super) fn escape(text: &str, at: usize) -> ParseError {
    let escaped = text.get(at + 1..).and_then(|rest| rest.chars().next());
    let Some(escaped) = escaped else {
        return ParseError::syntax(Span::new(at, text.len()), "the string is not closed");
    };
    let span = Span::new(at, at + 1 + escaped.len_utf8());
    let message = match escaped {
        '\n' | '\r' => "a string cannot go on in the next line".to_owned(),
        other => format!(
            "`\\` before {} is no JSON escape; a backslash is written `\\\\`",
            character(other)
        ),
    };
    ParseError::syntax(span, message)
}

/// Explains what is wrong with the number at `start`.
pub(super) fn number(text: &str, start: usize) -> ParseError {
    let found = run(text, start, |byte| {
        byte.is_ascii_alphanumeric() || b"+-._$".contains(&byte)
    });
    let span = Span::new(start, start + found.len());
    let shown = clip(found);
    let digits = found.trim_start_matches(['-', '+']);
    let message = if digits.starts_with("Infinity") || digits.starts_with("NaN") {
        format!("JSON has no number `{shown}`")
    } else if found.starts_with('+') {
        format!("the number `{shown}` must not start with `+`")
    } else if digits.is_empty() {
        format!("digits were expected behind `{shown}`")
    } else if digits.starts_with('.') {
        format!("the number `{shown}` needs a digit before the point")
    } else if digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(is_digit) {
        format!("the number `{shown}` must not start with `0`; text belongs in double quotes")
    } else {
        format!("`{shown}` is no JSON number; text belongs in double quotes")
    };
    ParseError::syntax(span, message)
}

const fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

/// The error for a text that ends at `at` though more must follow.
fn ended(text: &str, at: usize, inside: Option<Opened>) -> Option<ParseError> {
    if at < text.len() {
        return None;
    }
    let message = match inside {
        Some(opened) => {
            let place = LineIndex::new(text.as_bytes()).locate(Span::new(opened.start, at));
            let (what, line) = (opened.what, place.line);
            format!("the file ends before the {what} that opens in line {line} is closed")
        }
        None => "the file ends before the value".to_owned(),
    };
    Some(ParseError::syntax(Span::new(at, at), message))
}

/// Things that are common in other notations and wrong everywhere in JSON.
fn known_slip(text: &str, at: usize) -> Option<ParseError> {
    let rest = text.get(at..)?;
    let first = rest.chars().next()?;
    let line = rest.split(['\n', '\r']).next().unwrap_or(rest);
    if rest.starts_with("//") || rest.starts_with("/*") || first == '#' {
        let block = rest.starts_with("/*").then(|| line.find("*/")).flatten();
        let comment = block.map_or(line, |end| line.get(..end + 2).unwrap_or(line));
        let span = Span::new(at, at + comment.trim_end().len());
        return Some(ParseError::syntax(span, "JSON has no comments"));
    }
    let closing = match first {
        '\'' | '`' => first,
        '\u{201C}' | '\u{201D}' => '\u{201D}',
        '\u{2018}' | '\u{2019}' => '\u{2019}',
        _ => return None,
    };
    let width = first.len_utf8();
    let end = line
        .get(width..)
        .and_then(|inner| inner.find(closing))
        .map_or(width, |end| width + end + closing.len_utf8());
    let message = format!("{} is no quote in JSON, use `\"`", character(first));
    Some(ParseError::syntax(Span::new(at, at + end), message))
}

/// What stands at a place where something else was expected.
struct Token {
    span: Span,
    name: String,
    /// Whether an element of an array or object could start so.
    starts_element: bool,
}

impl Token {
    fn at(text: &str, at: usize) -> Self {
        let rest = text.get(at..).unwrap_or_default();
        let word = word(text, at);
        let (length, name, starts_element) = if !word.is_empty() {
            (word.len(), format!("`{}`", clip(word)), true)
        } else if rest.starts_with('"') {
            let length = string_length(rest);
            let shown = clip(rest.get(..length).unwrap_or(rest));
            (length, format!("the string {shown}"), true)
        } else {
            match rest.chars().next() {
                None => (0, "the end of the file".to_owned(), false),
                Some(found) => {
                    let starts = matches!(found, '{' | '[' | '-');
                    (found.len_utf8(), character(found), starts)
                }
            }
        };
        Self {
            span: Span::new(at, at + length),
            name,
            starts_element,
        }
    }
}

/// Length of the string that `rest` starts with, at most to the end of the line.
fn string_length(rest: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            b'\n' | b'\r' => return at,
            b'"' if !escaped => return at + 1,
            _ => escaped = byte == b'\\' && !escaped,
        }
    }
    rest.len()
}

/// The word at `at`, empty if there is none.
fn word(text: &str, at: usize) -> &str {
    run(text, at, is_word)
}

/// Whether a byte belongs to what people take for a word or a number.
pub(super) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

/// The ASCII bytes at `at` that `belongs` accepts.
pub(super) fn run(text: &str, at: usize, belongs: impl Fn(u8) -> bool) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    let length = rest.bytes().take_while(|&byte| belongs(byte)).count();
    rest.get(..length).unwrap_or_default()
}
