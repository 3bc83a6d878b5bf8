//! The parts of a plugin that only one client knows: moved, pointed to, named.

use super::super::client::{Client, HOOKS, Part, SERVERS};
use super::super::draft::{Draft, client_only};
use super::super::json::{Json, Text};
use super::super::loss::{Loss, LossKind};
use super::super::paths::relative;
use super::moves::Moves;
use super::secrets;

/// Where Copilot looks for hooks in a package, and nowhere else.
const COPILOT_HOOKS: &str = "com.github.copilot/hooks/hooks.json";

/// Brings one part into the namespace directory and points both manifests there.
pub(super) fn place(
    draft: &mut Draft,
    client: Client,
    part: &Part,
    manifest: &mut Json,
    moves: &mut Moves,
    pointers: &mut Vec<(String, Json)>,
    text: &Text<'_>,
) {
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
            Some(new) => places.push(Json::String(format!("./{new}"))),
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
        return;
    }
    if part.field == HOOKS {
        hooks(draft, client, &mut places, moves);
    }
    let mut value = Json::Array(places);
    if part.each_file {
        value = each_file(draft, value);
    }
    let Json::Array(mut places) = value else {
        return;
    };
    let places = if places.len() == 1 {
        places.pop().unwrap_or(Json::Null)
    } else {
        Json::Array(places)
    };
    let to = if inline {
        "its own manifest".to_owned()
    } else {
        format!("{namespace}/")
    };
    manifest.set(part.field, places.clone());
    if !inline {
        pointers.push((part.field.to_owned(), places));
    }
    if part.field != SERVERS {
        let what = part.what.to_owned();
        let path = if inline { text.path } else { part.default };
        let mut loss = client_only(client.label(), path, what, &to);
        if client == Client::Codex && part.field == HOOKS {
            loss.why = "Codex runs no hooks of a plugin that has a plugin.json".to_owned();
            loss.help = Some("--target codex adds a second plugin that holds them".to_owned());
        }
        draft.lose(loss);
    }
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
    if client.merges_default(part.field) {
        // First, so that the manifest has the last word.
        listed.insert(0, Json::String(format!("./{}", part.default)));
        return listed;
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
        format!("{} in {}", part.what, part.default),
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
pub(super) fn by_location(draft: &mut Draft, client: Client) {
    if client != Client::ClaudeCode {
        return;
    }
    for (path, what) in [
        ("settings.json", "default settings"),
        ("monitors/monitors.json", "monitors"),
        ("themes", "themes"),
        ("workflows", "workflows"),
    ] {
        if draft.has(path) || draft.tree.has_directory(path) {
            secrets::strip_file(draft, path);
            draft.lose(client_only(
                client.label(),
                path,
                what.to_owned(),
                "their place",
            ));
        }
    }
}
