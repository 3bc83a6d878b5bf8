//! Holds the published JSON Schemas against the verdicts: structure is judged in
//! code, and both must say the same about every case.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use apkit::diagnostic::Effect;
use apkit::spec::codes::{self, manifest, mcp};
use apkit::spec::schema;
use apkit::spec::version::{self, SchemaKind, Version};
use jsonschema::Validator;
use serde_json::{Value, json};

use super::case::{self, Case, Finding};
use super::stage::Stage;

/// What no schema can state; every other error about a server is structure.
const BEYOND_SCHEMAS: &[&str] = &[
    mcp::SERVER_NAME_INVALID.id,
    mcp::COMMAND_FORM.id,
    mcp::COMMAND_LINE.id,
    mcp::COMMAND_ESCAPE.id,
    mcp::CWD_FORM.id,
    mcp::CWD_ESCAPE.id,
    mcp::URL_INVALID.id,
    mcp::URL_USER_INFORMATION.id,
    mcp::URL_FRAGMENT.id,
    mcp::URL_NOT_HTTPS.id,
    mcp::HEADER_NAME.id,
    mcp::HEADER_VALUE.id,
    mcp::HEADER_DUPLICATE.id,
];

/// How often a schema accepted and refused.
#[derive(Debug, Default)]
struct Tally {
    accepted: usize,
    refused: usize,
}

impl Tally {
    fn count(&mut self, accepted: bool) {
        if accepted {
            self.accepted += 1;
        } else {
            self.refused += 1;
        }
    }
}

#[test]
fn schemas_and_verdicts_agree_on_every_case() {
    let stage = Stage::new(true);
    let schemas = Schemas::new();
    let (mut manifests, mut documents, mut servers) = <(Tally, Tally, Tally)>::default();
    let mut disagreements = Vec::new();
    for case in &case::all() {
        if !stage.lacks(case).is_empty() {
            continue;
        }
        let root = stage.path().join(stage.build(case));
        let mut compare = |what: &str, tally: &mut Tally, accepted: bool, agreed: bool| {
            tally.count(accepted);
            if !agreed {
                let says = if accepted { "accepts" } else { "refuses" };
                disagreements.push(format!("{}: the schema {says} {what}", case.id));
            }
        };
        let plugin = read(case, &root, "plugin.json");
        let version = version_of(case, plugin.as_ref());
        if let Some(plugin) = &plugin {
            let accepted = schemas.manifests[version.id].is_valid(plugin);
            let fine = !findings(case, "plugin.json").any(|finding| {
                let effect = effect(finding);
                (effect == Effect::PackageRejected || effect == Effect::FieldIgnored)
                    && finding.code != manifest::ICON_IGNORED.id
            });
            compare("plugin.json", &mut manifests, accepted, accepted == fine);
        }
        if case.expect.verdict == "loaded"
            && let Some(mut document) = read(case, &root, "mcp.json")
        {
            let disabled =
                findings(case, "mcp.json").any(|finding| effect(finding) == Effect::McpDisabled);
            let entries = document
                .get_mut("mcpServers")
                .and_then(Value::as_object_mut)
                .map(std::mem::take);
            let accepted = schemas.documents[version.id].is_valid(&document);
            compare("mcp.json", &mut documents, accepted, accepted != disabled);
            // The servers of a disabled document are not judged.
            for (name, entry) in entries.filter(|_| !disabled).into_iter().flatten() {
                let errors: Vec<&str> = findings(case, "mcp.json")
                    .filter(|finding| effect(finding) == Effect::ServerSkipped)
                    .filter(|finding| server_of(finding).as_deref() == Some(&*name))
                    .map(|finding| finding.code.as_str())
                    .collect();
                let structure = errors.iter().any(|code| !BEYOND_SCHEMAS.contains(code));
                let accepted = schemas.servers[version.id].is_valid(&entry);
                // A schema may know a part of what it need not know.
                let agreed = if accepted {
                    !structure
                } else {
                    !errors.is_empty()
                };
                compare(&format!("server {name:?}"), &mut servers, accepted, agreed);
            }
        }
        stage.unlock(case);
    }
    assert!(disagreements.is_empty(), "{disagreements:#?}");
    for tally in [manifests, documents, servers] {
        assert!(tally.accepted > 10 && tally.refused > 10, "{tally:?}");
    }
}

/// The compiled schemas, by version.
struct Schemas {
    manifests: BTreeMap<&'static str, Validator>,
    documents: BTreeMap<&'static str, Validator>,
    servers: BTreeMap<&'static str, Validator>,
}

impl Schemas {
    fn new() -> Self {
        let text = |kind, version: &Version| -> Value {
            let text = schema::text(kind, version.id).expect("an embedded schema");
            serde_json::from_str(text).expect("a schema is JSON")
        };
        let compile = |of: &dyn Fn(&Version) -> Value| {
            version::VERSIONS
                .iter()
                .map(|version| {
                    let schema = jsonschema::validator_for(&of(version));
                    (version.id, schema.expect("a valid schema"))
                })
                .collect()
        };
        Self {
            manifests: compile(&|version| text(SchemaKind::Plugin, version)),
            documents: compile(&|version| text(SchemaKind::Mcp, version)),
            // The reference that lets a client judge one entry alone.
            servers: compile(&|version| {
                let document = text(SchemaKind::Mcp, version);
                json!({ "$defs": document["$defs"], "$ref": "#/$defs/server" })
            }),
        }
    }
}

/// The file as other readers have it; `None` if it has findings as a file or as
/// a text, or if serde_json cannot hold it.
fn read(case: &Case, root: &Path, name: &str) -> Option<Value> {
    let unread = findings(case, name).any(|finding| {
        finding.pointer.is_none() && !matches!(effect(finding), Effect::None | Effect::FieldIgnored)
    });
    let path = root.join(name);
    if unread || !path.is_file() {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// The version whose rules apply to the case.
fn version_of(case: &Case, plugin: Option<&Value>) -> &'static Version {
    let named = plugin.and_then(|plugin| plugin.get("$schema")?.as_str());
    version::VERSIONS
        .iter()
        .find(|version| {
            Some(version.plugin_schema) == named
                && (!version.draft || case.options.spec_draft.as_deref() == Some(version.id))
        })
        .unwrap_or_else(version::current)
}

fn findings<'c>(case: &'c Case, path: &'c str) -> impl Iterator<Item = &'c Finding> {
    case.findings
        .iter()
        .filter(move |finding| finding.path == path)
}

fn effect(finding: &Finding) -> Effect {
    codes::find(&finding.code)
        .expect("checked when read")
        .effect
}

/// The server that a finding is about.
fn server_of(finding: &Finding) -> Option<String> {
    let token = finding.pointer.as_deref()?.split('/').nth(2)?;
    Some(token.replace("~1", "/").replace("~0", "~"))
}
