//! Strict JSON (RFC 8259), with the byte span of every key and value.
//!
//! The parser keeps its own stack, so the depth of a text never becomes the
//! depth of a call; what it does not accept is explained in `mistake`.

mod encoding;
mod mistake;
mod scan;

use super::duplicates;
use super::{Document, Duplicate, Limits, Member, Node, Object, ParseError, Text, Value};
use crate::diagnostic::Span;
use mistake::Opened;

/// What is read of a JSON file. RFC 8259 section 9 leaves the limits open; a
/// depth of 128 is what most readers allow.
pub const LIMITS: Limits = Limits {
    depth: 128,
    nodes: 300_000,
    key_bytes: 2048,
};

/// Reads `bytes` as one JSON text.
///
/// Repeated keys and lone surrogate escapes are within the grammar: they are
/// kept in the tree and listed in the [`Document`].
///
/// # Errors
///
/// If the text is no UTF-8, starts with a byte order mark, is not within the
/// grammar, or exceeds `limits`.
pub fn parse(bytes: &[u8], limits: Limits) -> Result<Document, ParseError> {
    let text = encoding::decode(bytes)?;
    Parser::new(text, limits).document()
}

/// An array or object whose end has not been read yet.
enum Frame {
    Array {
        start: usize,
        items: Vec<Node>,
    },
    Object {
        start: usize,
        members: Vec<Member>,
        /// The key whose value comes next.
        key: Key,
    },
}

impl Frame {
    const fn opened(&self) -> Opened {
        match self {
            Self::Array { start, .. } => Opened::array(*start),
            Self::Object { start, .. } => Opened::object(*start),
        }
    }
}

struct Key {
    text: Text,
    span: Span,
}

struct Parser<'t> {
    text: &'t str,
    /// Offset of the next byte to read; always on a character boundary.
    at: usize,
    limits: Limits,
    nodes: usize,
    stack: Vec<Frame>,
    duplicates: Vec<Duplicate>,
    lone_surrogates: Vec<Span>,
}

impl<'t> Parser<'t> {
    const fn new(text: &'t str, limits: Limits) -> Self {
        Self {
            text,
            at: 0,
            limits,
            nodes: 0,
            stack: Vec::new(),
            duplicates: Vec::new(),
            lone_surrogates: Vec::new(),
        }
    }

    fn document(mut self) -> Result<Document, ParseError> {
        self.skip_white_space();
        if self.peek().is_none() {
            return Err(mistake::empty(self.text));
        }
        let root = self.root()?;
        self.skip_white_space();
        if self.peek().is_some() {
            return Err(mistake::behind(self.text, self.at));
        }
        // Inner objects end before outer ones; the reader's order is the text's.
        self.duplicates
            .sort_by_key(|duplicate| duplicate.again.start);
        Ok(Document {
            root,
            duplicates: self.duplicates,
            lone_surrogates: self.lone_surrogates,
        })
    }

    fn root(&mut self) -> Result<Node, ParseError> {
        loop {
            let Some(mut node) = self.value()? else {
                continue;
            };
            // The value may be the last of any number of collections.
            loop {
                let Some(frame) = self.stack.pop() else {
                    return Ok(node);
                };
                match self.add(frame, node)? {
                    Some(finished) => node = finished,
                    None => break,
                }
            }
        }
    }

    /// Reads a scalar or an empty collection, or opens a collection and gives
    /// `None`: then the next value is its first.
    fn value(&mut self) -> Result<Option<Node>, ParseError> {
        self.skip_white_space();
        let start = self.at;
        self.count(start)?;
        let kind = match self.peek() {
            Some(b'"') => Value::String(self.string()?),
            Some(b'{') => {
                self.open(start)?;
                if !self.skip_byte(b'}') {
                    let key = self.key(Opened::object(start))?;
                    self.stack.push(Frame::Object {
                        start,
                        members: Vec::new(),
                        key,
                    });
                    return Ok(None);
                }
                Value::Object(Object::default())
            }
            Some(b'[') => {
                self.open(start)?;
                if !self.skip_byte(b']') {
                    self.stack.push(Frame::Array {
                        start,
                        items: Vec::new(),
                    });
                    return Ok(None);
                }
                Value::Array(Vec::new())
            }
            Some(b'-' | b'0'..=b'9') => Value::Number(self.number()?.into()),
            Some(b't') if self.skip_word("true") => Value::Bool(true),
            Some(b'f') if self.skip_word("false") => Value::Bool(false),
            Some(b'n') if self.skip_word("null") => Value::Null,
            _ => {
                let inside = self.stack.last().map(Frame::opened);
                return Err(mistake::no_value(self.text, start, inside));
            }
        };
        Ok(Some(self.node(start, kind)))
    }

    /// Steps over an opening bracket and the white space behind it.
    fn open(&mut self, start: usize) -> Result<(), ParseError> {
        if self.stack.len() >= self.limits.depth {
            return Err(mistake::too_deep(start, self.limits.depth));
        }
        self.at += 1;
        self.skip_white_space();
        Ok(())
    }

    /// Puts a finished value into the collection it belongs to, and gives the
    /// collection if it ends behind it.
    fn add(&mut self, frame: Frame, node: Node) -> Result<Option<Node>, ParseError> {
        let opened = frame.opened();
        match frame {
            Frame::Array { start, mut items } => {
                items.push(node);
                if self.ends(opened)? {
                    return Ok(Some(self.node(start, Value::Array(items))));
                }
                self.stack.push(Frame::Array { start, items });
            }
            Frame::Object {
                start,
                mut members,
                key,
            } => {
                members.push(Member {
                    key: key.text,
                    key_span: key.span,
                    key_is_string: true,
                    shadowed: false,
                    value: node,
                });
                if self.ends(opened)? {
                    duplicates::mark(&mut members, &mut self.duplicates);
                    return Ok(Some(self.node(start, Value::Object(Object { members }))));
                }
                let key = self.key(opened)?;
                self.stack.push(Frame::Object {
                    start,
                    members,
                    key,
                });
            }
        }
        Ok(None)
    }

    /// Reads what stands behind an element: `false` for a comma, `true` for the
    /// closing bracket.
    fn ends(&mut self, opened: Opened) -> Result<bool, ParseError> {
        self.skip_white_space();
        let comma = self.at;
        if self.skip_byte(opened.close) {
            return Ok(true);
        }
        if !self.skip_byte(b',') {
            return Err(mistake::no_comma(self.text, comma, opened));
        }
        self.skip_white_space();
        if self.peek() == Some(opened.close) {
            return Err(mistake::trailing_comma(comma, opened));
        }
        Ok(false)
    }

    /// Reads a key and the colon behind it.
    fn key(&mut self, opened: Opened) -> Result<Key, ParseError> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return Err(mistake::no_key(self.text, start, opened));
        }
        self.count(start)?;
        let text = self.string()?;
        let span = Span::new(start, self.at);
        if text.byte_count() > self.limits.key_bytes {
            return Err(ParseError::key_too_long(span, self.limits));
        }
        self.skip_white_space();
        if !self.skip_byte(b':') {
            return Err(mistake::no_colon(self.text, self.at, opened));
        }
        Ok(Key { text, span })
    }

    const fn node(&self, start: usize, kind: Value) -> Node {
        Node {
            span: Span::new(start, self.at),
            kind,
        }
    }

    /// Counts one more key or value.
    fn count(&mut self, start: usize) -> Result<(), ParseError> {
        if self.nodes >= self.limits.nodes {
            return Err(mistake::too_large(self.text, start, self.limits.nodes));
        }
        self.nodes += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
