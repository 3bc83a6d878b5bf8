//! A forgiving JSON reader for what other programs wrote: transcript lines,
//! hook payloads, server answers.
//!
//! Two things set it apart from a strict parser. It never holds a long string
//! whole (see [`Text`]) and skips what nobody asked for without storing it, so
//! that memory does not grow with the input. And it accepts what JavaScript
//! writes and strict parsers refuse: lone surrogate escapes become U+FFFD, as
//! do NUL characters and bytes that are not UTF-8.

mod read;

use std::io::{self, BufRead};

use serde::ser::{Serialize, Serializer};

pub use read::find;

use super::text::Text;

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

impl Json {
    /// Reads one value and the white space around it; anything after it is an
    /// error.
    pub fn read(source: &mut impl BufRead, fields: Fields) -> Result<Self, ReadError> {
        read::value(source, fields)
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

#[cfg(test)]
mod tests {
    use super::super::text::{HEAD_BYTES, TAIL_BYTES};
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
