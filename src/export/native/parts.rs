//! The parts of a plugin that only one client knows: moved, pointed to, named.

use super::super::client::{Client, HOOKS, Part, Reads, SERVERS};
use super::super::draft::Draft;
use super::super::json::{Json, Text};
use super::super::loss::{Loss, LossKind};
use super::super::paths::relative;
use super::moves::Moves;
use super::secrets;

/// Where Copilot looks for hooks in a package, and nowhere else.
const COPILOT_HOOKS: &str = "com.github.copilot/hooks/hooks.json";

/// A part that only its client loads.
pub(super) struct Own {
    what: &'static str,
    /// Where it was.
    path: String,
    /// Where it is now, as a phrase.
    to: String,
}

/// Says of all parts together that only their client loads them.
pub(super) fn tell(draft: &mut Draft, client: Client, parts: &[Own]) {
    let mut told: Vec<&str> = Vec::new();
    for Own { to, path, .. } in parts {
        if told.contains(&to.as_str()) {
            continue;
        }
        told.push(to);
        let what: Vec<&str> = parts
            .iter()
            .filter(|part| part.to == *to)
            .map(|part| part.what)
            .collect();
        let why = format!("only {} loads them; they {to}", client.label());
        draft.lose(Loss::new(
            LossKind::ClientComponent,
            path,
            what.join(", "),
            why,
        ));
    }
}

/// Brings one part into the namespace directory and points both manifests there.
pub(super) fn place(
    draft: &mut Draft,
    client: Client,
    part: &Part,
    manifest: &mut Json,
    moves: &mut Moves,
    pointers: &mut Vec<(String, Json)>,
    text: &Text<'_>,
) -> Option<Own> {
    let namespace = client.namespace();
    let written = manifest.get(part.field).cloned();
    let listed: Vec<Json> = match &written {
        Some(Json::Array(items)) => items.clone(),
        Some(one) => vec![one.clone()],
        None => vec![Json::String(format!("./{}", part.default))],
    };
    let listed = with_default(draft, client, part, &written, listed);
    let mut places = Vec::new();
    let mut inline = false;
    let mut origin = None;
    for item in &listed {
        let Some(path) = item.as_str() else {
            inline = true;
            places.push(item.clone());
            continue;
        };
        let inside = relative(path);
        if let Some(file) = inside.as_deref().filter(|_| part.field != SERVERS) {
            secrets::strip_file(draft, file);
        }
        let new = inside.as_deref().and_then(|path| {
            moves
                .follow(path)
                .or_else(|| moves.bring(draft, path, namespace))
        });
        match new {
            Some(new) => {
                origin = origin.or(inside);
                places.push(Json::String(format!("./{new}")));
            }
            // What is wrong with a place of servers is told where they are read.
            None if part.field == SERVERS && written.is_some() => places.push(item.clone()),
            None if written.is_some() => {
                draft.lose(Loss::new(
                    LossKind::ManifestType,
                    text.path,
                    format!("field {:?}", part.field),
                    format!("{path:?} names nothing in the plugin"),
                ));
                places.push(item.clone());
            }
            None => {}
        }
    }
    if places.is_empty() {
        return None;
    }
    if part.field == HOOKS {
        hooks(draft, client, &mut places, moves);
    }
    let mut value = Json::Array(places);
    if part.each_file {
        value = each_file(draft, value);
    }
    let Json::Array(mut places) = value else {
        return None;
    };
    let places = if places.len() == 1 {
        places.pop().unwrap_or(Json::Null)
    } else {
        Json::Array(places)
    };
    manifest.set(part.field, places.clone());
    if !inline {
        pointers.push((part.field.to_owned(), places));
    }
    if part.field == SERVERS {
        return None;
    }
    let path = origin.unwrap_or_else(|| text.path.to_owned());
    if client == Client::Codex && part.field == HOOKS {
        let why = "Codex runs no hooks of a plugin that has a plugin.json";
        draft.lose(
            Loss::new(LossKind::ClientComponent, path, part.what, why)
                .with_help("--target codex adds a second plugin that holds them"),
        );
        return None;
    }
    Some(Own {
        what: part.what,
        path,
        to: if inline {
            "stay in its own manifest".to_owned()
        } else {
            format!("are in {namespace}/")
        },
    })
}

/// What the manifest lists, and the default place where the client reads that, too;
/// where it does not, what lies there is named.
fn with_default(
    draft: &mut Draft,
    client: Client,
    part: &Part,
    written: &Option<Json>,
    mut listed: Vec<Json>,
) -> Vec<Json> {
    let is_there = draft.has(part.default) || draft.tree.has_directory(part.default);
    let is_named = listed.iter().any(|item| {
        let path = item.as_str().and_then(relative);
        path.is_some_and(|path| {
            path == part.default || path.starts_with(&format!("{}/", part.default))
        })
    });
    if written.is_none() || !is_there || is_named {
        return listed;
    }
    let default = Json::String(format!("./{}", part.default));
    match client.reads(part.field) {
        Reads::Both => {
            // First, so that the manifest has the last word.
            listed.insert(0, default);
            return listed;
        }
        Reads::Default => return vec![default],
        Reads::Named => {}
    }
    secrets::strip_file(draft, part.default);
    let why = format!(
        "the manifest names other {}, and {} reads no more than these",
        part.what,
        client.label()
    );
    draft.lose(Loss::new(
        LossKind::Unread,
        part.default,
        format!("{} at the default place", part.what),
        why,
    ));
    listed
}

/// Every file in place of the directories that hold them.
pub(in super::super) fn each_file(draft: &Draft, places: Json) -> Json {
    let Json::Array(places) = places else {
        return places;
    };
    let mut files = Vec::new();
    for place in places {
        let directory = place
            .as_str()
            .and_then(relative)
            .filter(|path| !draft.has(path));
        match directory {
            Some(directory) => files.extend(
                draft
                    .tree
                    .below(&directory)
                    .filter(|(inner, _)| inner.ends_with(".md"))
                    .map(|(inner, _)| Json::String(format!("./{directory}/{inner}"))),
            ),
            None => files.push(place),
        }
    }
    Json::Array(files)
}

/// Keeps out of hooks files what makes a client refuse the whole file, and
/// brings them where the client looks.
fn hooks(draft: &mut Draft, client: Client, places: &mut [Json], moves: &mut Moves) {
    for place in places.iter_mut() {
        if client == Client::Copilot {
            to_copilot(draft, place, moves);
        }
        let Some(path) = place.as_str().and_then(relative) else {
            continue;
        };
        let Some(bytes) = draft.bytes(&path).map(<[u8]>::to_vec) else {
            continue;
        };
        let Ok(text) = Text::read(&path, &bytes) else {
            draft.lose(Loss::new(
                LossKind::ManifestType,
                &path,
                "hooks",
                "the file is no JSON",
            ));
            continue;
        };
        let mut value = Json::of(&text.document.root);
        let strange: Vec<(String, usize)> = text
            .document
            .root
            .as_object()
            .into_iter()
            .flat_map(|object| object.effective())
            .filter(|member| !client.hooks_keys().contains(&&*member.key.display()))
            .map(|member| (member.key.display().into_owned(), text.line(&member.value)))
            .collect();
        // Without `hooks`, the events stand at the top.
        if value.get("hooks").is_none() || strange.is_empty() {
            continue;
        }
        for (key, line) in strange {
            value.remove(&key);
            let why = format!("{} may refuse the whole file for it", client.label());
            draft.lose(
                Loss::new(LossKind::HooksKey, &path, format!("key {key:?}"), why)
                    .at(format!("/{key}"), line),
            );
        }
        draft.put_json(path, &value);
    }
}

fn to_copilot(draft: &mut Draft, place: &mut Json, moves: &mut Moves) {
    if draft.has(COPILOT_HOOKS) {
        let path = place.as_str().and_then(relative).unwrap_or_default();
        if path != COPILOT_HOOKS {
            draft.lose(Loss::new(
                LossKind::Unread,
                &path,
                "hooks",
                format!("GitHub Copilot reads {COPILOT_HOOKS} alone, which holds others already"),
            ));
        }
        return;
    }
    match place.as_str().and_then(relative) {
        Some(path) => {
            if let Some(file) = draft.tree.files.remove(&path) {
                draft.tree.files.insert(COPILOT_HOOKS.to_owned(), file);
                moves.redirect(&path, COPILOT_HOOKS);
            }
        }
        None => {
            let value = match place.get("hooks") {
                Some(_) => place.clone(),
                None => Json::object([
                    ("version", Json::Number("1".to_owned())),
                    ("hooks", place.clone()),
                ]),
            };
            draft.put_json(COPILOT_HOOKS, &value);
        }
    }
    *place = Json::String(format!("./{COPILOT_HOOKS}"));
}

/// What a client finds by its place alone, and so stays where it is.
pub(super) fn by_location(draft: &mut Draft, client: Client) -> Vec<Own> {
    let mut found = Vec::new();
    if client != Client::ClaudeCode {
        return found;
    }
    for (path, what) in [
        ("settings.json", "default settings"),
        ("monitors/monitors.json", "monitors"),
        ("themes", "themes"),
        ("workflows", "workflows"),
    ] {
        if draft.has(path) || draft.tree.has_directory(path) {
            secrets::strip_file(draft, path);
            found.push(Own {
                what,
                path: path.to_owned(),
                to: "stay where they are".to_owned(),
            });
        }
    }
    found
}
