//! A plugin in a client's own format → a package: metadata and servers are
//! translated, skills adopted, and what only that client knows moves to its
//! namespace directory (§8), where its own manifest goes on finding it.

mod metadata;
mod moves;
mod others;
pub(super) mod parts;
mod secrets;
mod server;
mod servers;
mod values;

use super::PlanError;
use super::client::{Client, SERVERS};
use super::draft::Draft;
use super::identity::{Identity, package_name};
use super::json::{Json, Text};
use super::loss::{Loss, LossKind};
use super::paths::relative;
use super::recognise::MANIFEST;
use super::skill::SKILL_FILE;
use super::skills::{self, Adopted};
use crate::document::{Object, Pointer};
use crate::spec::codes::skills as codes;
use crate::spec::version::{self, SchemaKind, Selection};
use moves::Moves;

/// What to convert, and how.
#[derive(Debug)]
pub(super) struct Native<'a> {
    pub(super) client: Client,
    /// The manifest that counts.
    pub(super) manifest: &'a str,
    /// What the user says.
    pub(super) identity: Identity,
    pub(super) rename: bool,
}

/// Where Copilot's manifest goes when it lies where the portable one must be.
const COPILOT_MANIFEST: &str = ".github/plugin/plugin.json";

/// Converts the plugin in `draft`; gives the manifest and what became of the skills.
pub(super) fn convert(draft: &mut Draft, native: Native<'_>) -> Result<(Json, Adopted), PlanError> {
    let Native {
        client,
        manifest: path,
        identity,
        rename,
    } = native;
    // Without a manifest, everything is at its default place.
    let bytes = draft.bytes(path).unwrap_or(b"{}").to_vec();
    let unreadable = |message: String| PlanError::Manifest {
        path: path.to_owned(),
        message,
    };
    let text = Text::read(path, &bytes).map_err(|error| unreadable(error.message))?;
    let root = &text.document.root;
    let fields = root
        .as_object()
        .ok_or_else(|| unreadable(format!("it is {}, not an object", root.type_name())))?;
    let mut manifest = Json::of(root);

    // Both manifests say what the user says.
    if let Some(name) = &identity.name {
        manifest.set("name", Json::string(name));
    }
    identity.write_to(&mut manifest);
    let identity = identity.or(metadata::read(draft, client, &text, fields));
    let name = identity.name.clone().ok_or(PlanError::NameMissing)?;
    package_name(&name).map_err(PlanError::Name)?;
    user_config(draft, &text, fields);
    secrets_of_manifest(draft, &text, &mut manifest);

    let mut adopted = adopt_skills(draft, &text, fields, &mut manifest, rename, client);
    for problem in std::mem::take(&mut adopted.names) {
        draft.lose(problem.loss());
    }

    let mut moves = Moves::default();
    for (old, new) in &adopted.moved {
        moves.note(old, new);
    }
    let mut pointers = Vec::new();
    let own = servers::own(draft, fields);
    let servers = servers::convert(draft, client, &text, fields, &mut manifest);
    let servers = own.with(draft, servers);
    others::compare(draft, client, &servers);
    let mut of_client = Vec::new();
    for part in client.parts() {
        of_client.extend(parts::place(
            draft,
            client,
            part,
            &mut manifest,
            &mut moves,
            &mut pointers,
            &text,
        ));
    }
    of_client.extend(parts::by_location(draft, client));
    parts::tell(draft, client, &of_client);
    // What one part names may have been moved with another.
    for part in client.parts() {
        if let Some(mut value) = manifest.get(part.field).cloned() {
            moves.follow_sources(&mut value);
            manifest.set(part.field, value);
        }
    }
    own.write(draft, servers);
    others::follow(draft, client, &moves);
    moves.report(draft);

    if path != MANIFEST && draft.has(MANIFEST) && kept_extensions(draft).is_none() {
        let why = "it is no manifest of Agent Plugins, and the portable one takes its place";
        draft.lose(Loss::new(
            LossKind::FileLeftOut,
            MANIFEST,
            "the former plugin.json",
            why,
        ));
    }
    let native_path = match path {
        MANIFEST => {
            draft.tree.files.remove(path);
            COPILOT_MANIFEST
        }
        path => path,
    };
    if manifest != Json::of(root) || native_path != path {
        draft.put_json(native_path, &manifest);
    }
    let mut portable = identity.manifest(&name);
    let mut extensions = kept_extensions(draft).unwrap_or(Json::Object(Vec::new()));
    let mut own = vec![(
        "manifest".to_owned(),
        Json::String(format!("./{native_path}")),
    )];
    own.extend(pointers);
    extensions.set(client.namespace(), Json::Object(own));
    portable.set("extensions", extensions);
    Ok((portable, adopted))
}

/// `extensions` of a manifest of the specification that is there already.
fn kept_extensions(draft: &Draft) -> Option<Json> {
    let text = Text::read(MANIFEST, draft.bytes(MANIFEST)?).ok()?;
    let manifest = Json::of(&text.document.root);
    let schema = manifest.get("$schema")?.as_str()?;
    if matches!(
        version::select(schema, SchemaKind::Plugin, true),
        Selection::NotCanonical
    ) {
        return None;
    }
    let extensions = manifest.get("extensions").cloned();
    Some(
        extensions
            .filter(|value| value.as_object().is_some())
            .unwrap_or(Json::Object(Vec::new())),
    )
}

/// Takes credentials out of the manifest that stays with the client. Servers have
/// lines of their own.
fn secrets_of_manifest(draft: &mut Draft, text: &Text<'_>, manifest: &mut Json) {
    let servers = manifest.get(SERVERS).cloned();
    if servers.is_some() {
        manifest.set(SERVERS, Json::Null);
    }
    secrets::strip_and_tell(draft, text, manifest);
    if let Some(servers) = servers {
        manifest.set(SERVERS, servers);
    }
}

fn user_config(draft: &mut Draft, text: &Text<'_>, fields: &Object) {
    let Some(member) = fields.get("userConfig") else {
        return;
    };
    let pointer = Pointer::root().key("userConfig");
    for option in member
        .value
        .as_object()
        .into_iter()
        .flat_map(Object::effective)
    {
        let name = option.key.display();
        draft.lose(
            Loss::new(
                LossKind::UserConfig,
                text.path,
                format!("option {name:?}"),
                "portable clients ask the user for nothing",
            )
            .at(pointer.key(&name), text.line(&option.value))
            .with_help("say in the description of the package how to set it"),
        );
    }
}

/// Brings every skill of the plugin to `skills/`.
fn adopt_skills(
    draft: &mut Draft,
    text: &Text<'_>,
    fields: &Object,
    manifest: &mut Json,
    rename: bool,
    client: Client,
) -> Adopted {
    let mut places = Vec::new();
    if let Some(member) = fields.get("skills") {
        let value = Json::of(&member.value);
        let listed = match &value {
            Json::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        for item in listed {
            let path = item.as_str().and_then(relative);
            let found = path.filter(|path| path.is_empty() || draft.tree.has_directory(path));
            match found {
                Some(path) => places.push(path),
                None => draft.lose(metadata::place(
                    Loss::new(
                        LossKind::ManifestType,
                        text.path,
                        "field \"skills\"",
                        format!(
                            "{} names no directory of the plugin",
                            item.text().trim_end()
                        ),
                    ),
                    text,
                    member,
                )),
            }
        }
        // Everything is at the default place now.
        match client {
            Client::ClaudeCode => manifest.remove("skills"),
            Client::Codex | Client::Copilot => manifest.set("skills", Json::string("./skills/")),
        }
    }
    // The default place is searched whatever the manifest says; last, so that a
    // directory of skills below it has been emptied.
    places.push(skills::DIRECTORY.to_owned());
    let mut adopted = Adopted::default();
    let mut seen = Vec::new();
    for place in places {
        if seen.contains(&place) {
            continue;
        }
        if place.is_empty() {
            adopted.add(adopt_root(draft, rename));
        } else if !draft.has(&format!("{place}/{SKILL_FILE}")) {
            skills::adopt(draft, &place, rename, &mut adopted);
        } else if !place.starts_with("skills/") {
            let directory = place.rsplit('/').next().unwrap_or_default();
            skills::adopt_one(draft, &place, directory, rename, &mut adopted);
        }
        seen.push(place);
    }
    adopted
}

/// `"skills": "./"`: the directories of the plugin that are skills.
fn adopt_root(draft: &mut Draft, rename: bool) -> Adopted {
    let mut adopted = Adopted::default();
    let mut directories: Vec<String> = draft
        .tree
        .files
        .keys()
        .filter_map(|path| path.strip_suffix(SKILL_FILE)?.strip_suffix('/'))
        .filter(|directory| !directory.contains('/') && !directory.starts_with('.'))
        .map(str::to_owned)
        .collect();
    directories.dedup();
    let places = directories.into_iter().map(|path| (path.clone(), path));
    skills::adopt_all(draft, places.collect(), rename, &mut adopted);
    if draft.has(SKILL_FILE) {
        draft.announce(SKILL_FILE, &codes::MISPLACED_SKILL);
        draft.lose(
            Loss::new(
                LossKind::SkillMisplaced,
                SKILL_FILE,
                "the skill at the root",
                "a skill needs a directory of its own, and the root is the package's",
            )
            .with_help("move it with its files to skills/<name>/"),
        );
    }
    adopted
}
