//! Fixes of the entries of `mcp.json`.

use super::{Answer, Change, Site, left};
use crate::diagnostic::Span;
use crate::document::{Node, Object, Value};
use crate::edit::json::string;
use crate::package;
use crate::spec::near;
use crate::spec::placeholder::{self, NAMES};
use crate::spec::transport::{self, VARIANTS};

const ROOT: &str = "${PLUGIN_ROOT}";

/// The string of a value, unless it cannot be written as it is read.
fn text(node: &Node) -> Result<&str, String> {
    let text = node.as_text().and_then(|text| text.as_str());
    text.ok_or_else(|| "it is no string".to_owned())
}

/// The path of a file or directory that is there, from the package root.
fn is_there(site: &Site<'_>, path: &str) -> bool {
    let plain = !path.contains(['\\', '$', '~', '\0']);
    plain && package::locate(site.root, path).is_some()
}

pub(super) fn servers(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let (Some(member), Some(object)) = (found.member, document.root.as_object()) else {
        return left("");
    };
    let key = member.key.display().to_ascii_lowercase();
    let meant = ["servers", "mcpservers", "mcp-servers", "mcp_servers"].contains(&&*key);
    if !meant || object.get("mcpServers").is_some() || found.node.as_object().is_none() {
        return left("mcp.json has no place for it");
    }
    site.edit(member.key_span, string("mcpServers"))
}

pub(super) fn type_unknown(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let Some(meant) = transport::meant(text(found.node)?) else {
        return left("which transport is meant is not known");
    };
    let fields = found.parent.and_then(Node::as_object);
    let needed = if meant == "stdio" { "command" } else { "url" };
    if fields.is_none_or(|fields| fields.get(needed).is_none()) {
        return left(format!("there is no {needed} to go with {meant}"));
    }
    site.edit(found.node.span, string(meant))
}

pub(super) fn type_missing(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let Some(fields) = found.node.as_object() else {
        return left("");
    };
    let meant = match (fields.get("command"), fields.get("url")) {
        (Some(_), None) => "stdio",
        (None, Some(url)) => {
            let address = text(&url.value)?;
            let path = address.split(['?', '#']).next().unwrap_or_default();
            if path.trim_end_matches('/').ends_with("/sse") {
                return left("by its address it may be of type sse or streamable-http");
            }
            "streamable-http"
        }
        _ => return left("neither command nor url alone tells it"),
    };
    let change = site
        .layout(&document.root)
        .insert_first(found.node, "type", &string(meant));
    site.edits([change])
}

pub(super) fn rename_field(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let (Some(member), Some(fields)) = (found.member, found.parent.and_then(Node::as_object))
    else {
        return left("");
    };
    let kind = fields
        .get("type")
        .and_then(|member| member.value.as_text()?.as_str());
    let allowed = VARIANTS.iter().find(|(name, _)| Some(*name) == kind);
    let key = member.key.display();
    let meant = allowed.and_then(|(_, allowed)| near::nearest(&key, allowed.iter().copied()));
    match meant {
        Some(meant) if fields.get(meant).is_none() => site.edit(member.key_span, string(meant)),
        Some(meant) => left(format!("{meant} stands there, too")),
        None => left(""),
    }
}

pub(super) fn field_type(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let keys = site.keys();
    let inside = keys.len() == 4 && matches!(keys.get(2).map(String::as_str), Some("args" | "env"));
    match found.node.value() {
        Value::Number(_) | Value::Bool(_) if inside => site.edit(
            found.node.span,
            format!("\"{}\"", site.raw(found.node.span)),
        ),
        _ => left("what is meant is not known"),
    }
}

pub(super) fn command_form(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let value = text(found.node)?;
    let rest = placeholder::find(value)
        .next()
        .filter(|found| found.offset == 0)
        .filter(|found| found.text == ROOT || placeholder::counterpart(found.text) == Some(ROOT))
        .and_then(|found| value.strip_prefix(found.text)?.strip_prefix('/'));
    let plain = |path: &str| {
        path.split('/').all(|part| !matches!(part, "" | "." | ".."))
            && !path.contains(['\\', '$', '~'])
    };
    match rest {
        Some(rest) if plain(rest) => site.edit(found.node.span, string(&format!("./{rest}"))),
        None if value.contains('/') && plain(value) && is_there(site, value) => {
            site.edit(found.node.span, string(&format!("./{value}")))
        }
        None if value.contains('/') && plain(value) => left("there is no such file in the package"),
        _ => left("which executable is meant is not known"),
    }
}

pub(super) fn command_line(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let value = text(found.node)?;
    if value.contains(|c: char| "\"'\\`$|&;<>(){}*?~#".contains(c) || c.is_control()) {
        return left("it is written for a shell");
    }
    let mut words = value.split_whitespace();
    let (Some(command), Some(server)) = (words.next(), found.parent) else {
        return left("");
    };
    let words: Vec<String> = words.map(string).collect();
    let args = server.as_object().and_then(|fields| fields.get("args"));
    let layout = site.layout(&document.root);
    let command = (found.node.span, string(command));
    let rest = match args {
        None => layout.insert_last(server, "args", &format!("[{}]", words.join(", "))),
        Some(args) => match args.value.as_array() {
            Some([]) => (args.value.span, format!("[{}]", words.join(", "))),
            Some([first, ..]) => (
                Span::new(first.span.start, first.span.start),
                format!("{}, ", words.join(", ")),
            ),
            None => return left("args is no array"),
        },
    };
    site.edits([command, rest])
}

pub(super) fn cwd_form(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let value = text(found.node)?;
    if value == "." {
        return site.edit(found.node.span, "\"./\"");
    }
    let first = placeholder::find(value).next();
    if let Some(first) = first.filter(|first| first.offset == 0)
        && let Some(ours) = placeholder::counterpart(first.text)
    {
        return replace_all(site, found.node, &[(first.text, ours)]);
    }
    let relative = !value.starts_with(['/', '.', '~']);
    if relative && is_there(site, value) {
        return site.edit(found.node.span, string(&format!("./{value}")));
    }
    left("which directory is meant is not known")
}

/// Replaces pieces of a string that stand in it as they are.
fn replace_all(site: &Site<'_>, node: &Node, pieces: &[(&str, &str)]) -> Answer {
    let raw = site.raw(node.span);
    let mut new = raw.to_owned();
    for (old, ours) in pieces {
        new = new.replace(old, ours);
    }
    if new == raw {
        return left("it is written with escapes");
    }
    site.edit(node.span, new)
}

pub(super) fn client_placeholder(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let keys = site.keys();
    if !matches!(
        keys.get(2).map(String::as_str),
        Some("args" | "env" | "cwd")
    ) {
        return left("nothing is expanded here");
    }
    let pieces: Vec<(&str, &str)> = placeholder::find(text(found.node)?)
        .filter_map(|found| Some((found.text, placeholder::counterpart(found.text)?)))
        .collect();
    if pieces.is_empty() {
        return left("the specification has no such value");
    }
    replace_all(site, found.node, &pieces)
}

pub(super) fn argument_relative(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let value = text(found.node)?;
    let path = match value.split_once('=') {
        Some((option, path)) if option.starts_with('-') => path,
        _ => value,
    };
    let Some(rest) = path.strip_prefix("./") else {
        return left("what it leads to is not in the package");
    };
    if !is_there(site, rest) {
        return left("the package has no such file");
    }
    let server = server(site, &document.root);
    let starts_in_package = server
        .and_then(|fields| fields.get("cwd"))
        .is_none_or(|cwd| {
            let cwd = cwd.value.as_text().and_then(|text| text.as_str());
            matches!(cwd, Some("./" | "${PLUGIN_ROOT}" | "${PLUGIN_ROOT}/"))
        });
    if !starts_in_package {
        return left("the server is started in another directory");
    }
    let Some(option) = value.strip_suffix(path) else {
        return left("");
    };
    site.edit(found.node.span, string(&format!("{option}{ROOT}/{rest}")))
}

/// The fields of the server that the finding is about.
fn server<'d>(site: &Site<'_>, root: &'d Node) -> Option<&'d Object> {
    let keys = site.keys();
    let servers = root.as_object()?.get("mcpServers")?.value.as_object()?;
    let mut members = servers.effective();
    let member =
        members.find(|member| Some(&*member.key.display()) == keys.get(1).map(String::as_str))?;
    member.value.as_object()
}

pub(super) fn env_reserved(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let (Some(member), Some(env)) = (found.member, found.parent) else {
        return left("");
    };
    let name = member.key.display();
    let value = text(found.node)?;
    let own = format!("${{{name}}}");
    let same = NAMES.contains(&&*name)
        && (value == own || placeholder::counterpart(value) == Some(own.as_str()));
    let changes = site
        .layout(&document.root)
        .remove(env, |other| other.key == member.key, None);
    let change = site.edits(changes)?;
    Ok(Change {
        risk: (!same).then(|| "the client sets it to something else".to_owned()),
        ..change
    })
}

pub(super) fn url_fragment(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let raw = site.raw(found.node.span);
    match raw.split_once('#') {
        Some((kept, _)) => site.edit(found.node.span, format!("{kept}\"")),
        None => left("it is written with escapes"),
    }
}

pub(super) fn header_value(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let value = text(found.node)?;
    let trimmed = value.trim_matches([' ', '\t']);
    if trimmed == value || trimmed.is_empty() {
        return left("what the server expects is not known");
    }
    site.edit(found.node.span, string(trimmed))
}
