//! Where a fetch puts what it brings, until that is swapped in.
//!
//! Fetches run side by side, so each has a directory of its own, and beside it a
//! file that it holds locked while it lives. What is not locked is left over from
//! a process that died, and goes away with the next change.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Error;
use super::layout::Layout;
use crate::sys;

/// A staging directory. It goes away with the value, and so does a store that was
/// made for it and in which nothing was installed.
#[derive(Debug)]
pub(super) struct Staging {
    layout: Layout,
    /// Directories of the store that were not there.
    made: Vec<PathBuf>,
    /// Its name below `staging/`.
    pub(super) id: String,
    path: PathBuf,
    alive: PathBuf,
    lock: Option<sys::Lock>,
}

impl Staging {
    /// Makes one.
    pub(super) fn create(layout: &Layout) -> Result<Self, Error> {
        let mut made = layout.create()?;
        let directory = layout.staging();
        for attempt in 0_u32..1000 {
            let id = format!("{}-{attempt}", std::process::id());
            let alive = directory.join(format!("{id}.alive"));
            let path = directory.join(&id);
            let lock = match sys::try_lock(&alive) {
                Ok(Some(lock)) => lock,
                Ok(None) => continue,
                // Whoever made the store has just removed it again.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    made = layout.create()?;
                    continue;
                }
                Err(error) => return Err(Error::io("make", &alive, error)),
            };
            match fs::create_dir(&path) {
                Ok(()) => {
                    return Ok(Self {
                        layout: layout.clone(),
                        made,
                        id,
                        path,
                        alive,
                        lock: Some(lock),
                    });
                }
                // Of a process with our number that died.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let _ = fs::remove_file(&alive);
                    return Err(Error::io("make", &path, error));
                }
            }
        }
        Err(Error::io(
            "make a directory in",
            &directory,
            io::ErrorKind::AlreadyExists.into(),
        ))
    }

    /// Where to fetch to; not there yet.
    pub(super) fn fetched(&self) -> PathBuf {
        self.path.join("fetched")
    }

    /// The directory itself.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Nothing better can be done about it here; the next change tidies up.
        let _ = remove_all(&self.path);
        // Windows removes no open file; elsewhere the order does not matter.
        self.lock = None;
        let _ = fs::remove_file(&self.alive);
        self.layout.remove_unused(&self.made);
    }
}

/// Whether a name is one that [`Staging::create`] gives.
pub(super) fn is_id(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    name.split_once('-')
        .is_some_and(|(process, attempt)| is_number(process) && is_number(attempt))
}

/// Removes what dead processes left in `staging/`. The caller holds the writer's
/// lock and has made their changes good.
pub(super) fn sweep(layout: &Layout) {
    let directory = layout.staging();
    let Ok(entries) = fs::read_dir(&directory) else {
        return;
    };
    let mut ids: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .map(|name| name.strip_suffix(".alive").unwrap_or(&name).to_owned())
        .filter(|name| is_id(name))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    for id in ids {
        let alive = directory.join(format!("{id}.alive"));
        if let Ok(Some(lock)) = sys::try_lock(&alive) {
            let _ = remove_all(&directory.join(&id));
            drop(lock);
            let _ = fs::remove_file(&alive);
        }
    }
}

/// Removes a file, link or directory with what is in it, also directories whose
/// mode forbids it.
pub(super) fn remove_all(path: &Path) -> io::Result<()> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !metadata.is_dir() {
        return fs::remove_file(path);
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(path)?;
            fs::remove_dir_all(path)
        }
        done => done,
    }
}

fn make_writable(directory: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    }
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}
