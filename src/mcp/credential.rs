//! Credentials of a server, which come from the user and never from the package.

use std::fmt;

/// What is added to a server's headers or environment when it is connected to.
#[derive(Clone, Default)]
pub struct Credentials {
    /// Headers, for a server that is reached over HTTP.
    pub headers: Vec<(String, String)>,
    /// Variables, for a server that is a subprocess.
    pub env: Vec<(String, String)>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, String)]| {
            let names = pairs.iter().map(|(name, _)| name.clone());
            names.collect::<Vec<_>>()
        };
        f.debug_struct("Credentials")
            .field("headers", &names(&self.headers))
            .field("env", &names(&self.env))
            .finish()
    }
}
