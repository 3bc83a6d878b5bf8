//! `package.json`, so that a package can be published to an npm registry.

use std::collections::BTreeSet;

use super::PlanError;
use super::client::Client;
use super::draft::Draft;
use super::json::{Json, Text};
use super::targets::{Facts, codex};
use crate::spec::foreign::NATIVE_MANIFESTS;

/// The manifest of npm.
const MANIFEST: &str = "package.json";

/// Writes the manifest, or completes the one that is there: what its author
/// wrote stays, but name and version of the package count.
pub(super) fn add(draft: &mut Draft, facts: &Facts) -> Result<(), PlanError> {
    let old = match draft.bytes(MANIFEST) {
        None => None,
        Some(bytes) => {
            let text = Text::read(MANIFEST, bytes).map_err(|error| PlanError::Manifest {
                path: MANIFEST.to_owned(),
                message: error.message,
            })?;
            Some(Json::of(&text.document.root)).filter(|value| value.as_object().is_some())
        }
    };
    let is_new = old.is_none();
    let mut manifest = old.unwrap_or(Json::Object(Vec::new()));
    let version = facts.identity.version.clone();
    let has = |manifest: &Json, key: &str| manifest.get(key).is_some();
    if !has(&manifest, "name") {
        manifest.set("name", Json::string(&facts.name));
    }
    match version {
        Some(version) => manifest.set("version", Json::String(version)),
        None if has(&manifest, "version") => {}
        None => return Err(PlanError::VersionMissing),
    }
    let mut fields = Json::Object(Vec::new());
    facts.identity.write_to(&mut fields);
    for (key, value) in fields.as_object().unwrap_or_default() {
        if !has(&manifest, key) {
            manifest.set(key, value.clone());
        }
    }
    if !is_new {
        complete_files(draft, facts, &mut manifest);
    }
    if manifest.get("private") == Some(&Json::Bool(true)) {
        draft.note("package.json: npm publishes nothing that is \"private\": true");
    }
    draft.put_json(MANIFEST, &manifest);
    Ok(())
}

/// A list of files that forgets what makes the package one publishes nothing
/// that a client could load.
fn complete_files(draft: &mut Draft, facts: &Facts, manifest: &mut Json) {
    let Some(Json::Array(mut files)) = manifest.get("files").cloned() else {
        return;
    };
    let listed = |files: &[Json], wanted: &str| {
        files.iter().filter_map(Json::as_str).any(|pattern| {
            let pattern = pattern
                .trim_start_matches("./")
                .trim_end_matches(['/', '*']);
            pattern.is_empty() || pattern == wanted || wanted.starts_with(&format!("{pattern}/"))
        })
    };
    let tops: Vec<String> = needed(draft, facts)
        .into_iter()
        .filter(|top| draft.has(top) || draft.tree.has_directory(top))
        .collect();
    for top in tops {
        if !listed(&files, &top) {
            draft.note(format!("package.json: {top} was added to files"));
            files.push(Json::String(top));
        }
    }
    manifest.set("files", Json::Array(files));
}

/// What clients read at the top of the package, and what its servers and hooks
/// are started from.
fn needed(draft: &Draft, facts: &Facts) -> Vec<String> {
    let mut tops: Vec<String> = ["plugin.json", "mcp.json", "skills"]
        .map(str::to_owned)
        .to_vec();
    for (path, _) in NATIVE_MANIFESTS.iter().filter(|(path, _)| draft.has(path)) {
        tops.extend(
            path.rsplit_once('/')
                .map(|(directory, _)| directory.to_owned()),
        );
    }
    tops.extend(Client::ALL.map(|client| client.namespace().to_owned()));
    for (_, definition) in &facts.servers {
        for field in ["command", "cwd"] {
            let path = definition
                .get(field)
                .and_then(Json::as_str)
                .unwrap_or_default();
            let inside = path.strip_prefix("./").unwrap_or_default();
            tops.extend(inside.split('/').next().map(str::to_owned));
        }
        tops.extend(codex::named_entries(&definition.text()));
    }
    for client in Client::ALL {
        for (_, file) in draft.tree.below(client.namespace()) {
            tops.extend(codex::named_entries(&String::from_utf8_lossy(&file.bytes)));
        }
    }
    let mut seen = BTreeSet::new();
    tops.retain(|top| !top.is_empty() && top != "." && seen.insert(top.clone()));
    tops
}
