//! Strings that may hold lone surrogates.

use std::borrow::Cow;

/// A string of a document. RFC 8259 lets an escape such as `\ud800` stand
/// alone; no UTF-8 string can hold that, and a legal text must stay readable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Text(Repr);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Repr {
    Utf8(Box<str>),
    /// Generalised UTF-8 (WTF-8): each lone surrogate as three bytes, so that
    /// different strings stay different.
    Wtf8(Box<[u8]>),
}

impl Text {
    /// A string without lone surrogates.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(Repr::Utf8(text.into()))
    }

    /// A string from generalised UTF-8, in which a surrogate code point stands
    /// as its three bytes. Valid UTF-8 gives the same as [`Text::new`].
    pub fn from_wtf8(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::new(text),
            Err(error) => Self(Repr::Wtf8(error.into_bytes().into_boxed_slice())),
        }
    }

    /// The string, unless it holds a lone surrogate.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Utf8(text) => Some(text),
            Repr::Wtf8(_) => None,
        }
    }

    /// The string for people: lone surrogates become U+FFFD.
    pub fn display(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Utf8(text) => Cow::Borrowed(text),
            Repr::Wtf8(bytes) => {
                let mut shown = String::with_capacity(bytes.len());
                for chunk in bytes.utf8_chunks() {
                    shown.push_str(chunk.valid());
                    // A surrogate's three bytes make three invalid chunks; the
                    // lead byte 0xED stands for all of them.
                    if chunk.invalid().first() == Some(&0xED) {
                        shown.push(char::REPLACEMENT_CHARACTER);
                    }
                }
                Cow::Owned(shown)
            }
        }
    }

    /// Length in bytes; a lone surrogate is three.
    pub fn byte_count(&self) -> usize {
        match &self.0 {
            Repr::Utf8(text) => text.len(),
            Repr::Wtf8(bytes) => bytes.len(),
        }
    }

    /// Length in Unicode code points; a lone surrogate is one.
    pub fn char_count(&self) -> usize {
        match &self.0 {
            Repr::Utf8(text) => text.chars().count(),
            Repr::Wtf8(bytes) => bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count(),
        }
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == Some(other)
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_are_kept_apart_and_shown() {
        let high = Text::from_wtf8(vec![b'a', 0xED, 0xA0, 0x80, b'b']);
        let low = Text::from_wtf8(vec![b'a', 0xED, 0xB0, 0x80, b'b']);
        assert_ne!(high, low);
        assert_eq!(high.as_str(), None);
        assert_eq!(high.display(), "a\u{FFFD}b");
        assert_eq!(high.char_count(), 3);
        assert_eq!(Text::from_wtf8("é".into()), Text::new("é"));
    }
}
