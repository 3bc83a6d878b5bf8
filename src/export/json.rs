//! JSON values that keep the order of their members and the text of their
//! numbers: what is read from an author's file is written back as it was.

use crate::diagnostic::LineIndex;
use crate::document::{self, Document, Node, Value, json};

/// A JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    /// As it was written.
    Number(String),
    String(String),
    Array(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl Json {
    pub(super) fn string(text: impl Into<String>) -> Self {
        Self::String(text.into())
    }

    pub(super) fn strings<S: Into<String>>(items: impl IntoIterator<Item = S>) -> Self {
        Self::Array(items.into_iter().map(Self::string).collect())
    }

    pub(super) fn object<K: Into<String>>(members: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Object(
            members
                .into_iter()
                .map(|(key, value)| (key.into(), value))
                .collect(),
        )
    }

    /// The value of a parsed node. Of repeated keys the last counts, as for
    /// every reader; half a surrogate pair becomes U+FFFD.
    pub(super) fn of(node: &Node) -> Self {
        match node.value() {
            Value::Null | Value::Alias(_) => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(text) => Self::Number(text.to_string()),
            Value::String(text) => Self::String(text.display().into_owned()),
            Value::Array(items) => Self::Array(items.iter().map(Self::of).collect()),
            Value::Object(object) => Self::Object(
                object
                    .effective()
                    .map(|member| (member.key.display().into_owned(), Self::of(&member.value)))
                    .collect(),
            ),
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_object(&self) -> Option<&[(String, Self)]> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let members = self.as_object()?;
        let found = members.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value)
    }

    /// Puts a member in its place, or at the end.
    pub(super) fn set(&mut self, key: &str, value: Self) {
        if let Self::Object(members) = self {
            match members.iter_mut().find(|(name, _)| name == key) {
                Some((_, old)) => *old = value,
                None => members.push((key.to_owned(), value)),
            }
        }
    }

    pub(super) fn remove(&mut self, key: &str) {
        if let Self::Object(members) = self {
            members.retain(|(name, _)| name != key);
        }
    }

    /// As a text: two spaces a level, arrays of scalars on one line where they fit.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, 0);
        text.push('\n');
        text
    }

    fn write(&self, out: &mut String, level: usize) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(text) => out.push_str(text),
            Self::String(text) => string(text, out),
            Self::Array(items) if items.is_empty() => out.push_str("[]"),
            Self::Object(members) if members.is_empty() => out.push_str("{}"),
            Self::Array(items) => {
                if let Some(line) = self.one_line() {
                    out.push_str(&line);
                    return;
                }
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    next_line(out, index, level + 1);
                    item.write(out, level + 1);
                }
                next_line(out, 0, level);
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    next_line(out, index, level + 1);
                    string(key, out);
                    out.push_str(": ");
                    value.write(out, level + 1);
                }
                next_line(out, 0, level);
                out.push('}');
            }
        }
    }

    fn one_line(&self) -> Option<String> {
        const WIDTH: usize = 80;
        let Self::Array(items) = self else {
            return None;
        };
        let mut line = "[".to_owned();
        for (index, item) in items.iter().enumerate() {
            if matches!(item, Self::Array(_) | Self::Object(_)) || line.len() > WIDTH {
                return None;
            }
            if index > 0 {
                line.push_str(", ");
            }
            item.write(&mut line, 0);
        }
        line.push(']');
        (line.len() <= WIDTH).then_some(line)
    }
}

fn next_line(out: &mut String, index: usize, level: usize) {
    if index > 0 {
        out.push(',');
    }
    out.push('\n');
    out.push_str(&"  ".repeat(level));
}

fn string(text: &str, out: &mut String) {
    // Serialising a string cannot fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// A JSON file of the source, parsed.
pub(super) struct Text<'t> {
    pub(super) path: &'t str,
    pub(super) document: Document,
    lines: LineIndex<'t>,
}

impl<'t> Text<'t> {
    /// Reads a file. One byte order mark is passed over, as most readers of
    /// native manifests do.
    pub(super) fn read(path: &'t str, bytes: &'t [u8]) -> Result<Self, document::ParseError> {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        Ok(Self {
            path,
            document: json::parse(bytes, json::LIMITS)?,
            lines: LineIndex::new(bytes),
        })
    }

    pub(super) fn line(&self, node: &Node) -> usize {
        self.lines.locate(node.span).line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(text: &str) -> String {
        let read = Text::read("x", text.as_bytes()).expect("JSON");
        Json::of(&read.document.root).text()
    }

    #[test]
    fn order_and_numbers_are_kept() {
        let text = "{\n  \"z\": 1.50e+3,\n  \"a\": [\"x\", null, true],\n  \"o\": {\n    \"k\\\"\": {}\n  },\n  \"l\": [\n    {\n      \"b\": []\n    }\n  ]\n}\n";
        assert_eq!(round(text), text);
        assert_eq!(
            round("{\"a\":1,\"b\":2,\"a\":3}"),
            "{\n  \"b\": 2,\n  \"a\": 3\n}\n"
        );
    }

    #[test]
    fn long_arrays_take_a_line_for_each_item() {
        let long = "x".repeat(50);
        let text = format!("[\n  \"{long}\",\n  \"{long}\"\n]\n");
        assert_eq!(round(&text), text);
    }
}
