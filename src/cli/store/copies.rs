//! What is said about the copies of skills that `--skills-to` makes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use apkit::store::Problem;

use super::super::failure::show;
use super::args::Place;
use super::words;

/// What to do about `problems` that keep the skills of package `name` from being
/// copied; to `recorded`, the lock file has them copied. Each way is one that works
/// for the case at hand.
pub(super) fn ways_out(
    place: &Place,
    name: &str,
    problems: &[Problem],
    recorded: &[impl AsRef<Path>],
) -> String {
    let is_recorded = |directory: &&Path| recorded.iter().any(|known| known.as_ref() == *directory);
    // Each package with the directories that it keeps.
    let mut keepers: BTreeMap<&str, BTreeSet<&Path>> = BTreeMap::new();
    let mut directories = BTreeSet::new();
    for problem in problems {
        let above = problem.path.parent().unwrap_or(&problem.path);
        directories.insert(above);
        if let Some(owner) = &problem.owner {
            keepers.entry(owner).or_default().insert(above);
        }
    }
    let mut ways = Vec::new();
    match problems
        .iter()
        .filter(|problem| problem.owner.is_none())
        .count()
    {
        0 => {}
        _ if !keepers.is_empty() => ways.push("move away what is no package's".to_owned()),
        1 => ways.push("move it away".to_owned()),
        _ => ways.push("move them away".to_owned()),
    }
    let kept: BTreeSet<&Path> = directories.iter().copied().filter(is_recorded).collect();
    if kept.len() < directories.len() {
        ways.push("name another directory".to_owned());
    }
    let mut text = ways.join(", or ");
    let mut stop = |whose: String, name: &str, directories: &BTreeSet<&Path>| {
        let directories: Vec<String> = directories.iter().map(|path| show(path)).collect();
        let mut words = vec!["remove", name];
        for directory in &directories {
            words.extend(["--skills-to", directory]);
        }
        if !text.is_empty() {
            text.push_str("; ");
        }
        let command = words::command(place, &words);
        text.push_str(&format!("to copy {whose} there no more: {command}"));
    };
    for (owner, directories) in &keepers {
        stop(format!("the skills of {owner}"), owner, directories);
    }
    if !kept.is_empty() {
        let whose = match keepers.is_empty() {
            true => "its skills".to_owned(),
            false => format!("those of {name}"),
        };
        stop(whose, name, &kept);
    }
    text
}
