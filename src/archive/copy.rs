//! A directory as a source.

use std::cell::RefCell;
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::walk::{self, Found, Visit};
use super::{Digest, LeftOutReason, Limits, Node, Refusal, Stage, Tree};

/// What every store of ours holds.
const STORE: &str = ".apkit";

/// Takes everything below the directory `from` into the stage. No link is
/// followed; `.git` and stores of ours are left out and named wherever they lie; the stage's own
/// directory, should it lie below `from`, is passed over.
///
/// # Errors
///
/// When an entry is refused or cannot be read, both with its name, and when
/// something changed meanwhile, so that the copy could be of no one moment.
pub fn copy_directory(from: &Path, stage: &mut Stage) -> Result<(), Refusal> {
    let own = fs::canonicalize(stage.path()).ok();
    let left_out = RefCell::new(Vec::new());
    let skip = |visit: &Visit| {
        if is_git(visit) {
            let found = (visit.path.clone(), LeftOutReason::GitDirectory);
            left_out.borrow_mut().push(found);
            return true;
        }
        if let Some(name) = of_store(visit) {
            if name == STORE {
                let found = (visit.path.clone(), LeftOutReason::Store);
                left_out.borrow_mut().push(found);
            }
            return true;
        }
        matches!(visit.found, Found::Directory)
            && own.is_some()
            && fs::canonicalize(&visit.on_disk).ok() == own
    };
    stage.expect(files_below(from));
    let mut directories = vec![Seen::at(from, Vec::new())?];
    for visit in walk::walk_but(from, skip) {
        let visit = visit.map_err(gone)?;
        match &visit.found {
            Found::Directory => {
                stage.directory(&visit.path)?;
                directories.push(Seen::at(&visit.on_disk, visit.path)?);
            }
            Found::Link(target) => stage.link(&visit.path, target)?,
            Found::Special(kind) => {
                return Err(Refusal::Kind {
                    entry: visit.name(),
                    kind,
                });
            }
            Found::File(metadata) => copy_file(&visit, metadata, stage)?,
        }
    }
    for (path, reason) in left_out.into_inner() {
        stage.leave_out(&path, reason);
    }
    directories.iter().try_for_each(Seen::check)
}

/// The digest of what [`copy_directory`] would take from the directory `root`.
/// Nothing if that cannot be told without copying it: it holds a link, which may be
/// left out, or something that is refused.
pub fn digest_of_copy(root: &Path, limits: &Limits) -> Option<Digest> {
    let skip = |visit: &Visit| is_git(visit) || of_store(visit).is_some();
    let tree = Tree::of_directory_but(root, limits, skip).ok()?;
    let is_link = |node: &Node| matches!(node, Node::Link { .. });
    (!tree.entries.values().any(is_link)).then(|| tree.digest())
}

/// Whether it is what git keeps in a working directory.
fn is_git(visit: &Visit) -> bool {
    visit.path.rsplit(|&byte| byte == b'/').next() == Some(b".git")
}

/// About how many files there are to copy, for whoever waits. What cannot be read
/// is told when it is copied.
fn files_below(from: &Path) -> usize {
    let mut files = 0;
    let mut open = vec![from.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && entry.file_name() != ".git" => open.push(entry.path()),
                Ok(kind) if kind.is_file() => files += 1,
                _ => {}
            }
        }
    }
    files
}

/// The name of an entry that belongs to a store of ours: were it copied, a project
/// that is a package would be another one after each import into it.
fn of_store(visit: &Visit) -> Option<&'static str> {
    let name = visit.path.rsplit(|&byte| byte == b'/').next()?;
    let known = [STORE, "apkit.lock", "plugins", "plugin-data"];
    let name = known.into_iter().find(|known| known.as_bytes() == name)?;
    let store = visit.on_disk.with_file_name(STORE);
    store.symlink_metadata().ok()?.is_dir().then_some(name)
}

/// A directory and when it was last changed: an entry that came or went shows.
struct Seen {
    path: Vec<u8>,
    on_disk: PathBuf,
    modified: Option<SystemTime>,
}

impl Seen {
    fn at(on_disk: &Path, path: Vec<u8>) -> Result<Self, Refusal> {
        let modified = modified(on_disk).map_err(|source| Refusal::Read {
            entry: super::stage::lossy(&path),
            source,
        })?;
        Ok(Self {
            path,
            on_disk: on_disk.to_owned(),
            modified,
        })
    }

    fn check(&self) -> Result<(), Refusal> {
        match modified(&self.on_disk) {
            Ok(modified) if modified == self.modified => Ok(()),
            _ => Err(Refusal::Changed {
                path: super::stage::lossy(&self.path),
            }),
        }
    }
}

fn modified(directory: &Path) -> io::Result<Option<SystemTime>> {
    Ok(fs::metadata(directory)?.modified().ok())
}

/// What was listed and is not there any more was removed meanwhile.
fn gone(refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Read { entry, source } if source.kind() == io::ErrorKind::NotFound => {
            Refusal::Changed { path: entry }
        }
        other => other,
    }
}

fn copy_file(visit: &Visit, listed: &Metadata, stage: &mut Stage) -> Result<(), Refusal> {
    let changed = || Refusal::Changed { path: visit.name() };
    let unread = |source: io::Error| {
        gone(Refusal::Read {
            entry: visit.name(),
            source,
        })
    };
    let file = walk::open(&visit.on_disk).map_err(unread)?;
    let opened = file.metadata().map_err(unread)?;
    if !is_same(listed, &opened) {
        return Err(changed());
    }
    // One byte more than there was tells that it grew; all that comes is no use.
    let mut content = file.take(opened.len().saturating_add(1));
    stage.file(&visit.path, walk::is_executable(&opened), &mut content)?;
    let is_whole = content.limit() == 1;
    let after = content.into_inner().metadata().map_err(unread)?;
    if !is_whole || !is_same(&opened, &after) {
        return Err(changed());
    }
    Ok(())
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if (one.dev(), one.ino(), one.mode()) != (other.dev(), other.ino(), other.mode()) {
            return false;
        }
    }
    other.is_file() && one.len() == other.len() && one.modified().ok() == other.modified().ok()
}
