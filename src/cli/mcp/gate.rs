//! From `--allow-stdio` and the rules of `apkit.toml` to a gate.

use std::path::Path;

use url::Url;

use apkit::archive::Digest;
use apkit::mcp::gate::{Gate, Hosts, Permit};
use apkit::package::{Package, Server, Transport};
use apkit::store::{Policy, Program, Start};

use crate::cli::failure::show;

/// Whose word counts.
#[derive(Clone, Copy)]
pub(super) struct Rules<'r> {
    /// `--allow-stdio`.
    pub(super) allow_stdio: bool,
    /// The user's own, which allow and forbid.
    pub(super) own: Option<&'r Policy>,
    /// The file to write them to.
    pub(super) own_file: &'r Path,
    /// The project's, which can only forbid: a stranger may have written them.
    pub(super) project: Option<&'r Policy>,
}

/// Decides about every server. `digest` is that of the package as it is now, or
/// why it has none; `is_installed` is whether there is a lock file to compare it with.
pub(super) fn decide(
    package: &Package,
    digest: &Result<Digest, String>,
    is_installed: bool,
    rules: &Rules<'_>,
) -> Gate {
    let plugin = package.name.as_deref().unwrap_or_default();
    let mut gate = Gate::default();
    for server in &package.mcp.loaded {
        let decision = match &server.transport {
            Transport::Stdio { .. } => rules.start(plugin, server, digest, is_installed),
            Transport::StreamableHttp { url, .. } | Transport::Sse { url, .. } => {
                rules.connect(plugin, server, url)
            }
        };
        gate.decide(&server.name, decision);
    }
    gate
}

impl<'r> Rules<'r> {
    fn all(&self) -> impl Iterator<Item = &'r Policy> {
        self.own.into_iter().chain(self.project)
    }

    fn start(
        &self,
        plugin: &str,
        server: &Server,
        digest: &Result<Digest, String>,
        is_installed: bool,
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
        let mut why = "programs are not started; --allow-stdio starts them this time".to_owned();
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
            }) => {
                why.push_str(&format!("; the rule {rule} is for another content"));
                if is_installed {
                    why.push_str(&format!(", see `apkit verify {plugin}`"));
                }
            }
            _ => {}
        }
        let project = self.project.map(|project| project.start(&program));
        if matches!(project, Some(Start::Allowed)) {
            why.push_str("; that a project allows its own programs does not count");
        }
        match digest {
            Ok(_) => why.push_str(&format!(
                "; for good, a rule in {}, which `apkit mcp plan` shows",
                show(self.own_file)
            )),
            Err(problem) => {
                why.push_str(&format!("; no rule can name this content: {problem}"));
                if !is_installed {
                    why.push_str("; what `apkit import` installs, one can");
                }
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
