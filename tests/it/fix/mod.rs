//! `apkit fix`: what it changes, byte for byte, and what it leaves alone.

mod generated;
mod manifests;
mod runs;
mod servers;
mod skills;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use apkit::diagnostic::Severity;
use apkit::edit::fix::{self, Options};
use apkit::package::{self, McpState, Package, Verdict};
use serde_json::Value;

use crate::support::{Place, manifest};

const SKILL: &str =
    "---\nname: tides\ndescription: Tells the tides. Use it for them.\n---\n\nLook.\n";

/// Every file below a directory, with its content; links by where they lead.
pub(crate) fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(root: &Path, directory: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        let Ok(entries) = fs::read_dir(directory) else {
            return;
        };
        for entry in entries {
            let path = entry.expect("an entry").path();
            let name = path
                .strip_prefix(root)
                .expect("below")
                .to_string_lossy()
                .into_owned();
            let kind = path.symlink_metadata().expect("metadata").file_type();
            if kind.is_symlink() {
                let target = fs::read_link(&path).expect("a link");
                found.insert(name, target.to_string_lossy().into_owned().into_bytes());
            } else if kind.is_dir() {
                walk(root, &path, found);
            } else if kind.is_file() {
                found.insert(name, fs::read(&path).unwrap_or_default());
            } else {
                found.insert(name, b"special".to_vec());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(root, root, &mut found);
    found
}

/// The laws of mending, on the package at `root`, which is changed: nothing is
/// lost, nothing gets worse, a second run does nothing, and a plan writes nothing.
pub(crate) fn hold_laws(root: &Path, options: &Options<'_>) -> Result<usize, String> {
    let load = || {
        let how = package::Options {
            drafts: options.drafts,
            keep_sources: false,
        };
        package::load(root, "p", &how).map_err(|error| error.to_string())
    };
    let before = load()?;
    let files = tree(root);
    let plan = fix::plan(root, "p", options).map_err(|error| error.to_string())?;
    if tree(root) != files {
        return Err("the plan wrote something".to_owned());
    }
    let done = fix::mend(root, "p", options).map_err(|error| error.to_string())?;
    let after = load()?;
    if after.diagnostics != done.package.diagnostics && done.reasons.is_empty() {
        return Err(format!(
            "reported as left: {:?}\nis left: {:?}",
            done.package.diagnostics, after.diagnostics
        ));
    }
    compare(&before, &after)?;
    if plan.mended.is_empty() && plan.operations.is_empty() && tree(root) != files {
        return Err("something changed that was not planned".to_owned());
    }
    let files = tree(root);
    let again = fix::mend(root, "p", options).map_err(|error| error.to_string())?;
    if tree(root) != files || !again.mended.is_empty() || !again.operations.is_empty() {
        return Err(format!(
            "a second run changed something: {:?}",
            again.mended
        ));
    }
    Ok(done.mended.len() + done.operations.len())
}

fn compare(before: &Package, after: &Package) -> Result<(), String> {
    if before.verdict == Verdict::Loaded && after.verdict == Verdict::Rejected {
        return Err("the package no longer loads".to_owned());
    }
    if before.mcp.state == McpState::Enabled && after.mcp.state != McpState::Enabled {
        return Err("mcp.json is no longer in force".to_owned());
    }
    let skills = |package: &Package| -> BTreeMap<String, String> {
        let loaded = package.skills.loaded.iter();
        loaded
            .map(|skill| (skill.path.clone(), skill.description.clone()))
            .collect()
    };
    let after_skills = skills(after);
    for (path, description) in skills(before) {
        if after_skills.get(&path) != Some(&description) {
            return Err(format!("{path} is lost or says something else"));
        }
    }
    for server in &before.mcp.loaded {
        if !after
            .mcp
            .loaded
            .iter()
            .any(|other| other.name == server.name)
        {
            return Err(format!("the server {} is lost", server.name));
        }
    }
    // A new code may only be about what did not load before.
    let codes = |package: &Package| -> BTreeSet<(&'static str, String)> {
        let counted = package
            .diagnostics
            .iter()
            .filter(|found| found.severity() > Severity::Info);
        counted
            .map(|found| (found.code.id, found.path.clone()))
            .collect()
    };
    let known = codes(before);
    for found in codes(after).difference(&known) {
        let loaded = before.verdict == Verdict::Loaded
            && match found.0.split("::").next() {
                Some("skill") => before
                    .skills
                    .loaded
                    .iter()
                    .any(|skill| found.1.starts_with(&format!("{}/", skill.path))),
                Some("mcp") => {
                    before.mcp.state == McpState::Enabled && before.mcp.skipped.is_empty()
                }
                _ => true,
            };
        if loaded {
            return Err(format!("{} about {} is new", found.0, found.1));
        }
    }
    Ok(())
}

/// A package with these texts.
struct Sample {
    manifest: String,
    mcp: Option<String>,
    skill: String,
}

impl Sample {
    fn good() -> Self {
        Self {
            manifest: manifest("demo", ""),
            mcp: None,
            skill: SKILL.to_owned(),
        }
    }

    fn put(&self, place: &Place) {
        place.write("p/plugin.json", &self.manifest);
        place.write("p/skills/tides/SKILL.md", &self.skill);
        if let Some(mcp) = &self.mcp {
            place.write("p/mcp.json", mcp);
        }
    }
}

/// Runs `apkit fix` on a package in which one file holds `before`, and compares
/// the file with `after`; then tries everything that must hold of any run.
fn golden(file: &str, before: &[u8], after: &[u8], code: &str, arguments: &[&str]) {
    let place = Place::new();
    Sample::good().put(&place);
    place.write("p/bin/run", "#!/bin/sh\n");
    place.write("p/data/list.json", "[]");
    let path = place.write(&format!("p/{file}"), before);
    let shown = String::from_utf8_lossy(before).into_owned();
    let dry = place.run(["fix", "--dry-run", "p"].iter().chain(arguments));
    assert_eq!(dry.status, Some(1), "{shown}\n{}{}", dry.stdout, dry.stderr);
    assert!(dry.stdout.starts_with("--- a/p/"), "{}", dry.stdout);
    assert_eq!(
        fs::read(&path).expect("the file"),
        before,
        "a dry run writes nothing"
    );
    let run = place.run(["fix", "--format", "json", "p"].iter().chain(arguments));
    assert_ne!(run.status, Some(2), "{shown}\n{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let mended = report["packages"][0]["mended"].as_array().expect("a list");
    assert!(
        mended.iter().any(|found| found["code"] == code),
        "{shown}\n{}",
        run.stdout
    );
    let now = fs::read(&path).expect("the file");
    assert_eq!(
        String::from_utf8_lossy(&now),
        String::from_utf8_lossy(after),
        "{}",
        run.stdout
    );
    assert_eq!(now, after);
    let again = place.run(["fix", "p"].iter().chain(arguments));
    assert!(
        again.stdout.starts_with("nothing can be fixed"),
        "{}",
        again.stdout
    );
    assert_eq!(fs::read(&path).expect("the file"), after);
    let dry = place.run(["fix", "--dry-run", "p"].iter().chain(arguments));
    assert_eq!((dry.status, dry.stdout.as_str()), (Some(0), ""));
}

fn golden_text(file: &str, before: &str, after: &str, code: &str) {
    golden(file, before.as_bytes(), after.as_bytes(), code, &[]);
}

/// A skill's frontmatter, with a body that must stay.
fn skill(frontmatter: &str) -> String {
    format!("---\n{frontmatter}---\n\n# Tides \u{1f30a}\n\n\tkeep\t this \n")
}

fn golden_skill(before: &str, after: &str, code: &str, arguments: &[&str]) {
    let (before, after) = (skill(before), skill(after));
    let file = "skills/tides/SKILL.md";
    golden(file, before.as_bytes(), after.as_bytes(), code, arguments);
    let crlf = |text: &str| text.replace('\n', "\r\n").into_bytes();
    golden(file, &crlf(&before), &crlf(&after), code, arguments);
}

const ID: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";
const MCP_ID: &str = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json";
