//! An object of JSON of which one member is changed and the rest keeps its text
//! and its order.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The members of an object, in order.
#[derive(Default)]
pub(super) struct Members(Vec<(String, Box<RawValue>)>);

impl Members {
    /// The members of `object`, unless it is something else.
    pub(super) fn of(object: &RawValue) -> Option<Self> {
        serde_json::from_str(object.get()).ok()
    }

    pub(super) fn get(&self, name: &str) -> Option<&RawValue> {
        // Of several members of one name, readers take the last.
        let found = self.0.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| &**value)
    }

    /// Sets a member, in its place if there is one and else at the end. `value`
    /// is JSON.
    pub(super) fn set(&mut self, name: &str, value: String) {
        let Ok(value) = RawValue::from_string(value) else {
            return;
        };
        let place = self.0.iter().position(|(key, _)| key == name);
        match place.and_then(|place| self.0.get_mut(place)) {
            Some(member) => member.1 = value,
            None => self.0.push((name.to_owned(), value)),
        }
        let mut first = true;
        self.0
            .retain(|(key, _)| key != name || std::mem::take(&mut first));
    }

    /// Takes every member of this name out; the last one is the member.
    pub(super) fn remove(&mut self, name: &str) -> Option<Box<RawValue>> {
        let removed = self.0.extract_if(.., |(key, _)| key == name);
        removed.last().map(|(_, value)| value)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The object as text.
    pub(super) fn text(&self) -> String {
        let mut text = String::from("{");
        for (key, value) in &self.0 {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&Value::from(key.as_str()).to_string());
            text.push(':');
            text.push_str(value.get());
        }
        text.push('}');
        text
    }

    /// The same as a value.
    pub(super) fn raw(&self) -> Box<RawValue> {
        // Of what is JSON, the whole is, too.
        RawValue::from_string(self.text()).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_keeps_its_text() {
        let text =
            r#"{"z":1.50,"name" : "a","n":123456789012345678901234567890,"name":"b","a":{}}"#;
        let raw = RawValue::from_string(text.to_owned()).expect("JSON");
        let mut members = Members::of(&raw).expect("an object");
        assert_eq!(members.get("name").map(RawValue::get), Some("\"b\""));
        members.set("name", "\"c\"".to_owned());
        members.set("new", "[]".to_owned());
        assert_eq!(
            members.text(),
            r#"{"z":1.50,"name":"c","n":123456789012345678901234567890,"a":{},"new":[]}"#
        );
        let list = RawValue::from_string("[1]".to_owned()).expect("JSON");
        assert!(Members::of(&list).is_none());
    }
}
