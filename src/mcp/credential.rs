//! Stand-in.

/// Credentials of one server.
#[derive(Clone, Default)]
pub struct Credentials {
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// Variables.
    pub env: Vec<(String, String)>,
}
