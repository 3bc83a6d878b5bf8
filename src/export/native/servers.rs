//! Where the servers of a native plugin are defined, and the `mcp.json` made of them.

use super::super::client::{Client, Reads, SERVERS};
use super::super::draft::Draft;
use super::super::json::{Json, Text};
use super::super::loss::{Loss, LossKind};
use super::super::paths::relative;
use super::metadata::place;
use super::secrets;
use super::server::Server;
use crate::document::{Member, Node, Object, Pointer, Value};
use crate::spec::version::{self, SchemaKind, Selection};

/// The name and entry of each server that `mcp.json` gets.
pub(super) type Servers = Vec<(String, Json)>;

/// The path of the portable file.
const PORTABLE: &str = "mcp.json";

/// The `mcp.json` that a plugin has beside what its client reads.
pub(super) struct Own {
    servers: Option<Servers>,
}

/// Reads it. One that is none of the specification, and which the portable one
/// takes the place of, is named.
pub(super) fn own(draft: &mut Draft, fields: &Object) -> Own {
    let nothing = Own { servers: None };
    let is_named = fields.get(SERVERS).is_some_and(|member| {
        let named = Json::of(&member.value);
        let items = match &named {
            Json::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        let paths = items.iter().filter_map(|item| relative(item.as_str()?));
        paths.into_iter().any(|path| path == PORTABLE)
    });
    let Some(bytes) = draft.bytes(PORTABLE).map(<[u8]>::to_vec) else {
        return nothing;
    };
    if is_named {
        return nothing;
    }
    if let Ok(text) = Text::read(PORTABLE, &bytes) {
        let mut document = Json::of(&text.document.root);
        let schema = document.get("$schema").and_then(Json::as_str);
        let is_portable = schema.is_some_and(|schema| {
            let selected = version::select(schema, SchemaKind::Mcp, true);
            !matches!(selected, Selection::NotCanonical)
        });
        if is_portable {
            if secrets::strip_and_tell(draft, &text, &mut document) {
                draft.put_json(PORTABLE, &document);
            }
            let servers = document.get(SERVERS).and_then(Json::as_object);
            return Own {
                servers: Some(servers.unwrap_or_default().to_vec()),
            };
        }
    }
    draft.tree.files.remove(PORTABLE);
    draft.lose(Loss::new(
        LossKind::FileLeftOut,
        PORTABLE,
        "the former mcp.json",
        "it is none of Agent Plugins, its client does not read it, and the portable one takes its place",
    ));
    nothing
}

impl Own {
    /// Its servers, and behind them those that were translated.
    pub(super) fn with(&self, draft: &mut Draft, translated: Servers) -> Servers {
        let mut servers = self.servers.clone().unwrap_or_default();
        for (name, entry) in translated {
            match servers.iter().find(|(known, _)| *known == name) {
                None => servers.push((name, entry)),
                Some((_, known)) if *known == entry => {}
                Some(_) => draft.note(format!(
                    "server {name:?}: mcp.json defines it already, and that is kept"
                )),
            }
        }
        servers
    }

    /// Writes the portable file, if there is anything to write.
    pub(super) fn write(&self, draft: &mut Draft, servers: Servers) {
        if self.servers.as_ref() == Some(&servers) {
            return;
        }
        if servers.is_empty() {
            draft.tree.files.remove(PORTABLE);
            return;
        }
        let document = Json::object([
            ("$schema", Json::string(version::current().mcp_schema)),
            (SERVERS, Json::Object(servers)),
        ]);
        draft.put_json(PORTABLE, &document);
    }
}

/// Translates every server of the plugin. The definitions for its own client
/// lose what looks like a secret, and nothing else.
pub(super) fn convert(
    draft: &mut Draft,
    client: Client,
    text: &Text<'_>,
    fields: &Object,
    manifest: &mut Json,
) -> Servers {
    let mut servers = Servers::new();
    let default = client
        .parts()
        .iter()
        .find(|part| part.field == SERVERS)
        .map_or("", |part| part.default);
    let Some(member) = fields.get(SERVERS) else {
        if draft.has(default) {
            file(draft, client, default, &mut servers);
        }
        return servers;
    };
    let (nodes, is_list) = match member.value.value() {
        Value::Array(items) => (items.as_slice(), true),
        _ => (std::slice::from_ref(&member.value), false),
    };
    if draft.has(default) && client.reads(SERVERS) == Reads::Default {
        file(draft, client, default, &mut servers);
        unread(draft, client, text, member, default, manifest);
        return servers;
    }
    let mut cleaned = Vec::new();
    let mut names_default = false;
    for node in nodes {
        match node.value() {
            Value::String(written) => {
                let path = written.as_str().and_then(relative).unwrap_or_default();
                names_default |= path == default;
                if path.ends_with(".mcpb") || path.ends_with(".dxt") {
                    lost(draft, text, node, &path, "it is a bundle for one client");
                } else if draft.has(&path) {
                    file(draft, client, &path, &mut servers);
                } else {
                    lost(
                        draft,
                        text,
                        node,
                        &path,
                        "there is no such file in the plugin",
                    );
                }
                cleaned.push(Json::of(node));
            }
            Value::Object(object) => {
                let pointer = Pointer::root().key(SERVERS);
                let object = object.clone();
                cleaned.push(Json::Object(all(
                    draft,
                    client,
                    text,
                    &pointer,
                    &object,
                    &mut servers,
                )));
            }
            _ => {
                let why = format!("it is {}", node.type_name());
                draft.lose(place(
                    Loss::new(
                        LossKind::ServersUnreadable,
                        text.path,
                        "field \"mcpServers\"",
                        why,
                    ),
                    text,
                    member,
                ));
                cleaned.push(Json::of(node));
            }
        }
    }
    let value = match (is_list, cleaned.len()) {
        (false, 1) => cleaned.pop().unwrap_or(Json::Null),
        _ => Json::Array(cleaned),
    };
    manifest.set(SERVERS, value);
    if draft.has(default) && !names_default {
        if client.reads(SERVERS) == Reads::Both {
            file(draft, client, default, &mut servers);
        } else {
            secrets::strip_file(draft, default);
        }
    }
    servers
}

/// Servers of the manifest that its client passes over for the default file; they
/// keep no secret, and are named if they are others.
fn unread(
    draft: &mut Draft,
    client: Client,
    text: &Text<'_>,
    member: &Member,
    default: &str,
    manifest: &mut Json,
) {
    let written = Json::of(&member.value);
    let items = match &written {
        Json::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let named: Vec<Option<String>> = items.iter().map(|item| relative(item.as_str()?)).collect();
    if named.iter().all(|path| path.as_deref() == Some(default)) {
        return;
    }
    for path in named.into_iter().flatten() {
        secrets::strip_file(draft, &path);
    }
    let mut servers = Json::object([(SERVERS, written)]);
    if secrets::strip_and_tell(draft, text, &mut servers) {
        manifest.set(SERVERS, servers.get(SERVERS).cloned().unwrap_or(Json::Null));
    }
    let why = format!(
        "{} reads {default} alone where there is one",
        client.label()
    );
    draft.lose(place(
        Loss::new(
            LossKind::Unread,
            text.path,
            "MCP servers that the manifest names",
            why,
        ),
        text,
        member,
    ));
}

fn lost(draft: &mut Draft, text: &Text<'_>, node: &Node, path: &str, why: &str) {
    draft.lose(
        Loss::new(
            LossKind::ServersUnreadable,
            text.path,
            format!("servers in {path}"),
            why,
        )
        .at(Pointer::root().key(SERVERS), text.line(node)),
    );
}

/// A file of servers: below `mcpServers`, or at its top, as clients allow both.
fn file(draft: &mut Draft, client: Client, path: &str, servers: &mut Servers) {
    let bytes = draft.bytes(path).unwrap_or_default().to_vec();
    let unreadable = |why: String, line: usize| {
        Loss::new(
            LossKind::ServersUnreadable,
            path,
            format!("servers in {path}"),
            why,
        )
        .on_line(line)
    };
    let text = match Text::read(path, &bytes) {
        Ok(text) => text,
        Err(error) => {
            let line = crate::diagnostic::LineIndex::new(&bytes)
                .locate(error.span)
                .line;
            draft.lose(unreadable(error.message, line));
            return;
        }
    };
    let root = &text.document.root;
    let Some(top) = root.as_object() else {
        draft.lose(unreadable(
            format!("it is {}, not an object", root.type_name()),
            1,
        ));
        return;
    };
    // Codex has a second spelling, that of its configuration.
    let key = [SERVERS, "mcp_servers"]
        .into_iter()
        .find(|key| top.get(key).is_some());
    let (object, pointer) = match key.and_then(|key| Some((key, top.get(key)?))) {
        Some((key, member)) => (member.value.as_object(), Pointer::root().key(key)),
        None => (Some(top), Pointer::root()),
    };
    let Some(object) = object else {
        draft.lose(unreadable(format!("its {SERVERS} is no object"), 1));
        return;
    };
    let before = Json::of(root);
    let cleaned = Json::Object(all(draft, client, &text, &pointer, object, servers));
    let after = match key {
        Some(key) => {
            let mut after = before.clone();
            after.set(key, cleaned);
            after
        }
        None => cleaned,
    };
    if after != before {
        draft.put_json(path, &after);
    }
}

/// Translates the members of `object`; gives those that the native client keeps.
fn all(
    draft: &mut Draft,
    client: Client,
    text: &Text<'_>,
    pointer: &Pointer,
    object: &Object,
    servers: &mut Servers,
) -> Vec<(String, Json)> {
    let mut native = Vec::new();
    for member in object.effective() {
        let name = member.key.display().into_owned();
        if name == "$schema" {
            native.push((name, Json::of(&member.value)));
            continue;
        }
        let translated = Server::translate(draft, client, text, pointer, member);
        if let Some(entry) = translated.portable {
            if servers.iter().any(|(known, _)| *known == name) {
                draft.note(format!(
                    "{}: server {name:?} was defined before, and the first counts",
                    text.path
                ));
            } else {
                servers.push((name.clone(), entry));
            }
        }
        if let Some(definition) = translated.native {
            native.push((name, definition));
        }
    }
    native
}
