//! YAML 1.2 with its core schema, with the byte span of every key and value.
//!
//! The grammar is `granit-parser`'s; this module builds the tree from its
//! events. Where YAML leaves a choice, or readers differ:
//!
//! - Anchored nodes are shared, never copied. What they stand for counts all the
//!   same: the expanded tree is within [`Limits`] too, so whoever walks a
//!   document through its aliases walks a bounded tree, and an alias bomb is
//!   refused without being expanded.
//! - Core tags (`!!str`, `!!int` …) decide the type of a scalar; one that does
//!   not fit is an error. A scalar with any other tag is a string, a collection
//!   with any other tag is what it looks like.
//! - `<<` is an ordinary key.
//! - A tab before a key or value is an error, though YAML 1.2 allows some: other
//!   readers do not.
//! - A collection as a key is an error, for no document here can mean one.

mod mistake;
mod place;
mod schema;

use std::collections::HashMap;
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, Tag};

use super::duplicates;
use super::{Document, Duplicate, Limits, Member, Node, Object, ParseError, Text, Value};
use crate::diagnostic::Span;

/// What is read of YAML frontmatter, which is small in real life.
pub const LIMITS: Limits = Limits {
    depth: 64,
    nodes: 10_000,
    key_bytes: 2048,
};

/// Reads the bytes `range` of `text` as one YAML document. All spans are places
/// in the whole `text`. A `range` that is no part of it reads as empty.
///
/// Repeated keys are kept in the tree and listed in the [`Document`]; there are
/// no lone surrogates in YAML.
///
/// # Errors
///
/// If the range is not within the grammar (more than one document, an unknown
/// or recursive alias, a collection as a key …) or exceeds `limits`.
pub fn parse(text: &str, range: Span, limits: Limits) -> Result<Document, ParseError> {
    let read = text.get(..range.end).unwrap_or_default();
    let yaml = read.get(range.start..).unwrap_or_default();
    let mut loader = Loader {
        text: read,
        limits,
        nodes: 0,
        stack: Vec::new(),
        anchors: HashMap::new(),
        duplicates: Vec::new(),
        root: None,
        done: range.start,
        last: Span::new(range.start, range.start),
    };
    if let Some(error) = mistake::unprintable(yaml, range.start) {
        return Err(error);
    }
    let options = granit_parser::options! {
        flow_nesting_limit: limits.depth,
        block_nesting_limit: limits.depth,
    };
    for next in Parser::new_from_str_with_options(yaml, options) {
        let (event, place) =
            next.map_err(|error| mistake::explain(&error, &loader.context(range.start)))?;
        let bytes = place.byte_range().unwrap_or_default();
        let span = Span::new(bytes.start, bytes.end).shifted(range.start);
        loader.event(event, span)?;
    }
    // Inner objects end before outer ones; the reader's order is the text's.
    let mut duplicates = loader.duplicates;
    duplicates.sort_by_key(|duplicate| duplicate.again.start);
    Ok(Document {
        root: loader.root.unwrap_or(Node {
            span: Span::new(range.start, range.start),
            kind: Value::Null,
        }),
        duplicates,
        lone_surrogates: Vec::new(),
    })
}

/// A collection whose end has not been read yet.
struct Frame {
    start: usize,
    /// End of what has been read of it.
    end: usize,
    anchor: usize,
    /// What [`Loader::nodes`] was before it.
    nodes_before: usize,
    /// Levels of collections inside it, aliases followed.
    height: usize,
    items: Items,
}

enum Items {
    Array(Vec<Node>),
    Object {
        members: Vec<Member>,
        /// The key whose value comes next.
        key: Option<Key>,
    },
}

struct Key {
    text: Text,
    span: Span,
    is_string: bool,
}

/// A node that aliases can refer to.
struct Anchor {
    node: Arc<Node>,
    /// Keys and values in it, aliases followed.
    nodes: usize,
    /// Levels of collections in it, aliases followed.
    height: usize,
}

struct Loader<'t> {
    /// The text up to the end of the YAML; all offsets count from its start.
    text: &'t str,
    limits: Limits,
    /// Keys and values so far, aliases followed.
    nodes: usize,
    stack: Vec<Frame>,
    anchors: HashMap<usize, Anchor>,
    duplicates: Vec<Duplicate>,
    root: Option<Node>,
    /// End of the last token that is part of the tree.
    done: usize,
    /// The last scalar or alias.
    last: Span,
}

impl Loader<'_> {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), ParseError> {
        match event {
            Event::DocumentStart(explicit, _) => {
                if self.root.is_some() {
                    return Err(mistake::second_document(self.text, span));
                }
                if explicit {
                    self.done = span.end;
                }
            }
            Event::Scalar(value, style, anchor, tag) => {
                self.scalar(&value, style, anchor, tag.as_deref(), span)?;
            }
            Event::Alias(id) => self.alias(id, span)?,
            Event::SequenceStart(_, anchor, tag) => {
                self.open(Items::Array(Vec::new()), anchor, tag.as_deref(), span)?;
            }
            Event::MappingStart(_, anchor, tag) => {
                let items = Items::Object {
                    members: Vec::new(),
                    key: None,
                };
                self.open(items, anchor, tag.as_deref(), span)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            // The rest is not part of the tree.
            _ => {}
        }
        Ok(())
    }

    fn context(&self, base: usize) -> mistake::Context<'_> {
        mistake::Context {
            text: self.text,
            base,
            limits: self.limits,
            last: self.last,
            open: self.stack.last().map(|frame| frame.start),
        }
    }

    fn scalar(
        &mut self,
        value: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        mut span: Span,
    ) -> Result<(), ParseError> {
        let nodes_before = self.nodes;
        // Nothing at all stands for null; the parser gives `~` for it.
        let absent = style == ScalarStyle::Plain && span.is_empty();
        let value = if absent { "" } else { value };
        if absent {
            if let Some(key) = self.pending_key() {
                let at = place::absent_value(self.text, key.span);
                let properties = anchor != 0 || tag.is_some();
                let at = if properties { at.max(span.start) } else { at };
                span = Span::new(at, at);
            }
        } else {
            let end = span.end;
            if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
                span = place::block_scalar(self.text, self.done, span);
            }
            mistake::tab(self.text, self.done, span.start)?;
            self.done = end;
            self.last = span;
        }
        self.count(1, span)?;
        let kind = schema::scalar(value, style, tag)
            .ok_or_else(|| mistake::tag(tag, "this scalar", span))?;
        let expects_key = self.expects_key();
        let node = Node { span, kind };
        if !expects_key {
            let node = self.finish(node, anchor, nodes_before, 0);
            self.put(node, 0);
            return Ok(());
        }
        if anchor != 0 {
            // An alias may still refer to it.
            self.finish(node.clone(), anchor, nodes_before, 0);
        }
        let (text, is_string) = match node.kind {
            Value::String(text) => (text, true),
            _ => (Text::new(value), false),
        };
        self.set_key(Key {
            text,
            span,
            is_string,
        })
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<(), ParseError> {
        mistake::tab(self.text, self.done, span.start)?;
        self.done = span.end;
        self.last = span;
        let Some(anchor) = self.anchors.get(&id) else {
            return Err(mistake::recursive_alias(self.text, span));
        };
        let (node, nodes, height) = (Arc::clone(&anchor.node), anchor.nodes, anchor.height);
        self.count(nodes, span)?;
        if self.stack.len() + height > self.limits.depth {
            return Err(mistake::too_deep(span, self.limits));
        }
        if self.expects_key() {
            let (text, is_string) = match &node.kind {
                Value::String(text) => (text.clone(), true),
                Value::Number(text) => (Text::new(text.clone()), false),
                Value::Null | Value::Bool(_) => {
                    let written = self.text.get(node.span.start..node.span.end);
                    (Text::new(written.unwrap_or_default()), false)
                }
                Value::Array(_) | Value::Object(_) | Value::Alias(_) => {
                    return Err(mistake::complex_key(self.text, span));
                }
            };
            self.set_key(Key {
                text,
                span,
                is_string,
            })?;
        } else {
            let kind = Value::Alias(node);
            self.put(Node { span, kind }, height);
        }
        Ok(())
    }

    fn open(
        &mut self,
        items: Items,
        anchor: usize,
        tag: Option<&Tag>,
        span: Span,
    ) -> Result<(), ParseError> {
        let nodes_before = self.nodes;
        if !span.is_empty() {
            mistake::tab(self.text, self.done, span.start)?;
            self.done = span.end;
        }
        if self.expects_key() {
            return Err(mistake::complex_key(self.text, span));
        }
        self.count(1, span)?;
        if self.stack.len() >= self.limits.depth {
            return Err(mistake::too_deep(span, self.limits));
        }
        let (core, what) = match items {
            Items::Array(_) => ("seq", "a sequence"),
            Items::Object { .. } => ("map", "a mapping"),
        };
        if tag
            .and_then(Tag::core_suffix)
            .is_some_and(|tag| tag != core)
        {
            return Err(mistake::tag(tag, what, span));
        }
        self.stack.push(Frame {
            start: span.start,
            end: span.end,
            anchor,
            nodes_before,
            height: 1,
            items,
        });
        Ok(())
    }

    fn close(&mut self, span: Span) {
        let Some(frame) = self.stack.pop() else {
            return;
        };
        // A block collection ends with its last item, wherever the parser noticed.
        let mut end = frame.end;
        if !span.is_empty() {
            end = span.end;
            self.done = span.end;
        }
        let kind = match frame.items {
            Items::Array(items) => Value::Array(items),
            Items::Object { mut members, .. } => {
                duplicates::mark(&mut members, &mut self.duplicates);
                Value::Object(Object { members })
            }
        };
        let span = Span::new(frame.start, end);
        let node = Node { span, kind };
        let node = self.finish(node, frame.anchor, frame.nodes_before, frame.height);
        self.put(node, frame.height);
    }

    /// Makes a node shared if it has an anchor.
    fn finish(&mut self, node: Node, anchor: usize, nodes_before: usize, height: usize) -> Node {
        if anchor == 0 {
            return node;
        }
        let span = node.span;
        let node = Arc::new(node);
        let kind = Value::Alias(Arc::clone(&node));
        let nodes = self.nodes - nodes_before;
        let anchored = Anchor {
            node,
            nodes,
            height,
        };
        self.anchors.insert(anchor, anchored);
        Node { span, kind }
    }

    /// Puts a value where it belongs.
    fn put(&mut self, node: Node, height: usize) {
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(node);
            return;
        };
        frame.end = frame.end.max(node.span.end);
        frame.height = frame.height.max(height + 1);
        match &mut frame.items {
            Items::Array(items) => items.push(node),
            Items::Object { members, key } => members.extend(key.take().map(|key| Member {
                key: key.text,
                key_span: key.span,
                key_is_string: key.is_string,
                shadowed: false,
                value: node,
            })),
        }
    }

    fn expects_key(&self) -> bool {
        let top = self.stack.last().map(|frame| &frame.items);
        matches!(top, Some(Items::Object { key: None, .. }))
    }

    fn pending_key(&self) -> Option<&Key> {
        match &self.stack.last()?.items {
            Items::Object { key, .. } => key.as_ref(),
            Items::Array(_) => None,
        }
    }

    fn set_key(&mut self, new: Key) -> Result<(), ParseError> {
        if new.text.byte_count() > self.limits.key_bytes {
            return Err(ParseError::key_too_long(new.span, self.limits));
        }
        if let Some(frame) = self.stack.last_mut()
            && let Items::Object { key, .. } = &mut frame.items
        {
            frame.end = frame.end.max(new.span.end);
            *key = Some(new);
        }
        Ok(())
    }

    /// Counts more keys and values.
    fn count(&mut self, more: usize, span: Span) -> Result<(), ParseError> {
        self.nodes = self.nodes.saturating_add(more);
        if self.nodes > self.limits.nodes {
            return Err(mistake::too_large(span, self.limits));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
