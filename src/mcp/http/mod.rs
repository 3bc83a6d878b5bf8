//! Connecting to servers over HTTP: MCP Streamable HTTP and the deprecated
//! HTTP+SSE of 2024-11-05 (§7.2.1). Each by its declared type, never the other
//! one instead.
//!
//! | module | what lives there |
//! | --- | --- |
//! | `streamable` | [`Streamable`]: Streamable HTTP, on the session keeping of rmcp |
//! | `resume` | a stream of answers that is taken up again where it broke off |
//! | `sse` | [`Sse`]: HTTP+SSE |
//! | `exchange` | one request and the judgement of its answer |
//! | `redirect` | the one rule for redirects |
//! | `headers` | the one rule for whose header wins |
//! | `events` | server-sent events out of bytes, with bounds |
//! | `heard` | which of the messages in a text is the answer to a request |
//! | `failure` | [`Failure`]: what goes wrong, told apart |
//! | `watch` | [`Watch`]: what can be seen of a connection from outside |
//!
//! Rules that hold for both:
//!
//! - Configured headers and credentials go to the origin of the configured address
//!   alone, on redirects and with the endpoints that HTTP+SSE announces.
//! - Which machines may be reached is judged by address, see [`crate::net::Egress`].
//! - Nothing is decompressed; everything that comes has a cap and a deadline.
//! - No message shows a query, a header's value or a credential.

mod events;
mod exchange;
mod failure;
mod headers;
mod heard;
mod redirect;
mod resume;
mod sse;
mod streamable;
mod watch;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use failure::{Failure, Hint, StartError};
pub use sse::Sse;
pub use streamable::Streamable;
pub use watch::Watch;

use url::Host;

use super::credential::Credentials;
use super::plan::Endpoint;
use super::wire::Results;
use crate::net::{Denied, Egress, Lookup, Proxies, Trust};

/// How long is waited.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// For a connection, its TLS handshake included.
    pub connect: Duration,
    /// For the head of an answer. A server may do the whole work of a call before
    /// it sends one.
    pub answer: Duration,
    /// For each further piece of an answer that is one JSON text.
    pub idle: Duration,
    /// For the whole of such an answer once it has begun, and of one event.
    pub whole: Duration,
    /// For any sign of life on the stream that answers a request. The streams for
    /// what a server says unasked may be silent for ever.
    pub silence: Duration,
    /// For the first event of HTTP+SSE, which names the endpoint.
    pub endpoint: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            answer: Duration::from_secs(300),
            idle: Duration::from_secs(60),
            whole: Duration::from_secs(120),
            silence: Duration::from_secs(300),
            endpoint: Duration::from_secs(30),
        }
    }
}

/// How much is taken, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Of an answer that is one JSON text.
    pub json: usize,
    /// Of one event, and of what comes between two.
    pub event: usize,
    /// Of a refusal, for its reason.
    pub error: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            json: 16 << 20,
            event: 16 << 20,
            error: 64 << 10,
        }
    }
}

/// How a stream that broke off is taken up again.
#[derive(Debug, Clone, Copy)]
pub struct Reconnect {
    /// How often in a row without anything coming of it. The stream for what a
    /// server says unasked is tried for as long as the session lasts.
    pub times: u32,
    /// The pause before the first try; each further one is twice as long. No
    /// server can ask for a shorter one.
    pub pause: Duration,
    /// The longest pause, unless the server asks for a longer one.
    pub longest: Duration,
}

impl Default for Reconnect {
    fn default() -> Self {
        Self {
            times: 5,
            pause: Duration::from_millis(500),
            longest: Duration::from_secs(30),
        }
    }
}

impl Reconnect {
    /// The pause before the next try after `failed` ones, when the server asked
    /// for `asked`.
    fn before(&self, failed: u32, asked: Option<Duration>) -> Duration {
        let own = self
            .pause
            .saturating_mul(2_u32.saturating_pow(failed))
            .min(self.longest);
        own.max(asked.unwrap_or_default())
    }
}

/// The rules for all connections to servers over HTTP.
#[derive(Clone, Default)]
pub struct Rules {
    /// Which machines may be reached.
    pub egress: Egress,
    /// How long is waited.
    pub timeouts: Timeouts,
    /// How much is taken.
    pub limits: Limits,
    /// How streams are taken up again.
    pub reconnect: Reconnect,
    /// Which proxies are used. Behind one, names are looked up by it, so that
    /// [`Rules::egress`] only judges addresses that are written as such.
    pub proxies: Proxies,
    /// Whose certificates are trusted.
    pub trust: Trust,
    /// Finds the addresses of hosts; the system does without it.
    pub lookup: Option<Lookup>,
    /// How results are handed on.
    pub results: Results,
    /// Set when a server does not accept the credentials that it is given.
    pub refused: Arc<AtomicBool>,
}

/// Judges an endpoint whose host is written as an address, before anything is
/// connected to. Where a name leads is known only then.
///
/// # Errors
///
/// No connection may be made there.
pub fn judge(endpoint: &Endpoint, egress: &Egress) -> Result<(), Denied> {
    let address: IpAddr = match endpoint.url.host() {
        Some(Host::Ipv4(address)) => address.into(),
        Some(Host::Ipv6(address)) => address.into(),
        Some(Host::Domain(_)) | None => return Ok(()),
    };
    egress.judge(&format!("{address}"), address, endpoint.is_here)
}

/// Connects to a server over MCP Streamable HTTP. Nothing is sent before the first
/// message. To be called inside a tokio runtime.
///
/// # Errors
///
/// The endpoint or a credential cannot be used.
pub fn streamable(
    endpoint: &Endpoint,
    credentials: &Credentials,
    rules: &Rules,
) -> Result<Streamable, StartError> {
    exchange::Exchange::new(endpoint, credentials, rules).map(Streamable::start)
}

/// Connects to a server over the deprecated HTTP+SSE. To be called inside a tokio
/// runtime.
///
/// # Errors
///
/// The endpoint or a credential cannot be used.
pub fn sse(
    endpoint: &Endpoint,
    credentials: &Credentials,
    rules: &Rules,
) -> Result<Sse, StartError> {
    exchange::Exchange::new(endpoint, credentials, rules).map(Sse::start)
}

#[cfg(test)]
mod tests {
    use super::Reconnect;
    use std::time::Duration;

    #[test]
    fn pauses_grow_and_servers_can_only_lengthen_them() {
        let reconnect = Reconnect::default();
        let millis = |failed, asked: Option<u64>| {
            let asked = asked.map(Duration::from_millis);
            reconnect.before(failed, asked).as_millis()
        };
        assert_eq!(millis(0, None), 500);
        assert_eq!(millis(2, None), 2000);
        assert_eq!(millis(99, None), 30_000);
        assert_eq!(millis(0, Some(0)), 500);
        assert_eq!(millis(0, Some(90_000)), 90_000);
    }
}
