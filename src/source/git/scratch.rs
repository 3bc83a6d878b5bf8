//! Where the objects of a server come to, until they are read.
//!
//! It goes away with the value. What a process that was killed has left is known by
//! the lock that nobody holds any more, and goes away with the next fetch.

use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;

use crate::sys;

/// What its name begins with.
const PREFIX: &str = "apkit-git-";
/// The file in it that is locked while it is in use.
const ALIVE: &str = "apkit.alive";

/// A directory of its own for one fetch.
pub(super) struct Scratch {
    // Let go before the directory is removed: Windows removes no open file.
    _alive: sys::Lock,
    directory: TempDir,
}

impl Scratch {
    /// Makes one in `place`, and removes those that nobody uses any more.
    pub(super) fn new(place: &Path) -> io::Result<Self> {
        sweep(place);
        for _ in 0..10 {
            let directory = builder().tempdir_in(place)?;
            // Whoever sweeps meanwhile may have been quicker.
            if let Some(alive) = sys::try_lock(&directory.path().join(ALIVE))? {
                return Ok(Self {
                    _alive: alive,
                    directory,
                });
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// The directory.
    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }
}

fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o700));
    }
    builder
}

/// Nothing depends on it, so what cannot be removed stays: it may be another user's.
fn sweep(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else {
        return;
    };
    for entry in entries.flatten() {
        let is_one = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.file_type().is_ok_and(|kind| kind.is_dir());
        let alive = entry.path().join(ALIVE);
        if is_one
            && alive.symlink_metadata().is_ok_and(|alive| alive.is_file())
            && let Ok(Some(lock)) = sys::try_lock(&alive)
        {
            let _ = fs::remove_dir_all(entry.path());
            drop(lock);
            if cfg!(windows) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_uses_goes_and_the_rest_stays() -> io::Result<()> {
        let place = tempfile::tempdir()?;
        let dead = place.path().join("apkit-git-dead");
        fs::create_dir_all(dead.join("objects"))?;
        fs::write(dead.join(ALIVE), "")?;
        let others = place.path().join("apkit-git-others");
        fs::create_dir(&others)?;
        let used = Scratch::new(place.path())?;
        assert!(!dead.exists() && others.exists());
        let second = Scratch::new(place.path())?;
        assert!(used.path().exists() && second.path() != used.path());
        drop((used, second));
        assert_eq!(fs::read_dir(place.path())?.count(), 1);
        Ok(())
    }
}
