//! One spanned tree for JSON (strict RFC 8259) and for YAML 1.2 frontmatter.
//!
//! Every key and every value knows its byte span in the file it came from,
//! duplicate keys are kept in order (the last one wins on look-up) and listed,
//! numbers stay text, and strings may hold lone surrogates, so that a legal
//! text is never unreadable. Depth and size are bounded; nothing here does I/O.

pub mod frontmatter;
pub mod json;
pub mod yaml;

mod duplicates;
mod pointer;
mod show;
mod text;

use std::sync::Arc;

pub use pointer::Pointer;
pub use text::Text;

use crate::diagnostic::Span;

/// A value with its place in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Bytes of the value, quotes and brackets included.
    pub span: Span,
    /// The value itself; use [`Node::value`] to look through YAML aliases.
    pub kind: Value,
}

/// The value of a [`Node`].
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`; in YAML also `~` and an empty value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it was written: never converted, so none is out of range.
    Number(Box<str>),
    /// A string.
    String(Text),
    /// An array (YAML sequence).
    Array(Vec<Node>),
    /// An object (YAML mapping).
    Object(Object),
    /// A YAML anchor or alias: the anchored node is shared, never copied. What it
    /// stands for counts in [`Limits`], so a walk through aliases is bounded.
    Alias(Arc<Node>),
}

impl Node {
    /// The value, with aliases followed. An alias can only refer to a node that
    /// was complete before it, so following always ends.
    pub fn value(&self) -> &Value {
        let mut kind = &self.kind;
        while let Value::Alias(target) = kind {
            kind = &target.kind;
        }
        kind
    }

    /// The string, if this is one.
    pub fn as_text(&self) -> Option<&Text> {
        match self.value() {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The object, if this is one.
    pub fn as_object(&self) -> Option<&Object> {
        match self.value() {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The array, if this is one.
    pub fn as_array(&self) -> Option<&[Self]> {
        match self.value() {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The type as a message names it: `a string`, `an object`, `null` …
    pub fn type_name(&self) -> &'static str {
        match self.value() {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
            // `value` has followed every alias.
            Value::Alias(_) => "an alias",
        }
    }
}

/// The members of an object in the order of the text, duplicates included.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object {
    /// All members, in order.
    pub members: Vec<Member>,
}

/// One member of an [`Object`].
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The key. A YAML key that is no string is given as it was written.
    pub key: Text,
    /// Bytes of the key, quotes included.
    pub key_span: Span,
    /// Whether the key is a string (always in JSON; not for `1: x` in YAML).
    pub key_is_string: bool,
    /// Whether a later member of the same object has the same key and so wins.
    pub shadowed: bool,
    /// The value.
    pub value: Node,
}

impl Object {
    /// The member that wins for `key`: the last one, as nearly every JSON
    /// reader has it.
    pub fn get(&self, key: &str) -> Option<&Member> {
        self.effective().find(|member| member.key == *key)
    }

    /// The members that win, each key once, in the order of the text.
    pub fn effective(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| !member.shadowed)
    }
}

/// A parsed text.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The top-level value.
    pub root: Node,
    /// Every key that repeats an earlier key of the same object.
    pub duplicates: Vec<Duplicate>,
    /// Every string (key or value) that holds a lone surrogate.
    pub lone_surrogates: Vec<Span>,
}

/// A key that occurs again in the same object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duplicate {
    /// The first occurrence of the key.
    pub first: Span,
    /// This occurrence.
    pub again: Span,
}

/// How much of a text is read before it counts as hostile.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Deepest nesting of arrays and objects, aliases followed.
    pub depth: usize,
    /// Most nodes (keys and values) in one document, aliases followed.
    pub nodes: usize,
    /// Longest key, in bytes: findings name what they are about by its keys.
    pub key_bytes: usize,
}

/// Why a text has no tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ParseError {
    /// What kind of failure it is.
    pub kind: ParseErrorKind,
    /// Where reading stopped.
    pub span: Span,
    /// What was found and what was expected, for people.
    pub message: String,
}

impl ParseError {
    fn new(kind: ParseErrorKind, span: Span, message: impl Into<String>) -> Self {
        Self {
            kind,
            span,
            message: message.into(),
        }
    }

    fn syntax(span: Span, message: impl Into<String>) -> Self {
        Self::new(ParseErrorKind::Syntax, span, message)
    }

    fn key_too_long(span: Span, limits: Limits) -> Self {
        let message = format!("a key is longer than {} bytes", limits.key_bytes);
        Self::too_complex(span, message)
    }

    fn too_complex(span: Span, message: impl Into<String>) -> Self {
        Self::new(ParseErrorKind::TooComplex, span, message)
    }
}

/// The kinds of [`ParseError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParseErrorKind {
    /// A byte sequence that is not UTF-8.
    InvalidUtf8,
    /// A UTF-8 byte order mark before the text (or one of UTF-16/32).
    ByteOrderMark,
    /// Not in the grammar.
    Syntax,
    /// Deeper or larger than [`Limits`].
    TooComplex,
}
