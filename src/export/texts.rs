//! Placeholders of single clients in the files of skills, beyond those that the rule
//! book warns about: in files beside `SKILL.md`, and without braces.

use super::draft::Draft;
use super::loss::{Loss, LossKind};
use super::skill::SKILL_FILE;
use super::skills::DIRECTORY;
use crate::spec::placeholder::{self, Owner};

/// Names each file of a skill in which one stands, with the first of its lines.
pub(super) fn survey(draft: &mut Draft) {
    let mut losses = Vec::new();
    for (inner, file) in draft.tree.below(DIRECTORY) {
        let Ok(text) = std::str::from_utf8(&file.bytes) else {
            continue;
        };
        let is_skill = inner
            .strip_suffix(SKILL_FILE)
            .and_then(|directory| directory.strip_suffix('/'))
            .is_some_and(|directory| !directory.contains('/'));
        // Those with braces in SKILL.md are findings.
        let mut found = placeholder::find(text).filter(|found| {
            let is_told = is_skill && found.text.starts_with("${");
            found.owner == Owner::Client && !is_told
        });
        let Some(first) = found.next() else { continue };
        let mut names = vec![first.text];
        for more in found {
            if !names.contains(&more.text) {
                names.push(more.text);
            }
        }
        let line = text.get(..first.offset).unwrap_or_default();
        let what = if is_skill {
            "text of the skill"
        } else {
            "file of a skill"
        };
        let why = format!(
            "one client only replaces or sets {}; elsewhere it stays literal or empty",
            names.join(", ")
        );
        let path = format!("{DIRECTORY}/{inner}");
        losses.push(
            Loss::new(LossKind::TextPlaceholder, path, what, why)
                .on_line(line.matches('\n').count() + 1),
        );
    }
    losses.into_iter().for_each(|loss| draft.lose(loss));
}
