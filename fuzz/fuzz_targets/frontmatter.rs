//! Frontmatter and YAML: never a panic, never long, every promise of the tree
//! kept, the same verdict wherever the YAML stands in the text.
#![no_main]

#[path = "../../tests/it/document/promises.rs"]
#[expect(dead_code, reason = "the targets share it, and each judges one format")]
mod promises;

use apkit::diagnostic::Span;
use apkit::document::frontmatter::split;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let whole = promises::judge_yaml(text, Span::new(0, text.len()));
    let wrapped = format!("---\n{text}\n---\n");
    match split(&wrapped) {
        Ok(found) => {
            let tree = promises::judge_yaml(&wrapped, found.yaml);
            // Unless the text holds a marker of its own, it is all of the YAML.
            if found.yaml.len() == text.len() + 1 && text.ends_with(['\n', '\r']) {
                assert_eq!(whole.is_some(), tree.is_some());
            }
        }
        Err(error) => panic!("{error:?}"),
    }
    match split(text) {
        Ok(found) => {
            assert!(found.yaml.end <= found.body.start && found.body.end == text.len());
            promises::judge_yaml(text, found.yaml);
        }
        Err(error) => assert!(text.get(error.span.start..error.span.end).is_some()),
    }
});
