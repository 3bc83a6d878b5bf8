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
//! | `local` | directories and archives on this machine |
//! | [`builtin`] | packages that apkit brings along |

pub mod builtin;
mod download;
pub mod git;
mod grammar;
mod integrity;
mod local;
pub mod npm;
pub mod remote;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use grammar::{ArchiveFile, Kind, NoSource, Source, same_host};
pub(crate) use integrity::is_pin;

use crate::archive::{Count, EntryPath, Limits, Links, Refusal, Stage, Staged};
use crate::net::ErrorKind;

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
    /// The running program, which builtin packages hold a copy of.
    pub program: Option<PathBuf>,
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

    /// The fetch of what is called `name` begins; from now on it is waited for.
    fn begin(&self, name: &str) {
        let _ = name;
    }

    /// What came is taken in; `count` says how far that is.
    fn take_in(&self, count: &Arc<Count>) {
        let _ = count;
    }

    /// All is here and is judged.
    fn judge(&self) {}
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

    /// What is set, for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
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
    /// Asked before a host is contacted, also one that the source does not name
    /// itself: the registry of a package, and where redirects lead. Says why not.
    pub permit: Option<Permit<'a>>,
}

/// Whether a host may be asked; an error is the reason.
pub type Permit<'a> = &'a crate::net::Permit;

/// A package as it was fetched.
#[derive(Debug)]
pub struct Fetched {
    /// Its files, in a directory of ours.
    pub staged: Staged,
    /// The directory of the source that it is, in the one spelling that is recorded:
    /// without the directory that holds all of an archive.
    pub sub_path: Option<EntryPath>,
    /// Which content it is.
    pub resolved: Resolved,
    /// Whether nothing but the SHA-1 digest of a registry says that it is the right
    /// content: that shows damage, and protects from nobody who wants to forge.
    pub is_weak: bool,
}

/// Why a source gave no package. Messages read after "failed to fetch …: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The source lies on this machine and cannot be read, or the staging
    /// directory cannot be made.
    #[error("{}: {error}", path.display())]
    Io {
        /// What was to be read or made.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// What it holds is refused.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// A repository.
    #[error("{0}")]
    Git(#[from] git::Error),
    /// A package of a registry.
    #[error("{0}")]
    Npm(#[from] npm::Error),
    /// An archive behind an address.
    #[error("{0}")]
    Remote(#[from] remote::Error),
    /// It is not what was pinned.
    #[error("its integrity is {found}, but {pinned} is pinned; it was replaced since")]
    Integrity {
        /// Of what is there.
        found: String,
        /// What was asked for.
        pinned: String,
    },
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// Whether [`Request::permit`] speaks against a host.
    pub fn is_forbidden(&self) -> bool {
        match self {
            Self::Git(git::Error::Forbidden(_)) | Self::Npm(npm::Error::Forbidden(_)) => true,
            Self::Git(git::Error::Connection(git::Failure::Http(error)))
            | Self::Npm(npm::Error::Net { error, .. })
            | Self::Remote(remote::Error::Net(error)) => {
                matches!(error.kind, ErrorKind::Forbidden { .. })
            }
            _ => false,
        }
    }

    /// Whether nothing is known about the source's content: it could not be read,
    /// as opposed to what was read being refused or lacking.
    pub fn is_unreachable(&self) -> bool {
        match self {
            Self::Io { .. } => true,
            Self::Git(error) => matches!(
                error,
                git::Error::Connection(_)
                    | git::Error::NoRepository { .. }
                    | git::Error::Rewritten(_)
                    | git::Error::Configuration { .. }
                    | git::Error::Git(_)
            ),
            Self::Npm(error) => matches!(
                error,
                npm::Error::Config(_)
                    | npm::Error::Proxy(_)
                    | npm::Error::Denied { .. }
                    | npm::Error::Net { .. }
                    | npm::Error::PlainCredentials { .. }
                    | npm::Error::Metadata { .. }
            ),
            Self::Remote(error) => matches!(
                error,
                remote::Error::Net(_) | remote::Error::Proxy(_) | remote::Error::Keep(_)
            ),
            Self::Refused(_) | Self::Integrity { .. } | Self::Interrupted => false,
        }
    }
}

/// Brings what `source` names into the directory `staging`, which is made or is
/// empty. Nothing of it is executed.
///
/// # Errors
///
/// When the source cannot be reached, its content is refused, or it is not what
/// `request` pins. What is in `staging` then is of no use.
pub fn fetch(source: &Source, request: &Request<'_>, staging: &Path) -> Result<Fetched, Error> {
    unless_stopped(request.stop, || bring(source, request, staging))
}

/// Whatever fails once the user wants to stop does so because of that: a transport
/// would say it like a fault of the network.
fn unless_stopped<T>(stop: &Stop, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    if stop.is_requested() {
        return Err(Error::Interrupted);
    }
    work().map_err(|error| match stop.is_requested() {
        true => Error::Interrupted,
        false => error,
    })
}

fn bring(source: &Source, request: &Request<'_>, staging: &Path) -> Result<Fetched, Error> {
    let name = source.name();
    request.progress.begin(name.as_deref().unwrap_or_default());
    // Archives are made for passing on; in a repository or directory, links to
    // the surroundings are common and do no harm when left out.
    let links = match source.kind() {
        Kind::Directory | Kind::Git => Links::LeaveOut,
        Kind::Npm | Kind::Archive | Kind::Builtin => Links::Refuse,
    };
    let stage = Stage::new(staging, Limits::default(), links).map_err(|error| Error::Io {
        path: staging.to_owned(),
        error,
    })?;
    match source {
        Source::Directory(path) => local::directory(path, request, stage),
        Source::ArchiveFile(file) => local::archive(file, request, stage),
        Source::Git(git) => git::fetch(git, request, stage).map_err(Error::from),
        Source::Npm(npm) => npm::fetch(npm, request, stage).map_err(Error::from),
        Source::RemoteArchive(remote) => remote::fetch(remote, request, stage).map_err(Error::from),
        Source::Builtin(builtin) => local::builtin(*builtin, request, stage),
    }
}

/// What fetching `source` now would resolve to, if that can be told without
/// fetching the content: nothing for directories, builtins and archives behind an
/// address.
///
/// # Errors
///
/// When the source cannot be reached or names nothing that is there.
pub fn latest(source: &Source, request: &Request<'_>) -> Result<Option<Resolved>, Error> {
    unless_stopped(request.stop, || match source {
        Source::Git(git) => Ok(Some(git::latest(git, request)?)),
        Source::Npm(npm) => Ok(Some(npm::latest(npm, request)?)),
        Source::ArchiveFile(file) => Ok(Some(local::integrity(file, request.stop)?)),
        Source::Directory(_) | Source::RemoteArchive(_) | Source::Builtin(_) => Ok(None),
    })
}
