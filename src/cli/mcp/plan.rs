//! `apkit mcp plan`.
//!
//! Of every value that looks like a secret nothing is shown, and of the user's
//! credentials names and where they come from.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;

use serde::Serialize;

use apkit::mcp::credential::{Keys, Kind, Slot};
use apkit::mcp::plan::{Endpoint, Launch, Off, PYTHON_CACHE, Process, ServerPlan};
use apkit::package::Transport;
use apkit::render::{self, HIDDEN, Outline, Screen, Style};
use apkit::spec::{credential, placeholder, url};

use super::args;
use super::connect::ProblemText;
use super::gate;
use super::subject::Subject;
use super::subjects::Subjects;
use crate::cli::args::When;
use crate::cli::exit::Exit;
use crate::cli::failure::{Failure, show};
use crate::cli::{output, screen};

/// The JSON Schema (2020-12) of what `--json` writes.
pub(crate) const SCHEMA: &str = include_str!("../../../schemas/mcp-plan.v1.schema.json");

pub(super) fn run(arguments: &args::Plan, color: When) -> Result<Exit, Failure> {
    let sources = std::slice::from_ref(&arguments.source);
    let subjects = Subjects::open(sources, &arguments.common)?;
    let mut exit = Exit::Clean;
    for subject in &subjects.all {
        let ungated = subject.ungated(&subjects.session);
        let document = Document::of(subject, &ungated.servers, &subjects);
        if document.is_any_off() {
            exit = Exit::Findings;
        }
        output::to_stdout(|out| {
            if arguments.json {
                render::write_json(out, &document, true)
            } else {
                document.write(screen::of(color, false), out)
            }
        })?;
    }
    // The text ends with the rule itself.
    if arguments.json {
        subjects.tell_how(|_| true);
    }
    Ok(exit)
}

#[derive(Serialize)]
struct Document<'s> {
    schema_version: u32,
    tool: Tool,
    package: PackageFacts<'s>,
    root: String,
    data: String,
    /// Of the package as it is now; a rule of apkit.toml names it.
    digest: Option<String>,
    private: &'s [String],
    /// Why there are no servers.
    disabled: Vec<ProblemText<'s>>,
    servers: Vec<Server<'s>>,
    /// Where a rule would go.
    #[serde(skip)]
    rules: &'s Path,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct PackageFacts<'s> {
    path: &'s str,
    name: Option<&'s str>,
    version: Option<&'s str>,
}

#[derive(Serialize)]
struct Server<'s> {
    name: &'s str,
    /// `on`, `disabled`, `invalid` or `unavailable`.
    state: &'static str,
    /// Why it is off.
    reason: Option<String>,
    problems: Vec<ProblemText<'s>>,
    transport: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdio: Option<Stdio>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remote: Option<Remote>,
    credentials: Vec<Credential>,
    #[serde(skip)]
    off: Option<&'s Off>,
}

#[derive(Serialize)]
struct Stdio {
    program: String,
    args: Vec<String>,
    cwd: String,
    create_cwd: bool,
    env: BTreeMap<String, String>,
    /// Names in `env` that neither the package nor the specification nor apkit sets.
    inherited: Vec<String>,
}

#[derive(Serialize)]
struct Remote {
    url: String,
    headers: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct Credential {
    kind: &'static str,
    name: String,
    from: String,
}

impl<'s> Document<'s> {
    /// `ungated` is the same without the user's rules: what would be, if they
    /// allowed it.
    fn of(subject: &'s Subject, ungated: &[ServerPlan], subjects: &'s Subjects) -> Self {
        let package = &subject.package;
        let plan = &subject.plan;
        let servers = plan.servers.iter().zip(ungated);
        Self {
            schema_version: 1,
            tool: Tool {
                name: env!("CARGO_PKG_NAME"),
                version: env!("CARGO_PKG_VERSION"),
            },
            package: PackageFacts {
                path: &package.path,
                name: package.name.as_deref(),
                version: package.version.as_deref(),
            },
            root: shown(&plan.root),
            data: shown(&plan.data),
            digest: subject.digest.as_ref().ok().map(ToString::to_string),
            private: &subjects.private,
            disabled: plan.disabled.iter().map(ProblemText::of).collect(),
            rules: &subjects.rules,
            servers: servers
                .map(|(server, ungated)| Server::of(server, ungated, subject, &subjects.keys))
                .collect(),
        }
    }

    fn is_any_off(&self) -> bool {
        !self.disabled.is_empty() || self.servers.iter().any(|server| server.off.is_some())
    }

    fn write(&self, screen: Screen, out: &mut dyn io::Write) -> io::Result<()> {
        let mut outline = Outline::new(screen, out);
        let package = &self.package;
        outline.title(package.name, package.version, package.path)?;
        outline.row("root", &self.root)?;
        outline.row("data", &self.data)?;
        if let Some(digest) = &self.digest {
            outline.row("digest", digest)?;
        }
        if !self.private.is_empty() {
            outline.row("private", &self.private.join(", "))?;
        }
        if !self.disabled.is_empty() {
            outline.entry(Style::Error, "no servers", "")?;
            for problem in &self.disabled {
                outline.prose(&format!("{}: {}", problem.code, problem.message))?;
            }
        }
        let on = self.servers.iter().filter(|server| server.off.is_none());
        match (on.count(), self.servers.len()) {
            (_, 0) => {
                if self.disabled.is_empty() {
                    outline.heading("no servers")?;
                }
            }
            (on, all) if on == all => outline.heading(&format!("servers on: {all}"))?,
            (on, all) => outline.heading(&format!("servers on: {on} of {all}"))?,
        }
        self.servers
            .iter()
            .try_for_each(|server| server.write(&mut outline))?;
        self.rule(out)
    }

    /// The rule that would have the programs started.
    fn rule(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let is_kept_off = |server: &Server<'_>| server.off.is_some_and(gate::is_unsaid);
        if !self.servers.iter().any(is_kept_off) {
            return Ok(());
        }
        write!(out, "\nAllow its programs once: --allow-stdio.")?;
        let (Some(digest), Some(name)) = (&self.digest, self.package.name) else {
            return writeln!(out);
        };
        writeln!(
            out,
            " For good, as they are now: this in {}\n\n\
             [[stdio.allow]]\nplugin = {name:?}\ndigest = {digest:?}",
            show(self.rules)
        )
    }
}

impl<'s> Server<'s> {
    fn of(server: &'s ServerPlan, ungated: &ServerPlan, subject: &'s Subject, keys: &Keys) -> Self {
        let off = server.launch.as_ref().err();
        let loaded = subject.package.mcp.loaded.iter();
        let transport = loaded
            .into_iter()
            .find(|loaded| loaded.name == server.name)
            .map(|loaded| &loaded.transport);
        let (problems, reason) = match off {
            None => (Vec::new(), None),
            Some(Off::Invalid(problems)) => (problems.iter().map(ProblemText::of).collect(), None),
            Some(Off::Policy(why) | Off::Unavailable(why)) => (Vec::new(), Some(why.clone())),
        };
        let (stdio, remote) = match &ungated.launch {
            Ok(Launch::Stdio(process)) => (Some(Stdio::of(process, transport)), None),
            Ok(Launch::StreamableHttp(endpoint) | Launch::Sse(endpoint)) => {
                (None, Some(Remote::of(endpoint)))
            }
            Err(_) => (None, None),
        };
        let slots = keys.slots(subject.names(), ungated);
        Self {
            name: &server.name,
            state: off.map_or("on", Off::word),
            reason,
            problems,
            transport: transport.map(Transport::type_name),
            stdio,
            remote,
            credentials: slots.iter().map(Credential::of).collect(),
            off,
        }
    }

    /// Whether the package has a value of its own in that place.
    fn replaces(&self, credential: &Credential) -> bool {
        let remote = self.remote.iter().flat_map(|remote| remote.headers.keys());
        let stdio = self.stdio.iter().flat_map(|stdio| stdio.env.keys());
        let mut names = remote.chain(stdio);
        names.any(|name| name.eq_ignore_ascii_case(&credential.name))
    }

    fn write(&self, outline: &mut Outline<'_>) -> io::Result<()> {
        let style = match self.off {
            None => Style::Good,
            Some(Off::Policy(_)) => Style::Warning,
            Some(Off::Invalid(_) | Off::Unavailable(_)) => Style::Error,
        };
        let words = self.transport.into_iter().chain(self.off.map(Off::state));
        outline.entry(style, self.name, &words.collect::<Vec<_>>().join(", "))?;
        for problem in &self.problems {
            outline.prose(&format!("{}: {}", problem.code, problem.message))?;
        }
        if let Some(reason) = &self.reason {
            outline.prose(reason)?;
        }
        if let Some(stdio) = &self.stdio {
            stdio.write(outline)?;
        }
        if let Some(remote) = &self.remote {
            outline.row("url", &remote.url)?;
            for (name, value) in &remote.headers {
                outline.row("header", &format!("{name}: {value}"))?;
            }
        }
        for credential in &self.credentials {
            let mut given = format!("{} from {}", credential.name, credential.from);
            if self.replaces(credential) {
                given.push_str(" (replaces what the package sets)");
            }
            outline.row("given", &given)?;
        }
        Ok(())
    }
}

impl Stdio {
    fn of(process: &Process, transport: Option<&Transport>) -> Self {
        let mut before = None;
        let args = process.args.iter().map(|argument| {
            let option = credential::option_value(argument, before.replace(argument));
            let in_option = option.is_some_and(|(name, value)| is_secret(Some(name), value));
            hidden_if(in_option || is_secret(None, argument), argument)
        });
        let configured = match transport {
            Some(Transport::Stdio { env, .. }) => env.as_slice(),
            _ => &[],
        };
        let is_inherited = |name: &&OsStr| {
            let is = |known: &str| *name == OsStr::new(known);
            !placeholder::NAMES.iter().any(|known| is(known))
                && !is(PYTHON_CACHE)
                && !configured.iter().any(|(known, _)| is(known))
        };
        let names = process.env.keys().map(|name| name.as_os_str());
        let env = process.env.iter().map(|(name, value)| {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            let value = hidden_if(is_secret(Some(&name), &value), &value);
            (name.into_owned(), value)
        });
        Self {
            program: shown(&process.program),
            args: args.collect(),
            cwd: shown(&process.cwd),
            create_cwd: process.create_cwd,
            env: env.collect(),
            inherited: names
                .filter(is_inherited)
                .map(|name| name.to_string_lossy().into_owned())
                .collect(),
        }
    }

    fn write(&self, outline: &mut Outline<'_>) -> io::Result<()> {
        outline.row("program", &self.program)?;
        for argument in &self.args {
            outline.row("arg", argument)?;
        }
        let made = if self.create_cwd { " (is made)" } else { "" };
        outline.row("cwd", &format!("{}{made}", self.cwd))?;
        for (name, value) in &self.env {
            if !self.inherited.contains(name) {
                outline.row("env", &format!("{name}={value}"))?;
            }
        }
        outline.row("inherits", &self.inherited.join(", "))
    }
}

impl Remote {
    fn of(endpoint: &Endpoint) -> Self {
        let url = endpoint.url.as_str();
        let in_query = url::query_pairs(url).any(|(name, value)| is_secret(Some(name), value));
        let headers = endpoint.headers.iter().map(|(name, value)| {
            let value = hidden_if(is_secret(Some(name), value), value);
            (name.clone(), value)
        });
        Self {
            url: hidden_if(in_query || is_secret(None, url), url),
            headers: headers.collect(),
        }
    }
}

impl Credential {
    fn of(slot: &Slot<'_>) -> Self {
        Self {
            kind: match slot.kind {
                Kind::Header => "header",
                Kind::Env => "env",
            },
            name: slot.name().to_owned(),
            from: slot.origin(),
        }
    }
}

/// A path as the system writes it.
fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Whether a value, by its name or its own shape, is nothing to show.
fn is_secret(name: Option<&str>, value: &str) -> bool {
    let is_named = name.is_some_and(credential::is_secret_name) && credential::is_filled(value);
    is_named || credential::has_secret_shape(value)
}

fn hidden_if(is_secret: bool, value: &str) -> String {
    if is_secret { HIDDEN } else { value }.to_owned()
}
