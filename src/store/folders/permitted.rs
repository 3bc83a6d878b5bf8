//! Which directories skills are copied to.

use std::path::{Component, Path};

use super::plan::Wanted;
use super::record::Record;
use super::{LeftAlone, WhyAlone};
use crate::archive::EntryPath;
use crate::source::Source;
use crate::store::layout::{Layout, is_inside, lies_in};
use crate::store::lock_file::Folder;

/// What the name of a directory ends with that a lock file alone may have skills
/// copied to. Such a directory is there for skills, and a program that looks for its
/// own files does not look there: unlike `.github` with a skill named `workflows`, or
/// `node_modules`.
const NAMED: &str = "skills";

/// The directories that skills are copied to, and those that are left alone. A lock
/// file may be a stranger's: unless the user asks for it now or has asked for it
/// here before, it writes nowhere but below the base, in directories that are there
/// for skills, and brings no scripts. To git's own files and those of the store,
/// nobody's word leads.
pub(super) fn permitted(
    layout: &Layout,
    record: &Record,
    wanted: &Wanted<'_>,
) -> (Vec<Folder>, Vec<LeftAlone>) {
    let allowed = record.allowed.get(wanted.name);
    let mut permitted = Vec::new();
    let mut left_alone = Vec::new();
    for folder in wanted.folders {
        let directory = &folder.directory;
        let is_asked = wanted.asked.contains(folder);
        let before = allowed.and_then(|allowed| allowed.get(directory));
        let why = if layout.is_git(directory) {
            Some(WhyAlone::Git)
        } else if layout.is_own(directory) {
            Some(WhyAlone::Store)
        } else if matches!(wanted.source, Source::Directory(from) if lies_in(directory, from)) {
            Some(WhyAlone::Source)
        } else if layout.leads_out(directory) {
            Some(WhyAlone::LeadsOut)
        } else if !is_asked && before.is_none() && !is_for_skills(directory, wanted.base) {
            Some(WhyAlone::Unasked)
        } else {
            None
        };
        if let Some(why) = why {
            let path = directory.clone();
            left_alone.push(LeftAlone { path, why });
            continue;
        }
        let may = is_asked || wanted.scripts || before == Some(&true);
        permitted.push(Folder {
            scripts: folder.scripts && may,
            ..folder.clone()
        });
    }
    (permitted, left_alone)
}

/// Whether a directory lies below `base`, is called what directories for skills are
/// called, and has no name on the way that some system reads differently.
fn is_for_skills(directory: &Path, base: &Path) -> bool {
    let Ok(below) = directory.strip_prefix(base) else {
        return false;
    };
    let parts: Option<Vec<&str>> = below
        .components()
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let Some(parts) = parts else { return false };
    is_inside(directory, base)
        && parts.last().is_some_and(|name| name.ends_with(NAMED))
        && EntryPath::parse(parts.join("/").as_bytes()).is_ok()
}
