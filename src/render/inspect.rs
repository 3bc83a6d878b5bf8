//! What a client gets from one package: every skill and server that loads, and
//! everything that is left out, with the reason.
//!
//! Commands and working directories are resolved as far as the package alone
//! decides: against `${PLUGIN_ROOT}`, the package directory of whoever loads
//! it. Of environment variables and headers only the names are shown, and of an
//! argument or a URL that looks like a credential nothing.

use std::io;

use std::collections::HashMap;

use serde::Serialize;

use super::json_v1::{self, Tool};
use super::outline::Outline;
use super::paint::{Screen, Style};
use super::{HIDDEN, escape, facts};
use crate::diagnostic::{Diagnostic, Effect};
use crate::package::{self, Transport};
use crate::spec::codes::mcp as codes;

/// The JSON Schema (2020-12) of what [`write_json`] writes.
pub const SCHEMA: &str = include_str!("../../schemas/inspect.v1.schema.json");

/// Writes one JSON document.
///
/// # Errors
///
/// Fails only if `out` does.
pub fn write_json(package: &package::Package, out: &mut dyn io::Write) -> io::Result<()> {
    let document = Document {
        schema_version: 1,
        tool: Tool::SELF,
        package: Package::of(package),
    };
    escape::write_json(out, &document, true)
}

/// Writes text for people.
///
/// # Errors
///
/// Fails only if `out` does.
pub fn write_text(
    package: &package::Package,
    screen: Screen,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    Text(Outline::new(screen, out)).package(&Package::of(package))
}

#[derive(Serialize)]
struct Document<'r> {
    schema_version: u32,
    tool: Tool,
    package: Package<'r>,
}

#[derive(Serialize)]
struct Package<'r> {
    path: &'r str,
    verdict: &'static str,
    name: Option<&'r str>,
    version: Option<&'r str>,
    spec_version: Option<&'r str>,
    /// Why the package is rejected.
    reasons: Vec<Reason<'r>>,
    skills: Skills<'r>,
    mcp: Mcp<'r>,
    ignored_fields: Vec<IgnoredField<'r>>,
}

#[derive(Serialize)]
struct Skills<'r> {
    state: &'static str,
    /// Why there are none.
    reasons: Vec<Reason<'r>>,
    loaded: Vec<Skill<'r>>,
    skipped: Vec<SkippedSkill<'r>>,
}

#[derive(Serialize)]
struct Skill<'r> {
    name: &'r str,
    path: &'r str,
    description: &'r str,
}

#[derive(Serialize)]
struct SkippedSkill<'r> {
    path: &'r str,
    reasons: Vec<Reason<'r>>,
}

#[derive(Serialize)]
struct Mcp<'r> {
    state: &'static str,
    /// Why there are none.
    reasons: Vec<Reason<'r>>,
    loaded: Vec<Server<'r>>,
    skipped: Vec<SkippedServer<'r>>,
}

#[derive(Serialize)]
struct Server<'r> {
    name: &'r str,
    transport: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdio: Option<Stdio<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remote: Option<Remote<'r>>,
}

#[derive(Serialize)]
struct Stdio<'r> {
    command: String,
    args: Vec<&'r str>,
    cwd: String,
    env: Vec<&'r str>,
}

#[derive(Serialize)]
struct Remote<'r> {
    url: &'r str,
    headers: Vec<&'r str>,
}

#[derive(Serialize)]
struct SkippedServer<'r> {
    name: &'r str,
    reasons: Vec<Reason<'r>>,
}

#[derive(Serialize)]
struct Reason<'r> {
    code: &'static str,
    message: &'r str,
}

#[derive(Serialize)]
struct IgnoredField<'r> {
    pointer: Option<&'r str>,
    code: &'static str,
    message: &'r str,
}

impl<'r> Package<'r> {
    fn of(package: &'r package::Package) -> Self {
        let reasons = |effect: Effect, about: &dyn Fn(&Diagnostic) -> bool| {
            package
                .diagnostics
                .iter()
                .filter(|found| found.effect() == effect && about(found))
                .map(|found| Reason {
                    code: found.code.id,
                    message: &found.message,
                })
                .collect()
        };
        let all = |_: &Diagnostic| true;
        // One pass for all entries: a hostile file has as many as findings.
        let mut of_skill: HashMap<&str, Vec<Reason<'r>>> = HashMap::new();
        let mut of_server: HashMap<String, Vec<Reason<'r>>> = HashMap::new();
        for found in &package.diagnostics {
            let reason = Reason {
                code: found.code.id,
                message: &found.message,
            };
            match found.effect() {
                Effect::SkillSkipped => {
                    let directory = facts::skill_of(&found.path);
                    of_skill.entry(directory).or_default().push(reason);
                }
                Effect::ServerSkipped => {
                    let server = facts::server_of(found).unwrap_or_default();
                    of_server.entry(server).or_default().push(reason);
                }
                _ => {}
            }
        }
        Self {
            path: &package.path,
            verdict: json_v1::verdict(package.verdict),
            name: package.name.as_deref(),
            version: package.version.as_deref(),
            spec_version: package.spec_version,
            reasons: reasons(Effect::PackageRejected, &all),
            skills: Skills {
                state: json_v1::skills_state(package.skills.state),
                reasons: reasons(Effect::SkillsInvalid, &all),
                loaded: package.skills.loaded.iter().map(Skill::of).collect(),
                skipped: package
                    .skills
                    .skipped
                    .iter()
                    .map(|skill| SkippedSkill {
                        path: &skill.path,
                        reasons: of_skill.remove(skill.path.as_str()).unwrap_or_default(),
                    })
                    .collect(),
            },
            mcp: Mcp {
                state: json_v1::mcp_state(package.mcp.state),
                reasons: reasons(Effect::McpDisabled, &all),
                loaded: package
                    .mcp
                    .loaded
                    .iter()
                    .map(|server| Server::of(package, server))
                    .collect(),
                skipped: package
                    .mcp
                    .skipped
                    .iter()
                    .map(|name| SkippedServer {
                        name,
                        reasons: of_server.remove(name).unwrap_or_default(),
                    })
                    .collect(),
            },
            ignored_fields: package
                .diagnostics
                .iter()
                .filter(|found| found.effect() == Effect::FieldIgnored)
                .map(|found| IgnoredField {
                    pointer: found.pointer.as_deref(),
                    code: found.code.id,
                    message: &found.message,
                })
                .collect(),
        }
    }
}

impl<'r> Skill<'r> {
    fn of(skill: &'r package::Skill) -> Self {
        Self {
            name: &skill.name,
            path: &skill.path,
            description: &skill.description,
        }
    }
}

impl<'r> Server<'r> {
    fn of(package: &'r package::Package, server: &'r package::Server) -> Self {
        let shown = |field: &[&str], value: &'r str| {
            let keys = ["mcpServers", &server.name];
            let path = || keys.iter().chain(field).copied();
            let is_credential = package
                .diagnostics
                .iter()
                .filter(|found| *found.code == codes::CREDENTIAL)
                .filter_map(|found| found.pointer.as_deref())
                .any(|pointer| facts::pointer_keys(pointer).eq(path()));
            if is_credential { HIDDEN } else { value }
        };
        let (stdio, remote) = match &server.transport {
            Transport::Stdio {
                command,
                args,
                env,
                cwd,
            } => {
                let stdio = Stdio {
                    command: resolved(command),
                    args: args
                        .iter()
                        .enumerate()
                        .map(|(index, value)| shown(&["args", &index.to_string()], value))
                        .collect(),
                    cwd: cwd.as_deref().map_or(resolved("./"), resolved),
                    env: names(env),
                };
                (Some(stdio), None)
            }
            Transport::StreamableHttp { url, headers } | Transport::Sse { url, headers } => {
                let headers = names(headers);
                let url = shown(&["url"], url);
                (None, Some(Remote { url, headers }))
            }
        };
        Self {
            name: &server.name,
            transport: server.transport.type_name(),
            stdio,
            remote,
        }
    }
}

fn names(pairs: &[(String, String)]) -> Vec<&str> {
    pairs.iter().map(|(name, _)| name.as_str()).collect()
}

/// A `./` path on its base; anything else as it is written.
fn resolved(path: &str) -> String {
    match path.strip_prefix("./").map(|rest| rest.trim_matches('/')) {
        None => path.to_owned(),
        Some("") => "${PLUGIN_ROOT}".to_owned(),
        Some(rest) => format!("${{PLUGIN_ROOT}}/{rest}"),
    }
}

struct Text<'o>(Outline<'o>);

impl Text<'_> {
    fn package(&mut self, package: &Package<'_>) -> io::Result<()> {
        self.0.title(package.name, package.version, package.path)?;
        self.0.row("path", package.path)?;
        if let Some(version) = package.spec_version {
            self.0.row("format", &format!("Agent Plugins {version}"))?;
        }
        if !package.reasons.is_empty() {
            self.left_out("rejected, nothing loads", &package.reasons)?;
        }
        for field in &package.ignored_fields {
            let field = [Reason {
                code: field.code,
                message: field.message,
            }];
            self.because(Style::Warning, "ignored", &field)?;
        }
        self.skills(&package.skills)?;
        self.mcp(&package.mcp)
    }

    fn skills(&mut self, skills: &Skills<'_>) -> io::Result<()> {
        if skills.state == json_v1::skills_state(package::SkillsState::Absent) {
            return Ok(());
        }
        self.heading("skill", skills.loaded.len())?;
        if !skills.reasons.is_empty() {
            self.left_out("skills", &skills.reasons)?;
        }
        for skill in &skills.loaded {
            self.0.entry(Style::Good, skill.name, skill.path)?;
            self.0.prose(skill.description)?;
        }
        for skill in &skills.skipped {
            self.left_out(skill.path, &skill.reasons)?;
        }
        Ok(())
    }

    fn mcp(&mut self, mcp: &Mcp<'_>) -> io::Result<()> {
        if mcp.state == json_v1::mcp_state(package::McpState::Absent) {
            return Ok(());
        }
        self.heading("server", mcp.loaded.len())?;
        if !mcp.reasons.is_empty() {
            self.left_out("mcp.json", &mcp.reasons)?;
        }
        for server in &mcp.loaded {
            self.0.entry(Style::Good, server.name, server.transport)?;
            if let Some(stdio) = &server.stdio {
                self.0.row("command", &stdio.command)?;
                for argument in &stdio.args {
                    self.0.row("arg", argument)?;
                }
                self.0.row("cwd", &stdio.cwd)?;
                if !stdio.env.is_empty() {
                    self.0.row("env", &stdio.env.join(", "))?;
                }
            }
            if let Some(remote) = &server.remote {
                self.0.row("url", remote.url)?;
                if !remote.headers.is_empty() {
                    self.0.row("headers", &remote.headers.join(", "))?;
                }
            }
        }
        for server in &mcp.skipped {
            self.left_out(server.name, &server.reasons)?;
        }
        Ok(())
    }

    fn heading(&mut self, noun: &str, loaded: usize) -> io::Result<()> {
        let verb = if loaded == 1 { "loads" } else { "load" };
        self.0
            .heading(&format!("{} {verb}", facts::count(loaded, noun)))
    }

    fn left_out(&mut self, what: &str, reasons: &[Reason<'_>]) -> io::Result<()> {
        self.because(Style::Error, what, reasons)
    }

    fn because(&mut self, style: Style, what: &str, reasons: &[Reason<'_>]) -> io::Result<()> {
        self.0.entry(style, what, "")?;
        for reason in reasons {
            self.0
                .prose(&format!("{}: {}", reason.code, reason.message))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stand_on_the_plugin_root() {
        for (written, shown) in [
            ("npx", "npx"),
            ("./bin/x", "${PLUGIN_ROOT}/bin/x"),
            (".//bin/x", "${PLUGIN_ROOT}/bin/x"),
            ("./", "${PLUGIN_ROOT}"),
            ("${PLUGIN_DATA}/w", "${PLUGIN_DATA}/w"),
        ] {
            assert_eq!(resolved(written), shown);
        }
    }
}
