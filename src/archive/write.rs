//! Archives out, the same bytes for the same items on any machine.

use std::io::{self, Cursor, Write};

use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, System, ZipWriter};

use super::EntryPath;

/// The level both formats are written at. Another would give other bytes.
const LEVEL: u32 = 9;

/// One file or link to be written.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// Its path inside the package.
    pub path: &'a str,
    /// Whether it may be run.
    pub executable: bool,
    /// What it holds.
    pub content: Content<'a>,
}

/// What an [`Item`] holds.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// A file of these bytes.
    Bytes(&'a [u8]),
    /// A symbolic link to this path.
    Link(&'a str),
}

impl Item<'_> {
    fn mode(&self) -> u32 {
        match self.content {
            Content::Link(_) => 0o777,
            Content::Bytes(_) if self.executable => 0o755,
            Content::Bytes(_) => 0o644,
        }
    }
}

/// Writes the items as a gzip-compressed tar archive, each below the directory
/// `prefix` (`""` for none). They are sorted; `mtime`, in seconds since 1970, is
/// the time of each.
///
/// # Errors
///
/// When a path is none that [`super::unpack`] takes, is there twice, or `to`
/// takes no more.
pub fn tgz(items: &mut [Item<'_>], prefix: &str, mtime: u64, to: impl Write) -> io::Result<()> {
    let gzip = GzBuilder::new()
        .mtime(u32::try_from(mtime).unwrap_or(0))
        // "Unknown": the field would tell the system it was made on.
        .operating_system(255)
        .write(to, Compression::new(LEVEL));
    let mut archive = tar::Builder::new(gzip);
    for (path, item) in sorted(items, prefix)? {
        append(&mut archive, &path, item, mtime)?;
    }
    archive.into_inner()?.finish()?.flush()
}

fn append(
    archive: &mut tar::Builder<impl Write>,
    path: &EntryPath,
    item: &Item<'_>,
    mtime: u64,
) -> io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_mode(item.mode());
    header.set_mtime(mtime);
    header.set_uid(0);
    header.set_gid(0);
    let mut extension = Vec::new();
    if header.set_path(path.as_str()).is_err() {
        record(&mut extension, "path", path.as_str());
        header.set_path(SHORT)?;
    }
    let content = match item.content {
        Content::Bytes(bytes) => {
            header.set_entry_type(EntryType::Regular);
            bytes
        }
        Content::Link(target) => {
            header.set_entry_type(EntryType::Symlink);
            if header.set_link_name_literal(target).is_err() {
                record(&mut extension, "linkpath", target);
                header.set_link_name_literal(SHORT)?;
            }
            &[]
        }
    };
    if !extension.is_empty() {
        let mut before = Header::new_ustar();
        before.set_entry_type(EntryType::XHeader);
        before.set_path(SHORT)?;
        before.set_mode(0o644);
        before.set_mtime(mtime);
        before.set_uid(0);
        before.set_gid(0);
        before.set_size(extension.len() as u64);
        before.set_cksum();
        archive.append(&before, extension.as_slice())?;
    }
    header.set_size(content.len() as u64);
    header.set_cksum();
    archive.append(&header, content)
}

/// Stands where a name is too long for the header.
const SHORT: &str = "long-name";

/// Adds `length key=value\n`, whose length counts itself.
fn record(to: &mut Vec<u8>, key: &str, value: &str) {
    let rest = format!(" {key}={value}\n");
    let mut length = rest.len();
    while length != rest.len() + length.to_string().len() {
        length = rest.len() + length.to_string().len();
    }
    to.extend(format!("{length}{rest}").into_bytes());
}

/// Writes the items as a zip archive, as [`tgz`] does.
///
/// # Errors
///
/// As for [`tgz`].
pub fn zip(items: &mut [Item<'_>], prefix: &str, mtime: u64, mut to: impl Write) -> io::Result<()> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, item) in sorted(items, prefix)? {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(LEVEL.into()))
            .last_modified_time(time_of(mtime))
            .system(System::Unix)
            .unix_permissions(item.mode());
        match item.content {
            Content::Bytes(bytes) => {
                archive.start_file(&path, options)?;
                archive.write_all(bytes)?;
            }
            Content::Link(target) => archive.add_symlink(&path, target, options)?,
        }
    }
    to.write_all(archive.finish()?.get_ref())?;
    to.flush()
}

/// The items in the order of their paths, which are checked.
fn sorted<'i, 'a>(
    items: &'i mut [Item<'a>],
    prefix: &str,
) -> io::Result<Vec<(EntryPath, &'i Item<'a>)>> {
    let prefix = prefix.trim_end_matches('/');
    items.sort_unstable_by(|one, other| one.path.cmp(other.path));
    let mut sorted: Vec<(EntryPath, &Item<'_>)> = Vec::new();
    for item in items.iter() {
        let refused = |why: String| {
            let message = format!("the path {:?} {why}", item.path);
            io::Error::new(io::ErrorKind::InvalidInput, message)
        };
        let path = if prefix.is_empty() {
            EntryPath::parse(item.path.as_bytes())
        } else {
            EntryPath::parse(prefix.as_bytes()).and_then(|prefix| prefix.join(item.path))
        };
        let path = path.map_err(|problem| refused(problem.to_string()))?;
        if sorted.last().is_some_and(|(last, _)| *last == path) {
            return Err(refused("is there twice".to_owned()));
        }
        sorted.push((path, item));
    }
    Ok(sorted)
}

/// The time as zip archives tell it: without a zone (it is UTC), in steps of two
/// seconds, between 1980 and 2107.
fn time_of(mtime: u64) -> DateTime {
    const DAY: u64 = 24 * 60 * 60;
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let (mut days, seconds) = (mtime / DAY, mtime % DAY);
    let mut year = 1970;
    while year < 2108 {
        let length = if is_leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let found = (|| {
        DateTime::from_date_and_time(
            u16::try_from(year).ok()?,
            month,
            u8::try_from(days + 1).ok()?,
            u8::try_from(seconds / 3600).ok()?,
            u8::try_from(seconds / 60 % 60).ok()?,
            u8::try_from(seconds % 60).ok()?,
        )
        .ok()
    })();
    found.unwrap_or_default()
}
