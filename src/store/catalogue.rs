//! What there is: packages that could be installed, and the skills of those that
//! are (user stories US-1 and US-5, requirement AP-21).

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::lock_file::Entry;
use super::version::is_version;
use super::{Error, Store, entry_of, shown_version};
use crate::archive::{Limits, digest_of_copy};
use crate::document::frontmatter;
use crate::package::{self, Package, Skill};
use crate::source::{Source, Stop};
use crate::sys;

/// The manifest that makes a directory a package.
const MANIFEST: &str = "plugin.json";
/// How many other packages of a name each one tells: enough to find them by, and a
/// listing of many of one name grows no faster than they do.
const TOLD: usize = 3;
/// The file that makes a directory a skill.
const SKILL_FILE: &str = "SKILL.md";

/// A package in a directory of packages.
#[derive(Debug)]
pub struct Available {
    /// Where to import it from.
    pub source: Source,
    /// What a client would get of it, with all findings.
    pub package: Package,
    /// Its version as [`shown_version`] has it, also where it is rejected. Nothing if it
    /// would be made of a digest that only a copy can tell: see [`digest_of_copy`].
    pub shown_version: Option<String>,
    /// Whether a package of its name is installed from there.
    pub installed: bool,
    /// The other packages of its name: one of them at a time can be installed.
    pub same_name: SameName,
}

/// Other packages of one name.
#[derive(Debug, Default)]
pub struct SameName {
    /// Where the first few of them lie.
    pub first: Vec<Source>,
    /// How many more there are.
    pub more: usize,
}

/// What directories of packages hold.
#[derive(Debug)]
pub struct Catalogue {
    /// Their packages, by directory and name.
    pub available: Vec<Available>,
    /// Directories that cannot be read, with the reason.
    pub unreadable: Vec<(PathBuf, Error)>,
}

/// A skill of an installed package.
#[derive(Debug)]
pub struct InstalledSkill {
    /// The package.
    pub package: String,
    /// Its version, as [`shown_version`] has it.
    pub version: String,
    /// Where the package comes from.
    pub source: Source,
    /// The skill.
    pub skill: Skill,
    /// Its directory on disk.
    pub directory: PathBuf,
}

/// A skill with its text.
#[derive(Debug)]
pub struct ShownSkill {
    /// The skill.
    pub skill: InstalledSkill,
    /// What follows the frontmatter of its `SKILL.md`.
    pub body: String,
    /// The other files in its directory, relative to it.
    pub sidecars: Vec<String>,
}

impl Store {
    /// The packages in the directories that the rules name and in `more`: every
    /// immediate child with a manifest, and the directory itself if it has one; each
    /// once. A directory that cannot be read is no obstacle to the others.
    ///
    /// # Errors
    ///
    /// When the lock file cannot be read, or the user wants to stop.
    pub fn available(
        &self,
        more: &[PathBuf],
        options: &package::Options,
        stop: &Stop,
    ) -> Result<Catalogue, Error> {
        let installed = self.installed(stop)?;
        let mut catalogue = Catalogue {
            available: Vec::new(),
            unreadable: Vec::new(),
        };
        let named = self
            .policy
            .sources()
            .chain(more.iter().map(PathBuf::as_path));
        let mut seen = HashSet::new();
        for directory in named {
            let Source::Directory(directory) = Source::directory(directory) else {
                continue;
            };
            if !seen.insert(directory.canonicalize().unwrap_or(directory.clone())) {
                continue;
            }
            let roots = match children(&directory) {
                Ok(roots) => roots,
                Err(error) => {
                    catalogue.unreadable.push((directory.to_owned(), error));
                    continue;
                }
            };
            for root in roots {
                if stop.is_requested() {
                    return Err(Error::Interrupted);
                }
                let source = Source::directory(&root);
                match package::load(&root, &root.to_string_lossy(), options) {
                    Ok(package) => {
                        let name = package.name.as_deref().unwrap_or_default();
                        let entry = installed.packages.get(name);
                        catalogue.available.push(Available {
                            shown_version: version_of(&root, &package),
                            installed: entry.is_some_and(|entry| entry.source == source),
                            same_name: SameName::default(),
                            source,
                            package,
                        });
                    }
                    Err(error) => {
                        let error = Error::io("read", &root, error);
                        catalogue.unreadable.push((root, error));
                    }
                }
            }
        }
        tell_apart(&mut catalogue.available);
        Ok(catalogue)
    }

    /// Directories in `plugins/` that the lock file does not name.
    ///
    /// # Errors
    ///
    /// When the lock file or the directory cannot be read.
    pub fn unmanaged(&self, stop: &Stop) -> Result<Vec<String>, Error> {
        let installed = self.installed(stop)?;
        let packages = self.layout.packages();
        let entries = match fs::read_dir(&packages) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io("read", &packages, error)),
        };
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| !installed.packages.contains_key(name))
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    /// The skills of all installed packages, by package and name.
    ///
    /// # Errors
    ///
    /// When the lock file cannot be read. A package whose tree is missing has no
    /// skills.
    pub fn skills(&self, stop: &Stop) -> Result<Vec<InstalledSkill>, Error> {
        let installed = self.installed(stop)?;
        let skills = installed
            .packages
            .iter()
            .flat_map(|(name, entry)| self.skills_of(name, entry));
        Ok(skills.collect())
    }

    /// One skill with its text.
    ///
    /// # Errors
    ///
    /// When there is no such package or skill, or it cannot be read.
    pub fn skill(&self, package: &str, name: &str, stop: &Stop) -> Result<ShownSkill, Error> {
        let installed = self.installed(stop)?;
        let entry = entry_of(&installed, package)?;
        let skills = self.skills_of(package, entry);
        let names: Vec<String> = skills
            .iter()
            .map(|skill| skill.skill.name.clone())
            .collect();
        let skill = skills.into_iter().find(|skill| skill.skill.name == name);
        let skill = skill.ok_or_else(|| Error::NoSkill {
            package: package.to_owned(),
            name: name.to_owned(),
            names,
        })?;
        let file = skill.directory.join(SKILL_FILE);
        let text = sys::read_regular(&file, Limits::default().file)
            .map_err(|error| Error::io("read", &file, error))?;
        let text = String::from_utf8_lossy(&text);
        // A skill that loads has frontmatter.
        let body = match frontmatter::split(&text) {
            Ok(parts) => text.get(parts.body.start..parts.body.end),
            Err(_) => None,
        };
        let mut sidecars = Vec::new();
        list(&skill.directory, "", &mut sidecars)
            .map_err(|error| Error::io("read", &skill.directory, error))?;
        sidecars.retain(|path| path != SKILL_FILE);
        Ok(ShownSkill {
            body: body
                .unwrap_or(&text)
                .trim_start_matches(['\r', '\n'])
                .to_owned(),
            sidecars,
            skill,
        })
    }

    fn skills_of(&self, name: &str, entry: &Entry) -> Vec<InstalledSkill> {
        let root = self.layout.package(name);
        let Ok(package) = package::load(&root, name, &package::Options::default()) else {
            return Vec::new();
        };
        let skills = package.skills.loaded.into_iter();
        skills
            .map(|skill| InstalledSkill {
                package: name.to_owned(),
                version: shown_version(entry.version.as_deref(), &entry.digest),
                source: entry.source.clone(),
                directory: root.join(&skill.path),
                skill,
            })
            .collect()
    }
}

/// Tells of each package a few others of its name, and how many there are.
fn tell_apart(available: &mut [Available]) {
    let mut by_name: HashMap<String, Vec<Source>> = HashMap::new();
    let mut seen = HashSet::new();
    for one in &*available {
        if let Some(name) = &one.package.name {
            // A directory may be looked into, and lie in another one that is.
            if seen.insert(one.source.to_string()) {
                let sources = by_name.entry(name.clone()).or_default();
                sources.push(one.source.clone());
            }
        }
    }
    for one in available {
        let sources = one.package.name.as_ref().and_then(|name| by_name.get(name));
        let Some(sources) = sources else {
            continue;
        };
        let others = sources.iter().filter(|source| **source != one.source);
        let first: Vec<Source> = others.take(TOLD).cloned().collect();
        one.same_name = SameName {
            // It is one of them itself.
            more: sources.len() - 1 - first.len(),
            first,
        };
    }
}

/// The version to show of a package that is not installed.
fn version_of(root: &Path, package: &Package) -> Option<String> {
    let version = package.version.as_deref();
    if let Some(version) = version.filter(|version| is_version(version)) {
        return Some(version.to_owned());
    }
    let digest = digest_of_copy(root, &Limits::default())?;
    Some(shown_version(version, &digest))
}

/// The directory and its immediate children that hold a manifest, by name.
fn children(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let unread = |error| Error::io("read", directory, error);
    let entries = fs::read_dir(directory).map_err(unread)?;
    let mut found = Vec::new();
    if directory.join(MANIFEST).symlink_metadata().is_ok() {
        found.push(directory.to_owned());
    }
    for entry in entries {
        let path = entry.map_err(unread)?.path();
        if path.join(MANIFEST).symlink_metadata().is_ok() {
            found.push(path);
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn list(directory: &Path, below: &str, found: &mut Vec<String>) -> std::io::Result<()> {
    let mut entries = fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_unstable_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{path}/"), found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}
