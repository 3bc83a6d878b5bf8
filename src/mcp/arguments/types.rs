//! Which types of JSON a schema takes, as far as that can be told by looking at it.

use std::collections::BTreeSet;

use serde_json::Value;

/// How deep a schema is followed: a reference may lead back to itself.
const DEEPEST: usize = 16;

/// How many schemas and values are looked at for one argument. Branches that refer to
/// each other multiply with every level, so that a depth alone bounds nothing; a list of
/// all values that somebody wrote down stays far below.
const MOST: usize = 100_000;

/// The types that are taken; nothing if they may be any.
pub(super) struct Types(Option<BTreeSet<&'static str>>);

/// Each type with its words.
const KNOWN: [(&str, &str); 7] = [
    ("array", "an array"),
    ("boolean", "true or false"),
    ("integer", "an integer"),
    ("null", "null"),
    ("number", "a number"),
    ("object", "an object"),
    ("string", "a string"),
];

impl Types {
    /// Those of the argument `name` of a tool with this input schema. Nothing if it
    /// takes no such argument: one that a schema with arguments does not name is most
    /// likely a slip, though JSON Schema lets it pass unless it is forbidden.
    pub(super) fn of_argument(schema: &Value, name: &str) -> Option<Self> {
        let properties = schema.get("properties").and_then(Value::as_object);
        if let Some(property) = properties.and_then(|properties| properties.get(name)) {
            return Some(Self(types(property, schema)));
        }
        match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            Some(Value::Bool(true)) => Some(Self(None)),
            Some(others) => Some(Self(types(others, schema))),
            None => {
                let has_others = schema.get("patternProperties").is_some();
                let has_none = properties.is_none_or(serde_json::Map::is_empty);
                (has_others || has_none).then_some(Self(None))
            }
        }
    }

    /// Whether only strings are taken.
    pub(super) fn are_strings(&self) -> bool {
        self.take_strings() && self.0.as_ref().is_some_and(|types| types.len() == 1)
    }

    /// Whether strings are taken beside what else is, by name.
    pub(super) fn take_strings(&self) -> bool {
        let types = self.0.as_ref();
        types.is_some_and(|types| types.contains("string"))
    }

    /// Whether a value is of one of the types.
    pub(super) fn take(&self, value: &Value) -> bool {
        let Some(types) = &self.0 else { return true };
        let is_whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
        types.contains(type_of(value)) || (is_whole && types.contains("integer"))
    }

    /// The types in words: `an integer or null`.
    pub(super) fn words(&self) -> String {
        let Some(types) = &self.0 else {
            return "JSON, as its schema names no type (a text stands in quotes)".to_owned();
        };
        let words: Vec<&str> = types.iter().map(|name| words(name)).collect();
        match words.split_last() {
            None => "of no type".to_owned(),
            Some((last, [])) => (*last).to_owned(),
            Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        }
    }
}

/// What a value is, in words.
pub(super) fn words_of(value: &Value) -> &'static str {
    words(type_of(value))
}

fn words(name: &str) -> &'static str {
    let known = KNOWN.iter().find(|(known, _)| *known == name);
    known.map_or("something else", |(_, words)| words)
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The types that `schema` takes, which is a part of `root`; nothing if it does not
/// say so, or not within the bounds of a walk.
fn types(schema: &Value, root: &Value) -> Option<BTreeSet<&'static str>> {
    Walk { root, left: MOST }.types(schema, DEEPEST)
}

/// A walk through a schema. All its branches have one budget, and once that is spent
/// each of them says nothing: what an unseen one might say would be left out otherwise.
struct Walk<'s> {
    root: &'s Value,
    left: usize,
}

impl<'s> Walk<'s> {
    fn types(&mut self, schema: &'s Value, depth: usize) -> Option<BTreeSet<&'static str>> {
        let depth = depth.checked_sub(1)?;
        self.spend(1)?;
        let named = |name: &Value| {
            let known = KNOWN.iter().find(|(known, _)| name == *known)?;
            Some(known.0)
        };
        match schema.get("type") {
            Some(Value::Array(names)) => {
                self.spend(names.len())?;
                return names.iter().map(named).collect();
            }
            Some(name) => return named(name).map(|name| BTreeSet::from([name])),
            None => {}
        }
        if let Some(place) = schema.get("$ref").and_then(Value::as_str) {
            return self.types(self.root.pointer(place.strip_prefix('#')?)?, depth);
        }
        if let Some(value) = schema.get("const") {
            return Some(BTreeSet::from([type_of(value)]));
        }
        let list = |name: &str| schema.get(name).and_then(Value::as_array);
        if let Some(values) = list("enum") {
            self.spend(values.len())?;
            return Some(values.iter().map(type_of).collect());
        }
        if let Some(either) = list("anyOf").or_else(|| list("oneOf")) {
            let each = either.iter().map(|schema| self.types(schema, depth));
            let each: Option<Vec<_>> = each.collect();
            return Some(each?.into_iter().flatten().collect());
        }
        list("allOf")?
            .iter()
            .find_map(|schema| self.types(schema, depth))
    }

    /// Takes from the budget; nothing, for good, once it does not suffice.
    fn spend(&mut self, steps: usize) -> Option<()> {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or_default();
        left.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::mcp::arguments::typed;

    fn value(schema: &Value, text: &str) -> String {
        let schema = json!({
            "properties": {"a": schema},
            "$defs": {"port": {"type": "string"}, "loop": {"$ref": "#/$defs/loop"}},
        });
        match typed(&schema, "a", text) {
            Ok(value) => value.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn values_are_what_the_schema_takes() {
        for (schema, text, expected) in [
            (json!({"type": "string"}), "5", "\"5\""),
            (json!({"type": "string"}), "\"q\"", r#""\"q\"""#),
            (json!({"type": "string"}), "", "\"\""),
            (json!({"type": "integer"}), "5", "5"),
            (json!({"type": "integer"}), "5.0", "5.0"),
            // As it is written, whatever a double makes of it.
            (json!({"type": "number"}), "-1.5e3", "-1.5e3"),
            (
                json!({"type": "integer"}),
                "18446744073709551616",
                "18446744073709551616",
            ),
            (json!({"type": "boolean"}), "true", "true"),
            (json!({"type": "array"}), "[1, \"x\"]", "[1, \"x\"]"),
            (json!({"type": "object"}), "{\"b\": null}", "{\"b\": null}"),
            (json!({"type": ["string", "null"]}), "null", "null"),
            (json!({"type": ["string", "null"]}), "5", "\"5\""),
            (json!({"type": ["string", "integer"]}), "5", "5"),
            (json!({"type": ["string", "integer"]}), "x", "\"x\""),
            (
                json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
                "x",
                "\"x\"",
            ),
            (json!({"$ref": "#/$defs/port"}), "5", "\"5\""),
            (json!({"enum": ["low", "high"]}), "low", "\"low\""),
            (json!({"const": 5}), "5", "5"),
            (
                json!({"allOf": [{"minLength": 1}, {"type": "string"}]}),
                "5",
                "\"5\"",
            ),
            (json!({}), "\"5\"", "\"5\""),
            (json!(true), "[5]", "[5]"),
            (json!({"$ref": "#/$defs/loop"}), "5", "5"),
            (json!({"$ref": "#/$defs/none"}), "5", "5"),
        ] {
            assert_eq!(value(&schema, text), expected, "{schema} {text}");
        }
    }

    /// Schemas of which each has `width` times the one below, down to `last`.
    fn branching(by: &str, width: usize, levels: usize, last: &Value) -> Value {
        let level = |level: usize| match level {
            0 => last.clone(),
            level => json!({by: vec![json!({"$ref": format!("#/$defs/{}", level - 1)}); width]}),
        };
        let levels = (0..=levels).map(|number| (number.to_string(), level(number)));
        Value::Object(levels.collect())
    }

    #[test]
    fn a_schema_that_branches_without_end_names_no_type() {
        let (silent, string) = (json!({"minLength": 1}), json!({"type": "string"}));
        // Whoever goes through all of it finds a string, which for some takes too long.
        for (by, width, levels, last, is_string) in [
            ("allOf", 10, 2, &silent, true),
            ("allOf", 10, 5, &silent, false),
            ("allOf", 1000, 5, &silent, false),
            ("oneOf", 10, 2, &string, true),
            ("oneOf", 10, 5, &string, false),
            ("anyOf", 1000, 5, &string, false),
        ] {
            let schema = json!({
                "properties": {"a": {"allOf": [
                    {"$ref": format!("#/$defs/{levels}")},
                    {"type": "string"},
                ]}},
                "$defs": branching(by, width, levels, last),
            });
            let types = super::Types::of_argument(&schema, "a").expect("it is named");
            assert_eq!(types.are_strings(), is_string, "{by} {width} {levels}");
        }
        let list = |length: usize| json!({"enum": vec!["x"; length]});
        assert_eq!(value(&list(50_000), "5"), "\"5\"");
        assert_eq!(value(&list(100_000), "5"), "5");
    }

    #[test]
    fn what_does_not_fit_is_told() {
        for (schema, text, expected) in [
            (
                json!({"type": "integer"}),
                "1.5",
                "`a` has to be an integer, and the value is a number",
            ),
            (
                json!({"type": "boolean"}),
                "yes",
                "`a` has to be true or false, and the value is no JSON: ",
            ),
            (
                json!({"type": ["array", "integer", "null"]}),
                "\"x\"",
                "`a` has to be an array, an integer or null, and the value is a string",
            ),
            (
                json!({"type": "number"}),
                "1e400",
                "`a` has to be a number, and the value holds a number that is out of range at line 1 column 1: 1e400",
            ),
            (
                json!({}),
                "x",
                "`a` has to be JSON, as its schema names no type (a text stands in quotes), and the value is no JSON: ",
            ),
        ] {
            let told = value(&schema, text);
            assert!(told.starts_with(expected), "{told}");
        }
        let known = json!({"properties": {"port": {"type": "string"}}});
        let told = |schema: &Value| typed(schema, "prot", "x").expect_err("unknown").to_string();
        assert_eq!(told(&known), "the tool takes no argument `prot`");
        for (schema, expected) in [
            (
                json!({"additionalProperties": true, "properties": {"port": {}}}),
                true,
            ),
            (json!({"additionalProperties": {"type": "string"}}), true),
            (json!({"additionalProperties": false}), false),
            (json!({"type": "object"}), true),
            (json!(null), true),
        ] {
            assert_eq!(typed(&schema, "x", "1").is_ok(), expected, "{schema}");
        }
    }
}
