//! From a commit to a staged tree: blobs as they are, no checkout.

use git2::{ObjectType, Odb, Oid, Repository};

use super::super::Stop;
use super::error::Error;
use crate::archive::{EntryPath, LeftOutReason, Limits, Refusal, Stage};
use crate::spec::near::nearest;

/// What a file of Git LFS begins with in the repository (Git LFS, "Specification",
/// "The Pointer").
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";
/// No pointer is longer, in bytes.
const LFS_LONGEST: usize = 1024;
/// The longest target of a link that is read, in bytes.
const MAX_TARGET: usize = 4096;
/// The largest tree object that is read, in bytes.
const MAX_TREE: usize = 16 << 20;
/// How many names an error lists.
const LISTED: usize = 12;

/// Kinds of entries, as a tree object tells them: the high bits of the mode.
const KIND: i32 = 0o170_000;
const DIRECTORY: i32 = 0o040_000;
const FILE: i32 = 0o100_000;
const LINK: i32 = 0o120_000;
const SUBMODULE: i32 = 0o160_000;

/// An entry of a tree object.
struct Entry {
    name: Vec<u8>,
    kind: i32,
    executable: bool,
    id: Oid,
}

/// Puts what `commit` holds below `sub_path` on the stage.
pub(super) fn take_in(
    repository: &Repository,
    commit: Oid,
    sub_path: Option<&EntryPath>,
    stage: &mut Stage,
    stop: &Stop,
) -> Result<(), Error> {
    let odb = repository.odb()?;
    let limits = *stage.limits();
    let top = repository.find_commit(commit)?.tree_id();
    let root = match sub_path {
        Some(path) => find(repository, &odb, top, path)?,
        None => top,
    };
    stage.expect(files_below(repository, root, limits.entries));
    // A path, and the tree object that is there.
    let mut open = vec![(Vec::new(), root)];
    while let Some((directory, tree)) = open.pop() {
        for entry in entries(repository, &odb, &directory, tree)? {
            if stop.is_requested() {
                return Err(Error::Stopped);
            }
            let mut path = directory.clone();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(&entry.name);
            match entry.kind {
                DIRECTORY => {
                    stage.directory(&path)?;
                    open.push((path, entry.id));
                }
                FILE => file(&odb, &path, &entry, stage, &limits)?,
                LINK => {
                    let target = blob(&odb, &path, entry.id, MAX_TARGET as u64)?;
                    stage.link(&path, target.data())?;
                }
                SUBMODULE => stage.leave_out(&path, LeftOutReason::Submodule),
                kind => return Err(damaged(&path, format!("an entry of the kind {kind:o}"))),
            }
        }
    }
    Ok(())
}

/// How many files there are, for whoever waits; of more than `most`, no more are
/// counted. What is damaged is told when it is read.
fn files_below(repository: &Repository, root: Oid, most: usize) -> usize {
    let mut files = 0;
    let mut entries = 0;
    let mut open = vec![root];
    while let Some(tree) = open.pop().and_then(|id| repository.find_tree(id).ok()) {
        for entry in &tree {
            entries += 1;
            match entry.filemode_raw() & KIND {
                DIRECTORY => open.push(entry.id()),
                FILE => files += 1,
                _ => {}
            }
        }
        if entries > most {
            break;
        }
    }
    files
}

fn file(
    odb: &Odb<'_>,
    path: &[u8],
    entry: &Entry,
    stage: &mut Stage,
    limits: &Limits,
) -> Result<(), Error> {
    let object = blob(odb, path, entry.id, limits.file)?;
    let content = object.data();
    let mut reader = content;
    stage.file(path, entry.executable, &mut reader)?;
    if content.len() <= LFS_LONGEST && content.starts_with(LFS_POINTER) {
        stage.leave_out(path, LeftOutReason::LfsPointer);
    }
    Ok(())
}

/// Reads a blob after its size is known to be one that may be read.
fn blob<'o>(
    odb: &'o Odb<'_>,
    path: &[u8],
    id: Oid,
    limit: u64,
) -> Result<git2::OdbObject<'o>, Error> {
    let (size, kind) = odb.read_header(id)?;
    if kind != ObjectType::Blob {
        return Err(damaged(
            path,
            format!("it stands for a {kind} and not for a file"),
        ));
    }
    if size as u64 > limit {
        return Err(Error::Refused(Refusal::FileTooLarge {
            entry: shown(path),
            limit,
        }));
    }
    Ok(odb.read(id)?)
}

/// The entries of a tree object, those whose names git itself would not write
/// refused: they would be other paths than they seem.
fn entries(
    repository: &Repository,
    odb: &Odb<'_>,
    directory: &[u8],
    id: Oid,
) -> Result<Vec<Entry>, Error> {
    let (size, kind) = odb.read_header(id)?;
    if kind != ObjectType::Tree || size > MAX_TREE {
        let what = format!("it is a {kind} of {size} bytes");
        return Err(damaged(directory, what));
    }
    let tree = repository.find_tree(id)?;
    tree.iter()
        .map(|entry| {
            let name = entry.name_bytes();
            if name.is_empty() || name.contains(&b'/') || name == b"." {
                let what = format!("an entry is called {:?}", shown(name));
                return Err(damaged(directory, what));
            }
            let mode = entry.filemode_raw();
            Ok(Entry {
                name: name.to_owned(),
                kind: mode & KIND,
                executable: mode & 0o100 != 0,
                id: entry.id(),
            })
        })
        .collect()
}

/// The tree object at `path`, part by part, so that an error can say where the
/// path leads astray.
fn find(repository: &Repository, odb: &Odb<'_>, top: Oid, path: &EntryPath) -> Result<Oid, Error> {
    let mut at = top;
    let mut above = String::new();
    for part in path.parts() {
        let here = entries(repository, odb, above.as_bytes(), at)?;
        let so_far = if above.is_empty() {
            part.to_owned()
        } else {
            format!("{above}/{part}")
        };
        let Some(entry) = here.iter().find(|entry| entry.name == part.as_bytes()) else {
            return Err(missing(path, above, part, &here));
        };
        at = match entry.kind {
            DIRECTORY => entry.id,
            SUBMODULE => return Err(Error::Submodule { path: so_far }),
            LINK => {
                let target = blob(odb, so_far.as_bytes(), entry.id, MAX_TARGET as u64)?;
                let kind = format!("link to {:?}", shown(target.data()));
                return Err(Error::NotADirectory { path: so_far, kind });
            }
            _ => {
                let kind = "file".to_owned();
                return Err(Error::NotADirectory { path: so_far, kind });
            }
        };
        above = so_far;
    }
    Ok(at)
}

fn missing(path: &EntryPath, above: String, part: &str, here: &[Entry]) -> Error {
    let names: Vec<&str> = here
        .iter()
        .filter(|entry| entry.kind == DIRECTORY)
        .filter_map(|entry| str::from_utf8(&entry.name).ok())
        .filter(|name| !name.contains(char::is_control))
        .collect();
    let mut there: Vec<String> = names
        .iter()
        .take(LISTED)
        .map(|&name| name.to_owned())
        .collect();
    if names.len() > LISTED {
        there.push("…".to_owned());
    }
    Error::NoDirectory {
        path: path.to_string(),
        near: nearest(part, names).map(str::to_owned),
        above,
        there,
    }
}

fn damaged(path: &[u8], what: String) -> Error {
    Error::Tree {
        path: shown(path),
        what,
    }
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
