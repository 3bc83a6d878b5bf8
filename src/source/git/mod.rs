//! Repositories: one commit of one repository, as a staged tree.
//!
//! libgit2 speaks the protocol and reads objects; it never checks anything out,
//! so there are no hooks, filters, line-end conversions, submodules or files of
//! Git LFS. It reads no configuration of the system or the user either.
//!
//! | module | what lives there |
//! | --- | --- |
//! | `address` | spellings of an address, their normal form and key |
//! | `reference` | what the text after `#` means |
//! | `advertisement` | what a server says it has |
//! | `configuration` | what of the user's git configuration counts |
//! | `transport` | our transports, given to libgit2 |
//! | `http`, `credential` | https over the one client; `.netrc` and git's helpers |
//! | `ssh`, `child` | ssh over the user's own program |
//! | `daemon` | the protocol of `git daemon`, on this machine |
//! | `stream` | what both of these are to libgit2 |
//! | `server`, `local` | a repository behind a server, and one on this machine |
//! | `memory` | how much of it libgit2 gets |
//! | `lookup` | commits by full and short ids |
//! | `tree` | from a commit to the stage |
//!
//! What the user's configuration decides: `url.<base>.insteadOf` (the address
//! that is talked to; what is recorded stays the one the user gave),
//! `core.sshCommand`, `ssh.variant` and their variables, `http.proxy` and
//! `http.sslCAInfo` where they are set for all addresses, credential helpers, and
//! `.netrc`. Headers (`http.extraHeader`) and cookies are not sent. Configuration
//! of the repository around the working directory never counts.
//!
//! The binding's process-wide tables are changed once: libgit2 looks for its
//! configuration nowhere any more, counts the memory it takes for a fetch, and
//! knows the scheme `apkit://`. Programs that
//! embed this library and use libgit2 besides should know.

mod address;
mod advertisement;
mod child;
mod configuration;
mod credential;
mod daemon;
mod error;
mod http;
mod local;
mod lookup;
mod memory;
mod reference;
mod server;
mod ssh;
mod stream;
mod transport;
mod tree;

pub use address::{Address, AddressError, Transport};
pub use error::{Error, Failure};

use git2::Oid;

use self::configuration::Configuration;
use self::reference::{IdText, Wanted};
pub(crate) use self::reference::{is_full_id, means_recorded};
use self::server::Server;
use super::{Fetched, Request, Resolved};
use crate::archive::{EntryPath, Stage};

/// How many times the size of a package a repository may send: all of its
/// history, when nothing less will do.
const HISTORY: u64 = 4;
/// What it may send in any case, in bytes.
const AT_LEAST: u64 = 128 << 20;

/// A place in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSource {
    /// Which repository.
    pub address: Address,
    /// Branch, tag or commit id; the default branch without.
    pub reference: Option<String>,
    /// The directory inside it; all of it without.
    pub sub_path: Option<EntryPath>,
}

/// A commit, and the reference that led to it.
#[derive(Debug)]
struct Found {
    id: Oid,
    reference: Option<String>,
}

impl From<Found> for Resolved {
    fn from(found: Found) -> Self {
        Self::Commit {
            id: found.id.to_string(),
            reference: found.reference,
        }
    }
}

/// Brings a commit's tree onto the stage: the pinned commit if there is one, else
/// what the reference means now.
///
/// # Errors
///
/// The repository, the reference, the directory or a commit is not there, the
/// server does not answer as it should, or the tree is refused.
pub fn fetch(source: &GitSource, request: &Request<'_>, stage: Stage) -> Result<Fetched, Error> {
    within_bounds(request, || bring(source, request, stage))
}

fn bring(source: &GitSource, request: &Request<'_>, mut stage: Stage) -> Result<Fetched, Error> {
    let sub_path = source.sub_path.as_ref();
    let wanted = match pinned(request)? {
        Some((id, reference)) => Wanted::Pinned { id, reference },
        None => Wanted::Reference(source.reference.as_deref()),
    };
    let found = match reach(source, request)? {
        Reach::Here(address, safe) => {
            let repository = local::open(&address, safe)?;
            let found = local::find(&repository, &wanted)?;
            request.progress.take_in(stage.count());
            tree::take_in(&repository, found.id, sub_path, &mut stage, request.stop)?;
            found
        }
        Reach::Through(address, configuration) => {
            let limit = stage.limits().total.saturating_mul(HISTORY);
            let server = Server::new(address, configuration, request, limit.max(AT_LEAST))?;
            let found = server.bring(&wanted)?;
            let repository = server.repository();
            request.progress.take_in(stage.count());
            tree::take_in(repository, found.id, sub_path, &mut stage, request.stop)?;
            found
        }
    };
    Ok(Fetched {
        staged: stage.finish("")?,
        sub_path: source.sub_path.clone(),
        resolved: found.into(),
        is_weak: false,
    })
}

/// What the reference means now, without fetching content. Only where it is the
/// beginning of an id that does not fit the pinned commit, the history must say,
/// and is fetched.
///
/// # Errors
///
/// As for [`fetch`], the content apart.
pub fn latest(source: &GitSource, request: &Request<'_>) -> Result<Resolved, Error> {
    within_bounds(request, || ask(source, request))
}

/// Does it with the memory that it may take.
fn within_bounds<T>(
    request: &Request<'_>,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    transport::prepare()?;
    let (done, was_refused) = memory::bounded(request.stop, work);
    done.map_err(|error| {
        if request.stop.is_requested() {
            Error::Stopped
        } else if was_refused {
            Error::Memory {
                limit: memory::MOST,
            }
        } else {
            error
        }
    })
}

fn ask(source: &GitSource, request: &Request<'_>) -> Result<Resolved, Error> {
    let wanted = Wanted::Reference(source.reference.as_deref());
    let found = match reach(source, request)? {
        Reach::Here(address, safe) => local::find(&local::open(&address, safe)?, &wanted)?,
        Reach::Through(address, configuration) => {
            let server = Server::new(address, configuration, request, AT_LEAST)?;
            let pinned = pinned(request)?.map(|(id, _)| id);
            server.meaning(&wanted, pinned)?
        }
    };
    Ok(found.into())
}

/// The pinned commit with the reference that led there.
fn pinned<'r>(request: &Request<'r>) -> Result<Option<(Oid, Option<&'r str>)>, Error> {
    match request.pinned {
        Some(Resolved::Commit { id, reference }) => {
            let is_full = IdText::of(id) == Some(IdText::Full);
            let parsed = Oid::from_str(id).ok().filter(|_| is_full);
            let parsed = parsed.ok_or_else(|| Error::Pin(id.clone()))?;
            Ok(Some((parsed, reference.as_deref())))
        }
        _ => Ok(None),
    }
}

/// How a repository is reached.
enum Reach {
    /// On this machine; whether the user's configuration calls it safe.
    Here(Address, bool),
    /// Over the network, with the password the user's configuration may hold.
    Through((Address, Option<String>), Configuration),
}

fn reach(source: &GitSource, request: &Request<'_>) -> Result<Reach, Error> {
    let configuration = Configuration::read(request.environment)?;
    let (address, password) = configuration.rewrite(&source.address)?;
    // The configuration may have put another host in the place of the one that was
    // named.
    if let Some(permit) = request.permit
        && address.transport() != Transport::File
    {
        permit(address.host()).map_err(Error::Forbidden)?;
    }
    Ok(match address.transport() {
        Transport::File => {
            let home = request.environment.home.as_deref();
            let safe = configuration.is_safe(&address.local_path(), home);
            Reach::Here(address, safe)
        }
        _ => Reach::Through((address, password), configuration),
    })
}
