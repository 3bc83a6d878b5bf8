//! Reading one file or directory of a package, and naming places in a file.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

use crate::diagnostic::{Code, Diagnostic, LineIndex, Span};
use crate::document::Pointer;

/// Largest file that is read, in bytes. The specification sets no limit; this
/// guards the memory of whoever loads a package from a stranger.
pub(super) const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Why a file that resolves to a regular file inside the package is not read.
#[derive(Debug)]
pub(super) enum ReadError {
    /// More than [`MAX_BYTES`].
    TooLarge,
    /// The system refused.
    Io(io::Error),
}

/// Reads the regular file at the physical path `path`.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, ReadError> {
    let file = open(path).map_err(ReadError::Io)?;
    let metadata = file.metadata().map_err(ReadError::Io)?;
    if !metadata.is_file() {
        // It was replaced since it was resolved.
        return Err(ReadError::Io(io::Error::other("no longer a regular file")));
    }
    if metadata.len() > MAX_BYTES {
        return Err(ReadError::TooLarge);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
    // The file may grow while it is read.
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(ReadError::Io)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ReadError::TooLarge);
    }
    Ok(bytes)
}

/// Opens without following a final link and without waiting for a writer,
/// should a FIFO have taken the file's place.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    }
    options.open(path)
}

/// One entry of a directory.
pub(super) struct Entry {
    pub(super) name: OsString,
    pub(super) kind: fs::FileType,
}

/// The entries of a directory, by name.
pub(super) fn list(directory: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        entries.push(Entry {
            name: entry.file_name(),
            kind: entry.file_type()?,
        });
    }
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// A file of the package whose text findings refer to.
pub(super) struct Source<'t> {
    /// Path relative to the package, for display.
    pub(super) path: &'t str,
    bytes: &'t [u8],
    // Most files have no finding, and then no index is built.
    index: OnceCell<LineIndex<'t>>,
}

impl<'t> Source<'t> {
    pub(super) fn new(path: &'t str, bytes: &'t [u8]) -> Self {
        Self {
            path,
            bytes,
            index: OnceCell::new(),
        }
    }

    /// The lines of the text.
    pub(super) fn lines(&self) -> &LineIndex<'t> {
        self.index.get_or_init(|| LineIndex::new(self.bytes))
    }

    /// A finding about the bytes of `span`.
    pub(super) fn finding(
        &self,
        code: &'static Code,
        span: Span,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::new(code, self.path, message).at(self.lines().locate(span))
    }

    /// A finding about the value at `pointer`.
    pub(super) fn value_finding(
        &self,
        code: &'static Code,
        span: Span,
        pointer: &Pointer,
        message: impl Into<String>,
    ) -> Diagnostic {
        self.finding(code, span, message)
            .with_pointer(pointer.clone())
    }
}

/// The target of a symbolic link that a checkout without links wrote as a file:
/// such a file holds one relative path and nothing else.
pub(super) fn checked_out_link(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes)
        .ok()?
        .trim_end_matches(['\r', '\n']);
    let is_path = text.len() <= 4096
        && text.contains('/')
        && text.starts_with(|c: char| c == '.' || c.is_ascii_alphanumeric())
        && !text
            .contains(|c: char| c.is_whitespace() || c.is_control() || "{}[]\"',:#".contains(c));
    is_path.then_some(text)
}

/// What to say about a [`checked_out_link`].
pub(super) fn checked_out_link_message(target: &str) -> String {
    format!(
        "the file holds nothing but the path {}: a symbolic link that was checked out as a file",
        quoted(target)
    )
}

/// The way out of a [`checked_out_link`].
pub(super) const CHECKED_OUT_LINK_HELP: &str =
    "check it out where links work (git config core.symlinks true), or put the file itself there";

/// A value for a message: quoted, control characters escaped, at most 80
/// characters long.
pub(super) fn quoted(value: &str) -> String {
    const LONGEST: usize = 80;
    match value.char_indices().nth(LONGEST) {
        None => format!("{value:?}"),
        Some((cut, _)) => format!("{:?}…", value.get(..cut).unwrap_or_default()),
    }
}
