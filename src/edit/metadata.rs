//! What a manifest says about the plugin as such, whatever its shape.

use crate::document::{Member, Node, Object, Value};
use crate::spec::foreign;
use crate::spec::metadata::{Person, is_address, web_address};

/// The shapes of manifests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `plugin.json`, a single client's, or an entry of a marketplace.
    Plugin,
    /// `package.json`: the name may have a scope, the version be a placeholder.
    Node,
}

/// The fields that are kept in step, in the order they are told.
pub const FIELDS: [&str; 8] = [
    "name",
    "version",
    "description",
    "author",
    "license",
    "homepage",
    "repository",
    "keywords",
];

/// The fields that are one text.
pub(super) const TEXTS: [&str; 6] = [
    "name",
    "version",
    "description",
    "license",
    "homepage",
    "repository",
];

/// A text and the value that holds it.
pub(super) struct Field<'d> {
    /// What it says, comparable with what another manifest says.
    pub(super) says: String,
    /// The value that is to change if it is to say something else.
    pub(super) node: &'d Node,
}

/// The value of a member, if it is a string.
fn text(member: &Member) -> Option<&str> {
    member.value.as_text()?.as_str()
}

/// A field that is one text; `None` if the manifest says nothing about it.
pub(super) fn field<'d>(object: &'d Object, shape: Shape, name: &str) -> Option<Field<'d>> {
    let member = inner(object.get(name)?, name);
    let value = text(member)?;
    let says = match name {
        "repository" => web_address(value),
        "name" if shape == Shape::Node => without_scope(value).to_owned(),
        "version" if shape == Shape::Node => {
            let private = object
                .get("private")
                .is_some_and(|member| *member.value.value() == Value::Bool(true));
            if foreign::is_placeholder_version(private, value) {
                return None;
            }
            value.to_owned()
        }
        _ => value.to_owned(),
    };
    Some(Field {
        says,
        node: &member.value,
    })
}

/// The value of a field that has no type in which manifests hold it.
pub(super) fn odd<'d>(object: &'d Object, name: &str) -> Option<&'d Node> {
    let member = object.get(name)?;
    let is_odd = match name {
        "author" => author(object).is_none(),
        "keywords" => keywords(object).is_none(),
        _ => text(inner(member, name)).is_none(),
    };
    is_odd.then_some(&member.value)
}

/// The member that holds a text: `repository` and `license` may be objects.
fn inner<'d>(member: &'d Member, name: &str) -> &'d Member {
    let key = match name {
        "repository" => "url",
        "license" => "type",
        _ => return member,
    };
    let object = member.value.as_object();
    object.and_then(|object| object.get(key)).unwrap_or(member)
}

/// What to write to a field of one text, so that it says `says`: what only this
/// manifest adds to the text stays.
pub(super) fn written(field: &Field<'_>, shape: Shape, name: &str, says: &str) -> String {
    let old = field.node.as_text().and_then(|text| text.as_str());
    let old = old.unwrap_or_default();
    match name {
        "name" if shape == Shape::Node => {
            let scope = old.len() - without_scope(old).len();
            format!("{}{says}", old.get(..scope).unwrap_or_default())
        }
        // What only git can use is one address as it stands.
        "repository" if is_address(says) => {
            let front = if old.starts_with("git+") { "git+" } else { "" };
            let back = if old.ends_with(".git") { ".git" } else { "" };
            format!("{front}{says}{back}")
        }
        _ => says.to_owned(),
    }
}

fn without_scope(name: &str) -> &str {
    match name.strip_prefix('@').and_then(|rest| rest.split_once('/')) {
        Some((_, name)) => name,
        None => name,
    }
}

/// The author, written as an object or on one line.
pub(super) fn author(object: &Object) -> Option<(Person, &Node)> {
    let node = &object.get("author")?.value;
    if let Some(line) = node.as_text() {
        return Some((Person::named(line.as_str()?), node));
    }
    let parts = node.as_object()?;
    let mut person = Person::default();
    for member in parts.effective() {
        if let Some(part) = member.key.as_str().and_then(|key| person.part(key)) {
            *part = text(member).map(str::to_owned);
        }
    }
    Some((person, node))
}

/// The keywords, if they are strings.
pub(super) fn keywords(object: &Object) -> Option<(Vec<&str>, &Node)> {
    let node = &object.get("keywords")?.value;
    let words = node.as_array()?.iter().map(|item| item.as_text()?.as_str());
    Some((words.collect::<Option<_>>()?, node))
}
