//! The reader behind [`Json::read`]: recursive over values, streaming over
//! strings.

use std::io::BufRead;

use super::super::text::{HEAD_BYTES, TAIL_BYTES, Tail, Text};
use super::{Fields, Json, ReadError};

/// How deep values may nest.
const MAX_DEPTH: usize = 128;
/// How many bytes one parsed value may take in memory, roughly. What comes
/// after is left out.
const ROOM: usize = 4 * 1024 * 1024;
/// How much of a string is looked at in one step.
const WINDOW: usize = 1024;
/// What a node costs besides its text.
const NODE_BYTES: usize = 48;

type Read<T> = Result<T, ReadError>;

/// Reads one value and the white space around it; anything after it is an error.
pub(super) fn value(source: &mut impl BufRead, fields: Fields) -> Read<Json> {
    let mut reader = Reader { source, room: ROOM };
    let value = reader.value(fields, 0)?;
    match reader.after_space()? {
        None => Ok(value),
        Some(_) => Err(ReadError::Syntax),
    }
}

struct Reader<'a, R> {
    source: &'a mut R,
    /// Bytes the value may still take in memory.
    room: usize,
}

impl<R: BufRead> Reader<'_, R> {
    fn peek(&mut self) -> Read<Option<u8>> {
        Ok(self.source.fill_buf()?.first().copied())
    }

    fn next(&mut self) -> Read<u8> {
        let byte = self.peek()?.ok_or(ReadError::Syntax)?;
        self.source.consume(1);
        Ok(byte)
    }

    /// Skips white space; the byte after it, not consumed.
    fn after_space(&mut self) -> Read<Option<u8>> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.source.consume(1),
                other => return Ok(other),
            }
        }
    }

    fn value(&mut self, fields: Fields, depth: usize) -> Read<Json> {
        if depth > MAX_DEPTH {
            return Err(ReadError::Syntax);
        }
        self.room = self.room.saturating_sub(NODE_BYTES);
        match self.after_space()?.ok_or(ReadError::Syntax)? {
            b'"' => {
                self.source.consume(1);
                let mut held = Held::new(self.room);
                self.string(Some(&mut held))?;
                let text = held.into_text();
                self.room = self.room.saturating_sub(text.head.len());
                Ok(Json::Text(text))
            }
            b'{' => self.object(fields, depth),
            b'[' => self.list(fields, depth),
            b't' => self.word(b"true", Json::Bool(true)),
            b'f' => self.word(b"false", Json::Bool(false)),
            b'n' => self.word(b"null", Json::Null),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(ReadError::Syntax),
        }
    }

    fn word(&mut self, word: &[u8], value: Json) -> Read<Json> {
        for expected in word {
            if self.next()? != *expected {
                return Err(ReadError::Syntax);
            }
        }
        Ok(value)
    }

    fn number(&mut self) -> Read<Json> {
        let mut digits = String::new();
        while let Some(byte @ (b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) = self.peek()? {
            // No number anybody means is longer; the rest would only cost memory.
            if digits.len() > 400 {
                return Err(ReadError::Syntax);
            }
            digits.push(char::from(byte));
            self.source.consume(1);
        }
        if digits.parse::<f64>().is_ok() {
            Ok(Json::Number(digits))
        } else {
            Err(ReadError::Syntax)
        }
    }

    fn list(&mut self, fields: Fields, depth: usize) -> Read<Json> {
        self.source.consume(1);
        let mut items = Vec::new();
        if self.after_space()? == Some(b']') {
            self.source.consume(1);
            return Ok(Json::List(items));
        }
        loop {
            if self.room == 0 {
                self.skip()?;
            } else {
                items.push(self.value(fields, depth + 1)?);
            }
            if self.separator(b']')? {
                return Ok(Json::List(items));
            }
        }
    }

    fn object(&mut self, fields: Fields, depth: usize) -> Read<Json> {
        self.source.consume(1);
        let mut members = Vec::new();
        if self.after_space()? == Some(b'}') {
            self.source.consume(1);
            return Ok(Json::Object(members));
        }
        loop {
            if self.after_space()? != Some(b'"') {
                return Err(ReadError::Syntax);
            }
            self.source.consume(1);
            let mut held = Held::new(HEAD_BYTES);
            self.string(Some(&mut held))?;
            let key = held.into_text().head;
            if self.after_space()? != Some(b':') {
                return Err(ReadError::Syntax);
            }
            self.source.consume(1);
            let below = match fields {
                Fields::All => Some(Fields::All),
                Fields::Only { whole, .. } if whole.contains(&key.as_str()) => Some(Fields::All),
                Fields::Only { some, .. } => some.contains(&key.as_str()).then_some(fields),
            };
            match below.filter(|_| self.room > 0) {
                Some(below) => {
                    self.room = self.room.saturating_sub(key.len());
                    let value = self.value(below, depth + 1)?;
                    members.push((key, value));
                }
                None => self.skip()?,
            }
            if self.separator(b'}')? {
                return Ok(Json::Object(members));
            }
        }
    }

    /// Reads `,` or `end`; whether it was the end.
    fn separator(&mut self, end: u8) -> Read<bool> {
        let byte = self.after_space()?.ok_or(ReadError::Syntax)?;
        self.source.consume(1);
        match byte {
            b',' => Ok(false),
            byte if byte == end => Ok(true),
            _ => Err(ReadError::Syntax),
        }
    }

    /// Passes over one value without keeping it. Only brackets and strings are
    /// looked at.
    fn skip(&mut self) -> Read<()> {
        let mut depth = 0_usize;
        loop {
            match self.after_space()?.ok_or(ReadError::Syntax)? {
                b'"' => {
                    self.source.consume(1);
                    self.string(None)?;
                }
                b'{' | b'[' => {
                    self.source.consume(1);
                    depth += 1;
                }
                b'}' | b']' => {
                    // Closes more than was opened: the end of what is around us.
                    depth = depth.checked_sub(1).ok_or(ReadError::Syntax)?;
                    self.source.consume(1);
                }
                b',' | b':' if depth > 0 => {
                    self.source.consume(1);
                    continue;
                }
                b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'E' => {
                    while matches!(
                        self.peek()?,
                        Some(b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'E')
                    ) {
                        self.source.consume(1);
                    }
                }
                _ => return Err(ReadError::Syntax),
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Reads the rest of a string after its opening quote.
    fn string(&mut self, mut held: Option<&mut Held>) -> Read<()> {
        loop {
            let buffer = self.source.fill_buf()?;
            if buffer.is_empty() {
                return Err(ReadError::Syntax);
            }
            // In windows: the search for a quote far away would cost more than
            // it brings. The library's byte search is fast in every build.
            let window = buffer.get(..WINDOW).unwrap_or(buffer);
            let (used, stop) = scan_string(window, held.as_deref_mut());
            self.source.consume(used);
            match stop {
                Stop::Window => {}
                Stop::Quote => return Ok(()),
                Stop::Escape => {
                    self.source.consume(1);
                    self.escape(held.as_deref_mut())?;
                }
            }
        }
    }

    /// Reads what follows a backslash.
    fn escape(&mut self, held: Option<&mut Held>) -> Read<()> {
        let byte = self.next()?;
        let Some(held) = held else { return Ok(()) };
        if byte == b'u' {
            return self.unicode_escape(held);
        }
        held.push_char(simple_escape(byte));
        Ok(())
    }

    fn unicode_escape(&mut self, held: &mut Held) -> Read<()> {
        let mut unit = self.hex4()?;
        // A high surrogate asks for a low one; whatever else comes is read on
        // its own.
        while (0xd800..0xdc00).contains(&unit) {
            if self.peek()? != Some(b'\\') {
                held.push_char(char::REPLACEMENT_CHARACTER);
                return Ok(());
            }
            self.source.consume(1);
            if self.peek()? != Some(b'u') {
                held.push_char(char::REPLACEMENT_CHARACTER);
                return self.escape(Some(held));
            }
            self.source.consume(1);
            let next = self.hex4()?;
            if (0xdc00..0xe000).contains(&next) {
                let code = 0x10000 + ((unit - 0xd800) << 10) + (next - 0xdc00);
                held.push_char(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                return Ok(());
            }
            held.push_char(char::REPLACEMENT_CHARACTER);
            unit = next;
        }
        held.push_char(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
        Ok(())
    }

    fn hex4(&mut self) -> Read<u32> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = char::from(self.next()?)
                .to_digit(16)
                .ok_or(ReadError::Syntax)?;
            value = value * 16 + digit;
        }
        Ok(value)
    }
}

/// Where a look at a window of a string ended.
enum Stop {
    /// At the window's end.
    Window,
    /// After the closing quote.
    Quote,
    /// Before a backslash whose escape needs more than the window, or more than
    /// one character.
    Escape,
}

/// Takes what it can of a string from `window`; how many bytes that are.
fn scan_string(window: &[u8], mut held: Option<&mut Held>) -> (usize, Stop) {
    let from = |at: usize| window.get(at..).unwrap_or_default();
    let quote_from = |at: usize| find(from(at), b'"').map_or(window.len(), |found| at + found);
    let mut quote = quote_from(0);
    let mut at = 0;
    loop {
        let plain = window.get(at..quote).unwrap_or_default();
        let escape = find(plain, b'\\');
        if let Some(held) = &mut held {
            held.push(
                plain
                    .get(..escape.unwrap_or(plain.len()))
                    .unwrap_or_default(),
            );
        }
        let Some(escape) = escape.map(|escape| at + escape) else {
            return if quote < window.len() {
                (quote + 1, Stop::Quote)
            } else {
                (quote, Stop::Window)
            };
        };
        match window.get(escape + 1) {
            None | Some(b'u') => return (escape, Stop::Escape),
            Some(byte) => {
                if let Some(held) = &mut held {
                    held.push_char(simple_escape(*byte));
                }
                at = escape + 2;
                if quote < at {
                    quote = quote_from(at);
                }
            }
        }
    }
}

/// What a backslash and `byte` stand for.
fn simple_escape(byte: u8) -> char {
    match byte {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        other => char::from(other),
    }
}

/// The position of `byte` in `bytes`.
pub fn find(bytes: &[u8], byte: u8) -> Option<usize> {
    let mut rest = bytes;
    let passed = rest.skip_until(byte).unwrap_or(0);
    let last = passed.checked_sub(1)?;
    (bytes.get(last) == Some(&byte)).then_some(last)
}

/// Collects a string: its start, and the last bytes of what does not fit.
struct Held {
    limit: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
    /// Characters dropped from the front of the tail.
    dropped: usize,
}

impl Held {
    fn new(room: usize) -> Self {
        Self {
            limit: room.min(HEAD_BYTES),
            head: Vec::new(),
            tail: Vec::new(),
            dropped: 0,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let fits = if self.tail.is_empty() {
            self.limit.saturating_sub(self.head.len())
        } else {
            0
        };
        let (head, rest) = bytes.split_at(fits.min(bytes.len()));
        self.head.extend_from_slice(head);
        // Piece by piece, so that the tail stays small whatever comes at once.
        for piece in rest.chunks(TAIL_BYTES) {
            self.tail.extend_from_slice(piece);
            if self.tail.len() > 2 * TAIL_BYTES {
                let surplus = self.tail.len() - TAIL_BYTES;
                self.dropped += characters(self.tail.get(..surplus).unwrap_or_default());
                self.tail.drain(..surplus);
            }
        }
    }

    fn push_char(&mut self, ch: char) {
        let ch = if ch == '\0' {
            char::REPLACEMENT_CHARACTER
        } else {
            ch
        };
        self.push(ch.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn into_text(mut self) -> Text {
        // A character cut at the border goes to the tail, whole.
        let mut border = Vec::new();
        if !self.tail.is_empty() {
            let whole = match std::str::from_utf8(&self.head) {
                Err(error) if error.error_len().is_none() => error.valid_up_to(),
                _ => self.head.len(),
            };
            border = self.head.split_off(whole);
        }
        let mut head = lossy(self.head);
        if border.is_empty() && self.tail.is_empty() {
            return Text { head, tail: None };
        }
        let mut skipped = self.dropped;
        if skipped == 0 {
            border.append(&mut self.tail);
            self.tail = border;
        } else {
            skipped += usize::from(!border.is_empty());
        }
        let surplus = self.tail.len().saturating_sub(TAIL_BYTES);
        if skipped == 0 && surplus == 0 {
            head.push_str(&lossy(self.tail));
            return Text { head, tail: None };
        }
        let mut start = surplus;
        while self
            .tail
            .get(start)
            .is_some_and(|byte| is_continuation(*byte))
        {
            start += 1;
        }
        skipped += characters(self.tail.get(..start).unwrap_or_default());
        self.tail.drain(..start);
        Text {
            head,
            tail: Some(Tail {
                skipped,
                text: lossy(std::mem::take(&mut self.tail)),
            }),
        }
    }
}

/// How many characters begin in `bytes`.
fn characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        // The library's count is fast in every build.
        Ok(text) => text.chars().count(),
        Err(_) => bytes.iter().filter(|byte| !is_continuation(**byte)).count(),
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

fn lossy(bytes: Vec<u8>) -> String {
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    if text.contains('\0') {
        text.replace('\0', "\u{fffd}")
    } else {
        text
    }
}
