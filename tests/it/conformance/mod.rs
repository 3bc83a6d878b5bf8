//! Runs every case of `conformance-fixtures/`.

#[expect(
    dead_code,
    reason = "what is expected is compared once `validate` exists"
)]
mod case;
mod stage;

#[test]
fn every_case_can_be_built() {
    let stage = stage::Stage::new(true);
    let cases = case::all();
    assert!(!cases.is_empty());
    for case in &cases {
        if stage.lacks(case).is_empty() {
            let path = stage.path().join(stage.build(case));
            assert!(path.is_dir(), "{}", case.id);
            stage.unlock(case);
        }
    }
}
