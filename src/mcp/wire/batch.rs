//! The messages in one text: one, or those of a batch of JSON-RPC. Version
//! 2025-03-26 of MCP has batches and asks of everybody to take them (Base protocol:
//! batching); the versions before and after it have none.

use std::fmt;

use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// How many messages a batch may hold. A line of a few megabytes could hold a
/// million of them.
const MOST: usize = 10_000;

/// The texts of messages.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::mcp) enum Texts<'t> {
    /// A text that is no batch, and may be no JSON either.
    One(&'t str),
    /// Those of a batch, in order. Each is JSON.
    Batch(Vec<&'t str>),
}

/// What `text` holds. Of a text that is no batch nothing more is looked at.
///
/// # Errors
///
/// It begins like a batch and is no JSON, or holds too many messages.
pub(in crate::mcp) fn texts(text: &str) -> Result<Texts<'_>, serde_json::Error> {
    if !text.trim_start().starts_with('[') {
        return Ok(Texts::One(text));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let batch = reader.deserialize_seq(Elements)?;
    reader.end()?;
    Ok(Texts::Batch(batch))
}

impl<'t> Texts<'t> {
    /// All of them.
    pub(in crate::mcp) fn all(self) -> Vec<&'t str> {
        match self {
            Self::One(text) => vec![text],
            Self::Batch(texts) => texts,
        }
    }
}

struct Elements;

impl<'t> Visitor<'t> for Elements {
    type Value = Vec<&'t str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a batch")
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut texts = Vec::new();
        while let Some(element) = seq.next_element::<&'t RawValue>()? {
            if texts.len() == MOST {
                let text = format!("the batch holds more than {MOST} messages");
                return Err(A::Error::custom(text));
            }
            texts.push(element.get());
        }
        Ok(texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_told_from_a_message() {
        let batch = |text| match texts(text) {
            Ok(Texts::Batch(texts)) => texts,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            batch(" [ {\"id\":1e400, \"a\":\"\\ud800\"} ,3, [[]]]\n"),
            ["{\"id\":1e400, \"a\":\"\\ud800\"}", "3", "[[]]"]
        );
        assert_eq!(batch("[]"), [""; 0]);
        for one in ["", "{\"a\":[]}", "hello"] {
            assert_eq!(texts(one).ok(), Some(Texts::One(one)));
        }
        for broken in ["[", "[1,]", "[1] 2", "[x]"] {
            assert!(texts(broken).is_err(), "{broken}");
        }
        let many = |count: usize| format!("[{}1]", "1,".repeat(count - 1));
        assert_eq!(batch(&many(MOST)).len(), MOST);
        assert!(texts(&many(MOST + 1)).is_err());
    }
}
