//! Every case, mended: nothing is lost and nothing gets worse.

use apkit::edit::fix::Options;

use super::case;
use super::stage::Stage;
use crate::fix::hold_laws;

#[test]
fn no_case_gets_worse_by_being_mended() {
    no_case_gets_worse(false);
}

#[test]
fn no_case_gets_worse_by_being_mended_with_risks() {
    no_case_gets_worse(true);
}

fn no_case_gets_worse(risky: bool) {
    let mut wrong = Vec::new();
    let mut mended = 0;
    let stage = Stage::new(false);
    for case in &case::all() {
        if !stage.lacks(case).is_empty() {
            continue;
        }
        let options = Options {
            risky,
            namespace: risky.then_some("com.example.client"),
            drafts: case.options.spec_draft.is_some(),
        };
        let root = stage.path().join(stage.build(case));
        if root.is_dir() {
            match hold_laws(&root, &options) {
                Ok(count) => mended += count,
                Err(error) => wrong.push(format!("{}: {error}", case.id)),
            }
        }
        stage.unlock(case);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(mended > 60, "only {mended} findings were mended");
}
