//! The gate (AP-19): which servers the user lets start and be connected to.
//!
//! The specification knows no such thing. Programs of a package are off unless
//! the user says otherwise; servers that are reached over HTTP are on.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use url::Url;

use crate::archive::Digest;
use crate::package::{Server, Transport};

/// What a server may do. It is judged again whenever the server does it: what the
/// plan has seen may be something else by then.
#[derive(Debug, Clone, Default)]
pub struct Permit {
    /// The one content that its package has to have when it is started; any without.
    pub content: Option<Digest>,
    /// Where it may be, if it is connected to.
    pub hosts: Hosts,
}

/// Judges a host by the user's rules; says why not.
type Judge = dyn Fn(&str) -> Result<(), String> + Send + Sync;

/// The hosts that may be connected to: a server may lead on to others.
#[derive(Clone, Default)]
pub struct Hosts(Option<Arc<Judge>>);

impl fmt::Debug for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let judged = if self.0.is_some() { "by rules" } else { "all" };
        f.debug_tuple("Hosts").field(&judged).finish()
    }
}

impl Hosts {
    /// Those that `judge` lets pass. It is asked for the host without the brackets
    /// that an address has in a URL, and without the dot that names the same host.
    pub fn by(judge: impl Fn(&str) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(judge)))
    }

    /// Whether the host of `url` may be connected to.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn check(&self, url: &Url) -> Result<(), String> {
        let host = url.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches([']', '.']);
        self.0.as_ref().map_or(Ok(()), |judge| judge(host))
    }
}

/// What is decided about the servers of one package.
#[derive(Debug, Clone)]
pub struct Gate {
    stdio: Result<Permit, String>,
    other: Permit,
    servers: BTreeMap<String, Result<Permit, String>>,
}

impl Default for Gate {
    /// Subprocesses are off, and nothing tells how to allow them.
    fn default() -> Self {
        Self::with_stdio(Err("subprocesses are not allowed".to_owned()))
    }
}

impl Gate {
    /// Everything is on.
    pub fn open() -> Self {
        Self::with_stdio(Ok(()))
    }

    /// Subprocesses are on or off, which then names the rule or what allows them.
    pub fn with_stdio(stdio: Result<(), String>) -> Self {
        Self {
            stdio: stdio.map(|()| Permit::default()),
            other: Permit::default(),
            servers: BTreeMap::new(),
        }
    }

    /// Decides about one server, whatever holds for the others.
    pub fn decide(&mut self, server: &str, decision: Result<Permit, String>) {
        self.servers.insert(server.to_owned(), decision);
    }

    /// Whether a server may be started or connected to.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn check(&self, server: &Server) -> Result<&Permit, &str> {
        let decision = match (self.servers.get(&server.name), &server.transport) {
            (Some(decision), _) => decision,
            (None, Transport::Stdio { .. }) => &self.stdio,
            (None, Transport::StreamableHttp { .. } | Transport::Sse { .. }) => {
                return Ok(&self.other);
            }
        };
        decision.as_ref().map_err(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str, transport: Transport) -> Server {
        Server {
            name: name.to_owned(),
            transport,
        }
    }

    #[test]
    fn subprocesses_are_off_and_connections_on_unless_decided() {
        let local = server(
            "local",
            Transport::Stdio {
                command: "x".to_owned(),
                args: Vec::new(),
                env: Vec::new(),
                cwd: None,
            },
        );
        let remote = server(
            "remote",
            Transport::Sse {
                url: "https://example.com/sse".to_owned(),
                headers: Vec::new(),
            },
        );
        let mut gate = Gate::default();
        assert!(gate.check(&local).is_err());
        assert!(gate.check(&remote).is_ok());
        gate.decide("local", Ok(Permit::default()));
        gate.decide("remote", Err("a rule".to_owned()));
        assert!(gate.check(&local).is_ok());
        assert_eq!(gate.check(&remote).err(), Some("a rule"));
        assert!(Gate::open().check(&local).is_ok());
    }
}
