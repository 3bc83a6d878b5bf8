//! `mcp.json` (§7.2): what turns MCP off for the package, and which servers load.
//!
//! [`server`] judges one entry; [`stdio`] and [`remote`] hold the rules of the
//! variants, [`values`] the advice about strings wherever they stand.

mod remote;
mod server;
mod stdio;
mod values;

use super::Loader;
use super::file::{Source, quoted};
use super::json_text;
use super::report::{Mcp, McpState, Server};
use crate::diagnostic::{Diagnostic, Severity, Span};
use crate::document::{Document, Node, Object, Pointer};
use crate::spec::codes::mcp as codes;
use crate::spec::version::{self, SchemaKind, Selection};

/// The fixed location (§6.1).
pub(super) const FILE: &str = "mcp.json";

/// Loads the servers of a package that targets the version `version` and whose
/// root has an entry `mcp.json`.
pub(super) fn load(loader: &mut Loader<'_>, version: &str) -> Mcp {
    let disabled = Mcp {
        state: McpState::Disabled,
        ..Mcp::default()
    };
    let bytes = match json_text::read(loader, FILE, &json_text::MCP) {
        Ok(bytes) => bytes,
        Err(finding) => {
            loader.report(*finding);
            return disabled;
        }
    };
    let mut findings = Vec::new();
    let source = Source::new(FILE, &bytes);
    let mcp = match json_text::parse(&source, &bytes, &json_text::MCP, &mut findings) {
        Some(document) => judge(loader, &source, &document, version, &mut findings),
        None => disabled,
    };
    loader.report_text(FILE, bytes, findings);
    mcp
}

fn judge(
    loader: &Loader<'_>,
    source: &Source<'_>,
    document: &Document,
    version: &str,
    findings: &mut Vec<Diagnostic>,
) -> Mcp {
    let before = findings.len();
    let servers = match document.root.as_object() {
        Some(object) => top_level(loader, source, &document.root, object, version, findings),
        None => {
            let message = format!("mcp.json is {}, not an object", document.root.type_name());
            findings.push(
                source
                    .value_finding(
                        &codes::NOT_AN_OBJECT,
                        document.root.span,
                        &Pointer::root(),
                        message,
                    )
                    .with_help(
                        "put the fields into one object: { \"$schema\": …, \"mcpServers\": { … } }",
                    ),
            );
            None
        }
    };
    let failed = findings
        .iter()
        .skip(before)
        .any(|finding| finding.severity() == Severity::Error);
    let Some(servers) = servers.filter(|_| !failed) else {
        return Mcp {
            state: McpState::Disabled,
            ..Mcp::default()
        };
    };
    let mut mcp = Mcp {
        state: McpState::Enabled,
        ..Mcp::default()
    };
    let pointer = Pointer::root().key("mcpServers");
    for member in servers.effective() {
        let name = member.key.display().into_owned();
        match server::check(loader, source, member, &pointer.key(&name), findings) {
            Some(transport) => mcp.loaded.push(Server { name, transport }),
            None => mcp.skipped.push(name),
        }
    }
    mcp
}

/// Judges the closed top level; gives `mcpServers` if it is an object.
fn top_level<'d>(
    loader: &Loader<'_>,
    source: &Source<'_>,
    root: &Node,
    object: &'d Object,
    version: &str,
    findings: &mut Vec<Diagnostic>,
) -> Option<&'d Object> {
    let opening = Span::new(root.span.start, root.span.start + 1);
    let drafts = loader.options.drafts;
    schema(source, opening, object, version, drafts, findings);
    // There are no rules to judge the rest by.
    if findings
        .iter()
        .any(|finding| *finding.code == codes::SCHEMA_UNSUPPORTED)
    {
        return None;
    }
    let servers = match object.get("mcpServers") {
        None => {
            findings.push(
                source
                    .value_finding(&codes::SERVERS_MISSING, opening, &Pointer::root(), "mcp.json has no mcpServers")
                    .with_help("add \"mcpServers\": an object with one entry for each server; it may be empty"),
            );
            None
        }
        Some(member) => match member.value.as_object() {
            Some(servers) => Some(servers),
            None => {
                let message = format!("mcpServers is {}, not an object", member.value.type_name());
                let pointer = Pointer::root().key("mcpServers");
                findings.push(
                    source
                        .value_finding(&codes::SERVERS_TYPE, member.value.span, &pointer, message)
                        .with_help("make it an object whose keys name the servers"),
                );
                None
            }
        },
    };
    for member in object
        .effective()
        .filter(|member| member.key != "$schema" && member.key != "mcpServers")
    {
        let key = member.key.display();
        findings.push(
            source
                .value_finding(
                    &codes::UNKNOWN_FIELD,
                    member.key_span,
                    &Pointer::root().key(&key),
                    format!("{} is no field of mcp.json", quoted(&key)),
                )
                .with_help(
                    if servers.is_none() && key.to_ascii_lowercase().contains("servers") {
                        "rename it to mcpServers"
                    } else {
                        "remove it; mcp.json holds $schema and mcpServers and nothing else"
                    },
                ),
        );
    }
    servers
}

/// §7.2.2 item 2 and §10.1: a supported version, and the one of `plugin.json`.
fn schema(
    source: &Source<'_>,
    opening: Span,
    object: &Object,
    plugin: &str,
    drafts: bool,
    findings: &mut Vec<Diagnostic>,
) {
    let wanted = version::find(plugin)
        .unwrap_or_else(version::current)
        .mcp_schema;
    let Some(member) = object.get("$schema") else {
        findings.push(
            source
                .value_finding(
                    &codes::SCHEMA_MISSING,
                    opening,
                    &Pointer::root(),
                    "mcp.json has no $schema",
                )
                .with_help(format!("add \"$schema\": \"{wanted}\"")),
        );
        return;
    };
    let value = member.value.as_text().map(|text| text.display());
    let (code, message) = match value
        .as_deref()
        .map(|value| version::select(value, SchemaKind::Mcp, drafts))
    {
        Some(Selection::Supported(id)) if id == plugin => return,
        Some(Selection::Supported(id)) => (
            &codes::SCHEMA_MISMATCH,
            format!("mcp.json targets Agent Plugins {id} and plugin.json targets {plugin}"),
        ),
        Some(Selection::DraftOff(id) | Selection::Unknown(id)) => (
            &codes::SCHEMA_UNSUPPORTED,
            format!("Agent Plugins version {} is not supported", quoted(id)),
        ),
        Some(Selection::OtherDocument) => (
            &codes::SCHEMA_INVALID,
            "this $schema is the one of plugin.json".to_owned(),
        ),
        Some(Selection::NotCanonical) => (
            &codes::SCHEMA_INVALID,
            format!(
                "$schema {} is not the canonical identifier of an Agent Plugins MCP configuration",
                quoted(value.as_deref().unwrap_or_default())
            ),
        ),
        None => (
            &codes::SCHEMA_INVALID,
            format!("$schema is {}, not a string", member.value.type_name()),
        ),
    };
    findings.push(
        source
            .value_finding(
                code,
                member.value.span,
                &Pointer::root().key("$schema"),
                message,
            )
            .with_help(format!("set it to exactly \"{wanted}\"")),
    );
}
