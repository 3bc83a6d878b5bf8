//! Directories of skills on their way into `skills/`.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::json::Json;
use super::loss::{Loss, LossKind};
use super::skill::{self, NameProblem, OldName, Prepared, Refusal, SKILL_FILE};
use super::tree::File;
use crate::package;
use crate::spec::codes::{skill as codes, skills as skills_codes};

/// Where skills are in a package.
pub(super) const DIRECTORY: &str = "skills";

/// Whether a file at the top tells about all there is: a licence, a readme.
pub(super) fn tells_about_all(path: &str) -> bool {
    const STEMS: &[&str] = &[
        "license",
        "licence",
        "notice",
        "readme",
        "changelog",
        "copying",
    ];
    let stem = path.split('.').next().unwrap_or_default();
    !path.contains('/') && STEMS.contains(&stem.to_ascii_lowercase().as_str())
}

/// What became of the skills of one directory.
#[derive(Debug, Default)]
pub(super) struct Adopted {
    /// Names that break the rule.
    pub(super) names: Vec<NameProblem>,
    /// What the skills were like before, for the way back: name of the skill →
    /// its facts.
    pub(super) before: Vec<(String, Json)>,
    /// Directories that have another place now: old → new.
    pub(super) moved: Vec<(String, String)>,
}

impl Adopted {
    pub(super) fn add(&mut self, other: Self) {
        self.names.extend(other.names);
        self.before.extend(other.before);
        self.moved.extend(other.moved);
    }
}

/// Moves the skills in the directories below `from` to `skills/`. Those that
/// cannot be in a package are taken out; whoever calls decides about names.
/// What has been brought there already is passed over.
pub(super) fn adopt(draft: &mut Draft, from: &str, rename: bool, adopted: &mut Adopted) {
    let mut directories: Vec<String> = draft
        .tree
        .below(from)
        .filter_map(|(path, _)| Some(path.split_once('/')?.0.to_owned()))
        .collect();
    directories.dedup();
    let places = directories
        .into_iter()
        .filter(|directory| !directory.starts_with('.'))
        .map(|directory| match from {
            "" => (directory.clone(), directory),
            from => (format!("{from}/{directory}"), directory),
        })
        .filter(|(place, _)| adopted.moved.iter().all(|(_, new)| new != place))
        .collect();
    adopt_all(draft, places, rename, adopted);
}

/// The same for the one skill in the directory `place`, which is named `directory`.
pub(super) fn adopt_one(
    draft: &mut Draft,
    place: &str,
    directory: &str,
    rename: bool,
    adopted: &mut Adopted,
) {
    let place = (place.to_owned(), directory.to_owned());
    adopt_all(draft, vec![place], rename, adopted);
}

/// The same for several, each a place and the directory's name.
pub(super) fn adopt_all(
    draft: &mut Draft,
    places: Vec<(String, String)>,
    rename: bool,
    adopted: &mut Adopted,
) {
    // All are taken out first: where one of them goes, another may come from.
    let mut taken = Vec::new();
    for (place, directory) in places {
        let file = format!("{place}/{SKILL_FILE}");
        match draft.bytes(&file) {
            None => misplaced(draft, &place),
            Some(bytes) => {
                let prepared = skill::prepare(&file, &directory, bytes, rename);
                taken.push((draft.take_directory(&place), place, directory, prepared));
            }
        }
    }
    // Whoever keeps its place or its name goes before those that take one.
    taken.sort_by_key(|(_, place, directory, prepared)| {
        let name = prepared.as_ref().map(|prepared| &prepared.name).ok();
        let keeps_place = name.is_some_and(|name| format!("{DIRECTORY}/{name}") == *place);
        (!keeps_place, name != Some(directory))
    });
    for (files, place, directory, prepared) in taken {
        let refusal = match prepared {
            Ok(prepared) => {
                let target = format!("{DIRECTORY}/{}", prepared.name);
                if !draft.tree.has_directory(&target) {
                    settle(draft, (&place, &directory), files, prepared, adopted);
                    continue;
                }
                let why = match draft.has(&format!("{target}/{SKILL_FILE}")) {
                    true => format!("another skill has the name {} already", prepared.name),
                    false => format!("{target} is there already, and is no skill"),
                };
                let file = format!("{place}/{SKILL_FILE}");
                let loss = Loss::new(
                    LossKind::SkillCollision,
                    file,
                    format!("skill {directory}"),
                    why,
                );
                Refusal::Text(Box::new(loss.with_help("give one of them another name")))
            }
            Err(refusal) => refusal,
        };
        match refusal {
            Refusal::Text(loss) => draft.lose(*loss),
            Refusal::Name(problem) => adopted.names.push(problem),
        }
    }
}

fn settle(
    draft: &mut Draft,
    (place, directory): (&str, &str),
    files: BTreeMap<String, File>,
    skill: Prepared,
    adopted: &mut Adopted,
) {
    let target = format!("{DIRECTORY}/{}", skill.name);
    for (inner, file) in files {
        draft.tree.files.insert(format!("{target}/{inner}"), file);
    }
    if target != place {
        adopted.moved.push((place.to_owned(), target.clone()));
    }
    let text = format!("{target}/{SKILL_FILE}");
    draft.put(&text, skill.text);
    for note in skill.notes {
        draft.note(note);
    }
    for (loss, code) in skill.losses {
        draft.announce(&text, code);
        draft.lose(loss);
    }
    let mut before = Vec::new();
    if skill.name != directory {
        before.push(("directory", Json::string(directory)));
    }
    match skill.old_name {
        Some(OldName::Text(name)) => before.push(("name", Json::String(name))),
        Some(OldName::Other(yaml)) => before.push(("nameYaml", Json::String(yaml))),
        None => {}
    }
    if skill.tools_were_list {
        before.push(("allowedTools", Json::string("list")));
    }
    if !before.is_empty() {
        adopted.before.push((skill.name, Json::object(before)));
    }
}

/// The name of the first skill in its place.
pub(super) fn first_name(draft: &Draft) -> Option<String> {
    let mut paths = draft.tree.below(DIRECTORY);
    Some(paths.next()?.0.split_once('/')?.0.to_owned())
}

/// A directory without `SKILL.md` of its own.
fn misplaced(draft: &mut Draft, place: &str) {
    let found: Vec<String> = draft
        .tree
        .below(place)
        .map(|(inner, _)| inner.to_owned())
        .filter(|inner| {
            inner
                .rsplit('/')
                .next()
                .is_some_and(|name| name.eq_ignore_ascii_case(SKILL_FILE))
        })
        .collect();
    for inner in found {
        let path = format!("{place}/{inner}");
        let (why, help) = if inner.contains('/') {
            draft.announce(&path, &skills_codes::MISPLACED_SKILL);
            (
                "it lies deeper than the portable format looks",
                "move its directory up, next to the other skills",
            )
        } else {
            draft.announce(&path, &codes::FILE_CASE);
            ("names are compared exactly", "rename it to SKILL.md")
        };
        draft.lose(
            Loss::new(
                LossKind::SkillMisplaced,
                &path,
                format!("skill {place}"),
                why,
            )
            .with_help(help),
        );
    }
}

/// Says what of the skills of a package works in some clients only, and
/// changes nothing.
pub(super) fn survey(draft: &mut Draft) {
    let texts: Vec<(String, String)> = draft
        .tree
        .below(DIRECTORY)
        .filter_map(|(inner, _)| {
            let directory = inner.strip_suffix(SKILL_FILE)?.strip_suffix('/')?;
            (!directory.contains('/'))
                .then(|| (format!("{DIRECTORY}/{inner}"), directory.to_owned()))
        })
        .collect();
    for (path, directory) in texts {
        let Some(bytes) = draft.bytes(&path) else {
            continue;
        };
        let findings = package::skill_findings(&path, bytes, &directory);
        for (loss, code) in findings
            .iter()
            .filter_map(|finding| skill::kept(&path, finding))
        {
            draft.announce(&path, code);
            draft.lose(loss);
        }
    }
}
