//! Claude Code: reads `.claude-plugin/plugin.json` alone, discovers `skills/`
//! by its place, and takes servers from where that manifest points. It starts
//! them in the project, knows no `cwd`, and has its own names for the
//! placeholders, which it does not set under the names of the specification.

use std::collections::BTreeSet;

use super::super::client::{Client, Part, Reads, SERVERS};
use super::super::draft::Draft;
use super::super::json::{Json, Text};
use super::super::loss::{Loss, LossKind};
use super::super::native::parts::each_file;
use super::super::paths::relative;
use super::{Facts, report_expansion};

const MANIFEST: &str = ".claude-plugin/plugin.json";
const NAMESPACE: &str = Client::ClaudeCode.namespace();

pub(super) fn add(draft: &mut Draft, facts: &Facts) {
    if let Some(bytes) = draft.bytes(MANIFEST).map(<[u8]>::to_vec) {
        keep(draft, facts, &bytes);
        return;
    }
    let mut manifest = Json::object([("name", Json::string(&facts.name))]);
    facts.identity.write_to(&mut manifest);
    // The client wants a name in it.
    if manifest
        .get("author")
        .is_some_and(|author| author.get("name").is_none())
    {
        manifest.remove("author");
        draft.lose(Loss::new(
            LossKind::TargetManifest,
            "plugin.json",
            "the author in the manifest for Claude Code",
            "Claude Code takes no author without a name",
        ));
    }
    let missing: Vec<&str> = ["version", "description", "author"]
        .into_iter()
        .filter(|field| manifest.get(field).is_none())
        .collect();
    if !missing.is_empty() {
        draft.note(format!(
            "`claude plugin validate --strict` wants what the package does not say: {}",
            missing.join(", ")
        ));
    }
    own_parts(draft, facts, &mut manifest);
    if manifest.get(SERVERS).is_some() {
        let help = "name them there, or take the pointer out of extensions";
        report_missing(draft, facts, &manifest, help);
    } else if !facts.servers.is_empty() {
        let servers = facts
            .servers
            .iter()
            .map(|(name, definition)| (name.clone(), server(draft, name, definition)));
        let servers: Vec<(String, Json)> = servers.collect();
        let free = (1_u32..)
            .map(|number| match number {
                1 => format!("{NAMESPACE}/mcp.json"),
                number => format!("{NAMESPACE}/mcp-{number}.json"),
            })
            .find(|path| !draft.has(path));
        let path = free.unwrap_or_default();
        draft.put_json(&path, &Json::object([(SERVERS, Json::Object(servers))]));
        manifest.set(SERVERS, Json::string(format!("./{path}")));
    }
    report_defaults(draft, &manifest);
    draft.put_json(MANIFEST, &manifest);
}

/// Points to the parts that `extensions` says are Claude Code's own.
fn own_parts(draft: &mut Draft, facts: &Facts, manifest: &mut Json) {
    for part in Client::ClaudeCode.parts() {
        let own = facts.extensions.get(NAMESPACE);
        let Some(value) = own.and_then(|own| own.get(part.field)) else {
            continue;
        };
        let listed = match value {
            Json::Array(items) => items.clone(),
            one => vec![one.clone()],
        };
        let mut kept = Vec::new();
        for item in listed {
            match place(draft, &item) {
                Ok(item) => kept.push(item),
                Err(path) => {
                    let mut loss = Loss::new(
                        LossKind::TargetManifest,
                        "plugin.json",
                        format!("{} in the manifest for Claude Code", part.what),
                        format!("{path:?} names nothing in the package"),
                    );
                    loss.pointer = Some(format!("/extensions/{NAMESPACE}/{}", part.field));
                    draft.lose(loss);
                }
            }
        }
        let mut value = Json::Array(kept);
        if part.each_file {
            value = each_file(draft, value);
        }
        let Json::Array(mut kept) = value else {
            continue;
        };
        match kept.len() {
            0 => {}
            1 => manifest.set(part.field, kept.pop().unwrap_or(Json::Null)),
            _ => manifest.set(part.field, Json::Array(kept)),
        }
    }
}

/// A place of a part as Claude Code takes it, with `./` in front; what is no path
/// is the part itself. The error is the path that leads nowhere.
fn place(draft: &Draft, item: &Json) -> Result<Json, String> {
    let Some(path) = item.as_str() else {
        return Ok(item.clone());
    };
    match relative(path) {
        Some(inside) if draft.has(&inside) || draft.tree.has_directory(&inside) => {
            Ok(match path.starts_with("./") {
                true => item.clone(),
                false => Json::String(format!("./{inside}")),
            })
        }
        _ => Err(path.to_owned()),
    }
}

/// Names what lies where Claude Code looks by itself.
fn report_defaults(draft: &mut Draft, manifest: &Json) {
    let client = Client::ClaudeCode;
    let reads = |part: &&Part| {
        manifest.get(part.field).is_none() || client.reads(part.field) != Reads::Named
    };
    for part in client.parts().iter().filter(reads) {
        let is_named = manifest.get(part.field).is_some_and(|value| {
            value.as_str().and_then(relative).as_deref() == Some(part.default)
        });
        if is_named || !(draft.has(part.default) || draft.tree.has_directory(part.default)) {
            continue;
        }
        draft.lose(
            Loss::new(
                LossKind::TargetDefault,
                part.default,
                format!("{} in {}", part.what, part.default),
                "with a manifest of its own in the package, Claude Code looks there by itself",
            )
            .with_help("move it, unless Claude Code is to load it"),
        );
    }
}

/// A manifest that is there already is its author's.
fn keep(draft: &mut Draft, facts: &Facts, bytes: &[u8]) {
    let mut manifest = match Text::read(MANIFEST, bytes) {
        Ok(text) => Json::of(&text.document.root),
        Err(error) => {
            draft.lose(Loss::new(
                LossKind::TargetManifest,
                MANIFEST,
                "the manifest for Claude Code",
                error.message,
            ));
            return;
        }
    };
    let name = manifest.get("name").and_then(Json::as_str);
    if name != Some(facts.name.as_str()) {
        let other = name.unwrap_or("none");
        let why = format!(
            "plugin.json has the name {:?}, this one {other:?}",
            facts.name
        );
        draft.lose(Loss::new(
            LossKind::TargetManifest,
            MANIFEST,
            "its name",
            why,
        ));
    }
    correct_places(draft, &mut manifest);
    let help = "remove that manifest, and the export writes one";
    report_missing(draft, facts, &manifest, help);
}

/// Gives paths the `./` without which Claude Code refuses the plugin, and names
/// those that lead nowhere.
fn correct_places(draft: &mut Draft, manifest: &mut Json) {
    let fields = Client::ClaudeCode.parts().iter().map(|part| part.field);
    let mut changed = false;
    for field in fields.chain(["skills"]) {
        let Some(value) = manifest.get(field).cloned() else {
            continue;
        };
        let mut correct = |item: &Json| match place(draft, item) {
            Ok(item) => item,
            Err(path) => {
                draft.lose(Loss::new(
                    LossKind::TargetManifest,
                    MANIFEST,
                    format!("its field {field:?}"),
                    format!("{path:?} names nothing in the package"),
                ));
                item.clone()
            }
        };
        let new = match &value {
            Json::Array(items) => Json::Array(items.iter().map(&mut correct).collect()),
            one => correct(one),
        };
        if new != value {
            draft.note(format!("{MANIFEST}: paths of {field} begin with ./ now"));
            manifest.set(field, new);
            changed = true;
        }
    }
    if changed {
        draft.put_json(MANIFEST, manifest);
    }
}

/// Names the servers of `mcp.json` that Claude Code does not come to.
fn report_missing(draft: &mut Draft, facts: &Facts, manifest: &Json, help: &str) {
    let found = servers_of(draft, manifest);
    let missing: Vec<&str> = facts
        .servers
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| !found.contains(*name))
        .collect();
    if missing.is_empty() {
        return;
    }
    let why = match found.is_empty() {
        true => "the manifest that is there points to no servers".to_owned(),
        false => format!("the manifest does not lead to {}", missing.join(", ")),
    };
    draft.lose(
        Loss::new(
            LossKind::TargetManifest,
            MANIFEST,
            "the servers of mcp.json in Claude Code",
            why,
        )
        .with_help(help),
    );
}

/// The names of the servers that a manifest of Claude Code leads to.
fn servers_of(draft: &Draft, manifest: &Json) -> BTreeSet<String> {
    let default = Json::string(".mcp.json");
    let listed = match manifest.get(SERVERS) {
        Some(Json::Array(items)) => items.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let mut names = BTreeSet::new();
    for item in listed.iter().chain([&default]) {
        let read = item.as_str().and_then(relative).and_then(|path| {
            let text = Text::read(&path, draft.bytes(&path)?).ok()?;
            Some(Json::of(&text.document.root))
        });
        let servers = read.as_ref().unwrap_or(item);
        let servers = servers.get(SERVERS).unwrap_or(servers);
        let members = servers.as_object().unwrap_or_default();
        names.extend(members.iter().map(|(name, _)| name.clone()));
    }
    names
}

/// The same server in the words of Claude Code.
fn server(draft: &mut Draft, name: &str, definition: &Json) -> Json {
    report_expansion(draft, Client::ClaudeCode, name, definition);
    let transport = definition
        .get("type")
        .and_then(Json::as_str)
        .unwrap_or_default();
    let mut native = Vec::new();
    if transport != "stdio" {
        let kind = if transport == "streamable-http" {
            "http"
        } else {
            transport
        };
        native.push(("type", Json::string(kind)));
        native.extend(copy(definition, "url", |text| text.to_owned()));
        native.extend(copy(definition, "headers", |text| text.to_owned()));
        return Json::object(native);
    }
    native.extend(copy(definition, "command", |command| {
        match command.strip_prefix("./") {
            Some(inside) => format!("${{CLAUDE_PLUGIN_ROOT}}/{inside}"),
            None => command.to_owned(),
        }
    }));
    native.extend(copy(definition, "args", own_placeholders));
    // What the specification promises to every server (§9.1).
    let mut env = Json::object([
        ("PLUGIN_ROOT", Json::string("${CLAUDE_PLUGIN_ROOT}")),
        ("PLUGIN_DATA", Json::string("${CLAUDE_PLUGIN_DATA}")),
    ]);
    if let Some((_, Json::Object(members))) = copy(definition, "env", own_placeholders) {
        for (key, value) in members {
            env.set(&key, value);
        }
    }
    native.push(("env", env));
    if let Some(cwd) = definition.get("cwd").and_then(Json::as_str) {
        let mut loss = Loss::new(
            LossKind::WorkingDirectory,
            "mcp.json",
            format!("server {name:?}: cwd in Claude Code"),
            format!("Claude Code starts servers in the project, and knows no cwd for {cwd:?}"),
        );
        loss.pointer = Some(format!("/mcpServers/{name}/cwd"));
        draft.lose(loss);
    } else {
        draft.note("Claude Code starts stdio servers in the project, not in the package");
    }
    Json::object(native)
}

/// A field, with every string in it replaced.
fn copy<'k>(
    definition: &Json,
    field: &'k str,
    replace: impl Fn(&str) -> String,
) -> Option<(&'k str, Json)> {
    fn each(value: &Json, replace: &dyn Fn(&str) -> String) -> Json {
        match value {
            Json::String(text) => Json::String(replace(text)),
            Json::Array(items) => {
                Json::Array(items.iter().map(|item| each(item, replace)).collect())
            }
            Json::Object(members) => Json::Object(
                members
                    .iter()
                    .map(|(key, member)| (key.clone(), each(member, replace)))
                    .collect(),
            ),
            other => other.clone(),
        }
    }
    Some((field, each(definition.get(field)?, &replace)))
}

fn own_placeholders(text: &str) -> String {
    text.replace("${PLUGIN_ROOT}", "${CLAUDE_PLUGIN_ROOT}")
        .replace("${PLUGIN_DATA}", "${CLAUDE_PLUGIN_DATA}")
}
