//! One JSON object per package and line: what loads, what is skipped, what is
//! reported. This is the form in which conformance suites ask any loader.

use std::io;

use serde::Serialize;

use super::{escape, facts};
use crate::diagnostic::Effect;
use crate::package;

/// Writes one line for each package.
///
/// # Errors
///
/// Fails only if `out` does.
pub fn write(report: &package::Report, out: &mut dyn io::Write) -> io::Result<()> {
    for package in &report.packages {
        escape::write_json(out, &LoadReport::of(package), false)?;
    }
    Ok(())
}

#[derive(Serialize)]
struct LoadReport<'r> {
    rejected: Option<&'r str>,
    loaded: Loaded<'r>,
    skipped: Vec<Skipped>,
    reported: Vec<Reported>,
}

#[derive(Serialize)]
struct Loaded<'r> {
    skills: Vec<&'r str>,
    #[serde(rename = "mcpServers")]
    mcp_servers: Vec<&'r str>,
}

#[derive(Serialize)]
struct Skipped {
    what: String,
}

#[derive(Serialize)]
struct Reported {
    field: String,
}

impl<'r> LoadReport<'r> {
    fn of(package: &'r package::Package) -> Self {
        Self {
            rejected: facts::rejection(package),
            loaded: Loaded {
                skills: package
                    .skills
                    .loaded
                    .iter()
                    .map(|skill| skill.name.as_str())
                    .collect(),
                mcp_servers: package
                    .mcp
                    .loaded
                    .iter()
                    .map(|server| server.name.as_str())
                    .collect(),
            },
            skipped: facts::skipped(package)
                .into_iter()
                .map(|what| Skipped { what })
                .collect(),
            reported: package
                .diagnostics
                .iter()
                .filter(|diagnostic| diagnostic.effect() == Effect::FieldIgnored)
                .filter_map(|diagnostic| {
                    let field = facts::pointer_keys(diagnostic.pointer.as_deref()?).next()?;
                    Some(Reported { field })
                })
                .collect(),
        }
    }
}
