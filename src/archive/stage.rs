//! The one way in: a tree built entry by entry.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest as _, Sha256};

use super::fold::fold;
use super::link::{check_target, follow};
use super::{
    EntryPath, LeftOut, LeftOutReason, Limits, LinkProblem, Node, PathProblem, Refusal, Tree,
};

/// Bytes read and written at once.
const BUFFER: usize = 64 << 10;
/// The most directories that a refusal names.
const MOST_NAMED: usize = 12;

/// What becomes of a link that is not one of the package's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Nothing is taken in: archives, which are made for passing on.
    Refuse,
    /// It is left out and named: repositories and directories, where links to
    /// the surroundings are common.
    LeaveOut,
}

/// How many files a stage has taken in, for whoever watches it meanwhile.
#[derive(Debug, Default)]
pub struct Count {
    files: AtomicU64,
    expected: AtomicU64,
}

impl Count {
    /// Files taken in so far.
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    /// How many there will be; 0 if that is not known.
    pub fn expected(&self) -> u64 {
        self.expected.load(Ordering::Relaxed)
    }
}

/// Builds a tree in an empty directory of ours, entry by entry. Every source goes
/// through it, so that the same content gives the same tree.
///
/// Directories are made by it alone and links at the very end, so no entry can be
/// written anywhere but below. After a refusal the directory holds what came
/// before; it is for the caller to remove it.
#[derive(Debug)]
pub struct Stage {
    directory: PathBuf,
    limits: Limits,
    on_bad_link: Links,
    /// By folded path: everything that was placed, and the directories above.
    places: HashMap<String, Place>,
    top: BTreeSet<String>,
    files: BTreeMap<EntryPath, Node>,
    links: BTreeMap<EntryPath, LinkTarget>,
    left_out: Vec<LeftOut>,
    total: u64,
    count: Arc<Count>,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Place {
    spelling: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Directory,
    File,
    Link,
}

#[derive(Debug)]
struct LinkTarget {
    /// For telling; exact if there is no problem.
    text: String,
    problem: Option<LinkProblem>,
}

impl LinkTarget {
    fn checked(&self) -> Result<&str, LinkProblem> {
        self.problem.map_or(Ok(&self.text), Err)
    }
}

/// What a stage ends in.
#[derive(Debug)]
pub struct Staged {
    /// The package root on disk.
    pub directory: PathBuf,
    /// What it consists of.
    pub tree: Tree,
    /// What is missing or odd, by path.
    pub left_out: Vec<LeftOut>,
}

impl Stage {
    /// Begins in `directory`, which is made unless it is there and empty.
    ///
    /// # Errors
    ///
    /// When the directory cannot be made, or holds something already.
    pub fn new(directory: &Path, limits: Limits, links: Links) -> io::Result<Self> {
        match fs::create_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !fs::symlink_metadata(directory)?.is_dir() {
                    return Err(error);
                }
                if fs::read_dir(directory)?.next().is_some() {
                    return Err(io::ErrorKind::DirectoryNotEmpty.into());
                }
            }
            done => {
                done?;
                make_passable(directory)?;
            }
        }
        Ok(Self {
            directory: directory.to_owned(),
            limits,
            on_bad_link: links,
            places: HashMap::new(),
            top: BTreeSet::new(),
            files: BTreeMap::new(),
            links: BTreeMap::new(),
            left_out: Vec::new(),
            total: 0,
            count: Arc::default(),
            buffer: vec![0; BUFFER],
        })
    }

    /// The limits it holds.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// How many files it has taken in.
    #[must_use]
    pub fn count(&self) -> &Arc<Count> {
        &self.count
    }

    /// Says how many files there will be, for whoever watches.
    pub(crate) fn expect(&self, files: usize) {
        self.count.expected.store(files as u64, Ordering::Relaxed);
    }

    /// Where it builds.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// Takes in a directory. That of everything else is made on the way.
    ///
    /// # Errors
    ///
    /// When the path is refused, something else is there, or the directory cannot
    /// be made.
    pub fn directory(&mut self, path: &[u8]) -> Result<(), Refusal> {
        // The top itself, as `tar -C directory .` names it.
        if matches!(path, b"." | b"./") {
            return Ok(());
        }
        let path = parse(path)?;
        self.place(&path, Kind::Directory)
    }

    /// Takes in a file: `content` goes to the disk as it is read.
    ///
    /// # Errors
    ///
    /// When the path is refused or taken, a limit is reached, or the content can
    /// be read or written no further.
    pub fn file(
        &mut self,
        path: &[u8],
        executable: bool,
        content: &mut dyn Read,
    ) -> Result<(), Refusal> {
        let path = parse(path)?;
        self.place(&path, Kind::File)?;
        let written = |source| Refusal::Write {
            path: path.to_string(),
            source,
        };
        let mut file = self.create(&path).map_err(written)?;
        let mut hash = Sha256::new();
        let mut size = 0;
        loop {
            let count = match content.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(unread(&path, error)),
            };
            let piece = self.buffer.get(..count).unwrap_or_default();
            size += count as u64;
            self.total += count as u64;
            if size > self.limits.file {
                return Err(Refusal::FileTooLarge {
                    entry: path.to_string(),
                    limit: self.limits.file,
                });
            }
            if self.total > self.limits.total {
                return Err(Refusal::TotalTooLarge {
                    entry: path.to_string(),
                    limit: self.limits.total,
                });
            }
            hash.update(piece);
            file.write_all(piece).map_err(written)?;
        }
        set_mode(&file, executable).map_err(written)?;
        let node = Node::File {
            sha256: hash.finalize().into(),
            size,
            executable,
        };
        self.files.insert(path, node);
        self.count.files.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Takes in a symbolic link. It is judged and made when the stage ends.
    ///
    /// # Errors
    ///
    /// When the path is refused or taken.
    pub fn link(&mut self, path: &[u8], target: &[u8]) -> Result<(), Refusal> {
        let path = parse(path)?;
        self.place(&path, Kind::Link)?;
        let target = match check_target(target) {
            Ok(text) => LinkTarget {
                text: text.to_owned(),
                problem: None,
            },
            Err(problem) => LinkTarget {
                text: lossy(target),
                problem: Some(problem),
            },
        };
        self.links.insert(path, target);
        Ok(())
    }

    /// Notes that something of the source is missing or odd.
    pub fn leave_out(&mut self, path: &[u8], why: LeftOutReason) {
        self.left_out.push(LeftOut {
            path: lossy(path),
            reason: why,
        });
    }

    /// Whether there is a file of exactly this path.
    #[must_use]
    pub fn has_file(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Whether there is a directory of exactly this path; `""` is the top.
    #[must_use]
    pub fn has_directory(&self, path: &str) -> bool {
        path.is_empty()
            || self
                .places
                .get(&*fold(path))
                .is_some_and(|place| place.kind == Kind::Directory && place.spelling == path)
    }

    /// The refusal for a directory that is missing below `top`, with what is there
    /// instead.
    pub(super) fn no_directory(&self, top: &str, path: &EntryPath) -> Refusal {
        let join = |above: &str, below: &str| match above {
            "" => below.to_owned(),
            above => format!("{above}/{below}"),
        };
        let mut above = String::new();
        for part in path.parts() {
            let next = join(&above, part);
            if !self.has_directory(&join(top, &next)) {
                break;
            }
            above = next;
        }
        let beginning = match join(top, &above) {
            place if place.is_empty() || place.ends_with('/') => place,
            place => place + "/",
        };
        let directories = self.places.values();
        let directories = directories.filter(|place| place.kind == Kind::Directory);
        let names = directories.filter_map(|place| {
            let name = place.spelling.strip_prefix(&*beginning)?;
            (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
        });
        let mut there: Vec<String> = names.collect();
        there.sort_unstable();
        if there.len() > MOST_NAMED {
            there.truncate(MOST_NAMED);
            there.push("…".to_owned());
        }
        Refusal::NoDirectory {
            path: path.to_string(),
            above,
            there,
        }
    }

    /// The names at the top, sorted.
    pub fn top_level(&self) -> impl Iterator<Item = &str> {
        self.top.iter().map(String::as_str)
    }

    /// Ends the stage with `root` as the package root: a directory inside, or
    /// `""` for all. Links are judged against it and made; what lies beside it is
    /// no part of the package.
    ///
    /// # Errors
    ///
    /// When there is no such directory or nothing in it, when a link is refused
    /// ([`Links::Refuse`]), or when the system makes no links.
    pub fn finish(mut self, root: &str) -> Result<Staged, Refusal> {
        if !self.has_directory(root) {
            return Err(match EntryPath::parse(root.as_bytes()) {
                Ok(path) => self.no_directory("", &path),
                Err(problem) => Refusal::Path {
                    entry: root.to_owned(),
                    problem,
                },
            });
        }
        let directory = if root.is_empty() {
            self.directory.clone()
        } else {
            self.directory.join(root)
        };
        let mut entries: BTreeMap<EntryPath, Node> = std::mem::take(&mut self.files)
            .into_iter()
            .filter_map(|(path, node)| Some((path.below(root)?, node)))
            .collect();
        let mut left_out: Vec<LeftOut> = std::mem::take(&mut self.left_out)
            .into_iter()
            .filter_map(|left| below(left, root))
            .collect();
        for (path, target, found) in self.judge_links(root) {
            match (found, self.on_bad_link) {
                (Ok(end), _) => {
                    let is_directory = self.is_directory(root, &end);
                    make_link(target, &directory.join(path.as_str()), is_directory).map_err(
                        |source| Refusal::Write {
                            path: path.to_string(),
                            source,
                        },
                    )?;
                    let target = target.to_owned();
                    entries.insert(path, Node::Link { target });
                }
                (Err(problem), Links::Refuse) => {
                    return Err(Refusal::Link {
                        entry: path.to_string(),
                        target: target.to_owned(),
                        problem,
                    });
                }
                (Err(problem), Links::LeaveOut) => left_out.push(LeftOut {
                    path: path.to_string(),
                    reason: LeftOutReason::of_link(problem, target.to_owned()),
                }),
            }
        }
        if entries.is_empty() {
            return Err(Refusal::Empty);
        }
        make_passable(&directory).map_err(|source| Refusal::Write {
            path: root.to_owned(),
            source,
        })?;
        left_out.sort();
        Ok(Staged {
            directory,
            tree: Tree { entries },
            left_out,
        })
    }

    /// Every link below `root`, what it points to, and where that ends, folded.
    fn judge_links(&self, root: &str) -> Vec<(EntryPath, &str, Result<String, LinkProblem>)> {
        let links: Vec<(EntryPath, &LinkTarget)> = self
            .links
            .iter()
            .filter_map(|(path, target)| Some((path.below(root)?, target)))
            .collect();
        let by_folded: HashMap<String, &LinkTarget> = links
            .iter()
            .map(|(path, target)| (fold(path.as_str()).into_owned(), *target))
            .collect();
        let mut judged = Vec::new();
        for (path, target) in links {
            let end = target
                .checked()
                .and_then(|text| follow(&path, text, |path| Some(by_folded.get(path)?.checked())));
            judged.push((path, target.text.as_str(), end));
        }
        judged
    }

    fn is_directory(&self, root: &str, folded: &str) -> bool {
        let path = match (root, folded) {
            ("", path) => path.to_owned(),
            (_, "") => return true,
            (root, path) => format!("{}/{path}", fold(root)),
        };
        path.is_empty()
            || self
                .places
                .get(&path)
                .is_some_and(|place| place.kind == Kind::Directory)
    }

    /// Gives the entry its place: below directories only, and one that is no
    /// other's on any system.
    fn place(&mut self, path: &EntryPath, kind: Kind) -> Result<(), Refusal> {
        let parts = path.parts().count();
        if parts > self.limits.parts {
            return Err(Refusal::Path {
                entry: path.to_string(),
                problem: PathProblem::TooDeep(self.limits.parts),
            });
        }
        let text = path.as_str();
        let folded = fold(text).into_owned();
        // Both have their `/` in the same order: folding goes part by part.
        let slashes = text.match_indices('/').zip(folded.match_indices('/'));
        for ((end, _), (folded_end, _)) in slashes {
            let (above, key) = (&text[..end], &folded[..folded_end]);
            match self.places.get(key) {
                Some(place) if place.spelling != above => {
                    return Err(Refusal::Collision {
                        entry: path.to_string(),
                        other: place.spelling.clone(),
                    });
                }
                Some(place) => match place.kind {
                    Kind::Directory => {}
                    Kind::File => {
                        return Err(Refusal::BelowFile {
                            entry: path.to_string(),
                            file: above.to_owned(),
                        });
                    }
                    Kind::Link => {
                        return Err(Refusal::BehindLink {
                            entry: path.to_string(),
                            link: above.to_owned(),
                        });
                    }
                },
                None => self.add(above, key.to_owned(), Kind::Directory)?,
            }
        }
        match self.places.get(&folded) {
            None => self.add(text, folded, kind),
            Some(place) if place.spelling != text => Err(Refusal::Collision {
                entry: path.to_string(),
                other: place.spelling.clone(),
            }),
            Some(place) => match (place.kind, kind) {
                (Kind::Directory, Kind::Directory) => Ok(()),
                (Kind::Directory, _) | (_, Kind::Directory) => Err(Refusal::DirectoryToo {
                    entry: path.to_string(),
                }),
                _ => Err(Refusal::Duplicate {
                    entry: path.to_string(),
                }),
            },
        }
    }

    fn add(&mut self, path: &str, folded: String, kind: Kind) -> Result<(), Refusal> {
        if self.places.len() >= self.limits.entries {
            return Err(Refusal::TooMany {
                limit: self.limits.entries,
            });
        }
        if kind == Kind::Directory {
            let directory = self.directory.join(path);
            fs::create_dir(&directory)
                .and_then(|()| make_passable(&directory))
                .map_err(|source| Refusal::Write {
                    path: path.to_owned(),
                    source,
                })?;
        }
        if !path.contains('/') {
            self.top.insert(path.to_owned());
        }
        let place = Place {
            spelling: path.to_owned(),
            kind,
        };
        self.places.insert(folded, place);
        Ok(())
    }

    fn create(&self, path: &EntryPath) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(self.directory.join(path.as_str()))
    }
}

fn parse(path: &[u8]) -> Result<EntryPath, Refusal> {
    EntryPath::parse(path).map_err(|problem| Refusal::Path {
        entry: lossy(path),
        problem,
    })
}

/// A path or target for telling, of bearable length.
pub(super) fn lossy(path: &[u8]) -> String {
    const MOST: usize = 512;
    let text = String::from_utf8_lossy(path.get(..MOST).unwrap_or(path));
    if path.len() > MOST {
        format!("{text}…")
    } else {
        text.into_owned()
    }
}

/// The refusal for content that can be read no further.
fn unread(path: &EntryPath, error: io::Error) -> Refusal {
    Refusal::carried(error).unwrap_or_else(|source| Refusal::Read {
        entry: path.to_string(),
        source,
    })
}

fn below(left: LeftOut, root: &str) -> Option<LeftOut> {
    if root.is_empty() {
        return Some(left);
    }
    let path = left.path.strip_prefix(root)?.strip_prefix('/')?.to_owned();
    Some(LeftOut { path, ..left })
}

/// `0644` or `0755`, whatever the user's mask says: packages are passed on.
#[cfg(unix)]
fn set_mode(file: &File, executable: bool) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = if executable { 0o755 } else { 0o644 };
    file.set_permissions(fs::Permissions::from_mode(mode))
}

/// Elsewhere the tree alone tells what is executable.
#[cfg(not(unix))]
fn set_mode(_: &File, _: bool) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn make_passable(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_passable(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn make_link(target: &str, at: &Path, _: bool) -> io::Result<()> {
    std::os::unix::fs::symlink(target, at)
}

#[cfg(windows)]
fn make_link(target: &str, at: &Path, is_directory: bool) -> io::Result<()> {
    let target = target.replace('/', "\\");
    if is_directory {
        std::os::windows::fs::symlink_dir(target, at)
    } else {
        std::os::windows::fs::symlink_file(target, at)
    }
}
