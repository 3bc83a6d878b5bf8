//! Credentials (US-8): what the user has a server given when it is started or
//! connected to, and where that comes from.
//!
//! A package never holds them, a plan never shows them, and nothing here is ever
//! part of a message. They win over what the package configures under the same
//! name (§7.2.1), and one for a server over HTTP that stands in a file is bound
//! to the origin it is for: an update of the package that leads elsewhere gets
//! nothing.
//!
//! | module | what |
//! | --- | --- |
//! | `file` | the file of credentials |
//! | `helper` | [`Helpers`]: how programs that print them are run |
//! | `given` | `SERVER:NAME=SOURCE`, as the command line has it |
//! | `secrets` | [`Secrets`]: what no message may show |
//! | `value` | getting the value: a variable, a file, a program |

mod file;
mod given;
mod helper;
mod secrets;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

use tokio::time::Instant;
use url::Url;

pub use self::file::FileError;
pub use self::given::{Given, NotGiven};
pub use self::helper::Helpers;
pub use self::secrets::Secrets;
use self::value::Value;
use super::plan::{Launch, ServerPlan};
use crate::spec::header;
use crate::spec::placeholder;

/// What one server is given. They are there for the moment of the start alone.
#[derive(Clone, Default)]
pub struct Credentials {
    /// Headers, for a server that is connected to.
    pub headers: Vec<(String, String)>,
    /// Environment variables, for one that is started.
    pub env: Vec<(String, String)>,
    /// Of those with something before the value, such as `Bearer `, the value alone by
    /// their names: no message shows it either.
    pub bare: Vec<(String, String)>,
}

impl fmt::Debug for Credentials {
    /// Names alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names =
            |pairs: &[(String, String)]| pairs.iter().map(|(name, _)| name.clone()).collect();
        let (headers, env): (Vec<String>, Vec<String>) = (names(&self.headers), names(&self.env));
        f.debug_struct("Credentials")
            .field("headers", &headers)
            .field("env", &env)
            .finish()
    }
}

/// Why a server does not get what the user has it given. Never shows a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the credential {name} of {server}: {problem}")]
pub struct CredentialError {
    /// The server.
    pub server: String,
    /// The header or variable.
    pub name: String,
    /// What is wrong.
    pub problem: String,
}

impl Credentials {
    /// Gets what `server` of `package` is given: runs helpers, reads files and
    /// `environment`. Nothing for a server that is off. Needs a runtime of tokio with I/O
    /// and time.
    ///
    /// # Errors
    ///
    /// When one of them cannot be had, cannot be sent, or is for another origin.
    pub async fn for_server(
        keys: &Keys,
        package: impl Into<Names<'_>>,
        server: &ServerPlan,
        environment: &BTreeMap<OsString, OsString>,
        helpers: &Helpers,
    ) -> Result<Self, CredentialError> {
        let until = Instant::now() + helpers.limit;
        let mut credentials = Self::default();
        for slot in keys.slots(package, server) {
            let error = |problem: String| CredentialError {
                server: server.name.clone(),
                name: slot.name().to_owned(),
                problem,
            };
            if let Some(problem) = slot.refusal() {
                return Err(error(problem));
            }
            let value = slot.key.value.get(environment, helpers, until);
            let value = value.await.map_err(error)?;
            if let Some(problem) = slot.kind.problem_of_value(&value) {
                return Err(error(problem.to_owned()));
            }
            let prefix = slot.key.value.prefix.as_str();
            if let Some(bare) = value.strip_prefix(prefix).filter(|_| !prefix.is_empty()) {
                let name = slot.key.name.clone();
                credentials.bare.push((name, bare.to_owned()));
            }
            let pairs = match slot.kind {
                Kind::Header => &mut credentials.headers,
                Kind::Env => &mut credentials.env,
            };
            pairs.push((slot.key.name.clone(), value));
        }
        Ok(credentials)
    }
}

/// The names by which credentials may mean a package. A name alone is that in
/// `plugin.json`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Names<'n> {
    /// Its name in `plugin.json`; empty if it has none.
    pub package: &'n str,
    /// The SOURCE by which it was asked for, as messages show it, which tells packages of
    /// one name apart; empty if there is none.
    pub source: &'n str,
    /// Whether the name in `plugin.json` is the SOURCE of another package of the run, which
    /// it means on the command line then.
    pub is_taken: bool,
}

impl<'n> From<&'n str> for Names<'n> {
    fn from(package: &'n str) -> Self {
        Self {
            package,
            ..Self::default()
        }
    }
}

impl Names<'_> {
    /// Whether `given`, the SERVER of a credential of the command line, means `server` of
    /// this package: by its name alone, or by one of [`Self::whole`].
    pub fn is_meant(self, given: &str, server: &str) -> bool {
        given == server || self.whole(server).any(|whole| given == whole)
    }

    /// What means `server` of this package where others have one of that name:
    /// `PACKAGE/SERVER`, unless PACKAGE is taken, and `SOURCE/SERVER`.
    pub fn whole(self, server: &str) -> impl Iterator<Item = String> {
        let package = if self.is_taken { "" } else { self.package };
        let names = [package, self.source].into_iter();
        let names = names.filter(|name| !name.is_empty());
        names.map(move |name| format!("{name}/{server}"))
    }
}

/// Where the credentials of all servers come from.
#[derive(Debug, Clone, Default)]
pub struct Keys(Vec<Key>);

/// One of them.
#[derive(Debug, Clone)]
struct Key {
    /// The package, if it is for one alone.
    package: Option<String>,
    server: String,
    /// Where alone it is sent.
    origin: Option<String>,
    /// What it becomes, if that is not for the transport to say.
    kind: Option<Kind>,
    name: String,
    value: Value,
}

/// What a credential becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A header.
    Header,
    /// An environment variable.
    Env,
}

impl Kind {
    fn of(launch: &Launch) -> Self {
        match launch {
            Launch::Stdio(_) => Self::Env,
            Launch::StreamableHttp(_) | Launch::Sse(_) => Self::Header,
        }
    }

    /// The table of the file that holds such ones.
    pub fn table(self) -> &'static str {
        match self {
            Self::Header => "headers",
            Self::Env => "env",
        }
    }

    /// A name as it is compared.
    fn folded(self, name: &str) -> String {
        match self {
            Self::Env if !cfg!(windows) => name.to_owned(),
            Self::Header | Self::Env => name.to_ascii_lowercase(),
        }
    }

    fn is_same(self, one: &str, other: &str) -> bool {
        self.folded(one) == self.folded(other)
    }

    /// Why nothing of this name can be given.
    fn problem_of_name(self, name: &str) -> Option<&'static str> {
        match self {
            Self::Header if !header::is_valid_name(name) => Some("it is no HTTP header name"),
            Self::Header if header::is_client_generated(name) => {
                Some("the protocol sets this header itself")
            }
            Self::Env if name.is_empty() || name.contains(['=', '\0']) => {
                Some("no variable can have this name")
            }
            Self::Env
                if placeholder::NAMES
                    .iter()
                    .any(|reserved| name.eq_ignore_ascii_case(reserved)) =>
            {
                Some("it is set by apkit and cannot be given")
            }
            _ => None,
        }
    }

    fn problem_of_value(self, value: &str) -> Option<&'static str> {
        match self {
            _ if value.is_empty() => Some("it is empty"),
            Self::Header if header::forbidden_in_value(value).is_some() => {
                Some("it holds a control character, which no header may")
            }
            Self::Env if value.contains('\0') => Some("it holds a NUL character"),
            _ => None,
        }
    }
}

/// A credential that a server is to be given, without its value.
#[derive(Debug)]
pub struct Slot<'k> {
    key: &'k Key,
    /// What it becomes.
    pub kind: Kind,
    /// Why it is not sent: it is for another origin.
    elsewhere: Option<String>,
}

impl Slot<'_> {
    /// The header or variable.
    pub fn name(&self) -> &str {
        &self.key.name
    }

    /// Where its value comes from: `env TIDES_KEY`, `file /run/key`, `command pass`,
    /// or that it stands in the file of credentials.
    pub fn origin(&self) -> String {
        self.key.value.origin()
    }

    /// Why it cannot be given, as far as that can be told without getting it.
    pub fn problem(&self, environment: &BTreeMap<OsString, OsString>) -> Option<String> {
        self.refusal()
            .or_else(|| self.key.value.problem(environment))
    }

    /// Why it is never given, whatever its value.
    fn refusal(&self) -> Option<String> {
        let name = self.kind.problem_of_name(self.name()).map(str::to_owned);
        name.or_else(|| self.elsewhere.clone())
    }
}

impl Keys {
    /// Takes these in, too; they win over what is there.
    pub fn add(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// Takes in one of the command line; it wins over what is there.
    pub fn give(&mut self, given: Given) {
        self.0.push(given.0);
    }

    /// What `server` of `package` is to be given, one for each name. Nothing for
    /// a server that is off.
    pub fn slots<'n>(&self, package: impl Into<Names<'n>>, server: &ServerPlan) -> Vec<Slot<'_>> {
        let package = package.into();
        let Ok(launch) = &server.launch else {
            return Vec::new();
        };
        let kind = Kind::of(launch);
        let origin = match launch {
            Launch::Stdio(_) => None,
            Launch::StreamableHttp(endpoint) | Launch::Sse(endpoint) => {
                Some(endpoint.url.origin().ascii_serialization())
            }
        };
        let mut slots: Vec<Slot<'_>> = Vec::new();
        for key in &self.0 {
            let is_for_it = key.is_for(package, &server.name);
            if !is_for_it || key.kind.is_some_and(|wanted| wanted != kind) {
                continue;
            }
            let elsewhere = match (&key.origin, &origin) {
                (Some(wanted), Some(is)) if wanted != is => Some(format!(
                    "it is for {wanted}, and the server is at {is}; it is not sent there"
                )),
                _ => None,
            };
            let slot = Slot {
                key,
                kind,
                elsewhere,
            };
            match slots
                .iter_mut()
                .find(|known| kind.is_same(known.name(), slot.name()))
            {
                None => slots.push(slot),
                // The later one wins, but for one that is not sent here.
                Some(known) if slot.elsewhere.is_none() || known.elsewhere.is_some() => {
                    *known = slot;
                }
                Some(_) => {}
            }
        }
        slots
    }

    /// The servers that credentials of the command line are for, which there
    /// should be.
    pub fn servers_given(&self) -> impl Iterator<Item = &str> {
        let given = self.0.iter().filter(|key| key.kind.is_none());
        given.map(|key| key.server.as_str())
    }
}

impl Keys {
    /// The credentials of the file that `server` of `package` does not take, since it is
    /// started or connected to, by their kind and name. None for a server that is off.
    pub fn unfitting<'n>(
        &self,
        package: impl Into<Names<'n>>,
        server: &ServerPlan,
    ) -> Vec<(Kind, &str)> {
        let package = package.into();
        let Ok(launch) = &server.launch else {
            return Vec::new();
        };
        let taken = Kind::of(launch);
        let for_it = self
            .0
            .iter()
            .filter(|key| key.is_for(package, &server.name));
        let mut unfitting: Vec<_> = for_it
            .filter_map(|key| Some((key.kind?, key.name.as_str())))
            .filter(|(kind, _)| *kind != taken)
            .collect();
        // Of several origins.
        unfitting.sort_unstable();
        unfitting.dedup();
        unfitting
    }

    /// The servers of the package of this name that the file has credentials for.
    pub fn servers_of(&self, package: &str) -> impl Iterator<Item = &str> {
        let of = move |key: &&Key| key.package.as_deref() == Some(package);
        self.0.iter().filter(of).map(|key| key.server.as_str())
    }
}

impl Key {
    fn is_for(&self, package: Names<'_>, server: &str) -> bool {
        match &self.package {
            Some(wanted) => wanted == package.package && self.server == server,
            None => package.is_meant(&self.server, server),
        }
    }
}

/// The origin of an address: scheme, host and port.
fn origin_of(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let is_origin = matches!(url.scheme(), "http" | "https")
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    is_origin.then(|| url.origin().ascii_serialization())
}
