//! How a registry is reached: connections as the configuration wants them, and
//! who we are there.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use super::config::Config;
use super::error::{ConfigError, Error};
use super::npmrc::Value;
use crate::net::{Proxies, Sent, Settings, Trust, is_loopback, same_origin, shown};
use crate::source::Environment;
use crate::sys;

/// Largest file of certificates that is read, in bytes.
const MAX_CERTIFICATES: u64 = 16 << 20;

/// The connections that the configuration asks for.
pub(super) fn settings(config: &Config, environment: &Environment) -> Result<Settings, Error> {
    let mut settings = Settings {
        proxies: proxies(config, environment)?,
        trust: trust(config, environment)?,
        ..Settings::default()
    };
    // npm counts in milliseconds; 0 means its own default.
    let milliseconds = |key| -> Result<Option<Duration>, ConfigError> {
        let number = config.number(key)?;
        Ok(number
            .filter(|number| *number > 0)
            .map(Duration::from_millis))
    };
    if let Some(timeout) = milliseconds("fetch-timeout")? {
        settings.timeouts.idle = timeout;
        settings.timeouts.connect = settings.timeouts.connect.min(timeout);
    }
    if let Some(times) = config.number("fetch-retries")? {
        settings.retry.times = u32::try_from(times.min(10)).unwrap_or(10);
    }
    if let Some(pause) = milliseconds("fetch-retry-mintimeout")? {
        settings.retry.pause = pause;
    }
    if let Some(longest) = milliseconds("fetch-retry-maxtimeout")? {
        settings.retry.longest = longest;
    }
    Ok(settings)
}

fn proxies(config: &Config, environment: &Environment) -> Result<Proxies, Error> {
    let variable = |name: &str| Some(environment.get(name)?.to_str()?.to_owned());
    let mut proxies = Proxies::from_variables(variable)?;
    let https = config
        .text("https-proxy")?
        .map(|value| ("https-proxy", value));
    let http = config.text("proxy")?.map(|value| ("proxy", value));
    // As for npm, either one serves for both kinds of address.
    match (https.or(http), http.or(https)) {
        (Some((_, "false")), _) | (_, Some((_, "false"))) => proxies = Proxies::none(),
        (Some((https_name, https)), Some((http_name, http))) => {
            proxies.set_https(https_name, https)?;
            proxies.set_http(http_name, http)?;
        }
        _ => {}
    }
    let bypass = config.list("noproxy")?;
    if !bypass.is_empty() {
        proxies.set_bypass(&bypass.join(","));
    }
    Ok(proxies)
}

/// `ca` and `cafile` stand in for what the system trusts, as they do for npm;
/// the certificates of `NODE_EXTRA_CA_CERTS` come on top of it.
fn trust(config: &Config, environment: &Environment) -> Result<Trust, Error> {
    let read = |path: std::path::PathBuf| -> Result<Vec<u8>, ConfigError> {
        match sys::read_regular(&path, MAX_CERTIFICATES) {
            Ok(pem) if is_pem(&pem) => Ok(pem),
            Ok(_) => Err(ConfigError::Certificates { path }),
            Err(error) => Err(ConfigError::Read { path, error }),
        }
    };
    let mut only = Vec::new();
    for pem in config.list("ca")? {
        // A variable cannot well hold line breaks.
        let pem = pem.replace("\\n", "\n").into_bytes();
        if !is_pem(&pem) {
            return Err(config.wrong("ca", "no certificate in PEM form").into());
        }
        only.push(pem);
    }
    if let Some(path) = config.path("cafile")? {
        only.push(read(path)?);
    }
    if !only.is_empty() {
        return Ok(Trust::Only(only));
    }
    let besides = match environment.get("NODE_EXTRA_CA_CERTS") {
        Some(path) => vec![read(environment.directory.join(path))?],
        None => Vec::new(),
    };
    Ok(Trust::System { besides })
}

fn is_pem(bytes: &[u8]) -> bool {
    let begin = b"-----BEGIN ";
    bytes.windows(begin.len()).any(|window| window == begin)
}

/// Who we are for one address.
#[derive(Default)]
pub(super) struct Access {
    /// The value of the `authorization` header. Never shown.
    pub(super) header: Option<String>,
    /// A variable that the credentials need and that is not set.
    pub(super) missing: Option<String>,
    /// Whether a client certificate is configured, which is not supported.
    pub(super) certificate: bool,
}

impl Access {
    /// What of it a registry may send back.
    pub(super) fn sent(&self) -> Sent {
        Sent::headers(self.header.as_deref())
    }
}

/// The credentials for `url`, an address of the package that `registry` serves.
///
/// As npm does, those are taken whose key `//host/path/` is the longest prefix of
/// the address; failing that, those of the registry, if the address is of the
/// same origin.
///
/// # Errors
///
/// They would go over the network unprotected.
pub(super) fn access(config: &Config, url: &Url, registry: &Url) -> Result<Access, Error> {
    let mut access = for_prefixes_of(config, url);
    if access.header.is_none() && same_origin(url, registry) {
        let other = for_prefixes_of(config, registry);
        access = Access {
            header: other.header,
            missing: access.missing.or(other.missing),
            certificate: access.certificate || other.certificate,
        };
    }
    if access.header.is_some() && url.scheme() == "http" && !is_loopback(url) {
        return Err(Error::PlainCredentials {
            address: shown(url),
        });
    }
    Ok(access)
}

fn for_prefixes_of(config: &Config, url: &Url) -> Access {
    let mut access = Access::default();
    let Some(host) = url.host_str() else {
        return access;
    };
    let port = url
        .port()
        .map(|port| format!(":{port}"))
        .unwrap_or_default();
    let mut key = format!("//{host}{port}{}", url.path());
    while key.len() > 2 {
        access.header = at(config, &key, &mut access.missing);
        access.certificate |= config.setting(&format!("{key}:certfile")).is_some();
        if access.header.is_some() {
            break;
        }
        // Both `//host/path/:_authToken` and `//host/path:_authToken` are keys.
        if key.pop() != Some('/') {
            let parent = key.rfind('/').map_or(0, |at| at + 1);
            key.truncate(parent);
        }
    }
    access
}

fn at(config: &Config, key: &str, missing: &mut Option<String>) -> Option<String> {
    let mut text = |name: &str| match config.setting(&format!("{key}:{name}"))?.1 {
        Value::Text(text) => Some(text.as_str()).filter(|text| !text.is_empty()),
        Value::Missing(variable) => {
            missing.get_or_insert_with(|| variable.clone());
            None
        }
    };
    if let Some(token) = text("_authToken") {
        return Some(format!("Bearer {token}"));
    }
    if let Some(encoded) = text("_auth") {
        return Some(format!("Basic {encoded}"));
    }
    let (user, password) = (text("username")?, text("_password")?);
    let mut plain = format!("{user}:").into_bytes();
    // npm stores the password encoded; what does not decode was written by hand.
    plain.extend(
        STANDARD
            .decode(password)
            .unwrap_or_else(|_| password.into()),
    );
    Some(format!("Basic {}", STANDARD.encode(plain)))
}
