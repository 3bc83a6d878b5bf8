//! The report as one JSON document, version 1: `schemas/report.v1.schema.json`.
//!
//! The order of the fields is the order of these structs. Within version 1,
//! fields may be added and none is removed or given another meaning.

use std::io;

use serde::Serialize;

use super::{TOOL, TOOL_VERSION, escape};
use crate::diagnostic;
use crate::package;

/// The JSON Schema (2020-12) of the document.
pub const SCHEMA: &str = include_str!("../../schemas/report.v1.schema.json");

/// Writes the report.
///
/// # Errors
///
/// Fails only if `out` does.
pub fn write(report: &package::Report, out: &mut dyn io::Write) -> io::Result<()> {
    escape::write_json(out, &Report::of(report), true)
}

#[derive(Serialize)]
struct Report<'r> {
    schema_version: u32,
    tool: Tool,
    packages: Vec<Package<'r>>,
    summary: Summary,
}

/// Which program wrote a document.
#[derive(Serialize)]
pub(super) struct Tool {
    name: &'static str,
    version: &'static str,
}

impl Tool {
    pub(super) const SELF: Self = Self {
        name: TOOL,
        version: TOOL_VERSION,
    };
}

#[derive(Serialize)]
struct Package<'r> {
    path: &'r str,
    verdict: &'static str,
    name: Option<&'r str>,
    version: Option<&'r str>,
    spec_version: Option<&'r str>,
    skills: Skills<'r>,
    mcp: Mcp<'r>,
    diagnostics: Vec<Diagnostic<'r>>,
}

#[derive(Serialize)]
struct Skills<'r> {
    state: &'static str,
    loaded: Vec<Skill<'r>>,
    skipped: Vec<SkippedSkill<'r>>,
}

#[derive(Serialize)]
struct Skill<'r> {
    name: &'r str,
    path: &'r str,
}

#[derive(Serialize)]
struct SkippedSkill<'r> {
    path: &'r str,
}

#[derive(Serialize)]
struct Mcp<'r> {
    state: &'static str,
    loaded: Vec<Server<'r>>,
    skipped: Vec<SkippedServer<'r>>,
}

#[derive(Serialize)]
struct Server<'r> {
    name: &'r str,
    transport: &'static str,
}

#[derive(Serialize)]
struct SkippedServer<'r> {
    name: &'r str,
}

#[derive(Serialize)]
struct Diagnostic<'r> {
    severity: &'static str,
    code: &'static str,
    effect: &'static str,
    message: &'r str,
    help: Option<&'r str>,
    path: &'r str,
    pointer: Option<&'r str>,
    span: Option<Span>,
    spec: &'static str,
    requirement: Option<&'static str>,
}

#[derive(Serialize)]
struct Span {
    offset: usize,
    length: usize,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

#[derive(Serialize)]
struct Summary {
    packages: usize,
    loaded: usize,
    rejected: usize,
    errors: usize,
    warnings: usize,
    infos: usize,
}

/// The word for a verdict.
pub(super) fn verdict(verdict: package::Verdict) -> &'static str {
    match verdict {
        package::Verdict::Loaded => "loaded",
        package::Verdict::Rejected => "rejected",
    }
}

/// The word for the state of the skills.
pub(super) fn skills_state(state: package::SkillsState) -> &'static str {
    match state {
        package::SkillsState::Absent => "absent",
        package::SkillsState::Loaded => "loaded",
        package::SkillsState::Invalid => "invalid",
    }
}

/// The word for the state of the servers.
pub(super) fn mcp_state(state: package::McpState) -> &'static str {
    match state {
        package::McpState::Absent => "absent",
        package::McpState::Enabled => "enabled",
        package::McpState::Disabled => "disabled",
    }
}

impl<'r> Report<'r> {
    fn of(report: &'r package::Report) -> Self {
        let summary = report.summary();
        Self {
            schema_version: 1,
            tool: Tool::SELF,
            packages: report.packages.iter().map(Package::of).collect(),
            summary: Summary {
                packages: summary.packages,
                loaded: summary.loaded,
                rejected: summary.rejected,
                errors: summary.errors,
                warnings: summary.warnings,
                infos: summary.infos,
            },
        }
    }
}

impl<'r> Package<'r> {
    fn of(package: &'r package::Package) -> Self {
        Self {
            path: &package.path,
            verdict: verdict(package.verdict),
            name: package.name.as_deref(),
            version: package.version.as_deref(),
            spec_version: package.spec_version,
            skills: Skills {
                state: skills_state(package.skills.state),
                loaded: package
                    .skills
                    .loaded
                    .iter()
                    .map(|skill| Skill {
                        name: &skill.name,
                        path: &skill.path,
                    })
                    .collect(),
                skipped: package
                    .skills
                    .skipped
                    .iter()
                    .map(|skill| SkippedSkill { path: &skill.path })
                    .collect(),
            },
            mcp: Mcp {
                state: mcp_state(package.mcp.state),
                loaded: package
                    .mcp
                    .loaded
                    .iter()
                    .map(|server| Server {
                        name: &server.name,
                        transport: server.transport.type_name(),
                    })
                    .collect(),
                skipped: package
                    .mcp
                    .skipped
                    .iter()
                    .map(|name| SkippedServer { name })
                    .collect(),
            },
            diagnostics: package.diagnostics.iter().map(Diagnostic::of).collect(),
        }
    }
}

impl<'r> Diagnostic<'r> {
    fn of(diagnostic: &'r diagnostic::Diagnostic) -> Self {
        Self {
            severity: diagnostic.severity().as_str(),
            code: diagnostic.code.id,
            effect: diagnostic.effect().as_str(),
            message: &diagnostic.message,
            help: diagnostic.help.as_deref(),
            path: &diagnostic.path,
            pointer: diagnostic.pointer.as_deref(),
            span: diagnostic.location.map(|location| Span {
                offset: location.offset,
                length: location.length,
                line: location.line,
                column: location.column,
                end_line: location.end_line,
                end_column: location.end_column,
            }),
            spec: diagnostic.code.spec,
            requirement: diagnostic.code.requirement,
        }
    }
}
