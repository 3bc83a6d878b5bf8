//! Why a package could not be had from a registry, and what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::config::Place;
use super::name::PackageName;
use crate::archive::Refusal;
use crate::net::{self, BadProxy, ErrorKind};

/// Why there is no package. Reads after "failed to fetch …: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The npm configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A proxy of the configuration.
    #[error("failed to {0}")]
    Proxy(#[from] BadProxy),
    /// The user's rules speak against the host of the registry or the tarball, as
    /// [`Request::permit`](crate::source::Request::permit) says. Nothing was asked of
    /// it.
    #[error("{0}")]
    Forbidden(String),
    /// The registry does not know the package, or does not say so (404).
    #[error("{registry} has no package {name}{hint}")]
    NotFound {
        /// The package.
        name: PackageName,
        /// The registry, without anything secret.
        registry: String,
        /// What may be missing.
        hint: Hint,
    },
    /// The registry wants to know who asks (401), will not have it (403), or has
    /// the package but not its tarball (404).
    #[error("{address} refuses {name} with status {code}{}{hint}", said(.reason))]
    Denied {
        /// The package.
        name: PackageName,
        /// What was asked, without anything secret.
        address: String,
        /// The status.
        code: u16,
        /// What the registry says about it.
        reason: Option<String>,
        /// What may be missing.
        hint: Hint,
    },
    /// No version is what was asked for (npm's `ETARGET`).
    #[error("no version of {name} is {wanted:?}; {known}")]
    NoVersion {
        /// The package.
        name: PackageName,
        /// What was asked for.
        wanted: String,
        /// What there is instead.
        known: Known,
    },
    /// The version that is pinned is gone from the registry.
    #[error("{name} {version}, which is pinned, is no longer there; {known}")]
    Unpublished {
        /// The package.
        name: PackageName,
        /// The version.
        version: String,
        /// What there is instead.
        known: Known,
    },
    /// The registry could not be reached, or broke off.
    #[error("failed to {error}{hint}")]
    Net {
        /// What happened.
        error: net::Error,
        /// What may help.
        hint: Hint,
    },
    /// Credentials would go over the network unprotected.
    #[error(
        "{address} would be sent your credentials unprotected; give the registry an https: address, or remove its credentials from the npm configuration"
    )]
    PlainCredentials {
        /// What would be asked, without anything secret.
        address: String,
    },
    /// What the registry says of the package is no metadata.
    #[error(
        "{address} answers with something that is no package metadata ({problem}); is it a registry?"
    )]
    Metadata {
        /// What was asked.
        address: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The registry gives no usable address for the tarball.
    #[error("the registry gives no address for the tarball of {name} {version}")]
    NoTarball {
        /// The package.
        name: PackageName,
        /// Its version.
        version: String,
    },
    /// The address of the tarball holds what only the registry was to know.
    #[error(
        "the address that the registry gives for the tarball of {name} {version} holds your credentials for the registry, which a lock file would show; nothing was fetched"
    )]
    SecretInAddress {
        /// The package.
        name: PackageName,
        /// Its version.
        version: String,
    },
    /// The registry gives no digest for the tarball.
    #[error(
        "the registry gives no digest for the tarball of {name} {version}, so what comes could not be checked; to take it nevertheless, import the tarball by its address: {address}"
    )]
    NoIntegrity {
        /// The package.
        name: PackageName,
        /// Its version.
        version: String,
        /// Where the tarball is.
        address: String,
    },
    /// The digest that the registry gives is none.
    #[error(
        "the integrity that the registry gives for the tarball of {name} {version} is no digest: {integrity:?}. Nothing was fetched; whoever runs the registry has to repair its metadata"
    )]
    NoDigest {
        /// The package.
        name: PackageName,
        /// Its version.
        version: String,
        /// What the registry says.
        integrity: String,
    },
    /// The tarball is not what the registry says it is.
    #[error(
        "the tarball of {name} {version} from {address} is not what the registry promises: its integrity is {found}, not {expected}. It was damaged or changed on the way; nothing of it was unpacked"
    )]
    Integrity {
        /// The package.
        name: PackageName,
        /// Its version.
        version: String,
        /// Where it came from.
        address: String,
        /// What the registry says.
        expected: String,
        /// What came.
        found: String,
    },
    /// The version was published again with other content.
    #[error(
        "{name} {version} is not what was pinned: its integrity is {found}, not {pinned}. Somebody published it again"
    )]
    Replaced {
        /// The package.
        name: PackageName,
        /// Its version.
        version: String,
        /// What is pinned.
        pinned: String,
        /// What there is now.
        found: String,
    },
    /// The tarball could not be kept.
    #[error("failed to keep what came: {0}")]
    Keep(#[source] io::Error),
    /// What is in the tarball is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

fn said(reason: &Option<String>) -> String {
    match reason {
        Some(reason) => format!(" ({reason})"),
        None => String::new(),
    }
}

/// A configuration that cannot be used. Reads after "failed to fetch …: ".
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file that cannot be read.
    #[error("failed to read {}, which the npm configuration needs: {error}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file of certificates that holds none.
    #[error("{} holds no certificate in PEM form", path.display())]
    Certificates {
        /// Which.
        path: PathBuf,
    },
    /// A variable that is not set.
    #[error("{key} in {place} needs the variable {variable}, which is not set")]
    Variable {
        /// Where it is needed.
        place: Place,
        /// In which setting.
        key: String,
        /// Which.
        variable: String,
    },
    /// A value that means nothing.
    #[error("{key} in {place} is {problem}")]
    Value {
        /// Where it stands.
        place: Place,
        /// Which setting.
        key: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// What may help. Reads after the failure; may be nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// Nothing in particular.
    None,
    /// Credentials that no place has.
    Login {
        /// The key they would stand under.
        key: String,
    },
    /// The credentials are there and do not serve.
    OtherLogin,
    /// The credentials need a variable that is not set.
    Variable(String),
    /// The credentials are a client certificate.
    Certificate,
    /// The registry's certificate is not trusted.
    Authority {
        /// Whether the user told npm not to look at certificates.
        not_strict: bool,
    },
    /// The network between here and there.
    Network,
    /// Time.
    Slow,
    /// Many requests.
    Busy,
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Login { key } => write!(
                f,
                "; if it is private, log in: `npm login`, or {key}:_authToken in your .npmrc"
            ),
            Self::OtherLogin => {
                f.write_str("; the credentials of your npm configuration do not open it")
            }
            Self::Variable(variable) => write!(
                f,
                "; its credentials in your npm configuration need the variable {variable}, which is not set"
            ),
            Self::Certificate => f.write_str(
                "; your npm configuration names a client certificate for it, which apkit does not support",
            ),
            Self::Authority { not_strict } => {
                f.write_str(
                    "; name the certificates of its authority with `cafile` in your .npmrc",
                )?;
                if *not_strict {
                    f.write_str(" (`strict-ssl=false` is not followed)")?;
                }
                Ok(())
            }
            Self::Network => f.write_str(
                "; check the name of the registry, the network, and `https-proxy` in your npm configuration",
            ),
            Self::Slow => f.write_str(
                "; try again later, or allow more time with `fetch-timeout` in your npm configuration",
            ),
            Self::Busy => f.write_str("; try again later"),
        }
    }
}

impl Hint {
    pub(super) fn for_network(kind: &ErrorKind, not_strict: bool) -> Self {
        match kind {
            ErrorKind::Tls {
                certificate: true, ..
            } => Self::Authority { not_strict },
            ErrorKind::Dns { .. } | ErrorKind::Refused { .. } | ErrorKind::Connect { .. } => {
                Self::Network
            }
            ErrorKind::Timeout { .. } => Self::Slow,
            ErrorKind::Status {
                code: 408 | 429 | 500..,
                ..
            } => Self::Busy,
            _ => Self::None,
        }
    }
}

/// The versions and tags that a package has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The highest versions, highest first.
    pub versions: Vec<String>,
    /// How many there are in all.
    pub count: usize,
    /// The tags.
    pub tags: Vec<String>,
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.versions.is_empty() {
            return f.write_str("it has no version at all");
        }
        let more = if self.count > self.versions.len() {
            ", …"
        } else {
            ""
        };
        write!(f, "there are {}{more}", self.versions.join(", "))?;
        if !self.tags.is_empty() {
            write!(f, " and the tags {}", self.tags.join(", "))?;
        }
        Ok(())
    }
}
