//! Archives behind an address: fetched as they are, pinned by their digest.

use std::io;

use url::Url;

use super::download::{Failure, download, interrupt, take};
use super::integrity::Integrity;
use super::{Fetched, Request, Resolved};
use crate::archive::{EntryPath, Refusal, Stage};
use crate::net::{self, BadProxy, Client, Proxies, Settings, shown};

/// An archive behind an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteArchive {
    /// Where it is.
    pub url: Url,
    /// The directory of the package inside it.
    pub sub_path: Option<EntryPath>,
}

/// Why there is no package. Reads after "failed to fetch …: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It could not be reached or read.
    #[error("failed to {0}")]
    Net(#[from] net::Error),
    /// The proxy is of no use.
    #[error("failed to {0}")]
    Proxy(#[from] BadProxy),
    /// It could not be kept.
    #[error("failed to keep what came: {0}")]
    Keep(#[source] io::Error),
    /// It is another archive than the one that is pinned.
    #[error(
        "the archive at {address} is not the one that was pinned: its integrity is {found}, not {pinned}; whoever publishes it replaced it"
    )]
    Replaced {
        /// Where it is.
        address: String,
        /// What is pinned.
        pinned: String,
        /// What came.
        found: String,
    },
    /// What is in it is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// Fetches the archive and takes its package into `stage`.
///
/// # Errors
///
/// It cannot be reached, is not what is pinned, or holds what is refused.
pub fn fetch(
    source: &RemoteArchive,
    request: &Request<'_>,
    stage: Stage,
) -> Result<Fetched, Error> {
    let variable = |name: &str| Some(request.environment.get(name)?.to_str()?.to_owned());
    let client = Client::new(Settings {
        proxies: Proxies::from_variables(variable)?,
        interrupt: Some(interrupt(request.stop)),
        permit: request.permit.cloned(),
        ..Settings::default()
    })?;
    let pinned = match request.pinned {
        Some(Resolved::Archive { integrity }) => Integrity::parse(integrity),
        _ => None,
    };
    let ask = net::Request::get(&source.url);
    let (file, found) =
        download(&client, &ask, &stage, request, &pinned).map_err(|failure| match failure {
            Failure::Net(error) => Error::Net(error),
            Failure::Io(error) => Error::Keep(error),
        })?;
    if let Some(pinned) = pinned
        && let Some(found) = pinned.mismatch(&found)
    {
        return Err(Error::Replaced {
            address: shown(&source.url),
            pinned: pinned.to_string(),
            found,
        });
    }
    let integrity = found.pin();
    let resolved = Resolved::Archive { integrity };
    Ok(take(file, stage, source.sub_path.as_ref(), resolved)?)
}
