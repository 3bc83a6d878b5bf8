//! Copying one skill.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::Copied;
use crate::archive::{Limits, Links, Stage, Tree};
use crate::package::Skill;
use crate::store::Error;

/// What holds programs in a skill.
const SCRIPTS: &str = "scripts";
/// How deep directories of a skill may lie in each other.
const MAX_DEPTH: usize = 32;

/// Copies a skill to `to`, without executable bits but for its scripts.
pub(super) fn copy(
    root: &Path,
    skill: &Skill,
    scripts: bool,
    to: &Path,
    copied: &mut Copied,
) -> Result<Tree, Error> {
    let from = root.join(&skill.path);
    let failed = |error: io::Error| Error::io("copy to", to, error);
    let mut stage = Stage::new(to, Limits::default(), Links::Refuse).map_err(failed)?;
    let mut copier = Copier {
        root,
        scripts,
        stage: &mut stage,
        copied,
    };
    copier.directory(&from, "", 0)?;
    let staged = stage
        .finish("")
        .map_err(|refusal| failed(io::Error::other(refusal)))?;
    Ok(staged.tree)
}

struct Copier<'c> {
    root: &'c Path,
    scripts: bool,
    stage: &'c mut Stage,
    copied: &'c mut Copied,
}

impl Copier<'_> {
    fn directory(&mut self, from: &Path, below: &str, depth: usize) -> Result<(), Error> {
        let unread = |error| Error::io("read", from, error);
        if depth > MAX_DEPTH {
            return Err(unread(io::Error::other("it lies too deep")));
        }
        let entries = fs::read_dir(from).map_err(unread)?;
        let mut entries = entries.collect::<Result<Vec<_>, _>>().map_err(unread)?;
        entries.sort_unstable_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            // Every name has passed the stage of the import.
            let name = entry.file_name().to_string_lossy().into_owned();
            let relative = if below.is_empty() {
                name
            } else {
                format!("{below}/{name}")
            };
            let kind = entry.file_type().map_err(unread)?;
            let is_script = relative.split('/').next() == Some(SCRIPTS);
            if kind.is_dir() {
                self.directory(&path, &relative, depth + 1)?;
            } else if is_script && !self.scripts {
                self.copied.scripts_left_out.push(relative);
            } else if kind.is_symlink() {
                // What it leads to may lie outside of the skill, but not outside
                // of the package.
                match path.canonicalize() {
                    Ok(target) if target.starts_with(self.root) && target.is_file() => {
                        self.file(&target, &relative, is_script)?;
                    }
                    _ => self.copied.links_left_out.push(relative),
                }
            } else {
                self.file(&path, &relative, is_script)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, from: &Path, relative: &str, is_script: bool) -> Result<(), Error> {
        let unread = |error| Error::io("read", from, error);
        let mut file = File::open(from).map_err(unread)?;
        let executable = is_script && is_executable(&file.metadata().map_err(unread)?);
        self.stage
            .file(relative.as_bytes(), executable, &mut file)
            .map_err(|refusal| unread(io::Error::other(refusal)))
    }
}

fn is_executable(metadata: &fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        metadata.permissions().mode() & 0o100 != 0
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}
