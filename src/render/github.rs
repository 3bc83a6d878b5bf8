//! Workflow commands: annotations on the lines of a pull request.
//!
//! One command per finding; an `info` becomes a notice. A file is named as the
//! user named its package, so run apkit at the top of the repository.

use std::io;

use super::{escape, facts};
use crate::diagnostic::{Diagnostic, Effect, Severity};
use crate::package::Report;

/// Writes one workflow command for each finding.
///
/// # Errors
///
/// Fails only if `out` does.
pub fn write(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    for package in &report.packages {
        for diagnostic in &package.diagnostics {
            command(&package.path, diagnostic, out)?;
        }
    }
    Ok(())
}

fn command(package: &str, diagnostic: &Diagnostic, out: &mut dyn io::Write) -> io::Result<()> {
    let command = match diagnostic.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let file = facts::joined(package, &diagnostic.path);
    write!(out, "::{command} file={}", escape::workflow_property(&file))?;
    if let Some(place) = diagnostic.location {
        write!(
            out,
            ",line={},col={},endLine={}",
            place.line, place.column, place.end_line
        )?;
        // Columns of different lines make no range there.
        if place.end_line == place.line {
            write!(out, ",endColumn={}", place.end_column)?;
        }
    }
    let mut message = diagnostic.message.clone();
    if let Some(help) = &diagnostic.help {
        message.push_str("\nhelp: ");
        message.push_str(help);
    }
    if diagnostic.effect() != Effect::None {
        message.push_str("\neffect: ");
        message.push_str(diagnostic.effect().sentence());
    }
    writeln!(
        out,
        ",title={}::{}",
        escape::workflow_property(diagnostic.code.id),
        escape::workflow_message(&message)
    )
}
