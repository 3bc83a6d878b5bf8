//! Imports go downwards only (see the map in `src/lib.rs`), and a few
//! dependencies stay where they belong.

use std::fs;
use std::path::{Path, PathBuf};

/// The layers, top first. A module may use what stands on a later line, never
/// what stands on an earlier one, and nothing of its own line but itself.
const LAYERS: &[&[&str]] = &[
    &["main"],
    &["cli"],
    &["render", "export", "edit", "store", "mcp", "host"],
    &["source"],
    &["everos"],
    &["package"],
    &["spec"],
    &["document"],
    &["diagnostic"],
    &["archive", "net", "sys"],
    // What a server says is cut where no secret is.
    &["secret"],
];

/// What the hook runtime must not pull in: it starts on every prompt.
const HOOK_MODULES: &[&str] = &["everos", "host"];
const NOT_FOR_HOOKS: &[&str] = &[
    "package",
    "spec",
    "document",
    "diagnostic",
    "render",
    "source",
    "store",
    "export",
    "edit",
    "mcp",
    "net",
];

/// Crates that may be named only below these paths.
const CRATES: &[(&str, &str)] = &[
    ("miette", "render/text"),
    ("clap", "cli"),
    ("clap_complete", "cli"),
    ("clap_mangen", "cli"),
    ("terminal_size", "cli"),
    ("granit_parser", "document/yaml"),
    ("pulldown_cmark", "package/skill"),
    ("spdx", "package/manifest"),
    ("ignore", "package/discover"),
    ("flate2", "archive"),
    ("tar", "archive"),
    ("zip", "archive"),
    ("sha2", "archive"),
    ("unicode_normalization", "archive"),
    ("walkdir", "archive"),
    ("libc", ""),
    ("process_wrap", "sys"),
    ("flate2", "net"),
    ("sha2", "source"),
    ("sha2", "mcp/serve"),
    ("git2", "source/git"),
    ("nodejs_semver", "source/npm"),
    ("nodejs_semver", "store/policy"),
    ("npmrc_config_rs", "source/npm"),
    ("reqwest", "net"),
    ("futures_util", "mcp"),
    ("rmcp", "mcp"),
    ("sse_stream", "mcp"),
    ("rustls", "net"),
    ("sha1", "source/integrity"),
];

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a source directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn level(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// Module names after `crate::` (or `apkit::` in the program), also in
/// `crate::{a, b}`.
fn uses<'t>(text: &'t str, root: &str) -> Vec<&'t str> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(root) {
        let rest = &text[at + root.len()..];
        let identifier = |text: &'t str| {
            text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
                .next()
                .unwrap_or("")
        };
        match rest.strip_prefix('{') {
            Some(list) => {
                let mut depth = 1;
                let mut start = 0;
                for (at, c) in list.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        _ => {}
                    }
                    if depth == 0 || (depth == 1 && c == ',') {
                        found.push(identifier(
                            list[start..at].trim_start_matches([',', ' ', '\n']),
                        ));
                        start = at + 1;
                    }
                    if depth == 0 {
                        break;
                    }
                }
            }
            None => found.push(identifier(rest)),
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

/// The text without comments and strings, roughly: enough for imports.
fn code(text: &str) -> String {
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn imports_go_downwards() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    assert!(files.len() > 20, "the sources were found");
    let mut wrong = Vec::new();
    for file in files {
        let relative = file
            .strip_prefix(&src)
            .expect("below src")
            .to_string_lossy()
            .replace('\\', "/");
        let module = relative
            .split('/')
            .next()
            .unwrap_or_default()
            .trim_end_matches(".rs")
            .to_owned();
        if module == "lib" {
            continue;
        }
        let text = code(&fs::read_to_string(&file).expect("a source file"));
        let here = level(&module)
            .unwrap_or_else(|| panic!("{relative}: add the module {module} to the layers"));
        let root = if ["main", "cli"].contains(&module.as_str()) {
            vec!["crate::", "apkit::"]
        } else {
            vec!["crate::"]
        };
        for name in root.into_iter().flat_map(|root| uses(&text, root)) {
            let Some(there) = level(name) else { continue };
            if name != module && there <= here {
                wrong.push(format!(
                    "{relative} uses {name}, which is not below {module}"
                ));
            }
            if HOOK_MODULES.contains(&module.as_str()) && NOT_FOR_HOOKS.contains(&name) {
                wrong.push(format!(
                    "{relative} uses {name}; the hook runtime must start without it"
                ));
            }
        }
        for (name, _) in CRATES {
            let mut homes = CRATES.iter().filter(|(other, _)| other == name);
            if text.contains(&format!("{name}::"))
                && !homes.any(|(_, home)| relative.starts_with(home))
            {
                wrong.push(format!(
                    "{relative} uses the crate {name}, which has its home elsewhere"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn imports_are_recognised() {
    let text = "use crate::{package::{self, load}, spec};\nuse crate::document::Node;";
    assert_eq!(uses(text, "crate::"), ["package", "spec", "document"]);
}
