//! `apkit schema`.

use std::borrow::Cow;

use apkit::export::report;
use apkit::render::{inspect, json_v1};
use apkit::spec::schema;
use apkit::spec::version::{self, SchemaKind};
use apkit::store::{LOCK_SCHEMA, POLICY_SCHEMA};

use super::args::{Document, Schema};
use super::exit::Exit;
use super::failure::Failure;
use super::{mcp, output, store};

pub(crate) fn run(arguments: &Schema) -> Result<Exit, Failure> {
    let report = match arguments.document {
        Document::Plugin => return specified(SchemaKind::Plugin, arguments),
        Document::Mcp => return specified(SchemaKind::Mcp, arguments),
        Document::Report => Cow::from(json_v1::SCHEMA),
        Document::Export => report::SCHEMA.into(),
        Document::Inspect => inspect::SCHEMA.into(),
        Document::McpPlan => mcp::PLAN_SCHEMA.into(),
        Document::McpTools => mcp::TOOLS_SCHEMA.into(),
        Document::McpCall => mcp::CALL_SCHEMA.into(),
        Document::McpCheck => mcp::CHECK_SCHEMA.into(),
        Document::Import => store::schema("import").into(),
        Document::List => store::schema("list").into(),
        Document::Update => store::schema("update").into(),
        Document::Verify => store::schema("verify").into(),
        Document::Remove => store::schema("remove").into(),
        Document::Skills => store::schema("skills").into(),
        Document::Lock => LOCK_SCHEMA.into(),
        Document::Policy => POLICY_SCHEMA.into(),
    };
    match arguments.spec {
        None => print(&report),
        Some(_) => Err(Failure::ReportHasNoSpec),
    }
}

/// Prints the schema of a document that the specification defines.
fn specified(kind: SchemaKind, arguments: &Schema) -> Result<Exit, Failure> {
    let version = arguments.spec.as_deref().unwrap_or(version::current().id);
    // Every version that the argument takes has a schema, as a test proves.
    print(schema::text(kind, version).unwrap_or_default())
}

fn print(text: &str) -> Result<Exit, Failure> {
    output::to_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(Exit::Clean)
}
