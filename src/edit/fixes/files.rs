//! Changes that are none of a text: names and modes of files.

use std::ffi::OsStr;
use std::path::Path;

use super::{Answer, Change, Operation, Site, left, nothing};
use crate::package;
use crate::spec::codes::{manifest, package as advice};

pub(super) fn make_executable(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let found = site.found(&document)?;
    let command = found.node.as_text().and_then(|text| text.as_str());
    let file = command.and_then(|command| package::locate(site.root, command));
    match file {
        Some(file) if file.is_file() => Ok(Change {
            operation: Some(Operation::MakeExecutable(file)),
            ..Change::default()
        }),
        _ => left("it is no regular file"),
    }
}

pub(super) fn letter_case(site: &Site<'_>) -> Answer {
    let finding = site.finding;
    let path = site.root.join(&finding.path);
    if site.code(&manifest::MISSING) {
        let near = near(site.root, "plugin.json").ok_or_else(nothing)?;
        return rename(&near, OsStr::new("plugin.json"));
    }
    let wanted = if site.code(&advice::LOCATION_CASE) {
        finding.path.to_ascii_lowercase()
    } else {
        "SKILL.md".to_owned()
    };
    rename(&path, OsStr::new(&wanted))
}

/// The entry of a directory whose name differs from `name` in letter case only.
fn near(directory: &Path, name: &str) -> Option<std::path::PathBuf> {
    let entries = std::fs::read_dir(directory).ok()?;
    let mut near: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name()
                .is_some_and(|entry| entry.eq_ignore_ascii_case(name))
        })
        .collect();
    near.sort_unstable();
    near.into_iter().next()
}

/// A new name for an entry, if it is free.
pub(super) fn rename(from: &Path, name: &OsStr) -> Answer {
    let Ok(old) = from.symlink_metadata() else {
        return left("the entry is not found again");
    };
    let to = from.with_file_name(name);
    // Where letter case does not count, the new name leads to the old entry.
    let is_taken = match to.symlink_metadata() {
        Ok(new) => !same_entry(&old, &new) || !to.as_os_str().eq_ignore_ascii_case(from),
        Err(_) => false,
    };
    if is_taken {
        return left(format!("{} stands there, too", name.to_string_lossy()));
    }
    Ok(Change {
        operation: Some(Operation::Rename {
            from: from.to_owned(),
            to,
        }),
        ..Change::default()
    })
}

#[cfg(unix)]
fn same_entry(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn same_entry(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    one.file_type() == other.file_type() && one.modified().ok() == other.modified().ok()
}
