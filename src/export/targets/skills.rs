//! The skills alone: the way back from a package to a directory of skills. What
//! an export noted about their earlier form is taken back.

use super::super::draft::Draft;
use super::super::json::Json;
use super::super::loss::{Loss, LossKind};
use super::super::skill::{self, SKILL_FILE};
use super::super::skills::DIRECTORY;
use super::Facts;

/// Leaves nothing but the skills, each in a directory at the top.
pub(crate) fn only(draft: &mut Draft, namespace: &str) {
    let facts = Facts::of(draft);
    let before = facts
        .extensions
        .get(namespace)
        .and_then(|own| own.get("skills"))
        .cloned()
        .unwrap_or(Json::Null);
    let skills = draft.take_directory(DIRECTORY);
    let others: Vec<String> = draft
        .tree
        .files
        .keys()
        .filter(|path| *path != "plugin.json")
        .map(|path| path.split('/').next().unwrap_or_default().to_owned())
        .collect();
    draft.tree.files.clear();
    for path in others {
        draft.lose(Loss::new(
            LossKind::FileLeftOut,
            &path,
            &path,
            "it is no part of a skill",
        ));
    }
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
            if let Some(old) = earlier("name")
                && let Some(named) = skill::with_name(&text, old)
            {
                text = named;
            }
            file.bytes = text.into_bytes();
        }
        // A path of the manifest must not lead anywhere else.
        let directory = earlier("directory")
            .filter(|name| !name.contains(['/', '\\']) && !name.starts_with('.'));
        let directory = directory.unwrap_or(name).to_owned();
        draft
            .tree
            .files
            .insert(format!("{directory}/{inner}"), file);
    }
}
