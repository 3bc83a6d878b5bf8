//! The document tree, judged by other readers and by its own promises.

mod frontmatter;
mod json;
mod yaml;

use apkit::diagnostic::Span;
use apkit::document::{Document, Node, ParseError, Value};
use proptest::prelude::*;

/// A quarter of the usual number of cases, to stay quick; `PROPTEST_CASES` asks
/// for more. What a failure teaches becomes a test with a name, not a seed file.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig {
        cases: usual.cases / 4,
        failure_persistence: None,
        ..usual
    }
}

/// What every error promises: a place within the text, on whole characters if
/// the text has any, and one line to read.
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

/// What every tree promises: spans nest, keys stand before their values, a key
/// is shadowed exactly if it comes again, and every repetition is listed.
fn check_tree(bytes: &[u8], document: &Document) {
    let mut repeated = 0;
    walk(&document.root, &mut |node| {
        assert_span(bytes, node.span);
        let within = |span: Span| {
            assert!(node.span.start <= span.start && span.end <= node.span.end);
        };
        match &node.kind {
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
}

/// Every node that stands in the text itself.
fn walk<'n>(node: &'n Node, visit: &mut impl FnMut(&'n Node)) {
    visit(node);
    match &node.kind {
        Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
        Value::Object(object) => object
            .members
            .iter()
            .for_each(|member| walk(&member.value, visit)),
        _ => {}
    }
}

/// A change of one byte.
#[derive(Debug, Clone)]
enum Edit {
    Replace(prop::sample::Index, u8),
    Insert(prop::sample::Index, u8),
    Delete(prop::sample::Index),
}

/// Edits with bytes that mean something in JSON and YAML, and with any byte.
fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let telling = prop::sample::select(&b"{}[]\",:'\\/#-+.0e1tnu \t\n\r|>&*!?~"[..]);
    let byte = prop_oneof![4 => telling, 1 => any::<u8>()].boxed();
    let edit = prop_oneof![
        (any::<prop::sample::Index>(), byte.clone()).prop_map(|(at, byte)| Edit::Replace(at, byte)),
        (any::<prop::sample::Index>(), byte).prop_map(|(at, byte)| Edit::Insert(at, byte)),
        any::<prop::sample::Index>().prop_map(Edit::Delete),
    ];
    prop::collection::vec(edit, 1..4)
}

fn apply(edits: &[Edit], text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for edit in edits {
        match edit {
            Edit::Insert(at, byte) => bytes.insert(at.index(bytes.len() + 1), *byte),
            _ if bytes.is_empty() => {}
            Edit::Replace(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Edit::Delete(at) => {
                bytes.remove(at.index(bytes.len()));
            }
        }
    }
    bytes
}
