//! From `--allow-stdio` and the rules of `apkit.toml` to a gate.

use url::Url;

use apkit::archive::Digest;
use apkit::mcp::gate::{Gate, Hosts, Permit};
use apkit::mcp::plan::Off;
use apkit::package::{Package, Server, Transport};
use apkit::store::{Policy, Program, Start};

/// Whose word counts.
#[derive(Clone, Copy)]
pub(super) struct Rules<'r> {
    /// `--allow-stdio`.
    pub(super) allow_stdio: bool,
    /// The user's own, which allow and forbid.
    pub(super) own: Option<&'r Policy>,
    /// The project's, which can only forbid: a stranger may have written them.
    pub(super) project: Option<&'r Policy>,
}

/// What is said of programs that no rule speaks of.
const NOT_ALLOWED: &str = "programs are not allowed";
/// How many changed files a message names.
const MOST_NAMED: usize = 5;

/// Whether a rule of the user's or `--allow-stdio` would have the program started.
pub(super) fn is_unsaid(off: &Off) -> bool {
    matches!(off, Off::Policy(why) if why.starts_with(NOT_ALLOWED))
}

/// Decides about every server. `digest` is that of the package as it is now, or
/// why it has none; `changes` are those of an installed package since its
/// installation, or nothing for another.
pub(super) fn decide(
    package: &Package,
    digest: &Result<Digest, String>,
    changes: Option<&dyn Fn() -> Vec<String>>,
    rules: &Rules<'_>,
) -> Gate {
    let plugin = package.name.as_deref().unwrap_or_default();
    let mut gate = Gate::default();
    for server in &package.mcp.loaded {
        let decision = match &server.transport {
            Transport::Stdio { .. } => rules.start(plugin, server, digest, changes),
            Transport::StreamableHttp { url, .. } | Transport::Sse { url, .. } => {
                rules.connect(plugin, server, url)
            }
        };
        gate.decide(&server.name, decision);
    }
    gate
}

impl<'r> Rules<'r> {
    /// All of them, for what is fetched.
    pub(super) fn policy(&self) -> Policy {
        self.all().fold(Policy::default(), Policy::and)
    }

    fn all(&self) -> impl Iterator<Item = &'r Policy> {
        self.own.into_iter().chain(self.project)
    }

    fn start(
        &self,
        plugin: &str,
        server: &Server,
        digest: &Result<Digest, String>,
        changes: Option<&dyn Fn() -> Vec<String>>,
    ) -> Result<Permit, String> {
        let program = Program {
            plugin,
            digest: digest.as_ref().ok(),
            server: &server.name,
        };
        for policy in self.all() {
            if let Start::Denied(denied) = policy.start(&program) {
                return Err(denied.to_string());
            }
        }
        if self.allow_stdio {
            return Ok(Permit::default());
        }
        let mut why = NOT_ALLOWED.to_owned();
        let own = self.own.map(|own| own.start(&program));
        match own {
            Some(Start::Allowed) => {
                return Ok(Permit {
                    content: program.digest.copied(),
                    ..Permit::default()
                });
            }
            Some(Start::Unsaid {
                other_content: Some(rule),
                ..
            }) => {
                why.push_str(&format!(
                    "; the rule {rule} is for another content: the package changed since it was written"
                ));
                let changes = changes.map(|changes| changes()).unwrap_or_default();
                if !changes.is_empty() {
                    let named = changes.iter().take(MOST_NAMED).cloned();
                    let more = if changes.len() > MOST_NAMED {
                        ", …"
                    } else {
                        ""
                    };
                    why.push_str(&format!(
                        ", and since it was installed: {}{more} (`apkit verify {plugin}`)",
                        named.collect::<Vec<_>>().join(", ")
                    ));
                }
                // Why there is none is said below.
                if digest.is_ok() {
                    why.push_str(
                        "; look at it, and put the digest that `apkit mcp plan` shows there",
                    );
                }
            }
            Some(Start::Unsaid {
                elsewhere: Some(rule),
                ..
            }) => why.push_str(&format!(
                "; the rule {rule} names this content, and another package or server"
            )),
            Some(Start::Unsaid {
                similar: Some(rule),
                ..
            }) if digest.is_ok() => why.push_str(&format!(
                "; the rule {rule} names nearly this package or server, and another content: if this \
                 one is meant, put its name and the digest that `apkit mcp plan` shows there"
            )),
            _ => {}
        }
        let project = self.project.map(|project| project.start(&program));
        if matches!(project, Some(Start::Allowed)) {
            why.push_str("; that a project allows its own programs does not count");
        }
        if let Err(problem) = digest {
            why.push_str(&format!("; no rule can name this content: {problem}"));
            if changes.is_none() {
                why.push_str("; one can name what `apkit import` installs of it");
            }
        }
        Err(why)
    }

    fn connect(&self, plugin: &str, server: &Server, url: &str) -> Result<Permit, String> {
        let policies: Vec<Policy> = self.all().cloned().collect();
        let (plugin, server) = (plugin.to_owned(), server.name.clone());
        let hosts = Hosts::by(move |host| {
            policies.iter().try_for_each(|policy| {
                let judged = policy.connect(host, &plugin, &server);
                judged.map_err(|denied| denied.to_string())
            })
        });
        // What is no address is no server either.
        if let Ok(url) = Url::parse(url) {
            hosts.check(&url)?;
        }
        Ok(Permit {
            hosts,
            ..Permit::default()
        })
    }
}
