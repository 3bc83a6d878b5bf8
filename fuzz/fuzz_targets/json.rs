//! JSON: never a panic, every promise of the tree kept, judged as `serde_json`
//! judges it.
#![no_main]

#[path = "../../tests/it/document/promises.rs"]
#[expect(dead_code, reason = "the targets share it, and each judges one format")]
mod promises;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    promises::judge_json(bytes);
});
