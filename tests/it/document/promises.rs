//! What the document tree promises for every input. The fuzz targets check the
//! same, so nothing here depends on how inputs are made.

use apkit::diagnostic::Span;
use apkit::document::{
    Document, Limits, Member, Node, ParseError, ParseErrorKind, Text, Value, json, yaml,
};

/// Reads `bytes` as JSON, compares with `serde_json`, and gives the tree.
pub(crate) fn judge_json(bytes: &[u8]) -> Option<Document> {
    let theirs = serde_json::from_slice::<serde_json::Value>(bytes).ok();
    match json::parse(bytes, json::LIMITS) {
        Ok(document) => {
            check_tree(bytes, &document, json::LIMITS);
            // Their limit for depth is one less than ours.
            if theirs.is_some() || expanded(&document.root).1 < json::LIMITS.depth {
                assert_eq!(to_serde_json(&document.root), theirs);
            }
            Some(document)
        }
        Err(error) => {
            check_error(bytes, &error);
            // They keep no more than 127 levels, so nothing beyond our limits.
            assert_eq!(theirs, None, "{error:?}");
            None
        }
    }
}

/// Reads the bytes `range` of `text` as YAML and gives the tree.
pub(crate) fn judge_yaml(text: &str, range: Span) -> Option<Document> {
    match yaml::parse(text, range, yaml::LIMITS) {
        Ok(document) => {
            check_tree(text.as_bytes(), &document, yaml::LIMITS);
            assert!(document.lone_surrogates.is_empty());
            assert!(range.start <= document.root.span.start);
            assert!(document.root.span.end <= range.end);
            Some(document)
        }
        Err(error) => {
            check_error(text.as_bytes(), &error);
            assert!(range.start <= error.span.start && error.span.end <= range.end);
            let kinds = [ParseErrorKind::Syntax, ParseErrorKind::TooComplex];
            assert!(kinds.contains(&error.kind), "{error:?}");
            None
        }
    }
}

/// What `serde_json` makes of the tree's values; `None` if it could not hold
/// them (a lone surrogate, a number beyond its range).
fn to_serde_json(node: &Node) -> Option<serde_json::Value> {
    let string = |text: &Text| text.as_str().map(str::to_owned);
    Some(match node.value() {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Number(text) => serde_json::from_str(text).ok()?,
        Value::String(text) => string(text)?.into(),
        Value::Array(items) => items.iter().map(to_serde_json).collect::<Option<_>>()?,
        Value::Object(object) => {
            let member = |m: &Member| Some((string(&m.key)?, to_serde_json(&m.value)?));
            // A shadowed value must be readable as well.
            let members: Option<Vec<_>> = object.members.iter().map(member).collect();
            members?.into_iter().collect()
        }
        Value::Alias(_) => return None,
    })
}

/// An error points at a place within the text, on whole characters if the text
/// has any, and has one line to read.
fn check_error(bytes: &[u8], error: &ParseError) {
    assert_span(bytes, error.span);
    assert!(!error.message.is_empty());
    assert!(!error.message.contains(['\n', '\r']), "{error:?}");
}

fn assert_span(bytes: &[u8], span: Span) {
    assert!(
        span.start <= span.end && span.end <= bytes.len(),
        "{span:?}"
    );
    if let Ok(text) = str::from_utf8(bytes) {
        assert!(text.get(span.start..span.end).is_some(), "{span:?}");
    }
}

/// In a tree spans nest, keys stand before their values, a key is shadowed
/// exactly if it comes again, every repetition is listed, and the limits hold
/// for whoever follows aliases.
fn check_tree(bytes: &[u8], document: &Document, limits: Limits) {
    let mut repeated = 0;
    walk(&document.root, &mut |node| {
        assert_span(bytes, node.span);
        let within = |span: Span| {
            assert!(node.span.start <= span.start && span.end <= node.span.end);
        };
        match written(node) {
            Value::Array(items) => items.iter().for_each(|item| within(item.span)),
            Value::Object(object) => {
                for (index, member) in object.members.iter().enumerate() {
                    within(member.key_span);
                    within(member.value.span);
                    assert!(member.key_span.end <= member.value.span.start);
                    let rest = object.members.get(index + 1..).unwrap_or_default();
                    let again = rest.iter().any(|later| later.key == member.key);
                    assert_eq!(member.shadowed, again, "{:?}", member.key);
                    repeated += usize::from(again);
                }
            }
            _ => {}
        }
    });
    assert_eq!(document.duplicates.len(), repeated);
    for duplicate in &document.duplicates {
        assert!(duplicate.first.end <= duplicate.again.start);
    }
    assert!(
        document
            .duplicates
            .is_sorted_by_key(|found| found.again.start)
    );
    let (nodes, depth) = expanded(&document.root);
    assert!(nodes <= limits.nodes && depth <= limits.depth);
}

/// The value if it stands at the node's own place: an anchored node does, what
/// an alias refers to does not.
fn written(node: &Node) -> &Value {
    match &node.kind {
        Value::Alias(target) if target.span == node.span => &target.kind,
        kind => kind,
    }
}

/// Every node at its own place in the text.
pub(crate) fn walk<'n>(node: &'n Node, visit: &mut impl FnMut(&'n Node)) {
    visit(node);
    match written(node) {
        Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
        Value::Object(object) => {
            for member in &object.members {
                walk(&member.value, visit);
            }
        }
        _ => {}
    }
}

/// Keys and values, and levels of collections, aliases followed.
fn expanded(node: &Node) -> (usize, usize) {
    let (own, children): (_, Vec<&Node>) = match node.value() {
        Value::Array(items) => (1, items.iter().collect()),
        Value::Object(object) => {
            let values = object.members.iter().map(|member| &member.value);
            (1 + object.members.len(), values.collect())
        }
        _ => return (1, 0),
    };
    children
        .into_iter()
        .map(expanded)
        .fold((own, 1), |all, child| {
            (all.0 + child.0, all.1.max(child.1 + 1))
        })
}
