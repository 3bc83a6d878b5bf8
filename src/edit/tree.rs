//! Finding the place of a finding in a document again.

use crate::document::{Member, Node, Value};

/// The value that a pointer leads to, and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'d> {
    /// The value.
    pub(super) node: &'d Node,
    /// The member it is the value of, unless it is an element or the root.
    pub(super) member: Option<&'d Member>,
    /// The object or array that holds it.
    pub(super) parent: Option<&'d Node>,
}

/// Follows an RFC 6901 pointer, as findings have it.
pub(super) fn at<'d>(root: &'d Node, pointer: &str) -> Option<Found<'d>> {
    let mut found = Found {
        node: root,
        member: None,
        parent: None,
    };
    for part in keys(pointer) {
        let parent = found.node;
        found = match parent.value() {
            Value::Object(object) => {
                let member = object
                    .effective()
                    .find(|member| member.key.display() == part)?;
                Found {
                    node: &member.value,
                    member: Some(member),
                    parent: Some(parent),
                }
            }
            Value::Array(items) => Found {
                node: items.get(part.parse::<usize>().ok()?)?,
                member: None,
                parent: Some(parent),
            },
            _ => return None,
        };
    }
    Some(found)
}

/// The parts of a pointer, decoded.
pub(super) fn keys(pointer: &str) -> impl Iterator<Item = String> {
    pointer
        .split('/')
        .skip(1)
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
}

/// Largest object that is compared with another.
const MOST_MEMBERS: usize = 1_000;

/// Whether two values say the same: order and spelling of members aside.
pub(super) fn same(one: &Node, other: &Node) -> bool {
    match (one.value(), other.value()) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            // Larger ones are no configuration, and comparing them would be long.
            one.members.len() <= MOST_MEMBERS
                && one.effective().count() == other.effective().count()
                && one.effective().all(|member| {
                    let mut others = other.effective();
                    others.any(|other| other.key == member.key && same(&member.value, &other.value))
                })
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::json;

    #[test]
    fn pointers_lead_to_values() {
        let document = json::parse(
            br#"{"a/b": {"m~n": [1, {"": "x"}]}, "a/b": {"m~n": [2]}}"#,
            json::LIMITS,
        )
        .expect("JSON");
        let found = at(&document.root, "/a~1b/m~0n/0").expect("a value");
        assert_eq!(found.node.kind, Value::Number("2".into()));
        assert!(at(&document.root, "/a~1b/m~0n/1").is_none());
        assert!(at(&document.root, "").expect("the root").parent.is_none());
    }

    #[test]
    fn values_are_compared_by_what_they_say() {
        let same = |text: &str| {
            let document = json::parse(text.as_bytes(), json::LIMITS).expect("JSON");
            let items = document.root.as_array().expect("an array");
            super::same(&items[0], &items[1])
        };
        assert!(same(r#"[{"a": 1, "b": "\u0041"}, {"b": "A", "a": 1}]"#));
        assert!(!same(r#"[{"a": 1}, {"a": 1, "b": 2}]"#));
        assert!(!same("[1, 1.0]"));
        assert!(!same(r#"[["a"], ["a", "b"]]"#));
    }
}
