//! What the user says about the package, in every manifest that says it, too: a
//! field is set where a manifest has it, and keeps its shape there.

use super::draft::Draft;
use super::identity::Identity;
use super::json::{Json, Text};
use crate::spec::foreign::{MARKETPLACES, NATIVE_MANIFESTS, NODE_MANIFEST, is_placeholder_version};

/// Sets the fields of `identity` in the manifests of clients, in `package.json`,
/// and in the entries of marketplaces that offer the directory itself.
pub(super) fn others(draft: &mut Draft, identity: &Identity) {
    if *identity == Identity::default() {
        return;
    }
    let mut said = Json::Object(Vec::new());
    if let Some(name) = &identity.name {
        said.set("name", Json::string(name));
    }
    identity.write_to(&mut said);
    let said = said.as_object().unwrap_or_default();
    let native = NATIVE_MANIFESTS.iter().map(|(path, _)| *path);
    for path in native
        .chain([NODE_MANIFEST])
        .chain(MARKETPLACES.iter().copied())
    {
        let Some(bytes) = draft.bytes(path) else {
            continue;
        };
        // What cannot be read says nothing.
        let Ok(text) = Text::read(path, bytes) else {
            continue;
        };
        let before = Json::of(&text.document.root);
        let mut after = before.clone();
        if MARKETPLACES.contains(&path) {
            entries(&mut after, said);
        } else {
            manifest(&mut after, said, path == NODE_MANIFEST);
        }
        if after != before {
            draft.put_json(path, &after);
            draft.note(format!("{path}: it says what the options say"));
        }
    }
}

fn entries(marketplace: &mut Json, said: &[(String, Json)]) {
    let Some(Json::Array(mut plugins)) = marketplace.get("plugins").cloned() else {
        return;
    };
    for plugin in &mut plugins {
        let source = plugin.get("source").and_then(Json::as_str);
        if source.is_some_and(|source| matches!(source, "./" | ".")) {
            manifest(plugin, said, false);
        }
    }
    marketplace.set("plugins", Json::Array(plugins));
}

fn manifest(manifest: &mut Json, said: &[(String, Json)], node: bool) {
    let private = manifest.get("private") == Some(&Json::Bool(true));
    for (field, value) in said {
        let Some(old) = manifest.get(field) else {
            continue;
        };
        let new = match (field.as_str(), old, value) {
            ("version", Json::String(old), _) if node && is_placeholder_version(private, old) => {
                continue;
            }
            ("name", Json::String(old), Json::String(name)) if node => {
                let scope = old.split_once('/').filter(|_| old.starts_with('@'));
                Json::String(match scope {
                    Some((scope, _)) => format!("{scope}/{name}"),
                    None => name.clone(),
                })
            }
            ("repository", Json::Object(_), _) => within(old, "url", value),
            ("license", Json::Object(_), _) => within(old, "type", value),
            ("author", Json::String(_), _) => match Identity::person(value) {
                Some(person) => Json::String(person.line()),
                None => continue,
            },
            _ => value.clone(),
        };
        manifest.set(field, new);
    }
}

/// An object with one member set.
fn within(object: &Json, key: &str, value: &Json) -> Json {
    let mut object = object.clone();
    object.set(key, value.clone());
    object
}
