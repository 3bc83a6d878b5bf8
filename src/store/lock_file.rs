//! `apkit.lock`: which content of which source every package is.
//!
//! Sorted JSON with one member a line, so that a change to one package changes
//! its lines and no others. It holds no time: the same imports give the same
//! file, byte for byte.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::archive::{Digest, EntryPath};
use crate::source::git::{is_full_id, means_recorded};
use crate::source::{Environment, Resolved, Source, is_pin};
use crate::spec::name::plugin_name_problem;
use crate::sys;

/// The version of the format.
const VERSION: u32 = 1;

/// The JSON Schema (2020-12) of the file.
pub const SCHEMA: &str = include_str!("../../schemas/lock.v1.schema.json");

/// Largest lock file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// What is installed, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockFile {
    /// The packages.
    pub packages: BTreeMap<String, Entry>,
}

/// One installed package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it comes from, as it was asked for.
    pub source: Source,
    /// Which content of the source it is.
    pub resolved: Resolved,
    /// The digest of its tree.
    pub digest: Digest,
    /// `version` of its manifest.
    pub version: Option<String>,
    /// The version of the specification that it is written for.
    pub spec_version: String,
    /// How it was put in place.
    pub mode: Mode,
    /// Where its skills were copied to, for clients that read plain folders.
    pub folders: Vec<Folder>,
}

/// How a package is put in place. There is one way so far; it is recorded so that
/// an update never changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A copy of its own.
    #[default]
    Copy,
}

/// A directory that the skills of a package are copied to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Folder {
    /// The directory, which holds one directory for each skill.
    pub directory: PathBuf,
    /// Whether `scripts/` come along.
    pub scripts: bool,
}

/// A lock file that cannot be read. Messages name the file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct LockFileError {
    /// The file.
    pub path: PathBuf,
    /// Why not.
    pub problem: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    lock_version: u32,
    #[serde(deserialize_with = "each_once")]
    packages: BTreeMap<String, EntryText>,
}

/// Reads packages by name. Of one that is there twice, as after a merge, neither
/// counts.
fn each_once<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, EntryText>, D::Error> {
    struct Packages;
    impl<'de> Visitor<'de> for Packages {
        type Value = BTreeMap<String, EntryText>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("packages by name")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut packages = BTreeMap::new();
            while let Some((name, entry)) = map.next_entry::<String, EntryText>()? {
                if packages.contains_key(&name) {
                    let problem = format!("the package {name:?} is in it twice");
                    return Err(serde::de::Error::custom(problem));
                }
                packages.insert(name, entry);
            }
            Ok(packages)
        }
    }
    from.deserialize_map(Packages)
}

/// The version alone, which decides how to read the rest.
#[derive(Deserialize)]
struct VersionText {
    lock_version: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryText {
    digest: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    folders: Vec<FolderText>,
    key: String,
    mode: Mode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    resolved: ResolvedText,
    source: String,
    spec_version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FolderText {
    directory: String,
    scripts: bool,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResolvedText {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    integrity: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tarball: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
}

impl LockFile {
    /// Reads the file, or nothing if there is none. Relative paths in it start
    /// from `base`.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is not one that [`LockFile::text`] writes.
    pub fn read(path: &Path, base: &Path) -> Result<Self, LockFileError> {
        let error = |problem: String| LockFileError {
            path: path.to_owned(),
            problem,
        };
        let text = match sys::read_regular(path, MAX_BYTES) {
            Ok(text) => text,
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(refused) => return Err(error(refused.to_string())),
        };
        let text = String::from_utf8(text).map_err(|_| error("it is no UTF-8".to_owned()))?;
        Self::parse(&text, base).map_err(error)
    }

    /// Reads the text of the file.
    ///
    /// # Errors
    ///
    /// Says what is wrong with it, and where.
    pub fn parse(text: &str, base: &Path) -> Result<Self, String> {
        // A line of ours begins with white space or a bracket, whatever is in a text.
        let is_mark = |line: &str| line.starts_with("<<<<<<<") || line.starts_with(">>>>>>>");
        if text.lines().any(is_mark) {
            return Err("it holds the marks of a merge that was not finished".to_owned());
        }
        let version: VersionText = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if version.lock_version != VERSION {
            return Err(format!(
                "it has version {} of the format, and this apkit knows version {VERSION}",
                version.lock_version
            ));
        }
        let file: FileText = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut packages = BTreeMap::new();
        for (name, entry) in file.packages {
            let entry = entry
                .read(&name, base)
                .map_err(|problem| format!("package {name:?}: {problem}"))?;
            packages.insert(name, entry);
        }
        Ok(Self { packages })
    }

    /// The text of the file. Paths below `base` are written from there.
    pub fn text(&self, base: &Path) -> String {
        let file = FileText {
            lock_version: VERSION,
            packages: self
                .packages
                .iter()
                .map(|(name, entry)| (name.clone(), EntryText::of(entry, base)))
                .collect(),
        };
        // Nothing in it can fail to be written: all keys are strings.
        let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text.push('\n');
        text
    }
}

impl Entry {
    /// What `source`, another spelling of where it comes from, asks for, if that is
    /// neither what was asked for nor what is there.
    pub(super) fn other_wanted<'s>(&self, source: &'s Source) -> Option<&'s str> {
        let wanted = source.wanted()?;
        let is_there = match &self.resolved {
            // Without a version, npm takes this tag.
            Resolved::Version { version, .. } => {
                version == wanted || (wanted == "latest" && self.source.wanted().is_none())
            }
            Resolved::Commit { id, reference } => {
                means_recorded(wanted, self.source.wanted(), id, reference.as_deref())
            }
            Resolved::Content | Resolved::Archive { .. } => false,
        };
        (self.source.wanted() != Some(wanted) && !is_there).then_some(wanted)
    }
}

/// Why a package cannot have this name in a store: the name becomes that of a
/// directory.
pub(super) fn name_problem(name: &str) -> Option<String> {
    if let Some(problem) = plugin_name_problem(name) {
        return Some(format!("that {problem}"));
    }
    EntryPath::parse(name.as_bytes())
        .err()
        .map(|problem| format!("as the name of a directory that {problem}"))
}

impl EntryText {
    fn of(entry: &Entry, base: &Path) -> Self {
        let resolved = match entry.resolved.clone() {
            Resolved::Content => ResolvedText::default(),
            Resolved::Commit { id, reference } => ResolvedText {
                commit: Some(id),
                reference,
                ..ResolvedText::default()
            },
            Resolved::Version {
                version,
                integrity,
                tarball,
            } => ResolvedText {
                version: Some(version),
                integrity: Some(integrity),
                tarball: Some(tarball),
                ..ResolvedText::default()
            },
            Resolved::Archive { integrity } => ResolvedText {
                integrity: Some(integrity),
                ..ResolvedText::default()
            },
        };
        let mut folders = entry.folders.clone();
        folders.sort();
        Self {
            digest: entry.digest.to_string(),
            folders: folders
                .iter()
                .map(|folder| FolderText {
                    directory: written_from(&folder.directory, base),
                    scripts: folder.scripts,
                })
                .collect(),
            key: relative_key(&entry.source, base),
            mode: entry.mode,
            path: entry.source.sub_path().map(|path| path.to_string()),
            resolved,
            source: entry.source.written_from(base),
            spec_version: entry.spec_version.clone(),
            version: entry.version.clone(),
        }
    }

    fn read(self, name: &str, base: &Path) -> Result<Entry, String> {
        if let Some(problem) = name_problem(name) {
            return Err(problem);
        }
        let environment = Environment {
            directory: base.to_owned(),
            ..Environment::default()
        };
        let source =
            Source::parse(&self.source, &environment).map_err(|error| error.to_string())?;
        // Written for whoever reads the file; one that was edited by hand and
        // says two things means neither.
        if relative_key(&source, base) != self.key {
            return Err(format!(
                "`key` is {:?}, but that of its source is {:?}",
                self.key,
                relative_key(&source, base)
            ));
        }
        if source.sub_path().map(EntryPath::as_str) != self.path.as_deref() {
            return Err("`path` is not the directory that its source names".to_owned());
        }
        let digest = self
            .digest
            .parse()
            .map_err(|error| format!("`digest`: {error}"))?;
        let folders = self.folders.into_iter().map(|folder| Folder {
            directory: base.join(folder.directory),
            scripts: folder.scripts,
        });
        Ok(Entry {
            resolved: self.resolved.read(&source)?,
            source,
            digest,
            version: self.version,
            spec_version: self.spec_version,
            mode: self.mode,
            folders: folders.collect(),
        })
    }
}

impl ResolvedText {
    fn read(self, source: &Source) -> Result<Resolved, String> {
        let missing = |member| format!("`resolved` lacks `{member}`");
        // One that nothing can be compared with would pin nothing.
        let pin = |integrity: Option<String>| {
            let integrity = integrity.ok_or_else(|| missing("integrity"))?;
            match is_pin(&integrity) {
                true => Ok(integrity),
                false => Err("`integrity` is no whole digest of the form `sha512-…`".to_owned()),
            }
        };
        let (resolved, superfluous) = match source {
            Source::Directory(_) | Source::Builtin(_) => (
                Resolved::Content,
                self.commit
                    .or(self.reference)
                    .or(self.version)
                    .or(self.integrity)
                    .or(self.tarball),
            ),
            Source::Git(_) => {
                let id = self.commit.ok_or_else(|| missing("commit"))?;
                if !is_full_id(&id) {
                    return Err("`commit` is no full commit id".to_owned());
                }
                (
                    Resolved::Commit {
                        id,
                        reference: self.reference,
                    },
                    self.version.or(self.integrity).or(self.tarball),
                )
            }
            Source::Npm(_) => (
                Resolved::Version {
                    version: self.version.ok_or_else(|| missing("version"))?,
                    integrity: pin(self.integrity)?,
                    tarball: self.tarball.ok_or_else(|| missing("tarball"))?,
                },
                self.commit.or(self.reference),
            ),
            Source::ArchiveFile(_) | Source::RemoteArchive(_) => (
                Resolved::Archive {
                    integrity: pin(self.integrity)?,
                },
                self.commit
                    .or(self.reference)
                    .or(self.version)
                    .or(self.tarball),
            ),
        };
        match superfluous {
            Some(value) => Err(format!(
                "`resolved` holds {value:?}, which its kind of source does not have"
            )),
            None => Ok(resolved),
        }
    }
}

/// The key, which for what lies on this machine is a path like its source.
fn relative_key(source: &Source, base: &Path) -> String {
    match source {
        Source::Directory(_) | Source::ArchiveFile(_) => source.written_from(base),
        _ => source.key(),
    }
}

fn written_from(path: &Path, base: &Path) -> String {
    let text = match path.strip_prefix(base) {
        Ok(below) if below.as_os_str().is_empty() => ".".into(),
        Ok(below) => below.to_string_lossy(),
        Err(_) => path.to_string_lossy(),
    };
    if cfg!(windows) {
        text.replace('\\', "/")
    } else {
        text.into_owned()
    }
}
