//! The skills alone: the way back from a package to a directory of skills. What
//! an export noted about their earlier form is taken back.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Source;
use super::super::draft::Draft;
use super::super::json::Json;
use super::super::loss::{Loss, LossKind};
use super::super::recognise::MANIFEST;
use super::super::skill::{self, SKILL_FILE};
use super::super::skills::DIRECTORY;
use super::super::tree::File;
use super::Facts;

/// What lies at the top of sources: with skills below it, or without.
#[derive(Debug, Default)]
pub(crate) struct Tops {
    skills: BTreeSet<String>,
    others: BTreeSet<String>,
}

impl Tops {
    /// Adds those of a source.
    pub(crate) fn add(&mut self, source: &Source) {
        let is_skill = source.tree.files.contains_key(SKILL_FILE);
        if is_skill {
            self.skills.insert(source.name.clone());
        }
        for path in source.tree.files.keys() {
            let top = path.split('/').next().unwrap_or_default().to_owned();
            if is_skill || path.ends_with(&format!("/{SKILL_FILE}")) {
                self.others.remove(&top);
                self.skills.insert(top);
            } else if !self.skills.contains(&top) {
                self.others.insert(top);
            }
        }
    }
}

/// Leaves nothing but the skills, each in a directory at the top. What else is
/// in the sources is named by its place there.
pub(crate) fn only(draft: &mut Draft, namespace: &str, tops: &Tops) {
    let facts = Facts::of(draft);
    let before = facts
        .extensions
        .get(namespace)
        .and_then(|own| own.get("skills"))
        .cloned()
        .unwrap_or(Json::Null);
    let skills = draft.take_directory(DIRECTORY);
    draft.tree.files.clear();
    // What became of anything else on the way says nothing about this result.
    draft.losses.retain(|loss| {
        let top = loss.path.split('/').next().unwrap_or_default();
        top == DIRECTORY || tops.skills.contains(top)
    });
    draft.notes.retain(|note| {
        let top = note.split(['/', ':']).next().unwrap_or_default();
        top == DIRECTORY || tops.skills.contains(top)
    });
    for path in tops.others.iter().filter(|path| *path != MANIFEST) {
        draft.lose(Loss::new(
            LossKind::FileLeftOut,
            path,
            path,
            "it is no part of a skill",
        ));
    }
    let directories = directories(&skills, &before, draft);
    for (path, mut file) in skills {
        let Some((name, inner)) = path.split_once('/') else {
            draft.lose(Loss::new(
                LossKind::FileLeftOut,
                &path,
                &path,
                "it is no part of a skill",
            ));
            continue;
        };
        let was = before.get(name);
        let earlier = |key: &str| was.and_then(|was| was.get(key)?.as_str());
        if inner == SKILL_FILE
            && let Ok(text) = std::str::from_utf8(&file.bytes)
        {
            let mut text = text.to_owned();
            if earlier("allowedTools") == Some("list")
                && let Some(listed) = skill::with_tools_as_list(&text)
            {
                text = listed;
            }
            let named = match (earlier("name"), earlier("nameYaml")) {
                (Some(old), _) => skill::with_name(&text, old),
                (None, Some(yaml)) => skill::with_yaml_name(&text, yaml),
                (None, None) => None,
            };
            text = named.unwrap_or(text);
            file.bytes = text.into_bytes();
        }
        let directory = directories.get(name).map_or(name, String::as_str);
        draft
            .tree
            .files
            .insert(format!("{directory}/{inner}"), file);
    }
}

/// The directory of each skill: the one it had, unless another skill goes there.
fn directories(
    skills: &BTreeMap<String, File>,
    before: &Json,
    draft: &mut Draft,
) -> BTreeMap<String, String> {
    let names = skills
        .keys()
        .filter_map(|path| Some(path.split_once('/')?.0));
    let mut directories: BTreeMap<String, String> = names
        .map(|name| {
            let earlier = before
                .get(name)
                .and_then(|was| was.get("directory")?.as_str());
            // A path of the manifest must not lead anywhere else.
            let earlier =
                earlier.filter(|name| !name.contains(['/', '\\']) && !name.starts_with('.'));
            (name.to_owned(), earlier.unwrap_or(name).to_owned())
        })
        .collect();
    loop {
        let taken: Vec<String> = directories
            .values()
            .map(|name| name.to_lowercase())
            .collect();
        let doubled = directories.iter_mut().find(|(name, directory)| {
            let lower = directory.to_lowercase();
            name != directory && taken.iter().filter(|other| **other == lower).count() > 1
        });
        let Some((name, directory)) = doubled else {
            return directories;
        };
        draft.note(format!(
            "skill {name} does not go back to {directory}/: another one is there"
        ));
        directory.clone_from(name);
    }
}
