//! An object of JSON of which one member is changed and the rest keeps its text
//! and its order; and structures that are read from objects alone.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
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

/// What is read from an object and from nothing else: a structure alone takes an array,
/// too, whose items are its members in the order in which they are declared.
pub(super) struct Object<T>(pub(super) T);

/// Reads a structure from the text of an object.
///
/// # Errors
///
/// The text is no JSON, no object, or not one of this structure.
pub(super) fn object<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text).map(|Object(read)| read)
}

/// [`object`] for a member of another structure.
pub(super) fn within<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Object::deserialize(deserializer).map(|Object(read)| read)
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(Reader(PhantomData))
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

    #[test]
    fn structures_are_read_from_objects_alone() {
        #[derive(serde::Deserialize)]
        struct Named<'t> {
            #[serde(borrow)]
            name: &'t RawValue,
        }
        let name = |text| object(text).map(|Named { name }| name.get()).ok();
        assert_eq!(name(r#"{"other": 1, "name": 1.50}"#), Some("1.50"));
        for no in ["[1.50]", "{}", "null", "1.50", r#"{"name": 1} 2"#] {
            assert_eq!(name(no), None, "{no}");
        }
    }
}
