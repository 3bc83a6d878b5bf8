//! The metadata of a native manifest → that of `plugin.json`.

use super::super::client::Client;
use super::super::draft::Draft;
use super::super::identity::Identity;
use super::super::json::{Json, Text};
use super::super::loss::{Loss, LossKind};
use super::secrets;
use crate::document::{Member, Object, Pointer, Value};
use crate::spec::metadata::{Person, is_address, web_address};
use crate::spec::version::AUTHOR_FIELDS;

/// Fields that other modules translate or move.
const ELSEWHERE: &[&str] = &["skills", "userConfig", "$schema"];

/// Fields that go into `plugin.json`, name aside.
const METADATA: &[&str] = &[
    "version",
    "description",
    "homepage",
    "license",
    "repository",
    "author",
    "keywords",
];

/// Reads the identity, and names what of the manifest `plugin.json` cannot hold.
pub(super) fn read(
    draft: &mut Draft,
    client: Client,
    text: &Text<'_>,
    fields: &Object,
) -> Identity {
    let mut identity = Identity::default();
    for member in fields.effective() {
        let key = member.key.display();
        let string = || {
            member
                .value
                .as_text()
                .and_then(|text| text.as_str())
                .map(str::to_owned)
        };
        // Told where the manifest loses it.
        if METADATA.contains(&&*key) && secrets::holds(&key, Json::of(&member.value)) {
            continue;
        }
        let taken = match &*key {
            "name" => set(&mut identity.name, string()),
            "version" => set(&mut identity.version, string()),
            "description" => set(&mut identity.description, string()),
            "homepage" => set(&mut identity.homepage, string()),
            "license" => set(&mut identity.license, string()),
            "repository" => set(
                &mut identity.repository,
                string().or_else(|| repository(member)),
            ),
            "author" => set(&mut identity.author, author(draft, text, member)),
            "keywords" => set_keywords(&mut identity.keywords, member),
            other if ELSEWHERE.contains(&other) => true,
            other if client.parts().iter().any(|part| part.field == other) => true,
            _ => {
                draft.lose(place(
                    Loss::new(
                        LossKind::ManifestField,
                        text.path,
                        format!("field {key:?}"),
                        "plugin.json has no such field",
                    ),
                    text,
                    member,
                ));
                true
            }
        };
        if !taken {
            draft.lose(place(
                Loss::new(
                    LossKind::ManifestType,
                    text.path,
                    format!("field {key:?}"),
                    format!("it is {}", member.value.type_name()),
                ),
                text,
                member,
            ));
        }
    }
    identity
}

/// Adds where the member stands.
pub(super) fn place(loss: Loss, text: &Text<'_>, member: &Member) -> Loss {
    let pointer = Pointer::root().key(&member.key.display());
    loss.at(pointer, text.line(&member.value))
}

fn set<T>(slot: &mut Option<T>, value: Option<T>) -> bool {
    let taken = value.is_some();
    *slot = value;
    taken
}

/// `{"type": "git", "url": …}`, as npm writes it.
fn repository(member: &Member) -> Option<String> {
    let url = member.value.as_object()?.get("url")?;
    let url = url.value.as_text()?.as_str()?;
    Some(if is_address(url) {
        url.to_owned()
    } else {
        web_address(url)
    })
}

fn author(draft: &mut Draft, text: &Text<'_>, member: &Member) -> Option<Person> {
    if let Some(person) = member.value.as_text().and_then(|text| text.as_str()) {
        return Some(Person::named(person));
    }
    let fields = member.value.as_object()?;
    let field = |name: &str| Some(fields.get(name)?.value.as_text()?.as_str()?.to_owned());
    for other in fields.effective() {
        let key = other.key.display();
        if AUTHOR_FIELDS.contains(&&*key) && other.value.as_text().is_some() {
            continue;
        }
        let pointer = Pointer::root().key("author").key(&key);
        draft.lose(
            Loss::new(
                LossKind::ManifestField,
                text.path,
                format!("field \"author.{key}\""),
                format!(
                    "author has {} only, each a string",
                    AUTHOR_FIELDS.join(", ")
                ),
            )
            .at(pointer, text.line(&other.value)),
        );
    }
    Some(Person {
        name: field("name"),
        email: field("email"),
        url: field("url"),
    })
}

fn set_keywords(keywords: &mut Vec<String>, member: &Member) -> bool {
    let Value::Array(items) = member.value.value() else {
        return false;
    };
    let strings: Option<Vec<String>> = items
        .iter()
        .map(|item| {
            item.as_text()
                .and_then(|text| text.as_str())
                .map(str::to_owned)
        })
        .collect();
    match strings {
        Some(strings) => {
            *keywords = strings;
            true
        }
        None => false,
    }
}
