//! Which directory is the project whose `.npmrc` counts.

use std::path::{Path, PathBuf};

use crate::sys;

/// Largest `package.json` that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The project that `directory` is part of, as npm finds it: the nearest
/// directory above with a `package.json` or a `node_modules`; if that is a
/// workspace of a project further up, that project.
pub(super) fn root(directory: &Path) -> PathBuf {
    let is_project = |directory: &Path| {
        directory.join("package.json").is_file() || directory.join("node_modules").is_dir()
    };
    let mut above = directory.ancestors();
    let Some(nearest) = above.find(|directory| is_project(directory)) else {
        return directory.to_owned();
    };
    let workspace_of = |root: &&Path| {
        let below = nearest.strip_prefix(root).ok();
        below.is_some_and(|below| is_workspace(root, below))
    };
    above.find(workspace_of).unwrap_or(nearest).to_owned()
}

/// Whether the `workspaces` of a project take in a directory below it.
fn is_workspace(root: &Path, below: &Path) -> bool {
    let Ok(text) = sys::read_regular(&root.join("package.json"), MAX_BYTES) else {
        return false;
    };
    // A file that npm cannot read names no workspaces either.
    let package: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let workspaces = match package.get("workspaces") {
        Some(serde_json::Value::Object(object)) => object.get("packages"),
        other => other,
    };
    let Some(patterns) = workspaces.and_then(serde_json::Value::as_array) else {
        return false;
    };
    let parts: Option<Vec<&str>> = below.iter().map(|part| part.to_str()).collect();
    let Some(parts) = parts else {
        return false;
    };
    let mut taken = false;
    // A later pattern overrules the earlier ones.
    for pattern in patterns.iter().filter_map(serde_json::Value::as_str) {
        let (pattern, wanted) = match pattern.strip_prefix('!') {
            Some(pattern) => (pattern, false),
            None => (pattern, true),
        };
        let pattern: Vec<&str> = pattern
            .split('/')
            .filter(|part| !matches!(*part, "" | "."))
            .collect();
        if matches_parts(&pattern, &parts) {
            taken = wanted;
        }
    }
    taken
}

fn matches_parts(pattern: &[&str], parts: &[&str]) -> bool {
    match (pattern.split_first(), parts.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), _) => {
            matches_parts(rest, parts)
                || parts
                    .split_first()
                    .is_some_and(|(_, parts)| matches_parts(pattern, parts))
        }
        (Some((pattern, rest)), Some((part, parts))) => {
            matches_part(pattern, part) && matches_parts(rest, parts)
        }
        _ => false,
    }
}

/// One part against a pattern in which `*` stands for anything.
fn matches_part(pattern: &str, part: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == part,
        Some((before, rest)) => part.strip_prefix(before).is_some_and(|part| {
            (0..=part.len())
                .filter_map(|at| part.get(at..))
                .any(|part| matches_part(rest, part))
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{matches_part, matches_parts, root};

    #[test]
    fn patterns() {
        let parts = |text: &'static str| text.split('/').collect::<Vec<_>>();
        for (pattern, path, matched) in [
            ("packages/*", "packages/a", true),
            ("packages/*", "packages/a/b", false),
            ("packages/**", "packages/a/b", true),
            ("**/a", "a", true),
            ("**/a", "x/y/a", true),
            ("a", "b", false),
        ] {
            assert_eq!(
                matches_parts(&parts(pattern), &parts(path)),
                matched,
                "{pattern} {path}"
            );
        }
        assert!(matches_part("a*c*", "abbcd"));
        assert!(!matches_part("a*c", "abcd"));
    }

    fn write(path: &Path, text: &str) {
        let made = path.parent().map(fs::create_dir_all);
        assert!(matches!(made, Some(Ok(()))));
        assert!(fs::write(path, text).is_ok());
    }

    #[test]
    fn the_nearest_project_or_the_one_it_is_a_workspace_of() {
        let Ok(top) = tempfile::tempdir() else {
            unreachable!("a temporary directory")
        };
        let top = top.path();
        let inside = top.join("packages/a/src");
        write(&inside.join("x"), "");
        assert_eq!(root(&inside), inside);
        write(&top.join("packages/a/package.json"), "{}");
        assert_eq!(root(&inside), top.join("packages/a"));
        for (package, outer) in [
            ("{", false),
            (r#"{"workspaces":["other/*"]}"#, false),
            (r#"{"workspaces":["./packages/*","!packages/a"]}"#, false),
            (r#"{"workspaces":["packages/*"]}"#, true),
            (r#"{"workspaces":{"packages":["packages/*"]}}"#, true),
        ] {
            write(&top.join("package.json"), package);
            let expected = if outer {
                top.to_owned()
            } else {
                top.join("packages/a")
            };
            assert_eq!(root(&inside), expected, "{package}");
        }
    }
}
