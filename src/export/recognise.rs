//! What a source is.

use super::PlanError;
use super::client::Client;
use super::json::{Json, Text};
use super::offered;
use super::skill::SKILL_FILE;
use super::skills;
use super::tree::Tree;
use crate::spec::foreign;

/// The portable manifest.
pub(super) const MANIFEST: &str = "plugin.json";

/// What a source is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A package.
    Package,
    /// A plugin in a client's format, with its manifest or the place for one.
    Native(Client, &'static str),
    /// `skills/<name>/SKILL.md` and whatever else.
    SkillsInside,
    /// `<name>/SKILL.md`.
    Skills,
    /// `SKILL.md`.
    Skill,
    /// Nothing of that.
    Other,
}

/// Tells what the source is. A package's manifest comes first, then those of
/// the clients in the order of [`Client::ALL`], then skills; beside these, parts of a
/// plugin make one even without a manifest.
pub(super) fn recognise(tree: &Tree, from: Option<Client>) -> Result<Shape, PlanError> {
    let others = Client::ALL.iter().flat_map(|client| client.manifests());
    let others = others
        .into_iter()
        .any(|path| tree.files.contains_key(*path));
    let is_package = tree
        .files
        .get(MANIFEST)
        .is_some_and(|file| is_portable(&file.bytes, others));
    let native = |client: Client| {
        client
            .manifests()
            .iter()
            .find(|path| tree.files.contains_key(**path))
            .copied()
    };
    let legacy = tree.files.contains_key(MANIFEST) && !is_package;
    if let Some(client) = from {
        return match native(client) {
            Some(path) => Ok(Shape::Native(client, path)),
            None if client == Client::Copilot && legacy => Ok(Shape::Native(client, MANIFEST)),
            None => Err(PlanError::NoManifest(client)),
        };
    }
    if is_package {
        return Ok(Shape::Package);
    }
    if let Some((client, path)) = Client::ALL
        .into_iter()
        .find_map(|client| Some((client, native(client)?)))
    {
        return Ok(Shape::Native(client, path));
    }
    if legacy {
        // Copilot reads one at the root, too.
        return Ok(Shape::Native(Client::Copilot, MANIFEST));
    }
    if let Some(listed) = offered::list(tree) {
        return Err(listed);
    }
    let has_skills = |directory: &str| {
        tree.below(directory).any(|(inner, _)| {
            inner
                .strip_suffix(SKILL_FILE)
                .and_then(|inner| inner.strip_suffix('/'))
                .is_some_and(|directory| !directory.contains('/') && !directory.starts_with('.'))
        })
    };
    // Claude Code and Copilot load such a directory without a manifest, by the
    // places of its parts.
    let [manifest, ..] = Client::ClaudeCode.manifests() else {
        return Ok(Shape::Other);
    };
    let has_parts = Client::ClaudeCode
        .parts()
        .iter()
        .any(|part| tree.files.contains_key(part.default) || tree.has_directory(part.default));
    Ok(if has_skills(skills::DIRECTORY) && has_parts {
        Shape::Native(Client::ClaudeCode, manifest)
    } else if has_skills(skills::DIRECTORY) {
        Shape::SkillsInside
    } else if tree.files.contains_key(SKILL_FILE) {
        Shape::Skill
    } else if has_skills("") {
        Shape::Skills
    } else {
        Shape::Other
    })
}

/// Whether a `plugin.json` is one of the specification, be it a broken one.
/// Beside manifests of clients, one that does not say so is no such manifest.
fn is_portable(bytes: &[u8], has_others: bool) -> bool {
    let Ok(text) = Text::read(MANIFEST, bytes) else {
        return true;
    };
    let manifest = Json::of(&text.document.root);
    let Some(fields) = manifest.as_object() else {
        return true;
    };
    match manifest.get("$schema").and_then(Json::as_str) {
        Some(schema) => foreign::schema_host(schema).is_none(),
        None if has_others => false,
        None => {
            let fields: Vec<&str> = fields.iter().map(|(key, _)| key.as_str()).collect();
            foreign::recognise(&fields).is_none()
        }
    }
}

/// What a source that is nothing else holds, for the message.
pub(super) fn hint(tree: &Tree) -> Option<String> {
    let skill = tree
        .files
        .keys()
        .find(|path| path.ends_with(&format!("/{SKILL_FILE}")))?;
    let directory = skill
        .rsplit_once('/')
        .and_then(|(skill, _)| skill.rsplit_once('/'));
    let (directory, _) = directory?;
    Some(format!(
        "there are skills in {directory}: name that directory"
    ))
}
