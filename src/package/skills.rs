//! The component location `skills/` (§6, §7.1): which directories hold a skill.

use std::path::Path;

use super::Loader;
use super::containment::{self, Resolution, display_name};
use super::file::{Entry, list};
use super::report::{Skills, SkillsState, SkippedSkill};
use super::skill::{self, SKILL_FILE};
use crate::diagnostic::Diagnostic;
use crate::spec::codes::skills as codes;

/// The fixed location (§6.1).
pub(super) const DIRECTORY: &str = "skills";

/// Loads the skills of a package whose root has an entry `skills`.
pub(super) fn load(loader: &mut Loader<'_>) -> Skills {
    let invalid = |loader: &mut Loader<'_>, finding: Diagnostic| {
        loader.report(finding);
        Skills {
            state: SkillsState::Invalid,
            ..Skills::default()
        }
    };
    let finding = |code, message: &str| Diagnostic::new(code, DIRECTORY, message);
    let directory = match containment::resolve(loader.root, loader.root, Path::new(DIRECTORY)) {
        Resolution::Directory(path) => path,
        Resolution::Escape => {
            let finding = finding(
                &codes::ESCAPE,
                "skills is a link that leads out of the package",
            )
            .with_help(
                "copy the directory into the package; links may only lead to places inside it",
            );
            return invalid(loader, finding);
        }
        Resolution::Unreadable(error) => {
            let finding = finding(
                &codes::UNREADABLE,
                &format!("skills cannot be reached: {error}"),
            )
            .with_help("grant read and search access to the directory");
            return invalid(loader, finding);
        }
        other => {
            let what = match other {
                Resolution::File(_) => "is a file",
                Resolution::Special(kind) => &format!("is {kind}"),
                Resolution::Loop => "is a link that leads back to itself",
                _ => "is a link to a directory that does not exist",
            };
            let finding = finding(&codes::NOT_A_DIRECTORY, &format!("skills {what}")).with_help(
                "make it a directory with one sub-directory for each skill, or remove it",
            );
            return invalid(loader, finding);
        }
    };
    let entries = match list(&directory) {
        Ok(entries) => entries,
        Err(error) => {
            let finding = finding(
                &codes::UNREADABLE,
                &format!("skills cannot be listed: {error}"),
            )
            .with_help("grant read access to the directory");
            return invalid(loader, finding);
        }
    };
    let mut skills = Skills {
        state: SkillsState::Loaded,
        ..Skills::default()
    };
    for entry in entries {
        child(loader, &directory, &entry, &mut skills);
    }
    skills
}

/// One entry of `skills/`.
fn child(loader: &mut Loader<'_>, skills: &Path, entry: &Entry, found: &mut Skills) {
    let path = format!("{DIRECTORY}/{}", display_name(&entry.name));
    if entry.kind.is_file() {
        if entry.name == SKILL_FILE {
            loader.report(misplaced(
                &path,
                "give the skill a directory of its own: skills/<name>/SKILL.md",
            ));
        }
        return;
    }
    let directory = if entry.kind.is_dir() {
        skills.join(&entry.name)
    } else {
        match containment::resolve(loader.root, skills, Path::new(&entry.name)) {
            Resolution::Directory(directory) => directory,
            Resolution::Escape => {
                loader.report(skill::escape(
                    &path,
                    "the skill's directory is a link that leads out of the package",
                ));
                found.skipped.push(SkippedSkill { path });
                return;
            }
            Resolution::Missing(_) => {
                loader.report(skill::nothing_there(&path, "the link leads to nothing"));
                return;
            }
            Resolution::Loop => {
                loader.report(skill::nothing_there(&path, "the link leads back to itself"));
                return;
            }
            Resolution::Unreadable(error) => {
                loader.report(skill::unreadable(&path, &error));
                found.skipped.push(SkippedSkill { path });
                return;
            }
            // Files in `skills/` are nobody's business, however they got there.
            Resolution::File(_) | Resolution::Special(_) => return,
        }
    };
    let entries = match list(&directory) {
        Ok(entries) => entries,
        Err(error) => {
            loader.report(skill::unreadable(&path, &error));
            found.skipped.push(SkippedSkill { path });
            return;
        }
    };
    if entries.iter().any(|inner| inner.name == SKILL_FILE) {
        skill::load(loader, &directory, &entry.name, path, &entries, found);
        return;
    }
    let near = entries
        .iter()
        .find(|inner| inner.name.eq_ignore_ascii_case(SKILL_FILE));
    if let Some(near) = near {
        loader.report(skill::file_case(&path, &near.name));
    }
    // A link may lead to a place whose skills are found elsewhere.
    if entry.kind.is_dir() {
        nested(loader, &directory, &path, &entries);
    }
}

/// Looks for skills in a directory `skill`, which is one letter short of being
/// looked at.
pub(super) fn in_singular(loader: &mut Loader<'_>) {
    const SINGULAR: &str = "skill";
    let is_there = loader
        .entries
        .iter()
        .any(|entry| entry.name == SINGULAR && entry.kind.is_dir());
    if is_there && !loader.has_entry(DIRECTORY) {
        let directory = loader.root.join(SINGULAR);
        if let Ok(entries) = list(&directory) {
            nested(loader, &directory, SINGULAR, &entries);
        }
    }
}

/// How deep, and through how many directories, misplaced skills are looked for.
const MAX_DEPTH: usize = 8;
const MAX_DIRECTORIES: usize = 10_000;

/// Skills are found in immediate children only; groups of them further down are
/// the usual mistake. A skill's own sub-directories are not searched.
fn nested(loader: &mut Loader<'_>, directory: &Path, path: &str, entries: &[Entry]) {
    let below = |directory: &Path, path: &str, entries: &[Entry]| {
        let directories = entries.iter().filter(|entry| entry.kind.is_dir());
        directories
            .map(|entry| {
                let name = display_name(&entry.name);
                (directory.join(&entry.name), format!("{path}/{name}"), name)
            })
            .collect::<Vec<_>>()
    };
    let mut level = below(directory, path, entries);
    let mut seen = 0;
    for _ in 0..MAX_DEPTH {
        let mut next = Vec::new();
        for (directory, path, name) in level {
            seen += 1;
            if seen > MAX_DIRECTORIES {
                return;
            }
            // What cannot be listed holds nothing a client could read.
            let Ok(entries) = list(&directory) else {
                continue;
            };
            if entries.iter().any(|entry| entry.name == SKILL_FILE) {
                loader.report(misplaced(
                    &format!("{path}/{SKILL_FILE}"),
                    &format!("move the directory: {DIRECTORY}/{name}/{SKILL_FILE}"),
                ));
            } else {
                next.extend(below(&directory, &path, &entries));
            }
        }
        level = next;
    }
}

/// A `SKILL.md` where no client looks for one.
pub(super) fn misplaced(path: &str, help: &str) -> Diagnostic {
    Diagnostic::new(
        &codes::MISPLACED_SKILL,
        path,
        "no client finds a skill here: only skills/<name>/SKILL.md is looked at",
    )
    .with_help(help)
}
