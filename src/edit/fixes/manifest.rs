//! Fixes of `$schema`, in both files, and of the fields of `plugin.json`.

use super::{Answer, Change, Site, left};
use crate::document::{Member, Node, Value};
use crate::edit::json::string;
use crate::spec::codes::manifest as codes;
use crate::spec::metadata::{Person, web_address};
use crate::spec::version::{self, FieldKind, Version};
use crate::spec::{foreign, name, near};

/// The identifier that the file of the finding should declare.
fn wanted(site: &Site<'_>) -> &'static str {
    if site.finding.code.family() == "mcp" {
        let version = site.package.spec_version.and_then(version::find);
        version.unwrap_or_else(version::current).mcp_schema
    } else {
        version::current().plugin_schema
    }
}

pub(super) fn add_schema(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let mut risk = None;
    if site.code(&codes::SCHEMA_MISSING) {
        let directory = site.root.to_string_lossy().replace('\\', "/");
        if let Some(client) = foreign::native_directory(&directory) {
            return left(format!("this directory is one of {client}, and no package"));
        }
        let named = document
            .root
            .as_object()
            .and_then(|object| object.get("name"))
            .is_some_and(|member| member.value.as_text().is_some());
        if !named {
            return left("nothing but a name would tell that this is an Agent Plugins manifest");
        }
        let native = foreign::NATIVE_MANIFESTS
            .iter()
            .find(|(path, _)| site.root.join(path).exists());
        risk = native.map(|(path, _)| {
            format!("{path} stands beside it, and some clients leave it aside once plugin.json has a $schema")
        });
    }
    let change =
        site.layout(&document.root)
            .insert_first(&document.root, "$schema", &string(wanted(site)));
    let change = site.edits([change])?;
    Ok(Change { risk, ..change })
}

pub(super) fn correct_schema(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let value = found.node.as_text().and_then(|text| text.as_str());
    let Some(value) = value else {
        return left("it is no string");
    };
    let plain = value
        .trim()
        .trim_end_matches(['#', '/'])
        .to_ascii_lowercase();
    let plain = match plain.strip_prefix("http://") {
        Some(rest) => format!("https://{rest}"),
        None => plain,
    };
    let wanted = wanted(site);
    let ours = version::VERSIONS
        .iter()
        .find(|version| version.plugin_schema == wanted || version.mcp_schema == wanted);
    let meant = ours.is_some_and(|ours| [ours.plugin_schema, ours.mcp_schema].contains(&&*plain));
    if !meant {
        return left("which format it was written for is not known");
    }
    site.edit(found.node.span, string(wanted))
}

pub(super) fn match_schema(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    site.edit(found.node.span, string(wanted(site)))
}

/// The version whose rules the manifest is judged by.
fn rules(site: &Site<'_>) -> &'static Version {
    let version = site.package.spec_version.and_then(version::find);
    version.unwrap_or_else(version::current)
}

fn field_kind(site: &Site<'_>, field: &str) -> Option<FieldKind> {
    let fields = rules(site).manifest_fields;
    let found = fields.iter().find(|(name, _)| *name == field);
    found.map(|(_, kind)| *kind)
}

pub(super) fn rename_field(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let (Some(member), Some(object)) = (found.member, document.root.as_object()) else {
        return left("");
    };
    let key = member.key.display();
    let fields = rules(site).manifest_fields.iter().map(|(name, _)| *name);
    let Some(meant) = near::nearest(&key, fields) else {
        return left("");
    };
    if object.get(meant).is_some() {
        return left(format!("{meant} stands there, too"));
    }
    site.edit(member.key_span, string(meant))
}

pub(super) fn move_unknown_fields(site: &Site<'_>) -> Answer {
    let Some(namespace) = site.namespace else {
        return left("name the namespace it belongs to: --namespace com.example.client");
    };
    let document = site.json()?;
    let root = &document.root;
    let Some(object) = root.as_object() else {
        return left("");
    };
    let unknown = |member: &Member| field_kind(site, &member.key.display()).is_none();
    let moved: Vec<&Member> = object
        .members
        .iter()
        .filter(|member| unknown(member))
        .collect();
    if moved.iter().any(|member| member.shadowed) {
        return left("it stands there twice");
    }
    if moved.iter().any(|member| member.key.as_str().is_none()) {
        return left("its name holds half of a surrogate pair");
    }
    let layout = site.layout(root);
    let members = |container: &Node, depth: usize| -> Vec<(String, String)> {
        moved
            .iter()
            .map(|member| {
                let key = member.key.display().into_owned();
                (key, layout.moved(member, container, depth))
            })
            .collect()
    };
    let Some(extensions) = object.get("extensions") else {
        let inner = layout.object(root, 2, &members(root, 3));
        let outer = layout.object(root, 1, &[(namespace.to_owned(), inner)]);
        return site.edits(layout.remove(root, unknown, Some(("extensions", &outer))));
    };
    let Some(namespaces) = extensions.value.as_object() else {
        return left("extensions is not an object");
    };
    let mut changes = layout.remove(root, unknown, None);
    match namespaces.get(namespace) {
        None => {
            let inner = layout.object(&extensions.value, 1, &members(&extensions.value, 2));
            changes.push(layout.insert_last(&extensions.value, namespace, &inner));
        }
        Some(there) => {
            let Some(data) = there.value.as_object() else {
                return left(format!("extensions {namespace} is not an object"));
            };
            let taken = moved
                .iter()
                .find(|member| data.members.iter().any(|inner| inner.key == member.key));
            if let Some(taken) = taken {
                return left(format!(
                    "extensions {namespace} holds {} already",
                    taken.key.display()
                ));
            }
            // One insertion at one place.
            let mut members = members(&there.value, 1).into_iter();
            let Some((key, value)) = members.next() else {
                return left("");
            };
            let (span, mut text) = layout.insert_last(&there.value, &key, &value);
            if members.len() > 0 {
                if data.members.is_empty() {
                    return left(format!("extensions {namespace} is empty; remove it first"));
                }
                for (key, value) in members {
                    text.push_str(&layout.insert_last(&there.value, &key, &value).1);
                }
            }
            changes.push((span, text));
        }
    }
    site.edits(changes)
}

pub(super) fn field_type(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let keys = site.keys();
    let (Some(field), Some(kind)) = (
        keys.first(),
        keys.first().and_then(|field| field_kind(site, field)),
    ) else {
        return left("");
    };
    let node = found.node;
    let raw = site.raw(node.span);
    let text = node.as_text().and_then(|text| text.as_str());
    let layout = site.layout(&document.root);
    match (node.value(), kind) {
        (Value::Null, kind) if kind != FieldKind::Name => {
            let (Some(member), Some(parent)) = (found.member, found.parent) else {
                return left("remove it");
            };
            site.edits(layout.remove(parent, |other| other.key == member.key, None))
        }
        (Value::Number(_) | Value::Bool(_), FieldKind::String | FieldKind::Strings)
            if keys.len() <= 2 =>
        {
            if kind == FieldKind::Strings && keys.len() == 1 {
                return left("make it an array of strings");
            }
            site.edit(node.span, format!("\"{raw}\""))
        }
        (Value::String(_), FieldKind::Author) if keys.len() == 1 => {
            let person = text.and_then(Person::parse);
            let Some(person) = person else {
                return left("write an object with name, email and url");
            };
            let members: Vec<(String, String)> = person
                .parts()
                .map(|(key, value)| (key.to_owned(), string(value)))
                .collect();
            site.edit(node.span, layout.object(&document.root, 1, &members))
        }
        (Value::String(_), FieldKind::Strings) if keys.len() == 1 => {
            let words: Vec<String> = text
                .unwrap_or_default()
                .split(',')
                .map(str::trim)
                .filter(|word| !word.is_empty())
                .map(string)
                .collect();
            site.edit(node.span, format!("[{}]", words.join(", ")))
        }
        (Value::Object(object), FieldKind::String)
            if field == "repository" || field == "license" =>
        {
            let (inner, known): (_, &[&str]) = if field == "repository" {
                ("url", &["url", "type"])
            } else {
                ("type", &["type"])
            };
            let value = object
                .get(inner)
                .and_then(|member| member.value.as_text()?.as_str());
            let only = object
                .effective()
                .all(|member| known.iter().any(|known| member.key == *known));
            let (Some(value), true) = (value, only) else {
                return left(format!("write {field} as one string"));
            };
            let value = if field == "repository" {
                web_address(value)
            } else {
                value.to_owned()
            };
            site.edit(node.span, string(&value))
        }
        _ => left("what is meant is not known"),
    }
}

pub(super) fn empty_extensions(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let says_nothing = match found.node.value() {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::String(text) => *text == *"",
        _ => false,
    };
    if !says_nothing {
        return left("what it holds belongs under a namespace");
    }
    let layout = site.layout(&document.root);
    site.edits(layout.remove(&document.root, |member| member.key == "extensions", None))
}

pub(super) fn null_extension(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    match found.node.value() {
        Value::Null => site.edit(found.node.span, "{}"),
        _ => left("what the value is called inside the object is not known"),
    }
}

pub(super) fn name(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let value = found.node.as_text().and_then(|text| text.as_str());
    match value.and_then(name::plugin_name_suggestion) {
        Some(better) => site.edit(found.node.span, string(&better)),
        None => left("no valid name is near it"),
    }
}
