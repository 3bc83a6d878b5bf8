//! Whose certificates are trusted, and what all connections have in common.

use std::time::Duration;

/// Whose certificates are trusted.
#[derive(Debug, Clone)]
pub enum Trust {
    /// Those that the system trusts, and these (PEM).
    System {
        /// Certificates besides, as PEM text.
        besides: Vec<Vec<u8>>,
    },
    /// These alone (PEM).
    Only(Vec<Vec<u8>>),
}

impl Default for Trust {
    fn default() -> Self {
        Self::System {
            besides: Vec::new(),
        }
    }
}

/// What all connections have in common; none of them goes through a proxy yet.
/// Without `secure` none of them speaks TLS.
pub(super) fn builder(
    trust: &Trust,
    secure: bool,
    connect: Duration,
) -> reqwest::Result<reqwest::ClientBuilder> {
    // Fails only if a provider is there already, which then serves.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .user_agent(concat!("apkit/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(connect)
        // The process environment is not looked at: `Proxies` says it all.
        .no_proxy();
    let certificates = |pems: &[Vec<u8>]| -> reqwest::Result<Vec<reqwest::Certificate>> {
        let mut all = Vec::new();
        for pem in pems {
            all.extend(reqwest::Certificate::from_pem_bundle(pem)?);
        }
        Ok(all)
    };
    Ok(match trust {
        _ if !secure => builder.tls_certs_only([]),
        Trust::Only(pems) => builder.tls_certs_only(certificates(pems)?),
        Trust::System { besides } if besides.is_empty() => builder,
        Trust::System { besides } => builder.tls_certs_merge(certificates(besides)?),
    })
}
