//! Files that a stranger may have put there, read as far as is sensible.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::open_regular;

/// What is in the regular file `path`, which links may lead to: nothing is waited
/// for (a FIFO), and nothing without an end is read (a device, a file that grows).
///
/// # Errors
///
/// When it cannot be read, is no regular file, or holds more than `most` bytes.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read(open_regular(path)?, most)
}

/// As [`read_regular`], but a link in the place of the file is refused.
///
/// # Errors
///
/// As for [`read_regular`], and for a link.
pub fn read_unlinked(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    if path.symlink_metadata()?.is_symlink() {
        return Err(io::Error::other("it is a link, and none is followed here"));
    }
    read_regular(path, most)
}

fn read(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One more than allowed tells that there is more.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let problem = format!("it has more than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_as_is_allowed_and_no_more() -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("file");
        std::fs::write(&path, "four")?;
        assert_eq!(read_regular(&path, 4)?, b"four");
        let error = read_regular(&path, 3).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("it has more than 3 bytes"));
        assert!(read_regular(directory.path(), 3).is_err());
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn what_has_no_end_is_not_read() -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link)?;
        let error = read_regular(&link, 10).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("it is no regular file"));
        std::fs::remove_file(&link)?;
        std::fs::write(directory.path().join("file"), "x")?;
        std::os::unix::fs::symlink("file", &link)?;
        assert_eq!(read_regular(&link, 10)?, b"x");
        assert!(read_unlinked(&link, 10).is_err());
        Ok(())
    }
}
