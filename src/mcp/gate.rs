//! The gate (AP-19): which servers the user lets start and be connected to.
//!
//! The specification knows no such thing. Programs of a package are off unless
//! the user says otherwise; servers that are reached over HTTP are on.

use std::collections::BTreeMap;

use crate::package::{Server, Transport};

/// What is decided about the servers of one package.
#[derive(Debug, Clone)]
pub struct Gate {
    stdio: Result<(), String>,
    servers: BTreeMap<String, Result<(), String>>,
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
            stdio,
            servers: BTreeMap::new(),
        }
    }

    /// Decides about one server, whatever holds for the others.
    pub fn decide(&mut self, server: &str, decision: Result<(), String>) {
        self.servers.insert(server.to_owned(), decision);
    }

    /// Whether a server may be started or connected to.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn check(&self, server: &Server) -> Result<(), &str> {
        let decision = match (self.servers.get(&server.name), &server.transport) {
            (Some(decision), _) => decision,
            (None, Transport::Stdio { .. }) => &self.stdio,
            (None, Transport::StreamableHttp { .. } | Transport::Sse { .. }) => &Ok(()),
        };
        decision.as_ref().map(|&()| ()).map_err(String::as_str)
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
        assert_eq!(gate.check(&remote), Ok(()));
        gate.decide("local", Ok(()));
        gate.decide("remote", Err("a rule".to_owned()));
        assert_eq!(gate.check(&local), Ok(()));
        assert_eq!(gate.check(&remote), Err("a rule"));
        assert_eq!(Gate::open().check(&local), Ok(()));
    }
}
