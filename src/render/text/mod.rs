//! The report for people: the source underlined, what is wrong, what clients
//! do about it, and the way out.
//!
//! Only this module knows miette.

mod secrets;
mod snippet;

use std::io;

use super::paint::{Paint, Screen, Style, wrap};
use super::{Counts, escape, facts};
use crate::diagnostic::{Diagnostic, Effect, Severity};
use crate::package::{McpState, Package, Report, SkillsState, Summary, Verdict};
use snippet::Frame;

/// How to show a report, and how much of it.
#[derive(Clone, Copy)]
pub struct Options<'c> {
    /// What the screen can show.
    pub screen: Screen,
    /// Leaves out findings that do not count, and packages without one that does.
    pub quiet: Option<Counts<'c>>,
}

/// From this many packages on, those without a finding are counted, not named.
const NAMED_CLEAN_PACKAGES: usize = 20;

/// Characters of one message or one help shown at most.
const LONGEST_PROSE: usize = 2_000;

/// Writes the report.
///
/// # Errors
///
/// Fails only if `out` does.
pub fn write(report: &Report, options: &Options<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let paint = Paint(options.screen);
    let name_clean = options.quiet.is_none() && report.packages.len() <= NAMED_CLEAN_PACKAGES;
    let mut clean = 0;
    // The first of the worst findings stands for all in the closing hint.
    let mut example: Option<&Diagnostic> = None;
    for package in &report.packages {
        let shown: Vec<&Diagnostic> = package
            .diagnostics
            .iter()
            .filter(|found| options.quiet.is_none_or(|counts| counts(found.code)))
            .collect();
        let is_clean = package.diagnostics.is_empty() && package.verdict == Verdict::Loaded;
        if is_clean && !name_clean {
            clean += 1;
        } else if !shown.is_empty() || options.quiet.is_none() {
            header(package, paint, out)?;
        }
        if shown.is_empty() {
            continue;
        }
        writeln!(out)?;
        let mut frame = Frame::new(package, paint);
        for found in shown {
            if example.is_none_or(|example| example.severity() < found.severity()) {
                example = Some(found);
            }
            finding(package, found, &mut frame, paint, out)?;
            writeln!(out)?;
        }
    }
    if clean > 0 && options.quiet.is_none() {
        let tick = paint.mark(Style::Good);
        writeln!(
            out,
            "{tick} {} without findings",
            facts::count(clean, "package")
        )?;
    }
    summary(report.summary(), paint, out)?;
    if let Some(found) = example {
        let code = found.code.id;
        writeln!(
            out,
            "{}",
            paint.dim(&format!("More about a finding: apkit explain {code}"))
        )?;
    }
    Ok(())
}

/// The line of one package: its identity, and what clients get from it.
fn header(package: &Package, paint: Paint, out: &mut dyn io::Write) -> io::Result<()> {
    let worst = package.diagnostics.iter().map(Diagnostic::severity).max();
    let style = match (package.verdict, worst) {
        (Verdict::Rejected, _) | (_, Some(Severity::Error)) => Style::Error,
        (_, Some(Severity::Warning)) => Style::Warning,
        _ => Style::Good,
    };
    let path = escape::visible_cut(&package.path, LONGEST_PROSE);
    let title = match (&package.name, &package.version) {
        (None, _) => path.into_owned(),
        (Some(name), version) => {
            let version = version
                .as_ref()
                .map(|version| format!(" {}", escape::visible_cut(version, 100)))
                .unwrap_or_default();
            format!("{}{version} ({path})", escape::visible_cut(name, 100))
        }
    };
    writeln!(
        out,
        "{} {}: {}",
        paint.mark(style),
        paint.bold(&title),
        outcome(package)
    )?;
    let skipped = facts::skipped(package);
    if !skipped.is_empty() {
        let list: Vec<_> = skipped
            .iter()
            .map(|what| escape::visible_cut(what, 200))
            .collect();
        for (number, line) in wrap(&list.join(", "), paint.0.width.saturating_sub(11)).enumerate() {
            let start = if number == 0 { "skipped: " } else { "" };
            writeln!(out, "  {start:9}{line}")?;
        }
    }
    Ok(())
}

/// What clients get from a package, in a few words: `loads 2 of 3 skills`.
fn outcome(package: &Package) -> String {
    if package.verdict == Verdict::Rejected {
        return "rejected, clients load nothing of it".to_owned();
    }
    let of = |loaded: usize, skipped: usize, noun: &str| match skipped {
        0 => facts::count(loaded, noun),
        skipped => format!("{loaded} of {}", facts::count(loaded + skipped, noun)),
    };
    let mut parts = Vec::new();
    let skills = &package.skills;
    match skills.state {
        SkillsState::Absent => {}
        SkillsState::Loaded => parts.push(of(skills.loaded.len(), skills.skipped.len(), "skill")),
        SkillsState::Invalid => parts.push("no skills (skills is not usable)".to_owned()),
    }
    let mcp = &package.mcp;
    match mcp.state {
        McpState::Absent => {}
        McpState::Enabled => parts.push(of(mcp.loaded.len(), mcp.skipped.len(), "server")),
        McpState::Disabled => parts.push("no servers (mcp.json is not usable)".to_owned()),
    }
    match parts.as_slice() {
        [] => "loads, but holds no skills and no servers".to_owned(),
        parts => format!("loads {}", parts.join(" and ")),
    }
}

fn finding<'r>(
    package: &Package,
    found: &'r Diagnostic,
    frame: &mut Frame<'r>,
    paint: Paint,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let style = match found.severity() {
        Severity::Error => Style::Error,
        Severity::Warning => Style::Warning,
        Severity::Info => Style::Info,
    };
    let head = format!("{}[{}]", found.severity().as_str(), found.code.id);
    writeln!(out, "{}", paint.styled(style, &head))?;
    let message = escape::visible_cut(&found.message, LONGEST_PROSE);
    let has_snippet = frame.write(found, &message, out)?;

    let mut rows = Vec::new();
    if !has_snippet {
        let mut path = facts::joined(&package.path, &found.path);
        if let Some(place) = found.location {
            path.push_str(&format!(":{}:{}", place.line, place.column));
        }
        rows.push(("at", escape::visible_cut(&path, LONGEST_PROSE).into_owned()));
    }
    if let Some(help) = &found.help {
        rows.push((
            "help",
            escape::visible_cut(help, LONGEST_PROSE).into_owned(),
        ));
    }
    if found.effect() != Effect::None {
        rows.push(("effect", found.effect().sentence().to_owned()));
    }
    rows.push(("rule", facts::rule(found.code).into_owned()));
    for (label, text) in rows {
        for (number, line) in wrap(&text, paint.0.width.saturating_sub(10)).enumerate() {
            let label = if number == 0 {
                paint.styled(Style::Label, &format!("{label:>6}:"))
            } else {
                " ".repeat(7)
            };
            writeln!(out, "  {label} {line}")?;
        }
    }
    Ok(())
}

/// The last line of the report, plain.
pub fn summary_line(summary: Summary) -> String {
    let (verdict, findings) = summary_parts(summary);
    format!("{verdict}: {findings}")
}

fn summary(summary: Summary, paint: Paint, out: &mut dyn io::Write) -> io::Result<()> {
    let (verdict, findings) = summary_parts(summary);
    let style = if summary.errors > 0 {
        Style::Error
    } else if summary.warnings > 0 {
        Style::Warning
    } else {
        Style::Good
    };
    writeln!(out, "{verdict}: {}", paint.styled(style, &findings))
}

/// What became of the packages, and what was found.
fn summary_parts(summary: Summary) -> (String, String) {
    let packages = facts::count(summary.packages, "package");
    let verdict = match (summary.packages, summary.loaded, summary.rejected) {
        (1, 1, _) => "loads".to_owned(),
        (1, _, _) => "is rejected".to_owned(),
        (_, _, 0) => "all load".to_owned(),
        (_, 0, _) => "all are rejected".to_owned(),
        (_, loaded, rejected) => format!("{loaded} load, {rejected} rejected"),
    };
    let verdict = match summary.packages {
        1 => format!("{packages} {verdict}"),
        _ => format!("{packages}, {verdict}"),
    };
    let counted = [
        (summary.errors, "error"),
        (summary.warnings, "warning"),
        (summary.infos, "info"),
    ];
    let findings: Vec<String> = counted
        .into_iter()
        .filter(|&(number, _)| number > 0)
        .map(|(number, noun)| facts::count(number, noun))
        .collect();
    let findings = match findings.as_slice() {
        [] => "no findings".to_owned(),
        findings => findings.join(", "),
    };
    (verdict, findings)
}
