//! The spellings of a source, their one normal form, and its key.
//!
//! What a text means depends on the text alone, never on what happens to lie on
//! the disk: a path begins with `.`, `/`, `~/` or a drive, or stands behind `dir:`
//! or `file:`; everything else has a scheme. So a line in a lock file or a script
//! means the same everywhere.

mod host;
mod parse;
mod repository;
mod shown;
mod text;

use std::fmt;
use std::path::{Component, Path, PathBuf};

pub use self::host::same_host;
use self::parse::Parser;
use self::shown::Shown;
use self::text::{
    holds_secret, is_archive_name, is_scp, is_spelt_as_path, path_colon, path_part,
    percent_decoded, referenced_archive, scheme, slashed, slashed_scp,
};
use super::Environment;
use super::builtin::Builtin;
use super::git::GitSource;
use super::npm::NpmSource;
use super::remote::RemoteArchive;
use crate::archive::EntryPath;

/// The spellings there are, for messages.
const SPELLINGS: &[&str] = &[
    "./DIR",
    "./FILE.tgz",
    "github:OWNER/REPO[#REF][:SUBDIR]",
    "git+https://HOST/PATH[?path=SUBDIR][#REF]",
    "git@HOST:PATH",
    "npm:NAME[@RANGE]",
    "https://HOST/FILE.tgz",
    "builtin:everos",
];

/// Where a package comes from. Its [`Display`](fmt::Display) is the normal form,
/// which [`Source::parse`] reads back as the same source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A directory on this machine, by its absolute path.
    Directory(PathBuf),
    /// A repository.
    Git(GitSource),
    /// A package of an npm registry.
    Npm(NpmSource),
    /// An archive on this machine.
    ArchiveFile(ArchiveFile),
    /// An archive behind an address.
    RemoteArchive(RemoteArchive),
    /// A package that apkit brings along.
    Builtin(Builtin),
}

/// An archive on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveFile {
    /// Its absolute path.
    pub path: PathBuf,
    /// The directory of the package in it; the only one at its top if not given.
    pub sub_path: Option<EntryPath>,
}

/// A kind of source, as rules name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A repository.
    Git,
    /// A package of an npm registry.
    Npm,
    /// An archive, on this machine or behind an address.
    Archive,
    /// A package that apkit brings along.
    Builtin,
}

impl Kind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Directory => "directory",
            Self::Git => "git",
            Self::Npm => "npm",
            Self::Archive => "archive",
            Self::Builtin => "builtin",
        }
    }
}

/// A text that is no source. Reads after "failed to import: ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no source: {understood}{}", instead(spellings))]
pub struct NoSource {
    /// The text, without what may be a password.
    pub text: String,
    /// What it was understood as, and why that does not do.
    pub understood: String,
    /// What would do.
    pub spellings: Vec<String>,
}

fn instead(spellings: &[String]) -> String {
    match spellings {
        [] => String::new(),
        [one] => format!("; write {one}"),
        [first @ .., last] => format!("; write {} or {last}", first.join(", ")),
    }
}

impl Source {
    /// Reads a source as a user writes it. Relative paths start from the directory
    /// of `environment`; `..` takes back the part before it, links or not.
    ///
    /// # Errors
    ///
    /// When the text is none of the spellings, or could be two of them.
    pub fn parse(text: &str, environment: &Environment) -> Result<Self, NoSource> {
        let parser = Parser {
            text,
            environment,
            is_for_once: false,
        };
        let source = parser.source()?;
        // A lock file holds the normal form and nothing else.
        let written = source.to_string();
        let again = Parser {
            text: &written,
            ..parser
        };
        if again.source().as_ref() == Ok(&source) {
            Ok(source)
        } else {
            Err(parser.ambiguous())
        }
    }

    /// Reads a source that is fetched once and recorded nowhere: the address of an
    /// archive may be signed. A store does not take it, and no message shows what
    /// lets one in.
    ///
    /// # Errors
    ///
    /// As [`Source::parse`].
    pub fn parse_for_once(text: &str, environment: &Environment) -> Result<Self, NoSource> {
        Self::parse(text, environment).or_else(|error| {
            let parser = Parser {
                text,
                environment,
                is_for_once: true,
            };
            match parser.source() {
                Ok(source) if !source.is_recordable() => Ok(source),
                _ => Err(error),
            }
        })
    }

    /// Whether a lock file may hold it: its address is not signed.
    pub fn is_recordable(&self) -> bool {
        match self {
            Self::RemoteArchive(remote) => !remote.url.query().is_some_and(holds_secret),
            _ => true,
        }
    }

    /// The directory `path`, an absolute one, as [`Source::parse`] reads it: `..`
    /// takes back the part before it, links or not.
    pub fn directory(path: &Path) -> Self {
        Self::Directory(normal(path))
    }

    /// Whether a text is written as a source and not as a path of a directory, for
    /// commands that take either.
    pub fn is_spelt(text: &str) -> bool {
        let has_scheme = !is_spelt_as_path(text) && scheme(text).is_some();
        let is_meant = referenced_archive(text).is_some() || slashed_scp(text).is_some();
        has_scheme || is_archive_name(path_part(text)) || is_scp(text) || is_meant
    }

    /// A text that may be a source, without what may be a credential in it: for
    /// messages about it.
    pub fn shown(text: &str) -> String {
        Shown::of(text).text
    }

    /// A message, without what may be a credential in the addresses it names.
    pub fn shown_in(message: &str) -> String {
        Shown::of_message(message)
    }

    /// What all spellings of the same package at the same place share, whatever
    /// version of it they ask for, and however often its address is signed anew.
    pub fn key(&self) -> String {
        match self {
            Self::Git(git) => format!("git:{}{}", git.address.key(), Query(&git.sub_path)),
            Self::Npm(npm) => format!("npm:{}{}", npm.name, Query(&npm.sub_path)),
            // Its query is not shown, and the directory stands in it.
            Self::RemoteArchive(remote) if !self.is_recordable() => {
                format!("{self}{}", Query(&remote.sub_path))
            }
            _ => self.to_string(),
        }
    }

    /// The kind of source this is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Directory(_) => Kind::Directory,
            Self::Git(_) => Kind::Git,
            Self::Npm(_) => Kind::Npm,
            Self::ArchiveFile(_) | Self::RemoteArchive(_) => Kind::Archive,
            Self::Builtin(_) => Kind::Builtin,
        }
    }

    /// Whether it is a directory or an archive of this machine, or comes with apkit:
    /// nothing is asked for it.
    pub fn is_here(&self) -> bool {
        matches!(
            self,
            Self::Directory(_) | Self::ArchiveFile(_) | Self::Builtin(_)
        )
    }

    /// The host it is fetched from, if that is part of it.
    pub fn host(&self) -> Option<String> {
        match self {
            Self::Git(git) => Some(git.address.host())
                .filter(|host| !host.is_empty())
                .map(str::to_owned),
            Self::RemoteArchive(remote) => remote.url.host_str().map(str::to_owned),
            _ => None,
        }
    }

    /// Who has it: the scope of an npm package (`@acme`), the owner of a
    /// repository.
    pub fn scope(&self) -> Option<String> {
        match self {
            Self::Git(git) => repository(git).nth(1).map(str::to_owned),
            Self::Npm(npm) => npm.name.scope().map(str::to_owned),
            _ => None,
        }
    }

    /// What it is called where it comes from: the npm package, the repository, the
    /// file or directory.
    pub fn name(&self) -> Option<String> {
        let last = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
        match self {
            Self::Directory(path) => last(path),
            Self::ArchiveFile(file) => last(&file.path),
            Self::Git(git) => {
                let name = repository(git).next()?;
                Some(name.strip_suffix(".git").unwrap_or(name).to_owned())
            }
            Self::Npm(npm) => Some(npm.name.to_string()),
            Self::RemoteArchive(remote) => {
                let mut parts = remote.url.path_segments()?;
                let name = percent_decoded(parts.next_back()?);
                Some(String::from_utf8_lossy(&name).into_owned())
            }
            Self::Builtin(builtin) => Some(builtin.name().to_owned()),
        }
    }

    /// The directory in it that was asked for.
    pub fn sub_path(&self) -> Option<&EntryPath> {
        match self {
            Self::Git(git) => git.sub_path.as_ref(),
            Self::Npm(npm) => npm.sub_path.as_ref(),
            Self::ArchiveFile(file) => file.sub_path.as_ref(),
            Self::RemoteArchive(remote) => remote.sub_path.as_ref(),
            Self::Directory(_) | Self::Builtin(_) => None,
        }
    }

    /// The same source with the package in the directory `below` of it.
    #[must_use]
    pub fn at(&self, below: &EntryPath) -> Self {
        let mut source = self.clone();
        let sub_path = match &mut source {
            Self::Directory(path) => {
                path.push(below.as_str());
                return source;
            }
            Self::Builtin(_) => return source,
            Self::Git(git) => &mut git.sub_path,
            Self::Npm(npm) => &mut npm.sub_path,
            Self::ArchiveFile(file) => &mut file.sub_path,
            Self::RemoteArchive(remote) => &mut remote.sub_path,
        };
        let joined = match sub_path.as_ref() {
            Some(above) => above.join(below.as_str()).ok(),
            None => Some(below.clone()),
        };
        *sub_path = joined;
        source
    }

    /// The same source with the package in the directory `sub_path` of it.
    #[must_use]
    pub fn with_sub_path(&self, sub_path: Option<EntryPath>) -> Self {
        let mut source = self.clone();
        match &mut source {
            Self::Directory(_) | Self::Builtin(_) => {}
            Self::Git(git) => git.sub_path = sub_path,
            Self::Npm(npm) => npm.sub_path = sub_path,
            Self::ArchiveFile(file) => file.sub_path = sub_path,
            Self::RemoteArchive(remote) => remote.sub_path = sub_path,
        }
        source
    }

    /// The version, range, tag, branch or commit that it asks for.
    pub fn wanted(&self) -> Option<&str> {
        match self {
            Self::Git(git) => git.reference.as_deref(),
            Self::Npm(npm) => npm.wanted.as_deref(),
            _ => None,
        }
    }

    /// The same source with another version, tag, branch or commit of it.
    /// Nothing for sources that have no such thing.
    pub fn moved_to(&self, reference: &str) -> Option<Self> {
        let mut source = self.clone();
        match &mut source {
            Self::Git(git) => git.reference = Some(reference.to_owned()),
            Self::Npm(npm) => npm.wanted = Some(reference.to_owned()),
            _ => return None,
        }
        Some(source)
    }

    /// The normal form, with a path below `base` written from there: for files
    /// that move together with what they name.
    pub fn written_from(&self, base: &Path) -> String {
        let relative = |path: &Path| {
            let below = path.strip_prefix(base).ok()?;
            let below = slashed(below);
            Some(match below.as_str() {
                "" => ".".to_owned(),
                below => format!("./{below}"),
            })
        };
        match self {
            Self::Directory(path) => relative(path).map(|path| format!("dir:{path}")),
            Self::ArchiveFile(file) => {
                relative(&file.path).map(|path| format!("file:{path}{}", Query(&file.sub_path)))
            }
            _ => None,
        }
        .unwrap_or_else(|| self.to_string())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => write!(f, "dir:{}", slashed(path)),
            Self::Git(git) => {
                let address = git.address.to_string();
                match path_colon(&address) {
                    // Its path holds a `:`, which would begin a directory.
                    Some(colon) if address.contains("://") => {
                        let (head, tail) = address.split_at(colon);
                        write!(f, "git+{head}{}", tail.replace(':', "%3A"))?;
                    }
                    // As `scp` writes it; what does not look like that needs its kind.
                    _ if is_scp(&address) => f.write_str(&address)?,
                    _ => write!(f, "git+{address}")?,
                }
                write!(f, "{}", Query(&git.sub_path))?;
                match &git.reference {
                    Some(reference) => write!(f, "#{reference}"),
                    None => Ok(()),
                }
            }
            Self::Npm(npm) => {
                write!(f, "npm:{}", npm.name)?;
                if let Some(wanted) = &npm.wanted {
                    write!(f, "@{wanted}")?;
                }
                write!(f, "{}", Query(&npm.sub_path))
            }
            Self::ArchiveFile(file) => {
                write!(f, "file:{}{}", slashed(&file.path), Query(&file.sub_path))
            }
            Self::RemoteArchive(remote) => {
                let query = Query(&remote.sub_path).to_string();
                // The address may have a query of its own.
                let query = match remote.url.query() {
                    Some(_) => query.replacen('?', "&", 1),
                    None => query,
                };
                f.write_str(&Self::shown(&format!("{}{query}", remote.url)))
            }
            Self::Builtin(builtin) => write!(f, "builtin:{}", builtin.name()),
        }
    }
}

/// A path with `.` and `..` resolved by its text alone.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            _ => normal.push(part),
        }
    }
    normal
}

/// The parts of the path of a repository on its host, the last one first, without
/// what may be left out: `.git` in a working tree, empty parts, somebody's home.
fn repository(git: &GitSource) -> impl Iterator<Item = &str> {
    let parts = git.address.path().rsplit('/');
    parts
        .filter(|part| !matches!(*part, "" | "~"))
        .skip_while(|part| *part == ".git")
}

/// `?path=…`, or nothing.
struct Query<'p>(&'p Option<EntryPath>);

impl fmt::Display for Query<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(path) = self.0 else { return Ok(()) };
        f.write_str("?path=")?;
        for character in path.as_str().chars() {
            match character {
                '%' | '#' | '?' | '&' | '+' | ' ' => write!(f, "%{:02X}", u32::from(character))?,
                _ => write!(f, "{character}")?,
            }
        }
        Ok(())
    }
}
