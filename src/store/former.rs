//! What the lock file names until now, for a package that other content takes the
//! place of.

use std::path::{Path, PathBuf};

use super::judge::Prepared;
use super::lock_file::LockFile;
use super::policy::Facts;
use super::{Error, Store, folders};
use crate::package::{self, Skill, Verdict};
use crate::source::Request;

/// The content that the lock file names until now.
pub(super) struct Former {
    /// Where its tree lies.
    pub(super) root: PathBuf,
    /// Its skills.
    pub(super) skills: Vec<Skill>,
}

impl Store {
    /// The former content, if copies of its skills may have come along with the lock
    /// file: whether they are, only that tells. It is fetched into `directory` if it
    /// is not in place; nothing if it cannot be had any more.
    pub(super) fn former(
        &self,
        installed: &LockFile,
        prepared: &Prepared,
        request: &Request<'_>,
        directory: &Path,
    ) -> Result<Option<Former>, Error> {
        let name = &prepared.name;
        let Some(before) = installed.packages.get(name) else {
            return Ok(None);
        };
        if before.digest == prepared.entry.digest
            || !folders::came_along(&self.layout, name, before)?
            || self.policy.check(&Facts::before(&before.source)).is_err()
        {
            return Ok(None);
        }
        let material = match self.in_place(name, before) {
            Some(material) => material,
            None => {
                let pinned = Request {
                    pinned: Some(&before.resolved),
                    ..*request
                };
                match self.fetch(&before.source, &pinned, directory) {
                    Ok(material) => material,
                    Err(Error::Interrupted) => return Err(Error::Interrupted),
                    Err(_) => return Ok(None),
                }
            }
        };
        if material.tree.digest() != before.digest {
            return Ok(None);
        }
        let options = package::Options {
            // An import with drafts may have copied what those have.
            drafts: true,
            ..package::Options::default()
        };
        let package = package::load(&material.directory, name, &options)
            .map_err(|error| Error::io("read", &material.directory, error))?;
        Ok((package.verdict == Verdict::Loaded).then_some(Former {
            root: material.directory,
            skills: package.skills.loaded,
        }))
    }
}
