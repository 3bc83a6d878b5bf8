//! What a registry says about a package, as far as it is needed to choose a
//! version and to fetch its tarball.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The metadata of a package. What has another form than expected counts as not
/// there, so that one odd version does not hide the others.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Packument {
    /// Versions by the name of their tag.
    #[serde(default, rename = "dist-tags")]
    pub(super) tags: BTreeMap<String, Loose>,
    /// All versions that can be fetched.
    #[serde(default)]
    pub(super) versions: BTreeMap<String, Version>,
}

/// One version.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Version {
    #[serde(default)]
    deprecated: Loose,
    /// Where its tarball is, and its digest.
    #[serde(default)]
    pub(super) dist: Dist,
}

impl Version {
    /// Whether its publisher advises against it.
    pub(super) fn is_deprecated(&self) -> bool {
        match &self.deprecated {
            Loose::Text(text) => !text.is_empty(),
            Loose::Flag(flag) => *flag,
            Loose::Other => false,
        }
    }
}

/// The tarball of a version.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Dist {
    /// Its address.
    #[serde(default)]
    pub(super) tarball: Loose,
    /// Its digests, as in `integrity` attributes.
    #[serde(default)]
    pub(super) integrity: Loose,
    /// Its SHA-1 digest, hexadecimal.
    #[serde(default)]
    pub(super) shasum: Loose,
}

/// A text or a truth value, or something else that nobody asked for.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) enum Loose {
    Text(String),
    Flag(bool),
    #[default]
    Other,
}

impl Loose {
    /// The text that it is, unless empty.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Loose;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_str<E>(self, text: &str) -> Result<Loose, E> {
                Ok(Loose::Text(text.to_owned()))
            }

            fn visit_bool<E>(self, flag: bool) -> Result<Loose, E> {
                Ok(Loose::Flag(flag))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Loose, E> {
                Ok(Loose::Other)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Loose, E> {
                Ok(Loose::Other)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Loose, E> {
                Ok(Loose::Other)
            }

            fn visit_unit<E>(self) -> Result<Loose, E> {
                Ok(Loose::Other)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Loose, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Loose::Other)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Loose, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Loose::Other)
            }
        }

        deserializer.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::{Loose, Packument};

    #[test]
    fn odd_values_hide_nothing() {
        let text = r#"{
            "name": "a", "dist-tags": {"latest": "1.0.0", "odd": 7},
            "versions": {
                "1.0.0": {"deprecated": "", "dist": {"tarball": "T", "integrity": "I", "size": 1.5}},
                "2.0.0": {"deprecated": ["x", {"y": null}], "dist": {"tarball": {"a": -1}}},
                "3.0.0": {"deprecated": true}
            }}"#;
        let packument: Packument =
            serde_json::from_str(text).unwrap_or_else(|error| unreachable!("{error}"));
        assert_eq!(packument.tags["latest"].text(), Some("1.0.0"));
        assert_eq!(packument.tags["odd"].text(), None);
        let version = |name: &str| &packument.versions[name];
        assert!(!version("1.0.0").is_deprecated());
        assert_eq!(version("1.0.0").dist.tarball.text(), Some("T"));
        assert!(!version("2.0.0").is_deprecated());
        assert_eq!(version("2.0.0").dist.tarball, Loose::Other);
        assert!(version("3.0.0").is_deprecated());
        assert_eq!(version("3.0.0").dist.integrity.text(), None);
    }
}
