//! The launch plan (§7.2.1, §9): for each server of a package what a client
//! starts or connects to, or why it does not.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use url::Url;

/// What a client does with the servers of one package.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The package's name.
    pub package: String,
    /// `PLUGIN_ROOT`: the physical path of the package (§9.1).
    pub root: PathBuf,
    /// `PLUGIN_DATA`: the absolute path of the directory the package may write
    /// to (§9.1). It is made before the first server that may use it starts.
    pub data: PathBuf,
    /// The servers, in the order of `mcp.json`.
    pub servers: Vec<ServerPlan>,
}

/// What a client does with one server.
#[derive(Debug, Clone)]
pub struct ServerPlan {
    /// Its name in `mcpServers`.
    pub name: String,
    /// How it is reached, or why it is not.
    pub launch: Result<Launch, Off>,
}

/// How a server is reached: by the transport its `type` declares and no other.
#[derive(Debug, Clone)]
pub enum Launch {
    /// A subprocess that speaks over its standard input and output.
    Stdio(Process),
    /// MCP Streamable HTTP.
    StreamableHttp(Endpoint),
    /// The deprecated transport HTTP+SSE.
    Sse(Endpoint),
}

/// A subprocess to start, everything resolved and expanded (§9.2).
#[derive(Debug, Clone)]
pub struct Process {
    /// The executable's absolute path.
    pub program: PathBuf,
    /// Its arguments, each passed as it is; no shell sees them.
    pub args: Vec<String>,
    /// Its whole environment; nothing else is inherited.
    pub env: BTreeMap<OsString, OsString>,
    /// Its working directory, an absolute path.
    pub cwd: PathBuf,
    /// Whether [`Self::cwd`] lies below `PLUGIN_DATA` and is made if it is missing.
    pub create_cwd: bool,
}

/// A server to connect to.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Its address.
    pub url: Url,
    /// The configured headers, literally (§7.2.1).
    pub headers: Vec<(String, String)>,
}

/// Why a server is not started or connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Off {
    /// The entry breaks the rules and was skipped by the loader (§7.2.2).
    Invalid,
    /// It would load, and the user's rules keep it off (AP-19). Names the rule
    /// or what allows it.
    Policy(String),
    /// It cannot be started as things stand: says what is missing.
    Unavailable(String),
}
