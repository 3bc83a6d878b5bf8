//! The JSON Schemas of what the commands print. They share most of their definitions,
//! which therefore stand in one file; what is printed of it stands alone.

use serde_json::{Map, Value, json};

use apkit::render::json_v1;

const ALL: &str = include_str!("../../../schemas/store.v1.schema.json");

/// The JSON Schema (2020-12) of what the command `document` prints, with the
/// definitions it refers to and no others.
pub(crate) fn of(document: &str) -> String {
    // Both texts are ours, and tests read every schema made of them.
    let file = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let all = file(ALL);
    let mut definitions = members(&file(json_v1::SCHEMA), "$defs");
    definitions.extend(members(&all, "$defs"));
    let mut schema = members(&json!(definitions), document);
    let mut used = Map::new();
    let mut pending = referred_to(&json!(schema));
    while let Some(name) = pending.pop() {
        let Some((name, definition)) = definitions.remove_entry(&name) else {
            continue;
        };
        pending.extend(referred_to(&definition));
        used.insert(name, definition);
    }
    schema.insert("$schema".to_owned(), all["$schema"].clone());
    let id = format!("urn:apkit:schema:{document}:1");
    schema.insert("$id".to_owned(), json!(id));
    schema.insert("$defs".to_owned(), Value::Object(used));
    format!("{:#}\n", Value::Object(schema))
}

fn members(of: &Value, name: &str) -> Map<String, Value> {
    let members = of.get(name).and_then(Value::as_object);
    members.cloned().unwrap_or_default()
}

/// The names of the definitions that a schema refers to.
fn referred_to(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(members) => {
            let direct = members.get("$ref").and_then(Value::as_str);
            let direct = direct.and_then(|target| target.strip_prefix("#/$defs/"));
            let below = members.values().flat_map(referred_to);
            below.chain(direct.map(str::to_owned)).collect()
        }
        Value::Array(items) => items.iter().flat_map(referred_to).collect(),
        _ => Vec::new(),
    }
}
