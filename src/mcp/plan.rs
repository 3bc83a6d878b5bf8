//! The launch plan (§7.2.1, §9): for each server of a package what a client
//! starts or connects to, or why it does not.
//!
//! Making a plan looks at the file system, and changes nothing.
//!
//! | module | rules |
//! | --- | --- |
//! | `command` | which file is run |
//! | `cwd` | which directory it starts in |
//! | `environment` | which variables it gets |
//! | `places` | [`Places`]: where the package lies and may write |
//! | `platform` | how systems differ in names of variables and programs |

mod command;
mod cwd;
mod environment;
mod places;
mod platform;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use url::Url;

pub use self::places::Places;
use self::platform::Platform;
use super::gate::{Gate, Hosts, Permit};
use crate::archive::Digest;
use crate::diagnostic::{Code, Diagnostic, Effect};
use crate::document::Pointer;
use crate::package::{Package, Server, Transport};
use crate::spec::codes::mcp as codes;
use crate::spec::placeholder;
use crate::spec::url::names_loopback;
use crate::sys;

/// A variable that is set for every program unless the package has its own way
/// with it: without it, a server in Python writes into the package, which is then
/// another one than the user's rule is for.
pub const PYTHON_CACHE: &str = environment::PYTHON_CACHE;

/// What a client does with the servers of one package.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The package's name; empty if a rejected one has none.
    pub package: String,
    /// `PLUGIN_ROOT`: the physical path of the package (§9.1).
    pub root: PathBuf,
    /// `PLUGIN_DATA`: the absolute path of the directory the package may write
    /// to (§9.1). It is made before the first server that may use it starts.
    pub data: PathBuf,
    /// Why there are no servers although there may be some in `mcp.json`: the
    /// package is rejected, or MCP is disabled for it (§7.2.2).
    pub disabled: Vec<Problem>,
    /// The servers: those that load and then those that do not, each in the order
    /// of `mcp.json`.
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

impl Launch {
    /// The same with what has to be judged again when it is done.
    fn under(mut self, permit: &Permit) -> Self {
        match &mut self {
            Self::Stdio(process) => process.content = permit.content,
            Self::StreamableHttp(endpoint) | Self::Sse(endpoint) => {
                endpoint.hosts = permit.hosts.clone();
            }
        }
        self
    }
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
    /// Its working directory, an absolute path without links.
    pub cwd: PathBuf,
    /// Whether [`Self::cwd`] lies below `PLUGIN_DATA` and is made if it is missing.
    pub create_cwd: bool,
    /// The one content that the package has to have when it starts; any without.
    pub content: Option<Digest>,
}

/// A server to connect to.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Its address.
    pub url: Url,
    /// The configured headers, literally (§7.2.1).
    pub headers: Vec<(String, String)>,
    /// Whether it is this machine, as it is written (§7.2.1).
    pub is_here: bool,
    /// Which hosts it may lead on to.
    pub hosts: Hosts,
}

impl Endpoint {
    /// The server at the address `url`, which may lead on to every host.
    ///
    /// # Errors
    ///
    /// No client could make an address of `url`.
    pub fn new(url: &str, headers: Vec<(String, String)>) -> Result<Self, url::ParseError> {
        Ok(Self {
            is_here: names_loopback(url),
            url: Url::parse(url)?,
            headers,
            hosts: Hosts::default(),
        })
    }
}

/// Why a server is not started or connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Off {
    /// The entry breaks the rules (§7.2.2 item 3), by what the loader found or by
    /// where its paths lead now.
    Invalid(Vec<Problem>),
    /// It would load, and the user's rules keep it off (AP-19). Names the rule
    /// or what allows it.
    Policy(String),
    /// It cannot be started as things stand: says what is missing.
    Unavailable(String),
}

impl Off {
    /// The kind of reason in one word, for reports: `disabled`, `invalid` or
    /// `unavailable`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "invalid",
            Self::Policy(_) => "disabled",
            Self::Unavailable(_) => "unavailable",
        }
    }

    /// The words for the kind of reason.
    pub fn state(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "invalid",
            Self::Policy(_) => "disabled by policy",
            Self::Unavailable(_) => "unavailable",
        }
    }
}

impl fmt::Display for Off {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.state())?;
        let mut separator = ": ";
        match self {
            Self::Invalid(problems) => {
                for problem in problems {
                    write!(f, "{separator}{problem}")?;
                    separator = "; ";
                }
                Ok(())
            }
            Self::Policy(why) | Self::Unavailable(why) => write!(f, "{separator}{why}"),
        }
    }
}

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its diagnostic code, which `apkit explain` explains.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
}

impl Problem {
    fn of(finding: &Diagnostic) -> Self {
        Self {
            code: finding.code.id,
            message: finding.message.clone(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

/// An entry that breaks a rule now, whatever it did when it was loaded.
fn invalid(code: &Code, message: String) -> Off {
    Off::Invalid(vec![Problem {
        code: code.id,
        message,
    }])
}

/// Plans what becomes of every server of `package`, which lies and may write at
/// `places`. `environment` is what a subprocess could inherit. Every path is
/// judged anew: what led into the package when it was loaded may lead elsewhere.
pub fn plan(
    package: &Package,
    places: &Places,
    environment: &BTreeMap<OsString, OsString>,
    gate: &Gate,
) -> Plan {
    let resolver = Resolver {
        places,
        root: places.root().into_os_string(),
        data: places.data().into_os_string(),
        environment,
        platform: Platform::of(environment),
    };
    let of_effect = |effect| {
        let findings = package.diagnostics.iter();
        findings.filter(move |found: &&Diagnostic| found.effect() == effect)
    };
    let rejected = of_effect(Effect::PackageRejected);
    let disabled = rejected.chain(of_effect(Effect::McpDisabled));
    let loaded = package.mcp.loaded.iter().map(|server| ServerPlan {
        name: server.name.clone(),
        launch: resolver.gated(server, gate),
    });
    let skipped = package.mcp.skipped.iter().map(|name| {
        let entry = Pointer::root().key("mcpServers").key(name).to_string();
        let about = |found: &&Diagnostic| {
            let pointer = found.pointer.as_deref().unwrap_or_default();
            let below = pointer.strip_prefix(&entry);
            below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
        };
        let problems = of_effect(Effect::ServerSkipped).filter(about);
        ServerPlan {
            name: name.clone(),
            launch: Err(Off::Invalid(problems.map(Problem::of).collect())),
        }
    });
    Plan {
        package: package.name.clone().unwrap_or_default(),
        root: places.root(),
        data: places.data(),
        disabled: disabled.map(Problem::of).collect(),
        servers: loaded.chain(skipped).collect(),
    }
}

/// What all servers of a package have in common.
struct Resolver<'p> {
    places: &'p Places,
    /// `PLUGIN_ROOT` and `PLUGIN_DATA`.
    root: OsString,
    data: OsString,
    environment: &'p BTreeMap<OsString, OsString>,
    platform: Platform,
}

impl Resolver<'_> {
    /// A broken rule is told alone, what is missing on this machine behind what the
    /// user's rules say.
    fn gated(&self, server: &Server, gate: &Gate) -> Result<Launch, Off> {
        match (self.launch(&server.transport), gate.check(server)) {
            (Err(Off::Invalid(problems)), _) => Err(Off::Invalid(problems)),
            (Err(Off::Unavailable(missing)), Err(why)) => {
                Err(Off::Policy(format!("{why}; besides, {missing}")))
            }
            (_, Err(why)) => Err(Off::Policy(why.to_owned())),
            (launch, Ok(permit)) => launch.map(|launch| launch.under(permit)),
        }
    }

    fn launch(&self, transport: &Transport) -> Result<Launch, Off> {
        match transport {
            Transport::Stdio {
                command,
                args,
                env,
                cwd,
            } => {
                let cwd = cwd::resolve(self, cwd.as_deref());
                let env = environment::make(self, env);
                let program = match &env {
                    Ok(env) => command::resolve(self, command, env),
                    Err(off) => Err(off.clone()),
                };
                // What breaks a rule counts before what is missing.
                let is_invalid = |off: &Off| matches!(off, Off::Invalid(_));
                if let Some(off) = program.as_ref().err().filter(|off| is_invalid(off)) {
                    return Err(off.clone());
                }
                let (cwd, create_cwd) = cwd?;
                Ok(Launch::Stdio(Process {
                    program: program?,
                    args: self.args(args)?,
                    env: env?,
                    cwd,
                    create_cwd,
                    content: None,
                }))
            }
            Transport::StreamableHttp { url, headers } => {
                endpoint(url, headers).map(Launch::StreamableHttp)
            }
            Transport::Sse { url, headers } => endpoint(url, headers).map(Launch::Sse),
        }
    }

    fn args(&self, args: &[String]) -> Result<Vec<String>, Off> {
        let args = args.iter().enumerate().map(|(index, argument)| {
            let refused = |what: &str| {
                let number = index + 1;
                Off::Unavailable(format!("argument {number} {what}"))
            };
            if argument.contains('\0') {
                return Err(refused(
                    "holds a NUL character, which no process can be given",
                ));
            }
            let expanded = self.expand(argument).into_string();
            expanded.map_err(|_| refused("names a directory whose path is not Unicode"))
        });
        args.collect()
    }

    /// Replaces the two placeholders of the specification (§9.2).
    fn expand(&self, text: &str) -> OsString {
        placeholder::expand(text, &self.root, &self.data)
    }
}

/// The program of this name, where the platform looks for it with `environment`.
pub(super) fn find_program(
    name: &str,
    environment: &BTreeMap<OsString, OsString>,
) -> Result<PathBuf, String> {
    let platform = Platform::of(environment);
    let path = platform.get(environment, "PATH");
    command::search(&platform, name, path)
}

fn endpoint(url: &str, headers: &[(String, String)]) -> Result<Endpoint, Off> {
    Endpoint::new(url, headers.to_vec()).map_err(|error| {
        invalid(
            &codes::URL_INVALID,
            format!("the URL cannot be used: {error}"),
        )
    })
}

impl Process {
    /// Makes what is to be there before the process starts, and looks once more
    /// where its working directory leads: `PLUGIN_DATA` (§9.1), and
    /// [`Self::cwd`] below it.
    ///
    /// # Errors
    ///
    /// When a directory cannot be made, or the working directory has meanwhile
    /// been replaced by a link.
    pub fn make_directories(&self) -> io::Result<()> {
        if let Some(data) = self.env.get(OsStr::new(environment::DATA)) {
            sys::create_private_dir(Path::new(data))?;
        }
        if self.create_cwd {
            std::fs::create_dir_all(&self.cwd)?;
        }
        if sys::plain_path(&self.cwd.canonicalize()?) != self.cwd {
            return Err(io::Error::other(format!(
                "the working directory {} was replaced by a link",
                self.cwd.display()
            )));
        }
        Ok(())
    }
}
