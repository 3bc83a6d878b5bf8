//! A forgiving JSON reader for what other programs wrote: transcript lines,
//! hook payloads, server answers.
//!
//! Two things set it apart from a strict parser. It never holds a long string
//! whole (see [`Text`]) and skips what nobody asked for without storing it, so
//! that memory does not grow with the input. And it accepts what JavaScript
//! writes and strict parsers refuse: lone surrogate escapes become U+FFFD, as
//! do NUL characters and bytes that are not UTF-8.

use std::io::{self, BufRead};

use serde::ser::{Serialize, Serializer};

use super::text::{HEAD_BYTES, TAIL_BYTES, Tail, Text};

/// How deep values may nest.
const MAX_DEPTH: usize = 128;
/// How many bytes one parsed value may take in memory, roughly. What comes
/// after is left out.
const ROOM: usize = 4 * 1024 * 1024;
/// How much of a string is looked at in one step.
const WINDOW: usize = 1024;
/// What a node costs besides its text.
const NODE_BYTES: usize = 48;

/// A JSON value. Numbers keep their spelling, objects their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as it was written.
    Number(String),
    /// A string.
    Text(Text),
    /// An array.
    List(Vec<Self>),
    /// An object, in order.
    Object(Vec<(String, Self)>),
}

/// Which members of objects are read; the others are skipped.
#[derive(Debug, Clone, Copy)]
pub enum Fields {
    /// All of them.
    All,
    /// Members with a name in `some`, at any depth; below a member with a name
    /// in `whole`, everything.
    Only {
        /// Names whose values are filtered the same way.
        some: &'static [&'static str],
        /// Names whose values are read whole.
        whole: &'static [&'static str],
    },
}

/// Why a value could not be read.
#[derive(Debug)]
pub enum ReadError {
    /// The source failed.
    Io(io::Error),
    /// The text is not JSON, or it ends early.
    Syntax,
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

type Read<T> = Result<T, ReadError>;

impl Json {
    /// Reads one value and the white space around it; anything after it is an
    /// error.
    pub fn read(source: &mut impl BufRead, fields: Fields) -> Result<Self, ReadError> {
        let mut reader = Reader { source, room: ROOM };
        let value = reader.value(fields, 0)?;
        match reader.after_space()? {
            None => Ok(value),
            Some(_) => Err(ReadError::Syntax),
        }
    }

    /// Reads a value from bytes in memory.
    pub fn parse(mut bytes: &[u8]) -> Option<Self> {
        Self::read(&mut bytes, Fields::All).ok()
    }

    /// The member `name` of an object; the last one, should there be several.
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members
                .iter()
                .rfind(|(key, _)| key == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// The member `name`, if it is a string.
    pub fn text(&self, name: &str) -> Option<&Text> {
        match self.get(name) {
            Some(Self::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The start of the string member `name`; all of it unless it is very long.
    pub fn str(&self, name: &str) -> Option<&str> {
        self.text(name).map(|text| text.head.as_str())
    }

    /// Whether the member `name` is `true`.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Self::Bool(true)))
    }

    /// The items of the member `name`; none if it is not an array.
    pub fn list(&self, name: &str) -> &[Self] {
        match self.get(name) {
            Some(Self::List(items)) => items,
            _ => &[],
        }
    }

    /// Calls `edit` for every string in the value, with the name of the member
    /// it stands in.
    pub fn each_text(&mut self, name: &str, edit: &mut impl FnMut(&str, &mut Text)) {
        match self {
            Self::Text(text) => edit(name, text),
            Self::List(items) => items.iter_mut().for_each(|item| item.each_text(name, edit)),
            Self::Object(members) => members
                .iter_mut()
                .for_each(|(key, value)| value.each_text(key, edit)),
            Self::Null | Self::Bool(_) | Self::Number(_) => {}
        }
    }

    /// The value without insignificant white space; strings longer than `limit`
    /// characters are cut as [`Text::guard`] says.
    pub fn to_compact(&self, limit: usize) -> String {
        let mut out = String::new();
        self.write(limit, &mut out);
        out
    }

    fn write(&self, limit: usize, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(digits) => out.push_str(digits),
            Self::Text(text) => write_string(&text.guard(limit), out),
            Self::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(limit, out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(key, out);
                    out.push(':');
                    value.write(limit, out);
                }
                out.push('}');
            }
        }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(digits) => match (
                digits.parse::<u64>(),
                digits.parse::<i64>(),
                digits.parse::<f64>(),
            ) {
                (Ok(number), ..) => serializer.serialize_u64(number),
                (_, Ok(number), _) => serializer.serialize_i64(number),
                (_, _, Ok(number)) => serializer.serialize_f64(number),
                _ => serializer.serialize_unit(),
            },
            Self::Text(text) => serializer.serialize_str(&text.guard(usize::MAX)),
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(members) => {
                serializer.collect_map(members.iter().map(|(name, value)| (name, value)))
            }
        }
    }
}

/// Writes `text` as a JSON string.
fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for ch in text.chars() {
        match ch {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ch if ch < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(ch))),
            ch => out.push(ch),
        }
    }
    out.push('"');
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
                self.dropped += self
                    .tail
                    .drain(..surplus)
                    .filter(|byte| !is_continuation(*byte))
                    .count();
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
        skipped += self
            .tail
            .drain(..start)
            .filter(|byte| !is_continuation(*byte))
            .count();
        Text {
            head,
            tail: Some(Tail {
                skipped,
                text: lossy(std::mem::take(&mut self.tail)),
            }),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str) -> Text {
        match Json::parse(source.as_bytes()) {
            Some(Json::Text(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn surrogates_and_nul() {
        assert_eq!(text(r#""\ud83d\ude00""#).head, "😀");
        assert_eq!(text(r#""a\ud83db""#).head, "a\u{fffd}b");
        assert_eq!(text(r#""\ud83d\n""#).head, "\u{fffd}\n");
        assert_eq!(text(r#""\ud83d\ud83d\ude00""#).head, "\u{fffd}😀");
        assert_eq!(text(r#""\ude00\u0000""#).head, "\u{fffd}\u{fffd}");
    }

    #[test]
    fn long_strings_keep_both_ends() {
        let source = format!(
            "\"{}{}{}\"",
            "h".repeat(HEAD_BYTES),
            "é".repeat(500_000),
            "t".repeat(100)
        );
        let text = text(&source);
        assert_eq!(text.chars(), HEAD_BYTES + 500_000 + 100);
        assert!(
            text.tail
                .as_ref()
                .is_some_and(|tail| tail.text.len() <= TAIL_BYTES && tail.text.ends_with('t'))
        );
        let guarded = text.guard(20_000);
        assert!(guarded.starts_with(&"h".repeat(14_000)));
        assert!(guarded.contains(&format!(
            "[... trimmed {} chars ...]",
            HEAD_BYTES + 500_100 - 20_000
        )));
        assert!(guarded.ends_with(&format!("é{}", "t".repeat(100))));
    }

    #[test]
    fn a_cut_between_the_bytes_of_a_character_loses_none() {
        for shift in 0..4 {
            let source = format!(
                "\"{}{}\"",
                "a".repeat(HEAD_BYTES - shift),
                "😀".repeat(20_000)
            );
            let text = text(&source);
            assert_eq!(text.chars(), HEAD_BYTES - shift + 20_000, "shift {shift}");
            assert!(!text.guard(usize::MAX).contains('\u{fffd}'));
        }
    }

    #[test]
    fn only_what_is_wanted_is_kept() {
        let fields = Fields::Only {
            some: &["a", "list"],
            whole: &["input"],
        };
        let mut source =
            br#"{"x":[1,{"a":"}"}],"a":1,"list":[{"x":2,"input":{"z":[true,null]}}],"y":"\"]"}"#
                .as_slice();
        let value = Json::read(&mut source, fields).unwrap();
        assert_eq!(
            value.to_compact(100),
            r#"{"a":1,"list":[{"input":{"z":[true,null]}}]}"#
        );
    }

    #[test]
    fn refuses_what_is_cut_off() {
        for source in [
            r#"{"a":"#,
            r#"{"a":"b"#,
            r#"{"a":1"#,
            "[1,",
            "{} x",
            "",
            "\"\\u12",
            "{\"a\":1,}",
            "tru",
        ] {
            assert!(Json::parse(source.as_bytes()).is_none(), "{source}");
        }
        let deep = "[".repeat(100_000);
        assert!(Json::parse(deep.as_bytes()).is_none());
    }
}
