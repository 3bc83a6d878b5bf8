//! Directories of skills on their way into `skills/`.

use super::draft::Draft;
use super::json::Json;
use super::loss::{Loss, LossKind};
use super::skill::{self, NameProblem, Prepared, Refusal, SKILL_FILE};
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
pub(super) fn adopt(draft: &mut Draft, from: &str, rename: bool) -> Adopted {
    let mut adopted = Adopted::default();
    let mut directories: Vec<String> = draft
        .tree
        .below(from)
        .filter_map(|(path, _)| Some(path.split_once('/')?.0.to_owned()))
        .collect();
    directories.dedup();
    for directory in directories {
        let place = match from {
            "" => directory.clone(),
            from => format!("{from}/{directory}"),
        };
        if directory.starts_with('.') {
            continue;
        }
        adopt_one(draft, &place, &directory, rename, &mut adopted);
    }
    adopted
}

/// The same for the one skill in the directory `place`, which is named `directory`.
pub(super) fn adopt_one(
    draft: &mut Draft,
    place: &str,
    directory: &str,
    rename: bool,
    adopted: &mut Adopted,
) {
    let file = format!("{place}/{SKILL_FILE}");
    let Some(bytes) = draft.bytes(&file) else {
        misplaced(draft, place);
        return;
    };
    let refusal = match skill::prepare(&file, directory, bytes, rename) {
        Ok(prepared) => {
            let target = format!("{DIRECTORY}/{}", prepared.name);
            if target == place || draft.bytes(&format!("{target}/{SKILL_FILE}")).is_none() {
                settle(draft, place, directory, prepared, adopted);
                return;
            }
            let why = format!("another skill has the name {} already", prepared.name);
            let loss = Loss::new(
                LossKind::SkillCollision,
                &file,
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
    draft.take_directory(place);
}

fn settle(draft: &mut Draft, place: &str, directory: &str, skill: Prepared, adopted: &mut Adopted) {
    let target = format!("{DIRECTORY}/{}", skill.name);
    for (inner, file) in draft.take_directory(place) {
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
    if let Some(name) = skill.old_name {
        before.push(("name", Json::String(name)));
    }
    if skill.tools_were_list {
        before.push(("allowedTools", Json::string("list")));
    }
    if !before.is_empty() {
        adopted.before.push((skill.name, Json::object(before)));
    }
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
