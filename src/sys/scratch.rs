//! Temporary directories that a process may leave behind only until the next one.
//!
//! One goes away with its value. What a process that was killed has left is known by
//! the lock that nobody holds any more, and goes away when the next one is made.

use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;

use super::{Lock, is_own, is_private, try_lock};

/// What its name begins with.
const PREFIX: &str = "apkit-";
/// The file in it that is locked while it is in use.
const ALIVE: &str = "apkit.alive";

/// A temporary directory that only the user can look into. It goes away with the value.
#[derive(Debug)]
pub struct Scratch {
    // Let go before the directory is removed: Windows removes no open file.
    _alive: Lock,
    directory: TempDir,
}

impl Scratch {
    /// Makes one in `place`, and removes those of this user that nobody uses any more.
    ///
    /// # Errors
    ///
    /// Fails when none can be made there.
    pub fn new(place: &Path) -> io::Result<Self> {
        sweep(place);
        for _ in 0..10 {
            let directory = builder().tempdir_in(place)?;
            match try_lock(&directory.path().join(ALIVE)) {
                Ok(Some(alive)) => {
                    return Ok(Self {
                        _alive: alive,
                        directory,
                    });
                }
                // Whoever sweeps meanwhile was quicker.
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// The directory.
    pub fn path(&self) -> &Path {
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

/// Nothing depends on it, so what cannot be removed stays.
fn sweep(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let alive = path.join(ALIVE);
        if entry.file_name().to_string_lossy().starts_with(PREFIX)
            && is_of_this_user(&path)
            && alive.symlink_metadata().is_ok_and(|alive| alive.is_file())
            && let Ok(Some(lock)) = try_lock(&alive)
        {
            let _ = fs::remove_dir_all(&path);
            drop(lock);
            if cfg!(windows) {
                let _ = fs::remove_dir_all(&path);
            }
        }
    }
}

/// Whether it is a directory that this user made and nobody else can write to. In what
/// another one made, all may change between two looks.
fn is_of_this_user(path: &Path) -> bool {
    let found = path.symlink_metadata();
    found.is_ok_and(|found| found.is_dir() && is_own(&found) && is_private(&found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(place: &Path, name: &str) -> io::Result<std::path::PathBuf> {
        let path = place.join(name);
        crate::sys::make_private_dir(&path)?;
        fs::create_dir(path.join("objects"))?;
        fs::write(path.join(ALIVE), "")?;
        Ok(path)
    }

    #[test]
    fn what_nobody_uses_goes_and_the_rest_stays() -> io::Result<()> {
        let place = tempfile::tempdir()?;
        let dead = left(place.path(), "apkit-dead")?;
        let others = place.path().join("apkit-others");
        fs::create_dir(&others)?;
        let used = Scratch::new(place.path())?;
        assert!(!dead.exists() && others.exists());
        let second = Scratch::new(place.path())?;
        assert!(used.path().exists() && second.path() != used.path());
        drop((used, second));
        assert_eq!(fs::read_dir(place.path())?.count(), 1);
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn what_somebody_else_may_have_laid_there_stays() -> io::Result<()> {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let place = tempfile::tempdir()?;
        let open = left(place.path(), "apkit-open")?;
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777))?;
        let elsewhere = left(place.path(), "elsewhere")?;
        let link = place.path().join("apkit-link");
        symlink(&elsewhere, &link)?;
        let linked = left(place.path(), "apkit-linked")?;
        fs::remove_file(linked.join(ALIVE))?;
        symlink(elsewhere.join(ALIVE), linked.join(ALIVE))?;
        drop(Scratch::new(place.path())?);
        for path in [open, elsewhere.join("objects"), link, linked] {
            assert!(path.exists(), "{}", path.display());
        }
        Ok(())
    }
}
