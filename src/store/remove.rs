//! Removing a package.

use std::path::PathBuf;

use super::discarded::Discarded;
use super::folders::{self, Folders, LeftAlone};
use super::lock_file::{Entry, name_problem};
use super::staging::Staging;
use super::{Error, Store, entry_of};
use crate::package;
use crate::source::Stop;

/// A package that was removed.
#[derive(Debug)]
pub struct Removed {
    /// What the lock file said of it; nothing if only data was left of it.
    pub entry: Option<Entry>,
    /// What somebody had changed in its tree.
    pub discarded: Discarded,
    /// Whether its data is still there.
    pub data_kept: bool,
    /// Its plain skill folders.
    pub folders: Folders,
}

impl Store {
    /// Removes package `name`, its plain skill folders, and with `purge` its data,
    /// also that which an earlier removal kept; all of it or nothing, wherever the
    /// process ends.
    ///
    /// # Errors
    ///
    /// When there is nothing to remove, or the store cannot be changed.
    pub fn remove(&self, name: &str, purge: bool, stop: &Stop) -> Result<Removed, Error> {
        let data = self.layout.data(name);
        // The name may be anything that the user wrote; as a path it must stay here.
        let has_data = name_problem(name).is_none() && data.symlink_metadata().is_ok();
        if !has_data {
            // Nothing is made for what is not there.
            entry_of(&self.installed(stop)?, name)?;
        }
        let mut writer = self.writer(stop)?;
        let entry = match entry_of(&writer.lock_file, name) {
            Ok(entry) => Some(entry.clone()),
            Err(_) if purge && has_data => None,
            Err(error) => return Err(error),
        };
        let discarded = match &entry {
            Some(entry) => self.discarded(name, entry, self.state(name, entry), None),
            None => Discarded::default(),
        };
        let staging = Staging::create(&self.layout)?;
        let mut next = writer.lock_file.clone();
        next.packages.remove(name);
        let mut folders = if let Some(entry) = &entry {
            let left = self.left_behind(name, entry)?;
            let mut folders = writer.take(name, purge, None, &staging, next)?;
            folders.outside.extend(left);
            folders
        } else {
            super::staging::remove_all(&data).map_err(|error| Error::io("remove", &data, error))?;
            Folders::default()
        };
        writer.sweep_listings();
        writer.tell_not_deleted(&mut folders);
        Ok(Removed {
            entry,
            discarded,
            data_kept: has_data && !purge,
            folders,
        })
    }

    /// Stops copying the skills of package `name` to these directories, and removes
    /// the copies there. The package stays.
    ///
    /// # Errors
    ///
    /// When it is not installed, its skills are not copied to one of them, or the
    /// store cannot be changed.
    pub fn remove_folders(
        &self,
        name: &str,
        directories: &[PathBuf],
        stop: &Stop,
    ) -> Result<Removed, Error> {
        let mut writer = self.writer(stop)?;
        let entry = entry_of(&writer.lock_file, name)?.clone();
        let mut next = writer.lock_file.clone();
        let mut now = entry.clone();
        for directory in directories {
            let before = now.folders.len();
            now.folders.retain(|folder| folder.directory != *directory);
            if now.folders.len() == before {
                let folders = entry.folders.iter().map(|folder| folder.directory.clone());
                return Err(Error::NoFolder {
                    name: name.to_owned(),
                    directory: directory.clone(),
                    folders: folders.collect(),
                });
            }
        }
        next.packages.insert(name.to_owned(), now);
        let staging = Staging::create(&self.layout)?;
        let mut gone = entry.clone();
        gone.folders
            .retain(|folder| directories.contains(&folder.directory));
        let left = self.left_behind(name, &gone)?;
        let mut folders = writer.take(name, false, Some(directories.to_vec()), &staging, next)?;
        folders.outside.extend(left);
        writer.tell_not_deleted(&mut folders);
        Ok(Removed {
            entry: Some(entry),
            discarded: Discarded::default(),
            data_kept: false,
            folders,
        })
    }

    /// What stays behind of the copies of these skills.
    fn left_behind(&self, name: &str, entry: &Entry) -> Result<Vec<LeftAlone>, Error> {
        let options = package::Options {
            drafts: true,
            ..package::Options::default()
        };
        // Of one that is not in place, nobody knows the skills.
        let package = package::load(&self.layout.package(name), name, &options).ok();
        let skills = package.iter().flat_map(|package| &package.skills.loaded);
        let skills = skills.map(|skill| skill.name.as_str());
        folders::left_behind(&self.layout, name, entry, skills)
    }
}
