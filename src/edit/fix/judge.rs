//! When a change counts.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use crate::diagnostic::{Diagnostic, Severity};
use crate::document::{frontmatter, json, yaml};
use crate::edit::tree;
use crate::package::{McpState, Package, Verdict};

/// What a finding is about.
type Subject<'p> = (&'static str, &'p str, Option<&'p str>);

fn subject(finding: &Diagnostic) -> Subject<'_> {
    (
        finding.code.id,
        finding.path.as_str(),
        finding.pointer.as_deref(),
    )
}

/// Whether a text is within the grammar of its file.
pub(super) fn reads(path: &Path, text: &str) -> bool {
    if path
        .extension()
        .is_some_and(|extension| extension == "json")
    {
        return json::parse(text.as_bytes(), json::LIMITS).is_ok();
    }
    frontmatter::split(text).is_ok_and(|parts| yaml::parse(text, parts.yaml, yaml::LIMITS).is_ok())
}

/// Whether every finding that was to be ended is gone, and nothing got worse.
pub(super) fn counts<'f>(
    before: &Package,
    after: &Package,
    mut ended: impl Iterator<Item = &'f Diagnostic>,
) -> bool {
    let count = |package: &Package, wanted: Subject<'_>| {
        let findings = package.diagnostics.iter();
        findings
            .filter(|finding| subject(finding) == wanted)
            .count()
    };
    let ended = ended.all(|finding| {
        let subject = subject(finding);
        count(after, subject) < count(before, subject)
    });
    ended && !lost(before, after) && no_finding_more(before, after)
}

/// Whether something that loaded loads no more.
fn lost(before: &Package, after: &Package) -> bool {
    let skills = |package: &Package| -> BTreeSet<String> {
        let loaded = package.skills.loaded.iter();
        loaded.map(|skill| skill.path.clone()).collect()
    };
    let servers = |package: &Package| -> BTreeSet<String> {
        let loaded = package.mcp.loaded.iter();
        loaded.map(|server| server.name.clone()).collect()
    };
    (before.verdict == Verdict::Loaded && after.verdict != Verdict::Loaded)
        || (before.mcp.state == McpState::Enabled && after.mcp.state != McpState::Enabled)
        || !skills(before).is_subset(&skills(after))
        || !servers(before).is_subset(&servers(after))
}

/// Whether all findings that are new are about what did not load before.
fn no_finding_more(before: &Package, after: &Package) -> bool {
    let mut there: HashMap<Subject<'_>, usize> = HashMap::new();
    for finding in &before.diagnostics {
        *there.entry(subject(finding)).or_default() += 1;
    }
    after.diagnostics.iter().all(|finding| {
        let left = there.get_mut(&subject(finding)).filter(|left| **left > 0);
        match left {
            Some(left) => {
                *left -= 1;
                true
            }
            None => finding.severity() == Severity::Info || was_hidden(before, finding),
        }
    })
}

/// Whether what a finding is about did not load before, so that the finding may
/// have been there unseen.
fn was_hidden(before: &Package, finding: &Diagnostic) -> bool {
    if before.verdict == Verdict::Rejected {
        return true;
    }
    match finding.code.family() {
        "mcp" => {
            let pointer = finding.pointer.as_deref().unwrap_or_default();
            let server = tree::keys(pointer).nth(1);
            before.mcp.state != McpState::Enabled
                || server
                    .is_some_and(|name| !before.mcp.loaded.iter().any(|server| server.name == name))
        }
        "skill" => !before.skills.loaded.iter().any(|skill| {
            let rest = finding.path.strip_prefix(skill.path.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }),
        _ => false,
    }
}
