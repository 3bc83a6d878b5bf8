//! What a tool is called with, as people and hosts write it.

mod types;

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::members::Members;
use crate::diagnostic::{LineIndex, Span};
use crate::document::json::{self, LIMITS};
use crate::document::{Node, ParseErrorKind, Value as Kind};
use crate::spec::near;
use types::Types;

/// A text that is no JSON, or JSON that no message can be made of: it holds a number,
/// a text or a depth that nobody reads. Reads after "it".
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It is not within the grammar.
    #[error("is no JSON: {0}")]
    NoJson(serde_json::Error),
    /// A number is beyond what a double holds.
    #[error("holds a number that is out of range at line {line} column {column}: {number}")]
    Number {
        /// As it was written, cut to a length that fits a message.
        number: String,
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
    },
    /// A text holds one half of a surrogate pair.
    #[error(
        "holds a text with a lone surrogate, half of a character, at line {line} column {column}"
    )]
    Surrogate {
        /// From 1.
        line: usize,
        /// From 1, in characters; of the whole text.
        column: usize,
    },
    /// An object has two members of one name, of which each reader takes another one.
    #[error("holds a name twice in one object at line {line} column {column}: {name}")]
    Twice {
        /// The name.
        name: String,
        /// From 1; of the later one.
        line: usize,
        /// From 1, in characters.
        column: usize,
    },
    /// It is deeper or larger than is read.
    #[error("is JSON that cannot be passed on: {0}")]
    Other(String),
}

/// A value that a tool's input schema does not take.
#[derive(Debug, thiserror::Error)]
pub enum Unfitting {
    /// The schema has no such argument.
    #[error("the tool takes no argument `{name}`{}", meant(.nearest.as_deref()))]
    Unknown {
        /// Its name.
        name: String,
        /// What was meant, probably.
        nearest: Option<String>,
    },
    /// The text cannot be read, and the argument is no text.
    #[error("`{name}` has to be {expected}, and the value {error}")]
    Unreadable {
        /// The argument.
        name: String,
        /// What its schema takes, in words.
        expected: String,
        /// What is wrong with the text.
        error: Unreadable,
    },
    /// It is of another type.
    #[error("`{name}` has to be {expected}, and the value is {found}")]
    Type {
        /// The argument.
        name: String,
        /// What its schema takes, in words.
        expected: String,
        /// What it is.
        found: &'static str,
    },
}

fn meant(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => String::new(),
    }
}

/// The value of the argument `name` of a tool with this input schema, from its text
/// on a command line. A string is the text as it is; everything else is JSON of the
/// type that the schema names, and of any type where it names none. Where it takes
/// strings and other types, JSON of another one is that, and the rest a string.
///
/// # Errors
///
/// The schema takes no such argument, or none of this type, or the text is no JSON where
/// it has to be. Of the value a message shows no more than a number that is out of range
/// or a name that occurs twice, cut to a length that fits.
pub fn typed(schema: &Value, name: &str, text: &str) -> Result<Box<RawValue>, Unfitting> {
    let Some(types) = Types::of_argument(schema, name) else {
        let properties = schema.get("properties").and_then(Value::as_object);
        let known = properties.into_iter().flatten();
        let known = known.map(|(known, _)| known.as_str());
        return Err(Unfitting::Unknown {
            name: name.to_owned(),
            nearest: near::nearest(name, known).map(str::to_owned),
        });
    };
    if types.are_strings() {
        return Ok(string(text));
    }
    let read = read(text).map(|raw| {
        // What was read as JSON is some.
        let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        (raw, value)
    });
    match read {
        Ok((raw, value)) if types.take(&value) && !(types.take_strings() && value.is_string()) => {
            Ok(raw)
        }
        _ if types.take_strings() => Ok(string(text)),
        Ok((_, value)) => Err(Unfitting::Type {
            name: name.to_owned(),
            expected: types.words(),
            found: types::words_of(&value),
        }),
        Err(error) => Err(Unfitting::Unreadable {
            name: name.to_owned(),
            expected: types.words(),
            error,
        }),
    }
}

fn string(text: &str) -> Box<RawValue> {
    let string = RawValue::from_string(Value::from(text).to_string());
    string.unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Reads a value, which keeps its text: a server gets every number as it was written.
///
/// # Errors
///
/// The text is no JSON, or JSON that cannot be passed on.
pub fn read(text: &str) -> Result<Box<RawValue>, Unreadable> {
    let read = serde_json::from_str::<Readable>(text).and_then(|_| serde_json::from_str(text));
    read.map_err(|error| explained(text, error))
}

/// Whether `object` has a member `name`.
pub fn has(object: &RawValue, name: &str) -> bool {
    Members::of(object).is_some_and(|members| members.get(name).is_some())
}

/// `object` with the member `name`, all else as it is written.
pub fn with(object: &RawValue, name: &str, value: &RawValue) -> Box<RawValue> {
    let mut members = Members::of(object).unwrap_or_default();
    members.set(name, value.get().to_owned());
    members.raw()
}

/// The parameters of `tools/call` for this tool.
pub fn call(tool: &str, arguments: &RawValue) -> Box<RawValue> {
    let mut members = Members::default();
    members.set("name", serde_json::Value::from(tool).to_string());
    members.set("arguments", arguments.get().to_owned());
    members.raw()
}

/// A value that every reader takes for the same. Nothing of it is kept.
struct Readable;

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Readable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E>(self) -> Result<Readable, E> {
                Ok(Readable)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Readable, E> {
                Ok(Readable)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Readable, E> {
                Ok(Readable)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Readable, E> {
                Ok(Readable)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Readable, E> {
                Ok(Readable)
            }

            fn visit_str<E>(self, _: &str) -> Result<Readable, E> {
                Ok(Readable)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Readable, A::Error> {
                while items.next_element::<Readable>()?.is_some() {}
                Ok(Readable)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Readable, A::Error> {
                let mut names = HashSet::new();
                while let Some(name) = members.next_key::<String>()? {
                    if !names.insert(name) {
                        return Err(A::Error::custom("a name occurs twice in one object"));
                    }
                    members.next_value::<Readable>()?;
                }
                Ok(Readable)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// Why a text that cannot be read is none.
fn explained(text: &str, error: serde_json::Error) -> Unreadable {
    /// The longest number or name that is shown, in characters.
    const SHOWN: usize = 40;
    let document = match json::parse(text.as_bytes(), LIMITS) {
        Ok(document) => document,
        Err(found) if found.kind == ParseErrorKind::TooComplex => {
            return Unreadable::Other(found.message);
        }
        Err(_) => return Unreadable::NoJson(error),
    };
    let place = |span: Span| {
        let place = LineIndex::new(text.as_bytes()).locate(span);
        (place.line, place.column)
    };
    if let Some((span, number)) = out_of_range(&document.root) {
        let (line, column) = place(span);
        let number = number.chars().take(SHOWN).collect();
        return Unreadable::Number {
            number,
            line,
            column,
        };
    }
    if let Some(duplicate) = document.duplicates.first() {
        let span = duplicate.again;
        let (line, column) = place(span);
        let name = text.get(span.start..span.end).unwrap_or_default();
        let name = name.chars().take(SHOWN).collect();
        return Unreadable::Twice { name, line, column };
    }
    if let Some(span) = document.lone_surrogates.first() {
        let (line, column) = place(*span);
        return Unreadable::Surrogate { line, column };
    }
    Unreadable::Other(error.to_string())
}

/// The first number that no double holds.
fn out_of_range(node: &Node) -> Option<(Span, &str)> {
    match node.value() {
        Kind::Number(number) => {
            let is_infinite = number.parse().is_ok_and(f64::is_infinite);
            is_infinite.then_some((node.span, &**number))
        }
        Kind::Array(items) => items.iter().find_map(out_of_range),
        Kind::Object(object) => {
            let mut members = object.members.iter();
            members.find_map(|member| out_of_range(&member.value))
        }
        _ => None,
    }
}
