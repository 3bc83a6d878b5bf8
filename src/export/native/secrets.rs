//! Credentials in what stays with the native client: taken out, and named.

use super::super::draft::Draft;
use super::super::json::{Json, Text};
use super::super::loss::{Loss, LossKind};
use super::values;
use crate::document::{Node, Pointer, Value};
use crate::spec::credential;

/// What is said of a credential.
pub(super) const WHY: &str = "it looks like a secret, and whatever is in a package is public";

/// The keys that lead to a place in a JSON text.
pub(super) type Keys = Vec<String>;

/// Fields of a server or a hook without which it is another one.
const STARTS: &[&str] = &["command", "args", "url", "bash", "powershell", "source"];

/// Fields that people or models read, which may speak of secrets.
const TEXTS: &[&str] = &[
    "description",
    "title",
    "displayName",
    "prompt",
    "statusMessage",
    "keywords",
];

/// Whether a text for readers holds a secret.
pub(super) fn is_in_prose(text: &str) -> bool {
    credential::has_secret_shape(text) || !credential::shown_in(text).is_empty()
}

/// Where among what starts a server or runs a hook a credential stands, which
/// cannot be left out alone.
pub(super) fn in_start(value: &Json) -> Option<Keys> {
    STARTS.iter().find_map(|field| match value.get(field)? {
        Json::String(text) if values::is_secret(None, text) => Some(vec![(*field).to_owned()]),
        Json::Array(items) => {
            let index = in_arguments(items)?;
            Some(vec![(*field).to_owned(), index.to_string()])
        }
        _ => None,
    })
}

/// The first argument with a credential.
fn in_arguments(items: &[Json]) -> Option<usize> {
    let mut before = None;
    items.iter().position(|item| {
        let text = item.as_str();
        let found = text.is_some_and(|text| values::is_secret_argument(text, before));
        before = text;
        found
    })
}

/// Whether the member `key` holds one.
pub(super) fn holds(key: &str, value: Json) -> bool {
    !strip(&mut Json::object([(key, value)])).is_empty()
}

/// Takes the members with credentials out of `value`, and as a whole what is
/// started with one. Gives their places.
pub(super) fn strip(value: &mut Json) -> Vec<Keys> {
    let mut found = Vec::new();
    strip_below(value, &mut Vec::new(), &mut found);
    found
}

fn strip_below(value: &mut Json, keys: &mut Keys, found: &mut Vec<Keys>) {
    let name = keys.last().cloned().unwrap_or_default();
    match value {
        Json::Object(members) => {
            let is_sensitive = members
                .iter()
                .any(|(key, value)| key == "sensitive" && *value == Json::Bool(true));
            members.retain(|(key, member)| {
                let is_secret = match member {
                    Json::String(text) if TEXTS.contains(&key.as_str()) => is_in_prose(text),
                    Json::String(text) => {
                        let as_default = is_sensitive && key == "default";
                        (as_default && credential::is_filled(text) && !credential::is_slot(text))
                            || (!names_a_variable(&name, key, text)
                                && values::is_secret(Some(key), text))
                    }
                    Json::Number(digits) => {
                        digits.len() >= 8 && values::is_secret(Some(key), digits)
                    }
                    other => in_start(other).is_some(),
                };
                if is_secret {
                    found.push(keys.iter().chain([key]).cloned().collect());
                }
                !is_secret
            });
            for (key, member) in members {
                keys.push(key.clone());
                strip_below(member, keys, found);
                keys.pop();
            }
        }
        Json::Array(items) => {
            let mut before: Option<String> = None;
            let mut kept = Vec::with_capacity(items.len());
            for (index, mut item) in std::mem::take(items).into_iter().enumerate() {
                keys.push(index.to_string());
                let is_secret = match &item {
                    Json::String(text) if TEXTS.contains(&name.as_str()) => is_in_prose(text),
                    Json::String(text) => {
                        values::is_secret_argument(text, before.as_deref())
                            || (!names_a_variable("", &name, text)
                                && values::is_secret(Some(&name), text))
                    }
                    other => in_start(other).is_some(),
                };
                before = item.as_str().map(str::to_owned);
                if is_secret {
                    found.push(keys.clone());
                } else {
                    strip_below(&mut item, keys, found);
                    kept.push(item);
                }
                keys.pop();
            }
            *items = kept;
        }
        _ => {}
    }
}

/// Whether a value is the name of a variable, as its field says.
fn names_a_variable(group: &str, field: &str, value: &str) -> bool {
    let about = |name: &str| name.to_ascii_lowercase().replace('_', "").contains("env");
    (about(field) || (about(group) && group != "env"))
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !value.starts_with(|c: char| c.is_ascii_digit())
}

/// Takes credentials out of a JSON file of the plugin, if it is one, and names them.
pub(super) fn strip_file(draft: &mut Draft, path: &str) {
    let Some(bytes) = draft.bytes(path).map(<[u8]>::to_vec) else {
        return;
    };
    let Ok(text) = Text::read(path, &bytes) else {
        return;
    };
    let mut value = Json::of(&text.document.root);
    if strip_and_tell(draft, &text, &mut value) {
        draft.put_json(path, &value);
    }
}

/// Takes credentials out of the value of a text, and names them; whether there
/// were any.
pub(super) fn strip_and_tell(draft: &mut Draft, text: &Text<'_>, value: &mut Json) -> bool {
    let found = strip(value);
    for keys in &found {
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let pointer = keys
            .iter()
            .fold(Pointer::root(), |pointer, key| pointer.key(key));
        let node = node(&text.document.root, &keys);
        let what = format!("the value of {}", keys.join("."));
        draft.lose(
            Loss::new(LossKind::Credential, text.path, what, WHY)
                .at(pointer, text.line(node))
                .with_help("leave it to each user"),
        );
    }
    !found.is_empty()
}

/// The node that the keys lead to, or the last on the way.
pub(super) fn node<'n>(root: &'n Node, keys: &[&str]) -> &'n Node {
    let mut node = root;
    for key in keys {
        let next = match node.value() {
            Value::Object(object) => object.get(key).map(|member| &member.value),
            Value::Array(items) => key.parse().ok().and_then(|index: usize| items.get(index)),
            _ => None,
        };
        let Some(next) = next else { break };
        node = next;
    }
    node
}
