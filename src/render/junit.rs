//! JUnit XML, for the test reports of GitLab, Jenkins and the like.
//!
//! A package is a `testsuite`. Its test cases are the things a client loads or
//! leaves out, not the findings, so that their number and their names stay the
//! same from run to run and a report can say "failed since build 7": the
//! manifest, every skill, `mcp.json`, every server, and whatever else a finding
//! is about. A case fails if a finding that counts is about it;
//! all its findings stand in its one `failure`, because GitLab shows only one.
//! Other findings go to `system-out`.

use std::io;

use super::{Counts, TOOL, escape, facts};
use crate::diagnostic::{Diagnostic, Effect};
use crate::package::{McpState, Package, Report, SkillsState};

/// Writes one XML document.
///
/// # Errors
///
/// Fails only if `out` does.
pub fn write(report: &Report, counts: Counts<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let suites: Vec<(&Package, Vec<Case<'_>>)> = report
        .packages
        .iter()
        .map(|package| (package, cases(package)))
        .collect();
    let all = || suites.iter().flat_map(|(_, cases)| cases);
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        out,
        "<testsuites name=\"{TOOL}\" tests=\"{}\" failures=\"{}\" errors=\"0\">",
        all().count(),
        all().filter(|case| case.fails(counts)).count()
    )?;
    for (package, cases) in &suites {
        suite(package, cases, counts, out)?;
    }
    writeln!(out, "</testsuites>")
}

/// One thing of a package, and the findings about it.
struct Case<'r> {
    name: String,
    /// The file to show for it, relative to the package.
    file: String,
    findings: Vec<&'r Diagnostic>,
}

impl<'r> Case<'r> {
    fn new(name: impl Into<String>, file: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            file: file.into(),
            findings: Vec::new(),
        }
    }

    fn fails(&self, counts: Counts<'_>) -> bool {
        self.counting(counts).next().is_some()
    }

    fn counting<'c>(
        &'c self,
        counts: Counts<'c>,
    ) -> impl Iterator<Item = &'r Diagnostic> + use<'r, 'c> {
        self.findings
            .iter()
            .copied()
            .filter(move |found| counts(found.code))
    }
}

fn cases(package: &Package) -> Vec<Case<'_>> {
    let mut cases = vec![Case::new("plugin.json", "plugin.json")];
    if package.skills.state == SkillsState::Invalid {
        cases.push(Case::new("skills", "skills"));
    }
    let loaded = package.skills.loaded.iter().map(|skill| &skill.path);
    let skipped = package.skills.skipped.iter().map(|skill| &skill.path);
    for path in loaded.chain(skipped) {
        cases.push(Case::new(path, format!("{path}/SKILL.md")));
    }
    if package.mcp.state != McpState::Absent {
        cases.push(Case::new("mcp.json", "mcp.json"));
    }
    let loaded = package.mcp.loaded.iter().map(|server| &server.name);
    for name in loaded.chain(&package.mcp.skipped) {
        cases.push(Case::new(facts::server(name), "mcp.json"));
    }
    for found in &package.diagnostics {
        let server = facts::server_of(found).map(|name| facts::server(&name));
        let at = cases
            .iter()
            .position(|case| server.as_ref() == Some(&case.name))
            // The most specific path is the last one that fits.
            .or_else(|| {
                cases
                    .iter()
                    .rposition(|case| facts::is_within(&found.path, &case.name))
            });
        match at.and_then(|at| cases.get_mut(at)) {
            Some(case) => case.findings.push(found),
            None => {
                let mut case = Case::new(&found.path, &found.path);
                case.findings.push(found);
                cases.push(case);
            }
        }
    }
    cases
}

fn suite(
    package: &Package,
    cases: &[Case<'_>],
    counts: Counts<'_>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let path = facts::joined(&package.path, "");
    let name = escape::xml(&path);
    writeln!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\">",
        cases.len(),
        cases.iter().filter(|case| case.fails(counts)).count()
    )?;
    for case in cases {
        write!(
            out,
            "    <testcase classname=\"{name}\" name=\"{}\" file=\"{}\" time=\"0\"",
            escape::xml(&case.name),
            escape::xml(&facts::joined(&package.path, &case.file))
        )?;
        if case.findings.is_empty() {
            writeln!(out, "/>")?;
            continue;
        }
        writeln!(out, ">")?;
        if let Some(first) = case.counting(counts).next() {
            let more = case.counting(counts).count() - 1;
            let more = match more {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            writeln!(
                out,
                "      <failure type=\"{}\" message=\"{}{more}\">{}</failure>",
                escape::xml(first.code.id),
                escape::xml(&first.message),
                block(package, case.counting(counts))
            )?;
        }
        let below = || {
            let below = |found: &&Diagnostic| !counts(found.code);
            case.findings.iter().copied().filter(below)
        };
        if below().next().is_some() {
            writeln!(
                out,
                "      <system-out>{}</system-out>",
                block(package, below())
            )?;
        }
        writeln!(out, "    </testcase>")?;
    }
    writeln!(out, "  </testsuite>")
}

/// Findings as escaped text, a few lines each.
fn block<'r>(package: &Package, findings: impl Iterator<Item = &'r Diagnostic>) -> String {
    let mut text = String::new();
    for found in findings {
        let mut line = |parts: &[&str]| {
            for part in parts {
                text.push_str(&escape::xml(part));
            }
            text.push('\n');
        };
        let path = facts::joined(&package.path, &found.path);
        let place = found
            .location
            .map(|place| format!(":{}:{}", place.line, place.column))
            .unwrap_or_default();
        let severity = found.severity().as_str();
        line(&[
            &path,
            &place,
            ": ",
            severity,
            "[",
            found.code.id,
            "]: ",
            &found.message,
        ]);
        if let Some(help) = &found.help {
            line(&["  help: ", help]);
        }
        if found.effect() != Effect::None {
            line(&["  effect: ", found.effect().sentence()]);
        }
    }
    text
}
