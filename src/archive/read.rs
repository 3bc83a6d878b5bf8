//! Archives in: which format, and where the package starts.

mod gzip;
mod tarball;
mod zipped;

use std::io::{self, Read, Seek, SeekFrom};

use super::{EntryPath, Refusal, Stage};

/// The formats that are read, told by their content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A gzip-compressed tar archive, as npm makes them.
    TarGz,
    /// A zip archive.
    Zip,
}

impl Format {
    /// The format of what begins like this; four bytes are enough.
    #[must_use]
    pub fn of(start: &[u8]) -> Option<Self> {
        if start.starts_with(b"\x1f\x8b") {
            Some(Self::TarGz)
        } else if start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06") {
            Some(Self::Zip)
        } else {
            None
        }
    }
}

/// Takes every entry of the archive into the stage, or refuses it as a whole.
///
/// # Errors
///
/// When the archive is damaged, is of another format, contradicts itself, or
/// holds an entry that the stage refuses.
pub fn unpack(file: &mut (impl Read + Seek), stage: &mut Stage) -> Result<(), Refusal> {
    let format = format_of(file).map_err(unread)?;
    match format.ok_or(Refusal::NotAnArchive)? {
        Format::TarGz => tarball::unpack(file, stage),
        Format::Zip => zipped::unpack(file, stage),
    }
}

fn format_of(file: &mut (impl Read + Seek)) -> io::Result<Option<Format>> {
    file.seek(SeekFrom::Start(0))?;
    let mut start = Vec::new();
    file.by_ref().take(4).read_to_end(&mut start)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(Format::of(&start))
}

/// What the finder of macOS puts beside what it packs.
const BESIDE: &str = "__MACOSX";

/// Where the package starts in what was unpacked: at the top, or in the one
/// directory there when nothing else is (`package/` of npm, `repo-main/` of a
/// download); from there, at `sub_path`, which may also begin with that directory.
///
/// # Errors
///
/// When nothing was unpacked, or `sub_path` names no directory.
pub fn root_of(stage: &Stage, sub_path: Option<&str>) -> Result<String, Refusal> {
    let top = top_of(stage)?;
    let Some(sub_path) = sub_path else {
        return Ok(top.to_owned());
    };
    let refused = |problem| Refusal::Path {
        entry: sub_path.to_owned(),
        problem,
    };
    let sub_path = EntryPath::parse(sub_path.as_bytes()).map_err(refused)?;
    let below_top = if top.is_empty() {
        sub_path.to_string()
    } else {
        format!("{top}/{sub_path}")
    };
    [below_top, sub_path.to_string()]
        .into_iter()
        .find(|root| stage.has_directory(root))
        .ok_or_else(|| stage.no_directory(top, &sub_path))
}

/// The one directory that holds all of what was unpacked; empty if there is none.
fn top_of(stage: &Stage) -> Result<&str, Refusal> {
    let mut names = stage.top_level().filter(|name| *name != BESIDE);
    let first = names.next().ok_or(Refusal::Empty)?;
    let is_one = names.next().is_none() && stage.has_directory(first);
    Ok(if is_one { first } else { "" })
}

/// What [`root_of`] gives, counted from below the one directory that holds all: the
/// same for both spellings of a `sub_path`. Nothing if the package is all there is.
pub fn below_top(stage: &Stage, root: &str) -> Option<EntryPath> {
    let top = top_of(stage).ok()?;
    let below = root.strip_prefix(top)?.trim_start_matches('/');
    EntryPath::parse(below.as_bytes()).ok()
}

/// The refusal for an archive that can be read no further: what the decoders say
/// is damage, what the system says is not.
fn unread(error: io::Error) -> Refusal {
    let error = match Refusal::carried(error) {
        Ok(refusal) => return refusal,
        Err(error) => error,
    };
    if error.raw_os_error().is_some() {
        return Refusal::Read {
            entry: "the archive".to_owned(),
            source: error,
        };
    }
    gzip::damaged(&error)
}
