//! Where a server runs: its directories, made and looked at once more.
//!
//! The plan has checked all this. Between the plan and the start a link can have
//! been put in the way; what is left is the moment between this look and the
//! system's own.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::sys;

use super::super::content;
use super::super::plan::Process;
use super::error::StartError;

const ROOT: &str = "PLUGIN_ROOT";
const DATA: &str = "PLUGIN_DATA";
/// The variables that the client alone sets (§9.1).
pub(super) const RESERVED: [&str; 2] = [ROOT, DATA];

/// Makes the data directory and the working directory, and says where the latter
/// physically is.
pub(super) fn prepare(process: &Process) -> Result<PathBuf, StartError> {
    let physical = |name: &'static str| {
        let path = process.env.get(OsStr::new(name)).map(PathBuf::from);
        path.map(|path| fs::canonicalize(&path).map_err(|error| place(name, &path, error)))
            .transpose()
    };
    if let Some(data) = process.env.get(OsStr::new(DATA)) {
        let data = Path::new(data);
        sys::create_private_dir(data).map_err(|error| place(DATA, data, error))?;
    }
    let root = physical(ROOT)?;
    let data = physical(DATA)?;
    if let Some(data) = data.as_ref().filter(|_| process.create_cwd) {
        let named = process.env.get(OsStr::new(DATA)).map(Path::new);
        make_below(data, named, &process.cwd)?;
    }
    let cwd = fs::canonicalize(&process.cwd).map_err(|error| cwd_error(&process.cwd, error))?;
    if !stays(process, root.as_deref(), data.as_deref(), &cwd) {
        return Err(StartError::Outside {
            what: "working directory",
            path: process.cwd.clone(),
        });
    }
    if let Some(root) = root.filter(|root| process.program.starts_with(root)) {
        // A program that is missing is the system's to report.
        if fs::canonicalize(&process.program).is_ok_and(|program| !program.starts_with(&root)) {
            return Err(StartError::Outside {
                what: "command",
                path: process.program.clone(),
            });
        }
    }
    Ok(cwd)
}

/// Whether the working directory, which physically is `cwd`, is below the directory
/// that it was planned below: one of the package is not to become one of its data, nor
/// the other way round (§7.2.1).
fn stays(process: &Process, root: Option<&Path>, data: Option<&Path>, cwd: &Path) -> bool {
    let named = |name: &str| process.env.get(OsStr::new(name)).map(Path::new);
    let bases = [(named(ROOT), root), (named(DATA), data)];
    let bases = bases.map(|(named, is)| Some((named?, is?)));
    let planned = |(named, is): &(&Path, &Path)| {
        process.cwd.starts_with(named) || process.cwd.starts_with(is)
    };
    let meant = bases.iter().flatten().filter(|base| planned(base));
    // One of them may lie in the other.
    let Some((named, is)) = meant.max_by_key(|(named, _)| named.components().count()) else {
        let mut bases = bases.iter().flatten().peekable();
        return bases.peek().is_none() || bases.any(|(_, is)| cwd.starts_with(is));
    };
    // The data directory itself may have been replaced by a link into the package.
    let mut others = bases.iter().flatten();
    let strays = others.any(|(other, other_is)| {
        other != named && cwd.starts_with(other_is) && !named.starts_with(other)
    });
    cwd.starts_with(is) && !strays
}

/// Whether the package still is the one that may be started. What the user's rule
/// does not name is not even asked for.
pub(super) async fn check_content(process: &Process) -> Result<(), StartError> {
    let Some(wanted) = process.content else {
        return Ok(());
    };
    let root = process.env.get(OsStr::new(ROOT)).map(PathBuf::from);
    let root = root.unwrap_or_default();
    let package = root.clone();
    // Other servers go on meanwhile.
    let digest = tokio::task::spawn_blocking(move || content::digest(&package)).await;
    let why = match digest {
        Ok(Ok(digest)) if digest == wanted => return Ok(()),
        Ok(Ok(digest)) => format!(
            "its content is {digest}, and the rule is for {wanted}; `apkit mcp plan` shows the rule for it as it is now, which counts once apkit is started anew"
        ),
        Ok(Err(problem)) => problem,
        Err(error) => error.to_string(),
    };
    Err(StartError::Changed { root, why })
}

/// Makes a directory below `data` step by step, so that no link that stands in its
/// way has anything made elsewhere. `named` is how the plan may name `data`.
fn make_below(data: &Path, named: Option<&Path>, cwd: &Path) -> Result<(), StartError> {
    let outside = || StartError::Outside {
        what: "working directory",
        path: cwd.to_owned(),
    };
    let below = named.and_then(|named| cwd.strip_prefix(named).ok());
    let below = below.or_else(|| cwd.strip_prefix(data).ok());
    let mut at = data.to_owned();
    for component in below.ok_or_else(outside)?.components() {
        match component {
            Component::CurDir => continue,
            Component::ParentDir => at.push(".."),
            Component::Normal(name) => at.push(name),
            Component::RootDir | Component::Prefix(_) => return Err(outside()),
        }
        match sys::make_private_dir(&at) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(cwd_error(&at, error)),
        }
        at = fs::canonicalize(&at).map_err(|error| cwd_error(&at, error))?;
        if !at.starts_with(data) {
            return Err(outside());
        }
    }
    Ok(())
}

fn place(what: &'static str, path: &Path, error: io::Error) -> StartError {
    StartError::Place {
        what,
        path: path.to_owned(),
        error,
    }
}

fn cwd_error(path: &Path, error: io::Error) -> StartError {
    place("the working directory", path, error)
}
