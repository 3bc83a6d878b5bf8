//! The manifests of the other clients beside the one that is read.

use super::super::client::Client;
use super::super::draft::Draft;
use super::super::json::{Json, Text};
use super::super::loss::{Loss, LossKind, Weight};
use super::super::paths::relative;
use super::super::skill::SKILL_FILE;
use super::super::skills::DIRECTORY;
use super::moves::Moves;
use super::secrets;
use super::servers::{self, Servers};
use crate::spec::foreign;

/// Reads what the manifests of the other clients name: no secret stays there, and
/// servers and skills that the package does not have are named. To be done before
/// anything is moved.
pub(super) fn compare(draft: &mut Draft, chosen: Client, portable: &Servers) {
    for client in Client::ALL.into_iter().filter(|client| *client != chosen) {
        for path in client.manifests() {
            let Some(bytes) = draft.bytes(path).map(<[u8]>::to_vec) else {
                continue;
            };
            let Ok(text) = Text::read(path, &bytes) else {
                continue;
            };
            let root = &text.document.root;
            let Some(fields) = root.as_object() else {
                continue;
            };
            let mut manifest = Json::of(root);
            super::secrets_of_manifest(draft, &text, &mut manifest);
            secrets_of_files(draft, client, &manifest);
            let (known, notes) = (draft.losses.len(), draft.notes.len());
            let theirs = servers::convert(draft, client, &text, fields, &mut manifest);
            draft.notes.truncate(notes);
            let told = draft.losses.split_off(known);
            for loss in told {
                let is_known = draft.losses.iter().any(|other| {
                    (other.kind, &other.path, &other.pointer)
                        == (loss.kind, &loss.path, &loss.pointer)
                });
                let counts =
                    loss.kind == LossKind::Credential || loss.kind.weight() == Weight::Component;
                if counts && !is_known {
                    draft.lose(loss);
                }
            }
            if manifest != Json::of(root) {
                draft.put_json(*path, &manifest);
            }
            // Claude Code goes on reading its own manifest.
            if client == Client::ClaudeCode {
                continue;
            }
            for (name, entry) in &theirs {
                // Clients start the same server in other directories.
                let is_same = |known: &Json| {
                    ["type", "command", "url"]
                        .iter()
                        .all(|field| known.get(field) == entry.get(field))
                };
                if !portable
                    .iter()
                    .any(|(known, portable)| known == name && is_same(portable))
                {
                    shadowed(draft, client, path, format!("server {name:?}"));
                }
            }
            for place in skills(draft, &manifest) {
                shadowed(draft, client, path, format!("skill {place}"));
            }
        }
    }
    let others = foreign::NATIVE_MANIFESTS.iter().map(|(path, _)| *path);
    for path in others.filter(|path| is_unknown(path)) {
        secrets::strip_file(draft, path);
    }
}

/// Whether the manifest is that of a client that is not converted.
fn is_unknown(path: &str) -> bool {
    !Client::ALL
        .iter()
        .any(|client| client.manifests().contains(&path))
}

fn shadowed(draft: &mut Draft, client: Client, path: &str, what: String) {
    let label = client.label();
    let what = format!("{what} of the manifest for {label}");
    let why = format!("{label} reads plugin.json and mcp.json instead, which do not have it");
    draft.lose(
        Loss::new(LossKind::ShadowedComponent, path, what, why).with_help(format!(
            "--from {} exports what that manifest names",
            client.id()
        )),
    );
}

/// The files of its parts lose what looks like a secret, too.
fn secrets_of_files(draft: &mut Draft, client: Client, manifest: &Json) {
    for part in client.parts() {
        let named = manifest.get(part.field).cloned();
        for path in paths(&named.unwrap_or(Json::string(part.default))) {
            secrets::strip_file(draft, &path);
        }
    }
}

/// The skills in directories that only this manifest names.
fn skills(draft: &Draft, manifest: &Json) -> Vec<String> {
    let places = paths(manifest.get("skills").unwrap_or(&Json::Null));
    let mut found = Vec::new();
    for place in places
        .iter()
        .filter(|place| !place.is_empty() && *place != DIRECTORY)
    {
        for (inner, _) in draft.tree.below(place) {
            let is_skill = inner == SKILL_FILE
                || inner
                    .strip_suffix(SKILL_FILE)
                    .and_then(|inner| inner.strip_suffix('/'))
                    .is_some_and(|directory| !directory.contains('/'));
            let file = format!("{place}/{inner}");
            let directory = file.strip_suffix(SKILL_FILE).unwrap_or(&file);
            if is_skill && !place.starts_with("skills/") {
                found.push(directory.trim_end_matches('/').to_owned());
            }
        }
    }
    found
}

/// The paths that a field names.
fn paths(value: &Json) -> Vec<String> {
    let items = match value {
        Json::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let paths = items.iter().filter_map(|item| relative(item.as_str()?));
    paths.collect()
}

/// The manifests of clients that are not converted go on finding what was moved.
fn follow_unknown(draft: &mut Draft, moves: &Moves) {
    for (path, client) in foreign::NATIVE_MANIFESTS {
        let Some(bytes) = draft
            .bytes(path)
            .filter(|_| is_unknown(path))
            .map(<[u8]>::to_vec)
        else {
            continue;
        };
        let Ok(text) = Text::read(path, &bytes) else {
            continue;
        };
        let before = Json::of(&text.document.root);
        let mut manifest = before.clone();
        for part in Client::ClaudeCode.parts() {
            let Some(mut value) = manifest.get(part.field).cloned() else {
                if let Some(new) = moves.follow(part.default) {
                    let why =
                        format!("{client} may look for them there, and they lie in {new} now");
                    draft.lose(Loss::new(
                        LossKind::MovedReference,
                        *path,
                        format!("{} in {}", part.what, part.default),
                        why,
                    ));
                }
                continue;
            };
            moves.follow_in(&mut value);
            moves.follow_sources(&mut value);
            for place in paths(&value) {
                if !place.is_empty() && !draft.has(&place) && !draft.tree.has_directory(&place) {
                    let why = format!("{place} is not in the package");
                    draft.lose(Loss::new(
                        LossKind::MovedReference,
                        *path,
                        format!("field {:?}", part.field),
                        why,
                    ));
                }
            }
            manifest.set(part.field, value);
        }
        if manifest != before {
            draft.put_json(*path, &manifest);
        }
    }
}

/// The manifests of the other clients go on finding what was moved, and what
/// they say and no client reads any more is named.
pub(super) fn follow(draft: &mut Draft, chosen: Client, moves: &Moves) {
    follow_unknown(draft, moves);
    for client in Client::ALL {
        for path in client.manifests() {
            let Some(bytes) = draft.bytes(path).map(<[u8]>::to_vec) else {
                continue;
            };
            let Ok(text) = Text::read(path, &bytes) else {
                continue;
            };
            let before = Json::of(&text.document.root);
            if before.as_object().is_none() {
                continue;
            }
            if client != chosen {
                let mut manifest = before.clone();
                for part in client.parts() {
                    match manifest.get(part.field).cloned() {
                        Some(mut value) => {
                            moves.follow_in(&mut value);
                            manifest.set(part.field, value);
                        }
                        None => {
                            if let Some(new) = moves.follow(part.default) {
                                manifest.set(part.field, Json::String(format!("./{new}")));
                            }
                        }
                    }
                }
                if manifest != before {
                    draft.put_json(*path, &manifest);
                }
            }
            if client == Client::ClaudeCode {
                continue;
            }
            let portable = [
                "name",
                "version",
                "description",
                "author",
                "homepage",
                "repository",
                "license",
                "keywords",
                "skills",
                "mcpServers",
                "$schema",
            ];
            let unread: Vec<&str> = before
                .as_object()
                .unwrap_or_default()
                .iter()
                .map(|(key, _)| key.as_str())
                .filter(|key| !portable.contains(key))
                // Those of the client that is read are told one by one.
                .filter(|key| {
                    client != chosen || client.parts().iter().all(|part| part.field != *key)
                })
                .collect();
            if !unread.is_empty() {
                draft.lose(Loss::new(
                    LossKind::ManifestShadowed,
                    *path,
                    format!("the manifest for {}", client.label()),
                    format!(
                        "{} reads plugin.json instead, which has no {}",
                        client.label(),
                        unread.join(", ")
                    ),
                ));
            }
        }
    }
}
