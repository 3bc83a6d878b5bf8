//! Which servers may be started and connected to (AP-19).
//!
//! Programs are started only if a rule `[[stdio.allow]]` says so, which is about
//! one package with one content; `[[stdio.deny]]` wins over everything. Servers
//! over HTTP are connected to unless a rule `[[remote.deny]]` fits, or there are
//! rules `[[remote.allow]]` in the same file and none fits. `private` of `[remote]`
//! names what may be connected to although its address is none of the internet.

use std::ops::Range;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::condition::{check_of_server, no_condition};
use super::install::written as text_of;
use super::{Denied, Place, Policy, conditions, is_host, matches, named, written};
use crate::archive::Digest;
use crate::net::Egress;
use crate::package::{Package, Server, Transport};
use crate::spec::{near, pattern};

/// The rules of one file.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    start: Vec<Rule<StartText>>,
    keep: Vec<Rule<KeepText>>,
    reach: Vec<Rule<ReachText>>,
    avoid: Vec<Rule<AvoidText>>,
    private: Vec<String>,
}

#[derive(Debug, Clone)]
struct Rule<T> {
    place: Place,
    text: T,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StdioText {
    #[serde(default)]
    allow: Vec<Spanned<StartText>>,
    #[serde(default)]
    deny: Vec<Spanned<KeepText>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RemoteText {
    #[serde(default)]
    allow: Vec<Spanned<ReachText>>,
    #[serde(default)]
    deny: Vec<Spanned<AvoidText>>,
    #[serde(default)]
    private: Vec<Spanned<String>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct StartText {
    plugin: Spanned<String>,
    digest: Spanned<String>,
    server: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeepText {
    plugin: Option<Spanned<String>>,
    server: Option<String>,
    reason: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReachText {
    host: Spanned<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct AvoidText {
    host: Option<Spanned<String>>,
    plugin: Option<Spanned<String>>,
    server: Option<String>,
    reason: Option<String>,
}

/// A server that is a program.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// The name in `plugin.json`.
    pub plugin: &'a str,
    /// The digest of the package as it is now, if it has one.
    pub digest: Option<&'a Digest>,
    /// The name in `mcp.json`.
    pub server: &'a str,
}

/// What the rules say of starting a program.
#[derive(Debug)]
pub enum Start {
    /// A rule allows it.
    Allowed,
    /// A rule forbids it, whatever else is said.
    Denied(Denied),
    /// Nothing.
    Unsaid {
        /// A rule about the same package that is for another content of it, with
        /// its place.
        other_content: Option<String>,
        /// A rule that names this content, and another package or server.
        elsewhere: Option<String>,
        /// A rule that names another content, and a package or server of nearly this name:
        /// a slip, if it is not about that one.
        similar: Option<String>,
    },
}

/// A rule `[[stdio.allow]]` about a package that has another content than it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outdated {
    /// The rule, as its file says it.
    pub rule: String,
    /// The file.
    pub path: PathBuf,
    /// Its line there, from 1.
    pub line: usize,
}

impl Policy {
    /// The rules that would have programs of `package` started if its content was
    /// another one than `digest`, and without which nothing has them started.
    pub fn outdated(&self, package: &Package, digest: &Digest) -> Vec<Outdated> {
        let plugin = package.name.as_deref().unwrap_or_default();
        let is_program = |server: &&Server| matches!(server.transport, Transport::Stdio { .. });
        let programs = package.mcp.loaded.iter().filter(is_program);
        let programs = programs.map(|server| Program {
            plugin,
            digest: Some(digest),
            server: &server.name,
        });
        let unsaid: Vec<Program<'_>> = programs
            .filter(|program| matches!(self.start(program), Start::Unsaid { .. }))
            .collect();
        let rules = self.files.iter().flat_map(|file| &file.servers.start);
        rules
            .filter(|rule| unsaid.iter().any(|program| rule.text.is_about(program)))
            .map(|rule| Outdated {
                rule: named("stdio.allow", &rule.text.conditions()),
                path: rule.place.path.clone(),
                line: rule.place.line,
            })
            .collect()
    }

    /// What the rules say of starting a program.
    pub fn start(&self, program: &Program<'_>) -> Start {
        let (mut other_content, mut elsewhere, mut similar) = (None, None, None);
        let mut is_allowed = false;
        for file in &self.files {
            let rules = &file.servers;
            if let Some(rule) = rules.keep.iter().find(|rule| rule.text.fits(program)) {
                let text = &rule.text;
                let reason = text.reason.as_deref();
                return Start::Denied(Denied::by(
                    "stdio.deny",
                    &text.conditions(),
                    &rule.place,
                    reason,
                ));
            }
            for rule in &rules.start {
                let wanted = rule.text.digest.get_ref();
                let is_content = program
                    .digest
                    .is_some_and(|digest| digest.to_string() == *wanted);
                let written = || written("stdio.allow", &rule.text.conditions(), &rule.place);
                match (rule.text.is_about(program), is_content) {
                    (true, true) => is_allowed = true,
                    (true, false) => other_content = Some(written()),
                    (false, true) => elsewhere = Some(written()),
                    (false, false) if rule.text.is_nearly_about(program) => {
                        similar = Some(written());
                    }
                    (false, false) => {}
                }
            }
        }
        if is_allowed {
            Start::Allowed
        } else {
            Start::Unsaid {
                other_content,
                elsewhere,
                similar,
            }
        }
    }

    /// Whether a server may be connected to.
    ///
    /// # Errors
    ///
    /// When a rule forbids it, or none of those that allow some fits.
    pub fn connect(&self, host: &str, plugin: &str, server: &str) -> Result<(), Denied> {
        for file in &self.files {
            let rules = &file.servers;
            let avoid = rules.avoid.iter();
            if let Some(rule) = avoid
                .into_iter()
                .find(|rule| rule.text.fits(host, plugin, server))
            {
                let text = &rule.text;
                let reason = text.reason.as_deref();
                return Err(Denied::by(
                    "remote.deny",
                    &text.conditions(),
                    &rule.place,
                    reason,
                ));
            }
            let reach = &rules.reach;
            if !reach.is_empty()
                && !reach
                    .iter()
                    .any(|rule| is_host(rule.text.host.get_ref(), host))
            {
                let rules = reach.iter().map(|rule| {
                    let host = Some(rule.text.host.get_ref().as_str());
                    (conditions(&[("host", host)]), &rule.place)
                });
                return Err(Denied::by_none("remote.allow", rules));
            }
        }
        Ok(())
    }

    /// The hosts, addresses and networks that may be connected to although they
    /// are no part of the internet, as the files write them.
    pub fn private(&self) -> impl Iterator<Item = &str> {
        let files = self.files.iter();
        files.flat_map(|file| file.servers.private.iter().map(String::as_str))
    }
}

impl Rules {
    /// Reads them; an error is about a place.
    pub(super) fn new(
        stdio: StdioText,
        remote: RemoteText,
        place: &dyn Fn(Range<usize>) -> Place,
    ) -> Result<Self, (Range<usize>, String)> {
        for rule in &stdio.allow {
            if rule.get_ref().plugin.get_ref().contains('*') {
                let problem =
                    "a rule that allows programs names one package: `*` stands for no text here";
                return Err((rule.get_ref().plugin.span(), problem.to_owned()));
            }
            let digest = &rule.get_ref().digest;
            digest
                .get_ref()
                .parse::<Digest>()
                .map_err(|problem| (digest.span(), format!("the digest is none: {problem}")))?;
        }
        for rule in &stdio.allow {
            check_of_server(None, Some(&rule.get_ref().plugin))?;
        }
        for rule in &stdio.deny {
            let KeepText { plugin, server, .. } = rule.get_ref();
            if plugin.is_none() && server.is_none() {
                return Err((rule.span(), no_condition("plugin")));
            }
            check_of_server(None, plugin.as_ref())?;
        }
        for rule in &remote.allow {
            check_of_server(Some(&rule.get_ref().host), None)?;
        }
        for rule in &remote.deny {
            let AvoidText {
                host,
                plugin,
                server,
                ..
            } = rule.get_ref();
            if host.is_none() && plugin.is_none() && server.is_none() {
                return Err((rule.span(), no_condition("host")));
            }
            check_of_server(host.as_ref(), plugin.as_ref())?;
        }
        for entry in &remote.private {
            let judged = Egress::default().allow(entry.get_ref());
            judged.map_err(|bad| (entry.span(), format!("it is no rule to {bad}")))?;
        }
        let private = remote.private.into_iter().map(Spanned::into_inner);
        Ok(Self {
            start: rules(stdio.allow, place),
            keep: rules(stdio.deny, place),
            reach: rules(remote.allow, place),
            avoid: rules(remote.deny, place),
            private: private.collect(),
        })
    }
}

fn rules<T>(texts: Vec<Spanned<T>>, place: &dyn Fn(Range<usize>) -> Place) -> Vec<Rule<T>> {
    let texts = texts.into_iter();
    texts
        .map(|text| Rule {
            place: place(text.span()),
            text: text.into_inner(),
        })
        .collect()
}

/// Whether a condition is not there or fits.
fn fits(pattern: Option<&str>, value: &str) -> bool {
    pattern.is_none_or(|pattern| matches(pattern, value))
}

impl StartText {
    /// Whether it is about the server, whatever its content.
    fn is_about(&self, program: &Program<'_>) -> bool {
        // Case counts in what allows: another case is another server.
        let is_it = |pattern: &String| pattern::fits(pattern, program.server);
        self.plugin.get_ref() == program.plugin && self.server.as_ref().is_none_or(is_it)
    }

    /// Whether it would be but for a slip in a name.
    fn is_nearly_about(&self, program: &Program<'_>) -> bool {
        let plugin = self.plugin.get_ref();
        let is_near = |word: &str, name: &str| near::nearest(word, [name]).is_some();
        let is_server = |server: &String| {
            pattern::fits(server, program.server) || is_near(server, program.server)
        };
        (plugin == program.plugin || is_near(plugin, program.plugin))
            && self.server.as_ref().is_none_or(is_server)
    }

    fn conditions(&self) -> String {
        conditions(&[
            ("plugin", Some(self.plugin.get_ref())),
            ("digest", Some(self.digest.get_ref())),
            ("server", self.server.as_deref()),
        ])
    }
}

impl KeepText {
    fn fits(&self, program: &Program<'_>) -> bool {
        fits(text_of(&self.plugin), program.plugin) && fits(self.server.as_deref(), program.server)
    }

    fn conditions(&self) -> String {
        conditions(&[
            ("plugin", text_of(&self.plugin)),
            ("server", self.server.as_deref()),
        ])
    }
}

impl AvoidText {
    fn fits(&self, host: &str, plugin: &str, server: &str) -> bool {
        text_of(&self.host).is_none_or(|pattern| is_host(pattern, host))
            && fits(text_of(&self.plugin), plugin)
            && fits(self.server.as_deref(), server)
    }

    fn conditions(&self) -> String {
        conditions(&[
            ("host", text_of(&self.host)),
            ("plugin", text_of(&self.plugin)),
            ("server", self.server.as_deref()),
        ])
    }
}
