//! `package.json`, so that a package can be published to an npm registry.

use super::PlanError;
use super::draft::Draft;
use super::json::{Json, Text};
use super::targets::Facts;

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
        complete_files(draft, &mut manifest);
    }
    draft.put_json(MANIFEST, &manifest);
    Ok(())
}

/// A list of files that forgets what makes the package one publishes nothing
/// that a client could load.
fn complete_files(draft: &mut Draft, manifest: &mut Json) {
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
    let tops: Vec<String> = ["plugin.json", "mcp.json", "skills"]
        .into_iter()
        .filter(|top| draft.has(top) || draft.tree.has_directory(top))
        .map(str::to_owned)
        .collect();
    for top in tops {
        if !listed(&files, &top) {
            draft.note(format!("package.json: {top} was added to files"));
            files.push(Json::String(top));
        }
    }
    manifest.set("files", Json::Array(files));
}
