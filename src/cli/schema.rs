//! `apkit schema`.

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
    let kind = match arguments.document {
        Document::Plugin => SchemaKind::Plugin,
        Document::Mcp => SchemaKind::Mcp,
        _ if arguments.spec.is_some() => return Err(Failure::ReportHasNoSpec),
        Document::Report => return print(json_v1::SCHEMA),
        Document::Export => return print(report::SCHEMA),
        Document::McpPlan => return print(mcp::PLAN_SCHEMA),
        Document::Inspect => return print(inspect::SCHEMA),
        Document::Import => return print(&store::schema("import")),
        Document::List => return print(&store::schema("list")),
        Document::Update => return print(&store::schema("update")),
        Document::Verify => return print(&store::schema("verify")),
        Document::Remove => return print(&store::schema("remove")),
        Document::Skills => return print(&store::schema("skills")),
        Document::Lock => return print(LOCK_SCHEMA),
        Document::Policy => return print(POLICY_SCHEMA),
    };
    let version = arguments.spec.as_deref().unwrap_or(version::current().id);
    // Every version that the argument takes has a schema, as a test proves.
    print(schema::text(kind, version).unwrap_or_default())
}

fn print(text: &str) -> Result<Exit, Failure> {
    output::to_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(Exit::Clean)
}
