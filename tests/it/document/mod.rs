//! The document tree, judged by other readers and by its own promises.

mod frontmatter;
mod json;
mod promises;
mod yaml;

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
