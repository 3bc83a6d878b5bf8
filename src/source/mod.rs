//! Where packages come from. A [`Source`] is what the user asked for; fetching
//! it brings a contained tree into an empty directory of ours, and nothing of
//! it is ever executed.
//!
//! | module | what lives there |
//! | --- | --- |
//! | `grammar` | the spellings of a source, their one normal form and key |
//! | [`git`] | repositories over https, ssh, the git protocol and local paths |
//! | [`npm`] | packages of an npm registry |
//! | [`remote`] | archives behind an `https` address |
//! | `directory` | a directory on this machine |

mod download;
pub mod git;
mod integrity;
pub mod npm;
pub mod remote;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::archive::Staged;

/// What of the process environment a fetch may know. The program fills it; the
/// library itself reads no environment.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Environment variables.
    pub variables: BTreeMap<OsString, OsString>,
    /// The user's home directory, for their git and npm configuration.
    pub home: Option<PathBuf>,
    /// The directory that relative paths and project configuration start from.
    pub directory: PathBuf,
}

impl Environment {
    /// A variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }
}

/// Told how a fetch proceeds; the program shows it on a terminal.
pub trait Progress: Send + Sync {
    /// `done` of `total` (0 if unknown) of `what` (`bytes`, `objects`) are here.
    fn advance(&self, what: &'static str, done: u64, total: u64);
}

/// A [`Progress`] that nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn advance(&self, _what: &'static str, _done: u64, _total: u64) {}
}

/// Set when the user wants to stop (Ctrl-C); fetches look at it between steps.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks everyone who holds a copy to stop.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether to stop.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Which content a source turned out to be: what a lock file pins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// A directory or a builtin: only the content itself can be pinned.
    Content,
    /// A commit of a repository.
    Commit {
        /// Full object id, hexadecimal.
        id: String,
        /// The full name of the reference that led there
        /// (`refs/heads/main`), if one did.
        reference: Option<String>,
    },
    /// A version of an npm package.
    Version {
        /// The exact version.
        version: String,
        /// `integrity` of the tarball (`sha512-…`).
        integrity: String,
        /// Address of the tarball.
        tarball: String,
    },
    /// An archive.
    Archive {
        /// Its digest, written as npm writes `integrity` (`sha512-…`).
        integrity: String,
    },
}

/// What a fetch works with.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// What it may know of the process environment.
    pub environment: &'a Environment,
    /// Told how it proceeds.
    pub progress: &'a dyn Progress,
    /// Asked whether to go on.
    pub stop: &'a Stop,
    /// Fetch exactly this content, as a lock file has it, or fail.
    pub pinned: Option<&'a Resolved>,
}

/// A package as it was fetched.
#[derive(Debug)]
pub struct Fetched {
    /// Its files, in a directory of ours.
    pub staged: Staged,
    /// Which content it is.
    pub resolved: Resolved,
}
