//! The gate (AP-19): which servers the user lets start and be connected to.
//!
//! The specification knows no such thing. Programs of a package are off unless
//! the user says otherwise; servers that are reached over HTTP are on.

use std::collections::BTreeMap;

use crate::archive::Digest;
use crate::package::{Server, Transport};

/// What a server may do. It is judged again whenever the server does it: what the
/// plan has seen may be something else by then.
#[derive(Debug, Clone, Default)]
pub struct Permit {
    /// The one content that its package has to have when it is started; any without.
    pub content: Option<Digest>,
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
