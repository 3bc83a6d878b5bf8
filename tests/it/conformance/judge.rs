//! Compares a report with what the case states.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;

use apkit::diagnostic::{LineIndex, Span as ByteSpan};
use serde::Deserialize;
use serde_json::Value;

use super::case::{Case, Finding, Mcp, Server, Skills};
use super::program::Output;

/// The document of `--format json`, with the packages still as they came.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema_version: u32,
    #[expect(dead_code, reason = "read to prove that it is there")]
    tool: Value,
    packages: Vec<Value>,
    summary: Summary,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Summary {
    packages: usize,
    loaded: usize,
    rejected: usize,
    errors: usize,
    warnings: usize,
    infos: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Package {
    path: String,
    verdict: String,
    name: Option<String>,
    version: Option<String>,
    spec_version: Option<String>,
    skills: Components<Skill, SkippedSkill>,
    mcp: Components<Server, SkippedServer>,
    diagnostics: Vec<Diagnostic>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Components<L, S> {
    state: String,
    loaded: Vec<L>,
    skipped: Vec<S>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Skill {
    name: String,
    path: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SkippedSkill {
    path: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SkippedServer {
    name: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Diagnostic {
    severity: String,
    code: String,
    effect: String,
    message: String,
    help: Option<String>,
    path: String,
    pointer: Option<String>,
    span: Option<Span>,
    spec: String,
    requirement: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Span {
    offset: usize,
    length: usize,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

/// The packages of a report as they came, or why there are none.
pub(super) fn packages(output: &Output) -> Result<Vec<Value>, String> {
    let document: Document = serde_json::from_str(&output.stdout).map_err(|error| {
        format!(
            "no report ({error}); status {}, standard error:\n{}",
            output.status, output.stderr
        )
    })?;
    if document.schema_version != 1 {
        return Err(format!("schema_version is {}", document.schema_version));
    }
    let mut summary = Summary::default();
    for package in &document.packages {
        let package: Package = read(package)?;
        summary.packages += 1;
        match package.verdict.as_str() {
            "loaded" => summary.loaded += 1,
            "rejected" => summary.rejected += 1,
            other => return Err(format!("the verdict is {other:?}")),
        }
        for diagnostic in &package.diagnostics {
            match diagnostic.severity.as_str() {
                "error" => summary.errors += 1,
                "warning" => summary.warnings += 1,
                "info" => summary.infos += 1,
                other => return Err(format!("a severity is {other:?}")),
            }
        }
    }
    if summary == document.summary {
        Ok(document.packages)
    } else {
        Err(format!(
            "the summary is {:?}, counted {summary:?}",
            document.summary
        ))
    }
}

fn read(package: &Value) -> Result<Package, String> {
    Package::deserialize(package).map_err(|error| format!("no package of a report: {error}"))
}

/// Every difference between the report on one package and what `case` states.
/// `root` is the package on disk, `given` how it was named.
pub(super) fn differences(case: &Case, root: &Path, given: &Path, package: &Value) -> Vec<String> {
    let package = match read(package) {
        Ok(package) => package,
        Err(error) => return vec![error],
    };
    let mut found = Differences(Vec::new());
    let expect = &case.expect;
    let given = given
        .to_string_lossy()
        .replace(std::path::MAIN_SEPARATOR, "/");
    found.compare("path", given, &package.path);
    found.compare("verdict", &expect.verdict, &package.verdict);
    let optional = [
        ("name", &expect.name, &package.name),
        ("version", &expect.version, &package.version),
        ("spec_version", &expect.spec_version, &package.spec_version),
    ];
    for (what, expected, got) in optional {
        if let Some(expected) = expected {
            found.compare(what, expected, got.as_deref().unwrap_or("null"));
        }
    }
    let (skills, paths): (Vec<_>, Vec<_>) = package
        .skills
        .loaded
        .into_iter()
        .map(|skill| (skill.name, skill.path))
        .unzip();
    for (name, path) in skills.iter().zip(&paths) {
        found.compare("path of a skill", format!("skills/{name}"), path);
    }
    let skills = Skills {
        state: package.skills.state,
        loaded: skills,
        skipped: package.skills.skipped.into_iter().map(|s| s.path).collect(),
    };
    found.compare_debug("skills", &expect.skills, &skills);
    let mcp = Mcp {
        state: package.mcp.state,
        loaded: package.mcp.loaded,
        skipped: package.mcp.skipped.into_iter().map(|s| s.name).collect(),
    };
    found.compare_debug("mcp", &expect.mcp, &mcp);
    for diagnostic in &package.diagnostics {
        found.check(root, diagnostic);
        for secret in &expect.hides {
            found.check_hidden(secret, diagnostic);
        }
    }
    found.check_order(&package.diagnostics);
    found.match_findings(root, &case.findings, &package.diagnostics);
    found.0
}

struct Differences(Vec<String>);

impl Differences {
    fn compare(&mut self, what: &str, expected: impl Display, got: impl Display) {
        let (expected, got) = (expected.to_string(), got.to_string());
        if expected != got {
            self.0
                .push(format!("{what}: expected {expected:?}, got {got:?}"));
        }
    }

    fn compare_debug<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, expected: &T, got: &T) {
        if expected != got {
            self.0.push(format!(
                "{what}:\n  expected {expected:?}\n  got      {got:?}"
            ));
        }
    }

    /// What holds for every finding: it repeats its declaration, and its lines
    /// and columns fit its bytes.
    fn check(&mut self, root: &Path, diagnostic: &Diagnostic) {
        let shown = show(diagnostic);
        let Some(code) = apkit::spec::codes::find(&diagnostic.code) else {
            self.0.push(format!("{shown}: the code is not declared"));
            return;
        };
        let declared = [
            ("severity", code.severity.as_str(), &*diagnostic.severity),
            ("effect", code.effect.as_str(), &*diagnostic.effect),
            ("spec", code.spec, &*diagnostic.spec),
            (
                "requirement",
                code.requirement.unwrap_or("null"),
                diagnostic.requirement.as_deref().unwrap_or("null"),
            ),
        ];
        for (what, declared, reported) in declared {
            self.compare(&format!("{shown}: {what}"), declared, reported);
        }
        for text in [Some(&diagnostic.message), diagnostic.help.as_ref()] {
            if text.is_some_and(|text| text.trim().is_empty()) {
                self.0.push(format!("{shown}: an empty text"));
            }
        }
        let Some(span) = &diagnostic.span else {
            return;
        };
        let Ok(bytes) = std::fs::read(root.join(&diagnostic.path)) else {
            self.0
                .push(format!("{shown}: a place in an unreadable file"));
            return;
        };
        let bytes_of = ByteSpan::new(span.offset, span.offset + span.length);
        let place = LineIndex::new(&bytes).locate(bytes_of);
        let counted = Span {
            offset: place.offset,
            length: place.length,
            line: place.line,
            column: place.column,
            end_line: place.end_line,
            end_column: place.end_column,
        };
        self.compare_debug(&format!("{shown}: span"), &counted, span);
    }

    /// Findings come file by file, and in a file from top to bottom.
    fn check_order(&mut self, diagnostics: &[Diagnostic]) {
        let mut closed = BTreeSet::new();
        for pair in diagnostics.windows(2) {
            let [before, after] = pair else { continue };
            let offset = |diagnostic: &Diagnostic| Some(diagnostic.span.as_ref()?.offset);
            let in_order = if before.path == after.path {
                offset(before) <= offset(after)
            } else {
                closed.insert(before.path.as_str());
                !closed.contains(after.path.as_str())
            };
            if !in_order {
                let (before, after) = (show(before), show(after));
                self.0.push(format!("order: {after} comes behind {before}"));
            }
        }
    }

    fn check_hidden(&mut self, secret: &str, diagnostic: &Diagnostic) {
        if says(diagnostic, secret) {
            let shown = show(diagnostic);
            self.0.push(format!("{shown}: shows {secret:?}"));
        }
    }

    fn match_findings(&mut self, root: &Path, expected: &[Finding], got: &[Diagnostic]) {
        let mut left: Vec<&Diagnostic> = got.iter().collect();
        // Those that state more choose first.
        let mut expected: Vec<&Finding> = expected.iter().collect();
        expected.sort_by_key(|finding| {
            std::cmp::Reverse((
                finding.text.is_some(),
                finding.line.is_some(),
                finding.says.is_some(),
            ))
        });
        for finding in expected {
            let fits = |diagnostic: &&Diagnostic| fits(root, finding, diagnostic);
            match left.iter().position(fits) {
                Some(index) => {
                    left.remove(index);
                }
                None => self.0.push(format!("missing:    {}", state(finding))),
            }
        }
        for diagnostic in left {
            let line = place_of(diagnostic)
                .map(|line| format!(" line {line}"))
                .unwrap_or_default();
            let text = covered(root, diagnostic)
                .map(|text| format!(" {text:?}"))
                .unwrap_or_default();
            self.0.push(format!(
                "unexpected: {}{line}{text}\n            ({}; {})",
                show(diagnostic),
                diagnostic.message,
                diagnostic.help.as_deref().unwrap_or("no help")
            ));
        }
    }
}

fn fits(root: &Path, finding: &Finding, diagnostic: &Diagnostic) -> bool {
    finding.code == diagnostic.code
        && finding.path == diagnostic.path
        && finding.pointer == diagnostic.pointer
        && (finding.line.is_none() || finding.line == place_of(diagnostic))
        && (finding.text.is_none() || finding.text == covered(root, diagnostic))
        && finding
            .says
            .as_deref()
            .is_none_or(|text| says(diagnostic, text))
}

fn says(diagnostic: &Diagnostic, text: &str) -> bool {
    let texts = [Some(&diagnostic.message), diagnostic.help.as_ref()];
    texts.iter().flatten().any(|told| told.contains(text))
}

fn place_of(diagnostic: &Diagnostic) -> Option<usize> {
    diagnostic.span.as_ref().map(|span| span.line)
}

/// The text that a finding covers.
fn covered(root: &Path, diagnostic: &Diagnostic) -> Option<String> {
    let span = diagnostic.span.as_ref()?;
    let bytes = std::fs::read(root.join(&diagnostic.path)).ok()?;
    let bytes = bytes.get(span.offset..span.offset + span.length)?;
    Some(String::from_utf8_lossy(bytes).into_owned())
}

fn show(diagnostic: &Diagnostic) -> String {
    at(
        &diagnostic.code,
        &diagnostic.path,
        diagnostic.pointer.as_deref(),
    )
}

fn state(finding: &Finding) -> String {
    let mut shown = at(&finding.code, &finding.path, finding.pointer.as_deref());
    if let Some(line) = finding.line {
        shown.push_str(&format!(" line {line}"));
    }
    if let Some(text) = &finding.text {
        shown.push_str(&format!(" {text:?}"));
    }
    if let Some(text) = &finding.says {
        shown.push_str(&format!(" that says {text:?}"));
    }
    shown
}

fn at(code: &str, path: &str, pointer: Option<&str>) -> String {
    match pointer {
        Some(pointer) => format!("{code} at {path}#{pointer}"),
        None => format!("{code} at {path}, no pointer"),
    }
}
