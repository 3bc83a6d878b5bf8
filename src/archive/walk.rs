//! Directories as they are: every entry below one, no link followed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::Refusal;
use super::stage::lossy;

/// One entry below the directory.
#[derive(Debug)]
pub(super) struct Visit {
    /// The path from the directory, with `/` between its parts.
    pub(super) path: Vec<u8>,
    pub(super) on_disk: PathBuf,
    pub(super) found: Found,
}

#[derive(Debug)]
pub(super) enum Found {
    Directory,
    File(fs::Metadata),
    Link(Vec<u8>),
    /// What it is, with its article.
    Special(&'static str),
}

impl Visit {
    /// The path for telling.
    pub(super) fn name(&self) -> String {
        lossy(&self.path)
    }
}

/// Everything below `root`, which may itself be reached by a link; each directory
/// before what is in it, sorted; without what `skip` names and what lies below.
pub(super) fn walk_but(
    root: &Path,
    mut skip: impl FnMut(&Visit) -> bool,
) -> impl Iterator<Item = Result<Visit, Refusal>> {
    let root = root.to_owned();
    let mut entries = WalkDir::new(&root)
        .min_depth(1)
        .sort_by_file_name()
        .into_iter();
    std::iter::from_fn(move || {
        loop {
            let visit = match entries.next()? {
                Ok(entry) => visit(&root, &entry),
                Err(error) => {
                    let path = error.path().map(|path| relative(&root, path));
                    Err(Refusal::Read {
                        entry: lossy(&path.unwrap_or_default()),
                        source: error.into(),
                    })
                }
            };
            match visit {
                Ok(visit) if skip(&visit) => {
                    if matches!(visit.found, Found::Directory) {
                        entries.skip_current_dir();
                    }
                }
                visit => return Some(visit),
            }
        }
    })
}

fn visit(root: &Path, entry: &walkdir::DirEntry) -> Result<Visit, Refusal> {
    let path = relative(root, entry.path());
    let unread = |source| Refusal::Read {
        entry: lossy(&path),
        source,
    };
    let kind = entry.file_type();
    let found = if kind.is_dir() {
        Found::Directory
    } else if kind.is_symlink() {
        let target = fs::read_link(entry.path()).map_err(unread)?;
        let target = target.into_os_string().into_encoded_bytes();
        Found::Link(with_slashes(target))
    } else if kind.is_file() {
        let metadata = entry.metadata().map_err(|error| unread(error.into()))?;
        Found::File(metadata)
    } else {
        Found::Special(special(kind))
    };
    Ok(Visit {
        on_disk: entry.path().to_owned(),
        path,
        found,
    })
}

fn relative(root: &Path, path: &Path) -> Vec<u8> {
    let below = path.strip_prefix(root).unwrap_or(path);
    with_slashes(below.as_os_str().as_encoded_bytes().to_vec())
}

/// Windows separates by `\`; elsewhere that is a letter and stays.
fn with_slashes(mut path: Vec<u8>) -> Vec<u8> {
    if cfg!(windows) {
        for byte in &mut path {
            if *byte == b'\\' {
                *byte = b'/';
            }
        }
    }
    path
}

/// The noun for what is neither file, directory nor link.
fn special(kind: fs::FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return "a FIFO";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_block_device() || kind.is_char_device() {
            return "a device";
        }
    }
    let _ = kind;
    "neither a file, a directory nor a link"
}

/// Opens a regular file for reading. Should a link or a FIFO have taken its place
/// meanwhile, that is not followed or waited for.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    }
    options.open(path)
}

/// Whether the owner may run the file, which is what a repository records.
#[cfg(unix)]
pub(super) fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o100 != 0
}

/// Windows does not tell.
#[cfg(not(unix))]
pub(super) fn is_executable(_: &fs::Metadata) -> bool {
    false
}
