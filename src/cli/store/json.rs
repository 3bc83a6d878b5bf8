//! What is said about packages of a store, as JSON: `schemas/store.v1.schema.json`.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use apkit::archive::{Change, ChangeKind, LeftOut};
use apkit::package::{Package, Report};
use apkit::render;
use apkit::render::json_v1;
use apkit::source::{Resolved, Source};
use apkit::store::{
    Discarded, Done, Entry, Folders, LeftAlone, Outcome, Problem, Rejected, Rewritten, WhyAlone,
    shown_version,
};

use super::super::exit::Exit;
use super::super::failure::{Failure, slashed};
use super::super::output;

/// Writes a document whose one list is `member`.
pub(super) fn write(member: &str, items: Vec<Value>, out: &mut dyn Write) -> io::Result<()> {
    let mut document = header();
    document.insert(member.to_owned(), Value::Array(items));
    render::write_json(out, &Value::Object(document), true)
}

/// With JSON, a run that failed prints a document as well, and says it to people as
/// always.
pub(super) fn or_failure(is_json: bool, result: Result<Exit, Failure>) -> Result<Exit, Failure> {
    let Err(failure) = result else {
        return result;
    };
    // What cannot be written is not told there.
    if is_json && !matches!(failure, Failure::Write { .. }) {
        let mut document = header();
        document.insert("error".to_owned(), json!(failure.text()));
        output::to_stdout(|out| render::write_json(out, &Value::Object(document), true))?;
    }
    Err(failure)
}

/// Why something failed, without credentials of addresses.
pub(super) fn message(error: &apkit::store::Error) -> Value {
    json!(Source::shown_in(&error.to_string()))
}

/// What became of a package that failed with this.
pub(super) fn failed(error: &apkit::store::Error) -> &'static str {
    if error.is_denied() {
        "denied"
    } else if error.is_unreachable() {
        "unreachable"
    } else {
        "failed"
    }
}

/// What every document has.
pub(super) fn header() -> Map<String, Value> {
    let tool = json!({"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")});
    let mut document = Map::new();
    document.insert("schema_version".to_owned(), json!(1));
    document.insert("tool".to_owned(), tool);
    document
}

/// What the lock file says of a package.
pub(super) fn entry(entry: &Entry) -> Value {
    let resolved = match &entry.resolved {
        Resolved::Content => json!({}),
        Resolved::Commit { id, reference } => json!({"commit": id, "reference": reference}),
        Resolved::Version {
            version,
            integrity,
            tarball,
        } => json!({"version": version, "integrity": integrity, "tarball": tarball}),
        Resolved::Archive { integrity } => json!({"integrity": integrity}),
    };
    json!({
        "source": entry.source.to_string(),
        "key": entry.source.key(),
        "kind": entry.source.kind().as_str(),
        "resolved": resolved,
        "digest": entry.digest.to_string(),
        "version": entry.version,
        "shown_version": shown_version(entry.version.as_deref(), &entry.digest),
        "spec_version": entry.spec_version,
    })
}

/// What a client gets of a package, and every finding, as in a report.
pub(super) fn package(package: Package) -> Value {
    let report = Report {
        packages: vec![package],
    };
    let mut text = Vec::new();
    let written = json_v1::write(&report, &mut text);
    let document: Value = written
        .and_then(|()| Ok(serde_json::from_slice(&text)?))
        .unwrap_or_default();
    document.pointer("/packages/0").cloned().unwrap_or_default()
}

pub(super) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Installed => "installed",
        Outcome::Updated => "updated",
        Outcome::Repaired => "repaired",
        Outcome::Recorded => "recorded",
        Outcome::Unchanged => "unchanged",
    }
}

/// A package that is in place.
pub(super) fn done(done: Done, outdated_rules: Value) -> Map<String, Value> {
    let mut members = Map::new();
    let mut set = |key: &str, value: Value| members.insert(key.to_owned(), value);
    set("name", json!(done.name));
    set("outcome", json!(outcome(done.outcome)));
    set("before", done.before.as_ref().map(entry).into());
    set("after", entry(&done.entry));
    set("rewritten", rewritten(done.before.as_ref(), &done.entry));
    set("left_out", left_out(&done.left_out));
    set("weak_digest", json!(done.is_weak));
    set("discarded", discarded(&done.discarded));
    set("discarded_unknown", json!(done.discarded.is_unknown));
    set("folders", folders(&done.folders));
    set("outdated_rules", outdated_rules);
    set("package", package(done.package));
    members
}

/// What names one content for good, and names another one now.
pub(super) fn rewritten(before: Option<&Entry>, after: &Entry) -> Value {
    let rewritten = before.and_then(|before| Rewritten::between(before, after));
    json!(rewritten.map(|what| what.as_str()))
}

/// A package that is not in place for what was found in it.
pub(super) fn rejected(rejected: Rejected) -> Map<String, Value> {
    let mut members = Map::new();
    members.insert("outcome".to_owned(), json!("rejected"));
    members.insert("left_out".to_owned(), left_out(&rejected.left_out));
    members.insert("package".to_owned(), package(rejected.package));
    members
}

fn left_out(left_out: &[LeftOut]) -> Value {
    let left_out = left_out.iter();
    left_out
        .map(|left| json!({"path": left.path, "reason": left.reason.to_string()}))
        .collect()
}

/// What somebody had changed, and what no package holds.
pub(super) fn discarded(discarded: &Discarded) -> Value {
    let others = discarded.others.iter();
    let others = others.map(|path| json!({"path": path, "change": ChangeKind::Added.to_string()}));
    let mut items = changes(&discarded.changes);
    if let Value::Array(items) = &mut items {
        items.extend(others);
    }
    items
}

pub(super) fn changes(changes: &[Change]) -> Value {
    let changes = changes
        .iter()
        .map(|change| json!({"path": change.path.as_str(), "change": change.kind.to_string()}));
    changes.collect()
}

pub(super) fn folders(folders: &Folders) -> Value {
    let copied = folders.copied.iter().map(|copied| {
        json!({
            "path": slashed(&copied.path),
            "unchanged": copied.is_unchanged,
            "scripts_left_out": copied.scripts_left_out,
            "scripts_removed": copied.scripts_removed,
            "links_left_out": copied.links_left_out,
        })
    });
    let removed = folders.removed.iter().map(|path| json!(slashed(path)));
    json!({
        "copied": copied.collect::<Value>(),
        "removed": removed.collect::<Value>(),
        "outside": folders.outside.iter().map(left_alone).collect::<Value>(),
        "already_there": folders.already_there.iter().map(|path| json!(slashed(path))).collect::<Value>(),
        "not_deleted": problems(&folders.not_deleted),
        "kept": folders.kept.iter().map(|path| json!(slashed(path))).collect::<Value>(),
    })
}

fn left_alone(left: &LeftAlone) -> Value {
    let why = match left.why {
        WhyAlone::Unasked => "unasked",
        WhyAlone::CameAlong => "came_along",
        WhyAlone::LeadsOut => "leads_out",
        WhyAlone::Git => "git",
        WhyAlone::Store => "store",
        WhyAlone::Source => "source",
    };
    json!({"path": slashed(&left.path), "why": why})
}

pub(super) fn problems(problems: &[Problem]) -> Value {
    let problems = problems
        .iter()
        .map(|problem| json!({"path": slashed(&problem.path), "problem": problem.problem}));
    problems.collect()
}
