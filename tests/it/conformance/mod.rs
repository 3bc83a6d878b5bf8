//! Runs every case of `conformance-fixtures/`.

mod case;
mod judge;
mod mend;
mod program;
mod schemas;
mod stage;
mod statement;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use case::Case;
use program::Program;
use stage::Stage;

/// A case that is built and what to give to the program.
struct Built<'c> {
    case: &'c Case,
    given: PathBuf,
}

#[test]
fn every_case_gives_the_report_it_states() {
    let program = Program::find();
    let stage = Stage::new(program.non_root());
    let cases = case::all();
    let mut built = Vec::new();
    for case in &cases {
        let lacks = stage.lacks(case);
        if lacks.is_empty() {
            let given = stage.build(case);
            built.push(Built { case, given });
        } else {
            // Not `eprintln!`, which the test harness swallows.
            writeln!(std::io::stderr(), "SKIPPED {}: no {lacks:?} here", case.id)
                .expect("standard error");
        }
    }

    let mut differences: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let alone = run_alone(&program, stage.path(), &built, &mut differences);
    let together = run_together(&program, stage.path(), &built, &mut differences);
    for built in &built {
        let id = built.case.id.as_str();
        if let (Some(alone), Some(together)) = (alone.get(id), together.get(id))
            && alone != together
        {
            let told = format!("alone:    {alone}\ntogether: {together}");
            differences.entry(id).or_default().push(told);
        }
        stage.unlock(built.case);
    }

    let told: Vec<String> = differences
        .iter()
        .map(|(id, differences)| {
            let lines = differences.join("\n").replace('\n', "\n    ");
            format!("conformance-fixtures/{id}/case.toml\n    {lines}\n")
        })
        .collect();
    assert!(
        told.is_empty(),
        "{} of {} cases differ:\n\n{}",
        told.len(),
        built.len(),
        told.join("\n")
    );
}

/// Validates each package in a run of its own.
fn run_alone<'c>(
    program: &Program,
    directory: &Path,
    built: &[Built<'c>],
    differences: &mut BTreeMap<&'c str, Vec<String>>,
) -> BTreeMap<&'c str, Value> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let work = || {
        while let Some(built) = built.get(next.fetch_add(1, Ordering::Relaxed)) {
            let output = program.validate(directory, &built.case.options, [&built.given]);
            let result = (built, output);
            results.lock().expect("no worker panics").push(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
        work();
    });

    let mut packages = BTreeMap::new();
    for (built, output) in results.into_inner().expect("no worker panics") {
        let case = built.case;
        let mut found = Vec::new();
        if output.status.code() != Some(case.exit()) {
            found.push(format!(
                "exit: expected {}, got {}",
                case.exit(),
                output.status
            ));
        }
        match judge::packages(&output).as_deref() {
            Ok([package]) => {
                let root = directory.join(&built.given);
                found.extend(judge::differences(case, &root, &built.given, package));
                packages.insert(case.id.as_str(), package.clone());
            }
            Ok(packages) => found.push(format!("{} packages in the report", packages.len())),
            Err(error) => found.push(error.clone()),
        }
        if !found.is_empty() {
            differences.insert(&case.id, found);
        }
    }
    packages
}

/// Validates all packages that share their options in one run.
fn run_together<'c>(
    program: &Program,
    directory: &Path,
    built: &[Built<'c>],
    differences: &mut BTreeMap<&'c str, Vec<String>>,
) -> BTreeMap<&'c str, Value> {
    let mut groups: BTreeMap<_, Vec<&Built<'c>>> = BTreeMap::new();
    for built in built {
        let options = &built.case.options;
        let key = (&options.spec_draft, &options.args);
        groups.entry(key).or_default().push(built);
    }
    let mut packages = BTreeMap::new();
    for group in groups.into_values() {
        let Some(first) = group.first() else {
            continue;
        };
        let paths = group.iter().map(|built| &built.given);
        let output = program.validate(directory, &first.case.options, paths);
        let exit = group.iter().map(|built| built.case.exit()).max();
        let mut found = Vec::new();
        if output.status.code() != exit {
            found.push(format!("exit: expected {exit:?}, got {}", output.status));
        }
        match judge::packages(&output) {
            Ok(got) if got.len() == group.len() => {
                let ids = group.iter().map(|built| built.case.id.as_str());
                packages.extend(ids.zip(got));
            }
            Ok(got) => found.push(format!(
                "{} packages given, {} in the report",
                group.len(),
                got.len()
            )),
            Err(error) => found.push(error),
        }
        if !found.is_empty() {
            let told = format!("all {} together: {}", group.len(), found.join("\n"));
            differences.entry(&first.case.id).or_default().push(told);
        }
    }
    packages
}

#[test]
fn every_code_has_a_case_that_triggers_it() {
    let cases = case::all();
    let triggered: BTreeSet<&str> = cases
        .iter()
        .flat_map(|case| &case.findings)
        .map(|finding| finding.code.as_str())
        .collect();
    let idle: Vec<&str> = apkit::spec::codes::all()
        .map(|code| code.id)
        .filter(|id| !triggered.contains(id))
        .collect();
    assert!(idle.is_empty(), "no case triggers {idle:#?}");
}

#[test]
fn every_requirement_on_packages_has_a_case() {
    let cases = case::all();
    let named: BTreeSet<&str> = cases
        .iter()
        .flat_map(|case| &case.requirement)
        .map(String::as_str)
        .collect();
    let wanted = (1..=13).chain([20, 21]).map(|n| format!("AP-{n}"));
    let missing: Vec<String> = wanted.filter(|id| !named.contains(&**id)).collect();
    assert!(missing.is_empty(), "no case names {missing:?}");
}
