//! What a package consists of, and how to tell whether that is still so.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use super::difference::{Change, ChangeKind, change};
use super::walk::{self, Found};
use super::{EntryPath, Limits, PathProblem, Refusal};

/// What a package consists of: files and links, by path. Directories as such do
/// not count, nor do times, owners, and modes but for the executable bit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// The entries, in the order of their paths as bytes.
    pub entries: BTreeMap<EntryPath, Node>,
}

/// One entry of a [`Tree`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A regular file.
    File {
        /// The digest of its content.
        sha256: [u8; 32],
        /// Its size in bytes.
        size: u64,
        /// Whether it may be run.
        executable: bool,
    },
    /// A symbolic link.
    Link {
        /// What it points to, as it was spelt.
        target: String,
    },
}

/// A SHA-256 digest, written `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", hex(&self.0))
    }
}

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        text.strip_prefix("sha256:")
            .and_then(unhex)
            .map(Self)
            .ok_or(NotADigest)
    }
}

/// A text that is no [`Digest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not `sha256:` and 64 lower-case hexadecimal digits")]
pub struct NotADigest;

impl Tree {
    /// The digest of [`Tree::listing`].
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self.listing().as_bytes())
    }

    /// The canonical text: one line an entry, in the order of the paths. The
    /// columns are separated by tabs, which no path holds:
    ///
    /// ```text
    /// file    <sha256>    <size>    <path>
    /// exec    <sha256>    <size>    <path>
    /// link    <target>    <path>
    /// ```
    #[must_use]
    pub fn listing(&self) -> String {
        let mut text = String::new();
        for (path, node) in &self.entries {
            let _infallible = match node {
                Node::File {
                    sha256,
                    size,
                    executable,
                } => {
                    let kind = if *executable { "exec" } else { "file" };
                    writeln!(text, "{kind}\t{}\t{size}\t{path}", hex(sha256))
                }
                Node::Link { target } => writeln!(text, "link\t{target}\t{path}"),
            };
        }
        text
    }

    /// Reads a [`Tree::listing`], and nothing but what that writes.
    ///
    /// # Errors
    ///
    /// When it is not canonical, with the line.
    pub fn parse_listing(text: &str) -> Result<Self, ListingError> {
        let mut entries: BTreeMap<EntryPath, Node> = BTreeMap::new();
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let entry = line.strip_suffix('\n').and_then(parse_line);
            let after = entry.as_ref().is_some_and(|(path, _)| {
                entries.last_key_value().is_none_or(|(last, _)| last < path)
            });
            match entry {
                Some((path, node)) if after => entries.insert(path, node),
                _ => return Err(ListingError { line: index + 1 }),
            };
        }
        Ok(Self { entries })
    }

    /// What stands in the directory `root` now. Links are told, not followed.
    ///
    /// On Windows no file counts as executable: compare with [`Tree::changes`],
    /// which knows that, rather than by digest.
    ///
    /// # Errors
    ///
    /// When something can be no part of a package, cannot be read, or exceeds
    /// `limits`.
    pub fn of_directory(root: &Path, limits: &Limits) -> Result<Self, Refusal> {
        Self::of_directory_but(root, limits, |_| false)
    }

    /// The same without what `skip` names.
    pub(super) fn of_directory_but(
        root: &Path,
        limits: &Limits,
        skip: impl Fn(&walk::Visit) -> bool,
    ) -> Result<Self, Refusal> {
        let mut entries = BTreeMap::new();
        let (mut seen, mut total) = (0, 0);
        for visit in walk::walk_but(root, skip) {
            let visit = visit?;
            seen += 1;
            if seen > limits.entries {
                return Err(Refusal::TooMany {
                    limit: limits.entries,
                });
            }
            if let Some((path, node)) = entry(&visit, limits, &mut total)? {
                entries.insert(path, node);
            }
        }
        Ok(Self { entries })
    }

    /// What stands in the directory `root` now, and by their paths what of it can be
    /// no part of a package, cannot be read or exceeds the limits: a directory
    /// without what is in it. Nothing if there are too many entries to tell.
    pub fn survey(root: &Path, limits: &Limits) -> Option<(Self, Vec<String>)> {
        let mut entries = BTreeMap::new();
        let (mut seen, mut total) = (0, 0);
        let mut directories = Vec::new();
        let mut others = Vec::new();
        let walk = walk::walk_but(root, |visit| {
            let skip = matches!(visit.found, Found::Directory) && path(visit, limits).is_err();
            if skip {
                directories.push(visit.name());
            }
            skip
        });
        for visit in walk {
            seen += 1;
            if seen > limits.entries {
                return None;
            }
            match visit {
                Ok(visit) => match entry(&visit, limits, &mut total) {
                    Ok(found) => entries.extend(found),
                    Err(_) => others.push(visit.name()),
                },
                Err(Refusal::Read { entry, .. }) if !entry.is_empty() => others.push(entry),
                Err(_) => return None,
            }
        }
        others.append(&mut directories);
        others.sort();
        Some((Self { entries }, others))
    }

    /// What is different in `now`, by path.
    #[must_use]
    pub fn changes(&self, now: &Self) -> Vec<Change> {
        let mut changes: Vec<Change> = self
            .entries
            .iter()
            .filter_map(|(path, before)| {
                let kind = match now.entries.get(path) {
                    None => ChangeKind::Removed,
                    Some(after) => change(before, after)?,
                };
                Some(Change {
                    path: path.clone(),
                    kind,
                })
            })
            .collect();
        let added = now
            .entries
            .keys()
            .filter(|path| !self.entries.contains_key(*path));
        changes.extend(added.map(|path| Change {
            path: path.clone(),
            kind: ChangeKind::Added,
        }));
        changes.sort();
        changes
    }
}

/// A text that is no listing of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is not one of a list of files as apkit writes it")]
pub struct ListingError {
    /// The line, counted from 1.
    pub line: usize,
}

fn parse_line(line: &str) -> Option<(EntryPath, Node)> {
    let mut columns = line.split('\t');
    let kind = columns.next()?;
    let node = match kind {
        "link" => Node::Link {
            target: columns.next()?.to_owned(),
        },
        "file" | "exec" => {
            let sha256 = unhex(columns.next()?)?;
            let digits = columns.next()?;
            let size: u64 = digits.parse().ok()?;
            if size.to_string() != digits {
                return None;
            }
            Node::File {
                sha256,
                size,
                executable: kind == "exec",
            }
        }
        _ => return None,
    };
    let text = columns.next()?;
    let path = EntryPath::parse(text.as_bytes()).ok()?;
    (path.as_str() == text && columns.next().is_none()).then_some((path, node))
}

/// The path of an entry, if one of a package can have it.
fn path(visit: &walk::Visit, limits: &Limits) -> Result<EntryPath, Refusal> {
    let path = EntryPath::parse(&visit.path).and_then(|path| {
        if path.parts().count() > limits.parts {
            Err(PathProblem::TooDeep(limits.parts))
        } else {
            Ok(path)
        }
    });
    path.map_err(|problem| Refusal::Path {
        entry: visit.name(),
        problem,
    })
}

/// One entry of a tree; nothing for a directory.
fn entry(
    visit: &walk::Visit,
    limits: &Limits,
    total: &mut u64,
) -> Result<Option<(EntryPath, Node)>, Refusal> {
    let path = path(visit, limits)?;
    let node = match &visit.found {
        Found::Directory => return Ok(None),
        Found::Special(kind) => {
            return Err(Refusal::Kind {
                entry: visit.name(),
                kind,
            });
        }
        Found::Link(target) => Node::Link {
            target: String::from_utf8_lossy(target).into_owned(),
        },
        Found::File(metadata) => {
            let (sha256, size) = read_file(visit, limits, total)?;
            Node::File {
                sha256,
                size,
                executable: walk::is_executable(metadata),
            }
        }
    };
    Ok(Some((path, node)))
}

fn read_file(
    visit: &walk::Visit,
    limits: &Limits,
    total: &mut u64,
) -> Result<([u8; 32], u64), Refusal> {
    let unread = |source| Refusal::Read {
        entry: visit.name(),
        source,
    };
    let mut file = walk::open(&visit.on_disk).map_err(unread)?;
    let mut hash = Sha256::new();
    let mut size = 0;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unread(error)),
        };
        size += count as u64;
        *total += count as u64;
        if size > limits.file {
            return Err(Refusal::FileTooLarge {
                entry: visit.name(),
                limit: limits.file,
            });
        }
        if *total > limits.total {
            return Err(Refusal::TotalTooLarge {
                entry: visit.name(),
                limit: limits.total,
            });
        }
        hash.update(buffer.get(..count).unwrap_or_default());
    }
    Ok((hash.finalize().into(), size))
}

fn hex(bytes: &[u8; 32]) -> String {
    let mut text = String::with_capacity(64);
    for byte in bytes {
        let _infallible = write!(text, "{byte:02x}");
    }
    text
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; 32];
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}
