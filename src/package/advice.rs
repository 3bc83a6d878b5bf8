//! Findings about the package as a whole: none of them stops anything.

use std::ffi::OsStr;
use std::path::Path;

use super::containment::{self, Resolution, display_name};
use super::file::{Source, quoted};
use super::report::{McpState, Package, SkillsState};
use super::skill::SKILL_FILE;
use super::skills;
use super::{Loader, manifest, mcp};
use crate::diagnostic::Diagnostic;
use crate::document::{Pointer, Value, json};
use crate::spec::codes::package as codes;
use crate::spec::foreign::{self, NATIVE_MANIFESTS, NODE_MANIFEST};

/// The first manifest of a single client that stands in the package.
pub(super) fn native_manifest(loader: &Loader<'_>) -> Option<&'static str> {
    NATIVE_MANIFESTS.iter().map(|(path, _)| *path).find(|path| {
        let first = path.split('/').next().unwrap_or_default();
        loader.has_entry(first)
            && matches!(
                containment::resolve(loader.root, loader.root, Path::new(path)),
                Resolution::File(_)
            )
    })
}

/// All advice about a package that loads.
pub(super) fn check(loader: &mut Loader<'_>, package: &Package) {
    no_components(loader, package);
    location_case(loader);
    if loader.has_entry(SKILL_FILE) {
        loader.report(skills::misplaced(
            SKILL_FILE,
            "move it into a directory below skills/ that is named like the skill",
        ));
    }
    skills::in_singular(loader);
    escaping_links(loader);
    if let Some(version) = &package.version {
        version_drift(loader, version);
    }
}

fn no_components(loader: &mut Loader<'_>, package: &Package) {
    if !package.skills.loaded.is_empty() || !package.mcp.loaded.is_empty() {
        return;
    }
    let mut help = "add a skill as skills/<name>/SKILL.md or a server in mcp.json".to_owned();
    if package.skills.state == SkillsState::Absent && package.mcp.state == McpState::Absent {
        let found: Vec<&str> = [".mcp.json", "commands", "agents", "hooks"]
            .into_iter()
            .filter(|name| loader.has_entry(name))
            .collect();
        if !found.is_empty() {
            help.push_str(&format!(
                "; {} is read by single clients only",
                found.join(", ")
            ));
        }
    } else {
        help = "correct the findings about its skills and servers".to_owned();
        if package.skills.skipped.is_empty() && package.mcp.skipped.is_empty() {
            help = "add a skill as skills/<name>/SKILL.md or a server in mcp.json".to_owned();
        }
    }
    loader.report(
        Diagnostic::new(
            &codes::NO_COMPONENTS,
            manifest::FILE,
            "no skill and no MCP server of the package loads",
        )
        .with_help(help),
    );
}

fn location_case(loader: &mut Loader<'_>) {
    for wanted in [mcp::FILE, skills::DIRECTORY] {
        if loader.has_entry(wanted) {
            continue;
        }
        if let Some(near) = loader.near_entry(wanted) {
            let near = display_name(&near);
            loader.report(
                Diagnostic::new(
                    &codes::LOCATION_CASE,
                    near.clone(),
                    format!("{near} is not {wanted}: names are compared exactly, so clients do not look at it"),
                )
                .with_help(format!("rename it to {wanted}")),
            );
        }
    }
}

/// Boundary 5 of §4.1 for what lies at the top of the package.
fn escaping_links(loader: &mut Loader<'_>) {
    let judged: [&OsStr; 3] = [
        manifest::FILE.as_ref(),
        mcp::FILE.as_ref(),
        skills::DIRECTORY.as_ref(),
    ];
    let links: Vec<_> = loader
        .entries
        .iter()
        .filter(|entry| entry.kind.is_symlink() && !judged.contains(&entry.name.as_os_str()))
        .map(|entry| entry.name.clone())
        .collect();
    for name in links {
        if matches!(
            containment::resolve(loader.root, loader.root, Path::new(&name)),
            Resolution::Escape
        ) {
            loader.report(
                Diagnostic::new(
                    &codes::LINK_ESCAPES,
                    display_name(&name),
                    "the link leads out of the package, so clients deny access to it",
                )
                .with_help("copy what it leads to into the package"),
            );
        }
    }
}

fn version_drift(loader: &mut Loader<'_>, version: &str) {
    let native = NATIVE_MANIFESTS.iter().map(|(path, _)| *path);
    for path in native.chain([NODE_MANIFEST]) {
        let first = path.split('/').next().unwrap_or_default();
        if !loader.has_entry(first) {
            continue;
        }
        let Resolution::File(file) =
            containment::resolve(loader.root, loader.root, Path::new(path))
        else {
            continue;
        };
        // The other file is not ours to judge: what cannot be read says nothing.
        let Ok(bytes) = loader.read(&file) else {
            continue;
        };
        let Ok(document) = json::parse(&bytes, json::LIMITS) else {
            continue;
        };
        let Some(object) = document.root.as_object() else {
            continue;
        };
        let Some(member) = object.get("version") else {
            continue;
        };
        let Some(other) = member.value.as_text().and_then(|text| text.as_str()) else {
            continue;
        };
        // A version that a release step fills in says nothing.
        let placeholder = path == NODE_MANIFEST
            && foreign::is_placeholder_version(
                object
                    .get("private")
                    .is_some_and(|member| *member.value.value() == Value::Bool(true)),
                other,
            );
        if other == version || placeholder {
            continue;
        }
        let finding = Source::new(path, &bytes)
            .value_finding(
                &codes::VERSION_DRIFT,
                member.value.span,
                &Pointer::root().key("version"),
                format!(
                    "version {} differs from {} in plugin.json",
                    quoted(other),
                    quoted(version)
                ),
            )
            .with_help("give both the same version (apkit sync does); clients compare it to decide about updates");
        loader.report_text(path, bytes, vec![finding]);
    }
}
