//! Plans made from files that a test composes.

use apkit::export::{self, File, Input, Plan, Source, Tree};
use serde_json::Value;

use crate::support::Place;

/// A tree of these files.
pub(crate) fn tree(files: &[(&str, &str)]) -> Tree {
    let files = files.iter().map(|(path, text)| {
        let file = File {
            bytes: text.as_bytes().to_vec(),
            executable: false,
        };
        ((*path).to_owned(), file)
    });
    Tree {
        files: files.collect(),
        losses: Vec::new(),
    }
}

/// An input of one source.
pub(crate) fn input(files: &[(&str, &str)]) -> Input {
    Input {
        sources: vec![Source {
            name: "source".to_owned(),
            tree: tree(files),
        }],
        namespace: "works.ever".to_owned(),
        ..Input::default()
    }
}

/// The same with a name for the package.
pub(crate) fn named(files: &[(&str, &str)]) -> Input {
    let mut input = input(files);
    input.identity.name = Some("pack".to_owned());
    input
}

/// The plan, which must be valid at `--strict` but for what it announces.
pub(crate) fn planned(input: Input) -> Plan {
    let plan = export::plan(input).unwrap_or_else(|error| panic!("no plan: {error}"));
    let place = Place::new();
    export::check(&plan, place.path(), export::Options::default())
        .unwrap_or_else(|error| panic!("not valid: {error}\n{:#?}", plan.losses));
    plan
}

/// Why there is no plan.
pub(crate) fn refused(input: Input) -> String {
    match export::plan(input) {
        Err(error) => error.to_string(),
        Ok(plan) => panic!("there is a plan: {:?}", paths(&plan)),
    }
}

pub(crate) fn paths(plan: &Plan) -> Vec<&str> {
    plan.outputs
        .iter()
        .map(|output| output.path.as_str())
        .collect()
}

pub(crate) fn text<'p>(plan: &'p Plan, path: &str) -> &'p str {
    let found = plan.outputs.iter().find(|output| output.path == path);
    let output = found.unwrap_or_else(|| panic!("no {path} among {:?}", paths(plan)));
    std::str::from_utf8(&output.bytes).expect("a text")
}

pub(crate) fn json(plan: &Plan, path: &str) -> Value {
    serde_json::from_str(text(plan, path)).expect("JSON")
}

/// Kind and subject of each loss.
pub(crate) fn losses(plan: &Plan) -> Vec<(&'static str, &str)> {
    plan.losses
        .iter()
        .map(|loss| (loss.kind.id(), loss.what.as_str()))
        .collect()
}

/// A tree of what a plan would write.
pub(crate) fn written(plan: &Plan) -> Tree {
    let files = plan.outputs.iter().map(|output| {
        let file = File {
            bytes: output.bytes.clone(),
            executable: output.executable,
        };
        (output.path.clone(), file)
    });
    Tree {
        files: files.collect(),
        losses: Vec::new(),
    }
}

pub(crate) const SKILL: &str = "---\nname: tides\ndescription: Tells the tides. Use it for questions about them.\n---\n\nLook it up.\n";
