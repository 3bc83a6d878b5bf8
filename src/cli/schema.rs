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
    let kind = match arguments.document {
        Document::Plugin => SchemaKind::Plugin,
        Document::Mcp => SchemaKind::Mcp,
        Document::Report | Document::Export | Document::McpPlan if arguments.spec.is_some() => {
            return Err(Failure::ReportHasNoSpec);
        }
        Document::Report => return print(json_v1::SCHEMA),
        Document::Export => return print(report::SCHEMA),
        Document::McpPlan => return print(mcp::PLAN_SCHEMA),
    };
    let version = arguments.spec.as_deref().unwrap_or(version::current().id);
    // Every version that the argument takes has a schema, as a test proves.
    print(schema::text(kind, version).unwrap_or_default())
}

fn print(text: &str) -> Result<Exit, Failure> {
    output::to_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(Exit::Clean)
}
