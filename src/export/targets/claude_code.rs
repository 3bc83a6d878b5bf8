//! Claude Code: reads `.claude-plugin/plugin.json` alone, discovers `skills/`
//! by its place, and takes servers from where that manifest points. It starts
//! them in the project, knows no `cwd`, and has its own names for the
//! placeholders, which it does not set under the names of the specification.

use super::super::client::{Client, SERVERS};
use super::super::draft::Draft;
use super::super::json::{Json, Text};
use super::super::loss::{Loss, LossKind};
use super::{Facts, report_expansion};

const MANIFEST: &str = ".claude-plugin/plugin.json";
const SERVER_FILE: &str = "com.anthropic.claude-code/mcp.json";

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
    if !facts.servers.is_empty() {
        let servers = facts
            .servers
            .iter()
            .map(|(name, definition)| (name.clone(), server(draft, name, definition)));
        let servers: Vec<(String, Json)> = servers.collect();
        draft.put_json(
            SERVER_FILE,
            &Json::object([(SERVERS, Json::Object(servers))]),
        );
        manifest.set(SERVERS, Json::string(format!("./{SERVER_FILE}")));
    }
    draft.put_json(MANIFEST, &manifest);
}

/// A manifest that is there already is its author's.
fn keep(draft: &mut Draft, facts: &Facts, bytes: &[u8]) {
    let manifest = match Text::read(MANIFEST, bytes) {
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
    let mut lose = |what: &str, why: String| {
        draft.lose(Loss::new(LossKind::TargetManifest, MANIFEST, what, why));
    };
    let name = manifest.get("name").and_then(Json::as_str);
    if name != Some(facts.name.as_str()) {
        let other = name.unwrap_or("none");
        lose(
            "its name",
            format!(
                "plugin.json has the name {:?}, this one {other:?}",
                facts.name
            ),
        );
    }
    let reads_servers = manifest.get(SERVERS).is_some() || draft.has(".mcp.json");
    if !facts.servers.is_empty() && !reads_servers {
        draft.lose(
            Loss::new(
                LossKind::TargetManifest,
                MANIFEST,
                "the servers of mcp.json in Claude Code",
                "the manifest that is there points to no servers",
            )
            .with_help("remove that manifest, and the export writes one"),
        );
    }
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
