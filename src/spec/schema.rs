//! The JSON Schemas under `schemas/`, embedded.
//!
//! Structure is judged in code, which is what the speed of a run of hundreds of
//! packages allows; the schemas are published artefacts for editors and other
//! tools, and the conformance tests prove that both agree on every fixture.

use super::version::SchemaKind;

/// The schema of `plugin.json` or `mcp.json` for a version in the table.
pub fn text(kind: SchemaKind, version: &str) -> Option<&'static str> {
    Some(match (kind, version) {
        (SchemaKind::Plugin, "1.0.0") => include_str!("../../schemas/1.0.0/plugin.schema.json"),
        (SchemaKind::Mcp, "1.0.0") => include_str!("../../schemas/1.0.0/mcp.schema.json"),
        (SchemaKind::Plugin, "1.1.0") => include_str!("../../schemas/1.1.0/plugin.schema.json"),
        (SchemaKind::Mcp, "1.1.0") => include_str!("../../schemas/1.1.0/mcp.schema.json"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::version::{FieldKind, VERSIONS};

    #[test]
    fn every_version_has_both_schemas_and_they_compile() {
        for version in VERSIONS {
            for kind in [SchemaKind::Plugin, SchemaKind::Mcp] {
                let text = text(kind, version.id).expect("an embedded schema");
                let schema: serde_json::Value = serde_json::from_str(text).expect("JSON");
                assert_eq!(schema["$id"], kind.id(version));
                assert_eq!(schema["properties"]["$schema"]["const"], kind.id(version));
                jsonschema::validator_for(&schema).expect("a valid schema");
            }
        }
    }

    #[test]
    fn the_manifest_schema_lists_the_fields_of_the_table() {
        for version in VERSIONS {
            let text = text(SchemaKind::Plugin, version.id).expect("an embedded schema");
            let schema: serde_json::Value = serde_json::from_str(text).expect("JSON");
            let properties = schema["properties"].as_object().expect("properties");
            assert_eq!(properties.len(), version.manifest_fields.len());
            for (field, kind) in version.manifest_fields {
                let wanted = match kind {
                    FieldKind::Schema => continue,
                    FieldKind::Author | FieldKind::Extensions => "object",
                    FieldKind::Strings => "array",
                    _ => "string",
                };
                assert_eq!(properties[*field]["type"], wanted, "{field}");
            }
        }
    }
}
