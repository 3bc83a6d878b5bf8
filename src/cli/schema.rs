//! `apkit schema`.

use apkit::export::report;
use apkit::render::json_v1;
use apkit::spec::schema;
use apkit::spec::version::{self, SchemaKind};

use super::args::{Document, Schema};
use super::exit::Exit;
use super::failure::Failure;
use super::{mcp, output};

pub(crate) fn run(arguments: &Schema) -> Result<Exit, Failure> {
    let report = match arguments.document {
        Document::Plugin => return specified(SchemaKind::Plugin, arguments),
        Document::Mcp => return specified(SchemaKind::Mcp, arguments),
        Document::Report => json_v1::SCHEMA,
        Document::Export => report::SCHEMA,
        Document::McpPlan => mcp::PLAN_SCHEMA,
        Document::McpTools => mcp::TOOLS_SCHEMA,
        Document::McpCall => mcp::CALL_SCHEMA,
        Document::McpCheck => mcp::CHECK_SCHEMA,
    };
    match arguments.spec {
        None => print(report),
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
