//! Builds the package of a case in a temporary directory.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::case::{Case, Feature, decode_path, parse_mode};

/// A temporary directory that can hold packages, and what it can hold.
pub(super) struct Stage {
    directory: tempfile::TempDir,
    offered: BTreeSet<Feature>,
}

impl Stage {
    /// `non_root` says whether the program will run without root's rights.
    pub(super) fn new(non_root: bool) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        // The program may run as another user than the test.
        set_mode(directory.path(), 0o755).expect("the mode of an own directory");
        let probe = directory.path().join("probe");
        fs::create_dir(&probe).expect("a directory");
        let mut offered = BTreeSet::new();
        let mut offer = |feature, fine: bool| {
            if fine {
                offered.insert(feature);
            }
        };
        offer(Feature::NonRoot, non_root);
        offer(Feature::Modes, cfg!(unix));
        offer(
            Feature::Symlinks,
            symlink(Path::new("x"), &probe.join("link")).is_ok(),
        );
        offer(Feature::Fifo, make_fifo(&probe.join("fifo")).is_ok());
        let odd = decode_path("odd%FF").map(|name| fs::write(probe.join(name), ""));
        offer(Feature::NonUtf8Names, matches!(odd, Some(Ok(()))));
        fs::write(probe.join("case"), "").expect("a file");
        offer(Feature::CaseSensitive, !probe.join("CASE").exists());
        fs::remove_dir_all(&probe).expect("an own directory");
        Self { directory, offered }
    }

    /// Where everything is built.
    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// What the case needs and this machine does not offer.
    pub(super) fn lacks(&self, case: &Case) -> Vec<Feature> {
        case.needs().difference(&self.offered).copied().collect()
    }

    /// Builds the case and tells what to give to `apkit validate`, relative to
    /// [`Stage::path`].
    pub(super) fn build(&self, case: &Case) -> PathBuf {
        let home = PathBuf::from(&case.id);
        let root = home.join(case.options.root.as_deref().unwrap_or("package"));
        self.fill(case, &self.path().join(&root))
            .unwrap_or_else(|error| panic!("{}: failed to build the package: {error}", case.id));
        match &case.options.path {
            Some(path) => home.join(path),
            None => root,
        }
    }

    fn fill(&self, case: &Case, root: &Path) -> io::Result<()> {
        fs::create_dir_all(root)?;
        let package = case.directory.join("package");
        if package.is_dir() {
            copy(&package, root)?;
        }
        let place = |path: &str| -> io::Result<PathBuf> {
            let path = decode_path(path).ok_or(io::ErrorKind::InvalidFilename)?;
            let path = root.join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            Ok(path)
        };
        for dir in &case.dirs {
            fs::create_dir_all(place(&dir.path)?)?;
        }
        for file in &case.files {
            fs::write(place(&file.path)?, file.bytes().unwrap_or_default())?;
        }
        for link in &case.links {
            let mut target = PathBuf::from(&link.target);
            if link.absolute {
                target = self.path().canonicalize()?.join(&case.id).join(target);
            }
            symlink(&target, &place(&link.path)?)?;
        }
        for fifo in &case.fifos {
            make_fifo(&place(&fifo.path)?)?;
        }
        // What is inside comes before what encloses it.
        for (path, mode) in case.modes.iter().rev() {
            let mode = parse_mode(mode).ok_or(io::ErrorKind::InvalidInput)?;
            set_mode(&place(path)?, mode)?;
        }
        Ok(())
    }

    /// Makes everything readable again, so that it can be removed.
    pub(super) fn unlock(&self, case: &Case) {
        let root = case.options.root.as_deref().unwrap_or("package");
        let root = self.path().join(&case.id).join(root);
        for path in case.modes.keys() {
            if let Some(path) = decode_path(path) {
                set_mode(&root.join(path), 0o755).expect("the mode of an own file");
            }
        }
    }
}

/// Copies files and directories. The modes are always the same, whatever the
/// checkout made of them: a case that needs another one says so.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            copy(&entry.path(), &target)?;
        } else {
            fs::write(&target, fs::read(entry.path())?)?;
            set_mode(&target, 0o644)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn symlink(_target: &Path, _link: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn make_fifo(path: &Path) -> io::Result<()> {
    let status = Command::new("mkfifo").arg(path).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::ErrorKind::Unsupported.into())
    }
}
