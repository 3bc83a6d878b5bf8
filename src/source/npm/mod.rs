//! Packages of an npm registry: the tarball alone, checked before it is
//! unpacked. No dependencies, no scripts.
//!
//! | module | what lives there |
//! | --- | --- |
//! | `name` | [`PackageName`] |
//! | `config` | the places of the npm configuration, in their order |
//! | `npmrc` | the text of an `.npmrc` |
//! | `project` | which directory is the project |
//! | `access` | credentials, proxies, certificates, timeouts |
//! | `packument` | what a registry says about a package |
//! | `pick` | which version is meant |
//! | `error` | [`Error`] |

mod access;
mod config;
mod error;
mod name;
mod npmrc;
mod packument;
mod pick;
mod project;

pub use config::Place;
pub use error::{ConfigError, Error, Hint, Known};
pub use name::{NameProblem, PackageName};

use npmrc_config_rs::registry::DEFAULT_REGISTRY;
use url::Url;

use self::access::{Access, access};
use self::config::Config;
use self::packument::Packument;
use super::download::{Failure, download, interrupt, take};
use super::integrity::Integrity;
use super::{Fetched, Request, Resolved};
use crate::archive::{EntryPath, Stage};
use crate::net::{self, Client, ErrorKind, Sent, shown};

/// The most metadata that is read of one package, in bytes. The largest known
/// are a tenth of it.
const METADATA_BYTES: u64 = 128 << 20;

/// What registries know as the short form: what is needed to install.
const METADATA_TYPES: &str =
    "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*";

/// How many versions an error names.
const SHOWN_VERSIONS: usize = 5;

/// A package of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpmSource {
    /// Its name.
    pub name: PackageName,
    /// A version, range or tag; without one, the current version.
    pub wanted: Option<String>,
    /// The directory of the package inside the tarball.
    pub sub_path: Option<EntryPath>,
}

/// Fetches the package and takes it into `stage`. A pinned version is fetched by
/// its number and has to be what it was.
///
/// # Errors
///
/// See [`Error`]; before the digest of the tarball has proved right, nothing is
/// unpacked.
pub fn fetch(source: &NpmSource, request: &Request<'_>, stage: Stage) -> Result<Fetched, Error> {
    let registry = Registry::new(source, request)?;
    let release = registry.release(source, request)?;
    let pinned = pinned_integrity(request);
    if let (Some(pinned), Some(promised)) = (&pinned, &release.integrity)
        && promised.contradicts(pinned)
    {
        return Err(release.replaced(source, pinned, promised.to_string()));
    }
    let Some(promised) = &release.integrity else {
        return Err(Error::NoIntegrity {
            name: source.name.clone(),
            version: release.version,
            address: shown(&release.tarball),
        });
    };
    permitted(request, &release.tarball)?;
    let access = access(&registry.config, &release.tarball, &registry.url)?;
    let mut ask = net::Request::get(&release.tarball);
    if let Some(header) = &access.header {
        ask = ask.secret("authorization", header);
    }
    let wanted = pinned.iter().chain([promised]);
    let (file, found) = download(&registry.client, &ask, &stage, request, wanted).map_err(
        |failure| match failure {
            Failure::Net(error) => registry.failed(source, error, Asked::Tarball, &access),
            Failure::Io(error) => Error::Keep(error),
        },
    )?;
    if let Some(found) = promised.mismatch(&found) {
        return Err(Error::Integrity {
            name: source.name.clone(),
            version: release.version,
            address: shown(&release.tarball),
            expected: promised.to_string(),
            found,
        });
    }
    if let Some(pinned) = &pinned
        && let Some(found) = pinned.mismatch(&found)
    {
        return Err(release.replaced(source, pinned, found));
    }
    let resolved = Resolved::Version {
        version: release.version,
        integrity: found.pin(),
        tarball: without_user(release.tarball),
    };
    Ok(Fetched {
        is_weak: promised.is_weak() && pinned.is_none(),
        ..take(file, stage, source.sub_path.as_ref(), resolved)?
    })
}

/// What [`fetch`] would resolve to now, as far as the metadata tells. If that is
/// the version that is pinned, and the registry promises nothing else for it, the
/// pinned integrity is repeated: the metadata may have weaker digests only.
///
/// # Errors
///
/// See [`Error`].
pub fn latest(source: &NpmSource, request: &Request<'_>) -> Result<Resolved, Error> {
    let registry = Registry::new(source, request)?;
    let free = Request {
        pinned: None,
        ..*request
    };
    let release = registry.release(source, &free)?;
    let promised = release.integrity.as_ref();
    let integrity = match request.pinned {
        Some(Resolved::Version {
            version, integrity, ..
        }) if *version == release.version
            && !Integrity::parse(integrity)
                .zip(promised)
                .is_some_and(|(pinned, promised)| promised.contradicts(&pinned)) =>
        {
            integrity.clone()
        }
        _ => promised.map(ToString::to_string).unwrap_or_default(),
    };
    Ok(Resolved::Version {
        version: release.version,
        integrity,
        tarball: without_user(release.tarball),
    })
}

/// Whether the host of an address may be asked.
fn permitted(request: &Request<'_>, url: &Url) -> Result<(), Error> {
    let (Some(permit), Some(host)) = (request.permit, url.host_str()) else {
        return Ok(());
    };
    permit(host).map_err(Error::Forbidden)
}

/// What a lock file would keep: it is no place for a password, nor for a signature.
fn without_user(mut url: Url) -> String {
    // Fails only for addresses that hold neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

fn pinned_integrity(request: &Request<'_>) -> Option<Integrity> {
    match request.pinned {
        Some(Resolved::Version { integrity, .. }) => Integrity::parse(integrity),
        _ => None,
    }
}

/// One version, as its registry describes it.
struct Release {
    version: String,
    tarball: Url,
    integrity: Option<Integrity>,
}

impl Release {
    fn replaced(&self, source: &NpmSource, pinned: &Integrity, found: String) -> Error {
        Error::Replaced {
            name: source.name.clone(),
            version: self.version.clone(),
            pinned: pinned.to_string(),
            found,
        }
    }
}

/// What a registry was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Metadata,
    Tarball,
}

/// The registry of one package.
struct Registry {
    config: Config,
    url: Url,
    client: Client,
}

impl Registry {
    fn new(source: &NpmSource, request: &Request<'_>) -> Result<Self, Error> {
        let config = Config::read(request.environment)?;
        let url = config.registry(&source.name)?;
        permitted(request, &url)?;
        let mut settings = access::settings(&config, request.environment)?;
        settings.interrupt = Some(interrupt(request.stop));
        settings.permit = request.permit.cloned();
        if url.scheme() == "http"
            && let Some(host) = url.host_str()
        {
            // The user wrote it so.
            let port = url.port_or_known_default().unwrap_or(80);
            settings.plain.insert(format!("{host}:{port}"));
        }
        let client = Client::new(settings).map_err(|error| Error::Net {
            error,
            hint: Hint::None,
        })?;
        Ok(Self {
            config,
            url,
            client,
        })
    }

    /// The version that is pinned, else the one that `source` means.
    fn release(&self, source: &NpmSource, request: &Request<'_>) -> Result<Release, Error> {
        let (packument, sent) = self.packument(source)?;
        let known = || Known {
            versions: pick::highest(&packument, SHOWN_VERSIONS)
                .into_iter()
                .map(|version| sent.hidden(version))
                .collect(),
            count: packument.versions.len(),
            tags: packument.tags.keys().map(|tag| sent.hidden(tag)).collect(),
        };
        let version = match request.pinned {
            Some(Resolved::Version { version, .. }) => packument
                .versions
                .get_key_value(version)
                .map(|(version, _)| version.as_str())
                .ok_or_else(|| Error::Unpublished {
                    name: source.name.clone(),
                    version: version.clone(),
                    known: known(),
                })?,
            _ => pick::pick(&packument, source.wanted.as_deref()).ok_or_else(|| {
                Error::NoVersion {
                    name: source.name.clone(),
                    wanted: source.wanted.clone().unwrap_or_else(|| "*".to_owned()),
                    known: known(),
                }
            })?,
        };
        let dist = packument.versions.get(version).map(|entry| &entry.dist);
        let tarball = dist
            .and_then(|dist| self.tarball(dist.tarball.text()?))
            .ok_or_else(|| Error::NoTarball {
                name: source.name.clone(),
                version: version.to_owned(),
            })?;
        if sent.is_in(tarball.as_str()) {
            return Err(Error::SecretInAddress {
                name: source.name.clone(),
                version: version.to_owned(),
            });
        }
        let integrity = match dist.and_then(|dist| dist.integrity.text()) {
            // What is weaker does not stand in for what cannot be read.
            Some(text) if Integrity::is_promised(text) => {
                Some(Integrity::parse(text).ok_or_else(|| Error::NoDigest {
                    name: source.name.clone(),
                    version: version.to_owned(),
                    integrity: sent.hidden(text),
                })?)
            }
            _ => dist.and_then(|dist| Integrity::from_shasum(dist.shasum.text()?)),
        };
        Ok(Release {
            version: version.to_owned(),
            tarball,
            integrity,
        })
    }

    /// What the registry says of the package, and what was sent to hear it.
    fn packument(&self, source: &NpmSource) -> Result<(Packument, Sent), Error> {
        // The registry's address ends in a slash, and the name climbs nowhere.
        let url = self.url.join(&format!("./{}", source.name.in_address()));
        let url = url.map_err(|error| Error::Metadata {
            address: shown(&self.url),
            problem: error.to_string(),
        })?;
        let access = access(&self.config, &url, &self.url)?;
        let mut ask = net::Request::get(&url)
            .header("accept", METADATA_TYPES)
            .limit(METADATA_BYTES)
            .compressed();
        if let Some(header) = &access.header {
            ask = ask.secret("authorization", header);
        }
        let bytes = self
            .client
            .retrying(|| self.client.send(ask.clone())?.successful()?.bytes())
            .map_err(|error| self.failed(source, error, Asked::Metadata, &access))?;
        let sent = access.sent();
        match serde_json::from_slice(&bytes) {
            Ok(packument) => Ok((packument, sent)),
            Err(error) => Err(Error::Metadata {
                address: shown(&url),
                problem: sent.hidden(&error.to_string()),
            }),
        }
    }

    /// The address of a tarball as it is asked for. Mirrors often pass on the
    /// metadata of the public registry as it is; its host then stands for the
    /// registry of the configuration (npm's `replace-registry-host`). And a
    /// registry that is reached over https: is never left for http:.
    fn tarball(&self, text: &str) -> Option<Url> {
        let mut url = self.url.join(text).ok()?;
        let replaced = match self.config.text("replace-registry-host") {
            Ok(Some("never")) => false,
            Ok(Some("always")) => true,
            Ok(None | Some("npmjs")) | Err(_) => {
                let public = Url::parse(DEFAULT_REGISTRY).ok();
                public.is_some_and(|public| public.host() == url.host())
            }
            Ok(Some(host)) => url.host_str() == Some(host),
        };
        if replaced && url.host() != self.url.host() {
            let path = url.path().to_owned();
            url = self.url.clone();
            url.set_path(&path);
        }
        if url.scheme() == "http"
            && self.url.scheme() == "https"
            && url.host() == self.url.host()
            && url.port().is_none()
        {
            url.set_scheme("https").ok()?;
        }
        matches!(url.scheme(), "https" | "http").then_some(url)
    }

    /// What a failure means for the package.
    fn failed(
        &self,
        source: &NpmSource,
        error: net::Error,
        asked: Asked,
        access: &Access,
    ) -> Error {
        let name = source.name.clone();
        let credentials = || match access {
            Access {
                missing: Some(variable),
                header: None,
                ..
            } => Hint::Variable(variable.clone()),
            Access {
                header: Some(_), ..
            } => Hint::OtherLogin,
            Access {
                certificate: true, ..
            } => Hint::Certificate,
            _ => Hint::Login {
                key: npmrc_config_rs::nerf_dart(&self.url),
            },
        };
        match error.kind {
            ErrorKind::Status { code: 404, .. } if asked == Asked::Metadata => Error::NotFound {
                // A registry hides what one may not see; that of everybody's
                // packages has nothing to hide.
                hint: if name.scope().is_some() || self.url.as_str() != DEFAULT_REGISTRY {
                    credentials()
                } else {
                    Hint::None
                },
                name,
                registry: shown(&self.url),
            },
            ErrorKind::Status {
                code: code @ (401 | 403 | 404),
                reason,
                ..
            } => Error::Denied {
                name,
                address: error.address,
                code,
                reason,
                hint: credentials(),
            },
            kind => {
                let strict = self.config.text("strict-ssl");
                Error::Net {
                    hint: Hint::for_network(&kind, matches!(strict, Ok(Some("false")))),
                    error: net::Error {
                        address: error.address,
                        kind,
                    },
                }
            }
        }
    }
}
