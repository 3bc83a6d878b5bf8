//! The tokens of JSON: white space, words, numbers, strings.

use super::{Parser, mistake};
use crate::diagnostic::Span;
use crate::document::{ParseError, Text};

impl<'t> Parser<'t> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Steps over `byte` if it comes next.
    pub(super) fn skip_byte(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    pub(super) fn skip_white_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Steps over `word` if it comes next and ends there.
    pub(super) fn skip_word(&mut self, word: &str) -> bool {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let ends = |rest: &[u8]| !rest.first().is_some_and(|&byte| mistake::is_word(byte));
        let found = rest.strip_prefix(word.as_bytes()).is_some_and(ends);
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn skip_digits(&mut self) -> bool {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        self.at > start
    }

    pub(super) fn number(&mut self) -> Result<&'t str, ParseError> {
        let start = self.at;
        let integer = self.skip_number();
        // `01`, `0x1F`, `1_000` and `1.2.3` go on behind a legal number.
        let goes_on = self
            .peek()
            .is_some_and(|byte| byte == b'.' || mistake::is_word(byte));
        if !integer || goes_on {
            return Err(mistake::number(self.text, start));
        }
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    /// Whether a number was stepped over: `-? int frac? exp?`.
    fn skip_number(&mut self) -> bool {
        self.skip_byte(b'-');
        if !self.skip_byte(b'0') && !self.skip_digits() {
            return false;
        }
        if self.skip_byte(b'.') && !self.skip_digits() {
            return false;
        }
        if self.skip_byte(b'e') || self.skip_byte(b'E') {
            let _sign = self.skip_byte(b'+') || self.skip_byte(b'-');
            return self.skip_digits();
        }
        true
    }

    /// Reads a string; the next byte is its opening quote.
    pub(super) fn string(&mut self) -> Result<Text, ParseError> {
        let start = self.at;
        self.at += 1;
        let plain = self.skip_plain();
        if self.skip_byte(b'"') {
            return Ok(Text::new(plain));
        }
        let mut decoded = plain.as_bytes().to_vec();
        let mut lone = false;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    break;
                }
                Some(b'\\') => lone |= self.escape(&mut decoded)?,
                Some(_) => return Err(mistake::control(self.text, self.at)),
                None => return Err(mistake::unclosed_string(start, self.at)),
            }
            decoded.extend_from_slice(self.skip_plain().as_bytes());
        }
        if lone {
            self.lone_surrogates.push(Span::new(start, self.at));
        }
        Ok(Text::from_wtf8(decoded))
    }

    /// Steps over the characters that stand for themselves.
    fn skip_plain(&mut self) -> &'t str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = rest
            .bytes()
            .position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\')
            .unwrap_or(rest.len());
        self.at += length;
        // The byte found is ASCII, so this is a character boundary.
        rest.get(..length).unwrap_or_default()
    }

    /// Decodes one escape, or two that form a surrogate pair, and says whether
    /// it is a lone surrogate.
    fn escape(&mut self, decoded: &mut Vec<u8>) -> Result<bool, ParseError> {
        let start = self.at;
        self.at += 1;
        let byte = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0C,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                let unit = self.hex()?;
                return Ok(self.unicode(unit, decoded));
            }
            _ => return Err(mistake::escape(self.text, start)),
        };
        self.at += 1;
        decoded.push(byte);
        Ok(false)
    }

    fn unicode(&mut self, unit: u32, decoded: &mut Vec<u8>) -> bool {
        let mut code = unit;
        if (0xD800..0xDC00).contains(&unit)
            && let Some(low) = self.hex_at(self.at)
            && (0xDC00..0xE000).contains(&low)
        {
            self.at += 6;
            code = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        }
        if let Some(character) = char::from_u32(code) {
            let mut buffer = [0; 4];
            decoded.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
            return false;
        }
        // Generalised UTF-8 for a surrogate, which is below 0x10000.
        let [_, _, high, low] = code.to_be_bytes();
        decoded.extend_from_slice(&[
            0xE0 | high >> 4,
            0x80 | (high & 0x0F) << 2 | low >> 6,
            0x80 | low & 0x3F,
        ]);
        true
    }

    /// Steps over the four digits of an escape; `self.at` is at its `u`.
    fn hex(&mut self) -> Result<u32, ParseError> {
        let start = self.at - 1;
        let unit = self.hex_at(start).ok_or_else(|| {
            let digits = mistake::run(self.text, self.at + 1, |byte| byte.is_ascii_hexdigit());
            let span = Span::new(start, self.at + 1 + digits.len());
            ParseError::syntax(span, "`\\u` takes four hexadecimal digits")
        })?;
        self.at += 5;
        Ok(unit)
    }

    /// The value of the escape `\uXXXX` at `start`, if there is one.
    fn hex_at(&self, start: usize) -> Option<u32> {
        let digits = self.text.get(start..start + 6)?.strip_prefix("\\u")?;
        // `from_str_radix` alone would take a sign.
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        u32::from_str_radix(digits, 16).ok()
    }
}
