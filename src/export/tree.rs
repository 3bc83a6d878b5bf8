//! The input of a plan: a directory's files, read once.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::apply::RECEIPT;
use super::loss::{Loss, LossKind};

/// A regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Content.
    pub bytes: Vec<u8>,
    /// Whether it is a program.
    pub executable: bool,
}

/// Every file below a directory, by its relative, `/`-separated path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// The files.
    pub files: BTreeMap<String, File>,
    /// What of the directory is not among them, and why.
    pub losses: Vec<Loss>,
}

/// Most files, and most bytes in them, that one export takes.
const MAX_FILES: usize = 50_000;
const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// What is nobody's content: version control and what desktops leave behind.
const RUBBISH: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    ".DS_Store",
    "Thumbs.db",
    "desktop.ini",
];

/// Why a directory was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file system refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
    /// More than one export takes.
    #[error("there are more than {MAX_FILES} files or {} MiB", MAX_BYTES / 1024 / 1024)]
    TooLarge,
}

impl Tree {
    /// Reads the directory `root`. Links to places inside it are followed, all
    /// others are losses; what an earlier export added for itself is passed over.
    ///
    /// # Errors
    ///
    /// When something cannot be read, or there is too much of it.
    pub fn read(root: &Path) -> Result<Self, ReadError> {
        let physical = root.canonicalize().map_err(|error| failed(root, error))?;
        let mut reader = Reader {
            root: &physical,
            tree: Self::default(),
            bytes: 0,
            open: vec![physical.clone()],
        };
        reader.directory(&physical, "")?;
        reader.tree.files.remove(RECEIPT);
        Ok(reader.tree)
    }

    /// Whether any file lies below the directory `path`.
    pub(super) fn has_directory(&self, path: &str) -> bool {
        self.below(path).next().is_some()
    }

    /// The files below the directory `path` (all of them if it is empty), with
    /// their paths from there.
    pub(super) fn below<'t>(&'t self, path: &str) -> impl Iterator<Item = (&'t str, &'t File)> {
        let prefix = match path {
            "" => String::new(),
            path => format!("{path}/"),
        };
        let from = prefix.clone();
        self.files
            .range(from..)
            .map_while(move |(path, file)| Some((path.strip_prefix(&prefix)?, file)))
    }
}

fn failed(path: &Path, error: io::Error) -> ReadError {
    ReadError::Io {
        path: path.to_owned(),
        error,
    }
}

struct Reader<'r> {
    root: &'r Path,
    tree: Tree,
    bytes: u64,
    /// The physical directories that are being read, so that no link leads
    /// round in circles.
    open: Vec<PathBuf>,
}

impl Reader<'_> {
    fn directory(&mut self, directory: &Path, prefix: &str) -> Result<(), ReadError> {
        let entries = fs::read_dir(directory).map_err(|error| failed(directory, error))?;
        let mut names = Vec::new();
        for entry in entries {
            names.push(entry.map_err(|error| failed(directory, error))?.file_name());
        }
        names.sort_unstable();
        for name in names {
            let place = directory.join(&name);
            let Some(name) = name.to_str().filter(|name| !name.contains('\\')) else {
                let shown = format!(
                    "{prefix}{}",
                    place.file_name().unwrap_or_default().to_string_lossy()
                );
                self.leave_out(
                    LossKind::FileLeftOut,
                    &shown,
                    "its name cannot be written on every system",
                );
                continue;
            };
            if RUBBISH.contains(&name) {
                continue;
            }
            let path = format!("{prefix}{name}");
            let metadata = fs::symlink_metadata(&place).map_err(|error| failed(&place, error))?;
            if !metadata.file_type().is_symlink() {
                self.entry(&place, path, &metadata)?;
                continue;
            }
            match place.canonicalize() {
                Ok(target) if target.starts_with(self.root) && !self.open.contains(&target) => {
                    let metadata = fs::metadata(&target).map_err(|error| failed(&target, error))?;
                    self.entry(&target, path, &metadata)?;
                }
                Ok(target) if target.starts_with(self.root) => {
                    self.leave_out(
                        LossKind::LinkLeftOut,
                        &path,
                        "the link leads to a directory that it lies in",
                    );
                }
                Ok(_) => self.leave_out(
                    LossKind::LinkLeftOut,
                    &path,
                    "the link leads out of the source",
                ),
                Err(_) => self.leave_out(LossKind::LinkLeftOut, &path, "the link leads to nothing"),
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        place: &Path,
        path: String,
        metadata: &fs::Metadata,
    ) -> Result<(), ReadError> {
        if metadata.is_dir() {
            self.open.push(place.to_owned());
            self.directory(place, &format!("{path}/"))?;
            self.open.pop();
            return Ok(());
        }
        if !metadata.is_file() {
            self.leave_out(LossKind::FileLeftOut, &path, "it is no regular file");
            return Ok(());
        }
        self.bytes += metadata.len();
        if self.bytes > MAX_BYTES || self.tree.files.len() >= MAX_FILES {
            return Err(ReadError::TooLarge);
        }
        let bytes = fs::read(place).map_err(|error| failed(place, error))?;
        let executable = is_executable(metadata);
        self.tree.files.insert(path, File { bytes, executable });
        Ok(())
    }

    fn leave_out(&mut self, kind: LossKind, path: &str, why: &str) {
        self.tree.losses.push(Loss::new(kind, path, path, why));
    }
}

fn is_executable(metadata: &fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        metadata.permissions().mode() & 0o111 != 0
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}
