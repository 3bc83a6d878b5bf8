//! What is said about the copies of skills that `--skills-to` makes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;

use apkit::render::visible;
use apkit::store::{Copied, Done, Folders, LeftAlone, Problem, WhyAlone};

use super::super::failure::show;
use super::args::Place;
use super::words;

/// What the command that is told of was asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked {
    /// Scripts, too.
    pub(super) scripts: bool,
    /// To change nothing.
    pub(super) dry_run: bool,
}

/// The copies of a package that is in place.
pub(super) fn made(
    done: &Done,
    place: &Place,
    asked: Asked,
    out: &mut dyn Write,
) -> io::Result<()> {
    let would = if asked.dry_run { "would be " } else { "" };
    for copied in &done.folders.copied {
        let path = show(&copied.path);
        if !copied.is_unchanged {
            writeln!(out, "  skill {would}copied to {path}")?;
        } else if asked.scripts && !copied.scripts_left_out.is_empty() {
            writeln!(out, "  {path} stays as it is")?;
        } else {
            continue;
        }
        let with_scripts = with_scripts(done, copied, place);
        let (removed, left_out) = copied
            .scripts_left_out
            .iter()
            .cloned()
            .partition(|script| copied.scripts_removed.contains(script));
        let what = format!("scripts {would}removed, {with_scripts} copies them");
        words::listed(&what, removed, out)?;
        let what = format!("scripts left out, {with_scripts} copies them");
        words::listed(&what, left_out, out)?;
        words::listed("links left out", copied.links_left_out.clone(), out)?;
    }
    Ok(())
}

/// The command that has the scripts of a skill copied, too.
fn with_scripts(done: &Done, copied: &Copied, place: &Place) -> String {
    let above = copied.path.parent().unwrap_or(&copied.path);
    let mut folders = done.entry.folders.iter();
    // Where the lock file has them already, it is only to be followed.
    if folders.any(|folder| folder.directory == above && folder.scripts) {
        let words = ["import", "--frozen", &done.name, "--allow-scripts"];
        return words::command(place, &words);
    }
    let (source, above) = (done.entry.source.to_string(), show(above));
    let words = ["import", &source, "--skills-to", &above, "--allow-scripts"];
    words::command(place, &words)
}

/// What became of other places.
pub(super) fn others(folders: &Folders, dry_run: bool, out: &mut dyn Write) -> io::Result<()> {
    let would = if dry_run { "would be " } else { "" };
    for there in &folders.already_there {
        writeln!(
            out,
            "  {} holds this skill already and is yours; no update or removal touches it",
            show(there)
        )?;
    }
    for removed in &folders.removed {
        writeln!(out, "  {would}removed {}", show(removed))?;
    }
    for kept in &folders.kept {
        writeln!(
            out,
            "  {} was changed and is kept; it is yours now",
            show(kept)
        )?;
    }
    for left in &folders.not_deleted {
        writeln!(
            out,
            "  {}, an earlier copy of a skill, {}; the next change tries again, unless you delete it",
            show(&left.path),
            visible(&left.problem)
        )?;
    }
    for LeftAlone { path, why } in &folders.outside {
        let why = match why {
            WhyAlone::Unasked => {
                "which only the lock file asks for; import with --skills-to copies them there"
            }
            WhyAlone::CameAlong => {
                "as apkit has not copied it on this machine; it is yours to keep or delete"
            }
            WhyAlone::LeadsOut => "as a link on the way leads out of the project",
            WhyAlone::Git => "as git keeps its own files there",
            WhyAlone::Store => "as the store keeps its own files there",
            WhyAlone::Source => {
                "as it lies in the directory that the package comes from, and copies would be a part of it"
            }
        };
        writeln!(out, "  {} is left alone, {why}", show(path))?;
    }
    Ok(())
}

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
