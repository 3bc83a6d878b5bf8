//! What a tool is called with, as people and hosts write it.

mod types;

use serde_json::Value;

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
/// The schema takes no such argument, or none of this type. No message shows the value.
pub fn typed(schema: &Value, name: &str, text: &str) -> Result<Value, Unfitting> {
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
        return Ok(Value::String(text.to_owned()));
    }
    match read(text) {
        Ok(value) if types.take(&value) && !(types.take_strings() && value.is_string()) => {
            Ok(value)
        }
        _ if types.take_strings() => Ok(Value::String(text.to_owned())),
        Ok(value) => Err(Unfitting::Type {
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

/// Reads a value.
///
/// # Errors
///
/// The text is no JSON, or JSON that cannot be passed on.
pub fn read(text: &str) -> Result<Value, Unreadable> {
    serde_json::from_str(text).map_err(|error| explained(text, error))
}

/// Why a text that cannot be read is none.
fn explained(text: &str, error: serde_json::Error) -> Unreadable {
    /// The longest number that is shown, in characters.
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
