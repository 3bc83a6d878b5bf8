//! What several formats say about a package, said once.

use std::borrow::Cow;

use crate::diagnostic::{Code, Diagnostic, Effect};
use crate::package::{McpState, Package, SkillsState, Verdict};

/// `relative` inside of `package` as a path that the user can open: both
/// joined, without a leading `./`.
pub(super) fn joined(package: &str, relative: &str) -> String {
    let base = strip_dot(package);
    let relative = strip_dot(relative);
    match (base, relative) {
        ("", "") => ".".to_owned(),
        ("", relative) => relative.to_owned(),
        (base, "") => base.to_owned(),
        // The root directory, and "C:/".
        (base, relative) if base.ends_with('/') => format!("{base}{relative}"),
        (base, relative) => format!("{base}/{relative}"),
    }
}

/// A path without its leading `./` and trailing `/`; the current directory is
/// empty.
fn strip_dot(mut path: &str) -> &str {
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.trim_start_matches('/');
    }
    let trimmed = path.trim_end_matches('/');
    match trimmed {
        "" if !path.is_empty() => "/",
        "." => "",
        drive if drive.ends_with(':') && path.len() > drive.len() => path,
        other => other,
    }
}

/// The long text of a code as Markdown: doc comments keep the space behind
/// their slashes.
pub(super) fn explanation(code: &Code) -> String {
    let lines: Vec<&str> = code
        .explanation
        .lines()
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    lines.join("\n").trim().to_owned()
}

/// Where a rule stands, for people: `Agent Plugins §5.2, requirement AP-4`.
pub(super) fn rule(code: &Code) -> Cow<'static, str> {
    let text: Cow<'static, str> = match code.spec {
        "apkit" => Cow::Borrowed("advice of apkit, no text demands it"),
        section if section.starts_with('§') => Cow::Owned(format!("Agent Plugins {section}")),
        other => Cow::Borrowed(other),
    };
    match code.requirement {
        None => text,
        Some(requirement) => Cow::Owned(format!("{text}, requirement {requirement}")),
    }
}

/// What clients leave out, as paths: `skills/<dir>`, `mcp.json#<server>`, or a
/// whole component type.
pub(super) fn skipped(package: &Package) -> Vec<String> {
    let mut what = Vec::new();
    if package.skills.state == SkillsState::Invalid {
        what.push("skills".to_owned());
    }
    what.extend(
        package
            .skills
            .skipped
            .iter()
            .map(|skill| skill.path.clone()),
    );
    if package.mcp.state == McpState::Disabled {
        what.push("mcp.json".to_owned());
    }
    what.extend(package.mcp.skipped.iter().map(|name| server(name)));
    what
}

/// A server as a path.
pub(super) fn server(name: &str) -> String {
    format!("mcp.json#{name}")
}

/// Why the package is rejected: the first finding that says so.
pub(super) fn rejection(package: &Package) -> Option<&str> {
    (package.verdict == Verdict::Rejected).then(|| {
        package
            .diagnostics
            .iter()
            .find(|diagnostic| diagnostic.effect() == Effect::PackageRejected)
            .map_or("the package is rejected", |diagnostic| &diagnostic.message)
    })
}

/// The keys of a pointer, unescaped.
pub(super) fn pointer_keys(pointer: &str) -> impl Iterator<Item = String> {
    pointer
        .split('/')
        .skip(1)
        .map(|key| key.replace("~1", "/").replace("~0", "~"))
}

/// The server that a finding is about, if it is about one.
pub(super) fn server_of(diagnostic: &Diagnostic) -> Option<String> {
    if diagnostic.path != "mcp.json" {
        return None;
    }
    let mut keys = pointer_keys(diagnostic.pointer.as_deref()?);
    (keys.next()? == "mcpServers")
        .then(|| keys.next())
        .flatten()
}

/// The skill's directory that a path below `skills/` belongs to.
pub(super) fn skill_of(path: &str) -> &str {
    let second = path.match_indices('/').nth(1);
    second.map_or(path, |(end, _)| path.get(..end).unwrap_or(path))
}

/// Whether `path` is `directory` or lies in it.
pub(super) fn is_within(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// `1 skill`, `2 skills`.
pub(super) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_as_the_user_named_them() {
        for (package, relative, path) in [
            (".", "plugin.json", "plugin.json"),
            ("./", "plugin.json", "plugin.json"),
            ("./a/b/", "plugin.json", "a/b/plugin.json"),
            (".//a", ".", "a"),
            ("../a", "skills/x", "../a/skills/x"),
            ("/", "plugin.json", "/plugin.json"),
            ("/srv/p", "", "/srv/p"),
            (".", ".", "."),
            ("C:/", "plugin.json", "C:/plugin.json"),
            (".hidden", "x", ".hidden/x"),
        ] {
            assert_eq!(joined(package, relative), path, "{package} + {relative}");
        }
    }

    #[test]
    fn pointers_are_unescaped() {
        let keys: Vec<String> = pointer_keys("/a~1b/m~0n/~01/").collect();
        assert_eq!(keys, ["a/b", "m~n", "~1", ""]);
        assert_eq!(pointer_keys("").count(), 0);
    }

    #[test]
    fn containment_respects_segments() {
        assert!(is_within("skills/a/SKILL.md", "skills/a"));
        assert!(is_within("skills/a", "skills/a"));
        assert!(!is_within("skills/ab", "skills/a"));
    }
}
