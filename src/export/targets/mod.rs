//! A package → what one client needs beside the portable files. Each client is
//! one file, driven by what was measured with that client.

mod claude_code;
pub(super) mod codex;
mod copilot;
pub(super) mod skills;

use super::client::Client;
use super::draft::Draft;
use super::identity::Identity;
use super::json::{Json, Text};
use super::loss::{Loss, LossKind};
use super::paths::relative;
use super::recognise::MANIFEST;
use crate::spec::placeholder::{self, Owner};

/// Whom an export is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Target {
    /// Whoever reads the portable format.
    #[default]
    AgentPlugins,
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// GitHub Copilot.
    Copilot,
    /// All three at once.
    All,
    /// The skills alone, as a directory of them.
    Skills,
}

impl Target {
    /// Every target, in the order of help texts.
    pub const ALL: [Self; 6] = [
        Self::AgentPlugins,
        Self::ClaudeCode,
        Self::Codex,
        Self::Copilot,
        Self::All,
        Self::Skills,
    ];

    /// The word of the command line and of reports.
    pub const fn id(self) -> &'static str {
        match self {
            Self::AgentPlugins => "agent-plugins",
            Self::ClaudeCode => Client::ClaudeCode.id(),
            Self::Codex => Client::Codex.id(),
            Self::Copilot => Client::Copilot.id(),
            Self::All => "all",
            Self::Skills => "skills",
        }
    }

    /// The clients that get files of their own.
    pub(super) const fn clients(self) -> &'static [Client] {
        match self {
            Self::AgentPlugins | Self::Skills => &[],
            Self::ClaudeCode => &[Client::ClaudeCode],
            Self::Codex => &[Client::Codex],
            Self::Copilot => &[Client::Copilot],
            Self::All => &Client::ALL,
        }
    }
}

/// What a package is, for those who add to it. What does not have its type says
/// nothing: the package will be judged.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) name: String,
    pub(super) identity: Identity,
    pub(super) extensions: Json,
    /// `mcpServers`, in order.
    pub(super) servers: Vec<(String, Json)>,
}

impl Facts {
    pub(super) fn of(draft: &Draft) -> Self {
        let read = |path: &str| {
            let text = Text::read(path, draft.bytes(path)?).ok()?;
            Some(Json::of(&text.document.root))
        };
        let manifest = read(MANIFEST).unwrap_or(Json::Null);
        let identity = Identity::of(&manifest);
        let servers =
            read("mcp.json").and_then(|mcp| Some(mcp.get("mcpServers")?.as_object()?.to_vec()));
        Self {
            name: identity.name.clone().unwrap_or_default(),
            extensions: manifest.get("extensions").cloned().unwrap_or(Json::Null),
            identity,
            servers: servers.unwrap_or_default(),
        }
    }

    /// The files that `extensions` says a part of a client lies in.
    pub(super) fn pointers(&self, client: Client, field: &str) -> Vec<String> {
        let value = self
            .extensions
            .get(client.namespace())
            .and_then(|own| own.get(field));
        let items = match value {
            Some(Json::Array(items)) => items.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        items
            .iter()
            .filter_map(|item| relative(item.as_str()?))
            .collect()
    }
}

/// Adds what `client` needs, and names what it will not get.
pub(super) fn add(client: Client, draft: &mut Draft, facts: &Facts) {
    match client {
        Client::ClaudeCode => claude_code::add(draft, facts),
        Client::Codex => codex::add(draft, facts),
        Client::Copilot => copilot::add(draft, facts),
    }
}

/// Every string of a server in which the client expands more than the
/// specification does, with its place below the server.
fn expanding(definition: &Json) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for field in ["args", "env", "cwd", "url", "headers"] {
        if let Some(value) = definition.get(field) {
            strings(value, field, &mut found);
        }
    }
    found.retain(|(place, text)| {
        // Where nothing is expanded, the two names stay literal as well.
        let literal = place.starts_with("url") || place.starts_with("headers");
        placeholder::find(text).any(|found| {
            found.text.starts_with("${") && (literal || found.owner != Owner::Specification)
        })
    });
    found
}

fn strings(value: &Json, place: &str, found: &mut Vec<(String, String)>) {
    match value {
        Json::String(text) => found.push((place.to_owned(), text.clone())),
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                strings(item, &format!("{place}/{index}"), found);
            }
        }
        Json::Object(members) => {
            for (key, member) in members {
                strings(member, &format!("{place}/{key}"), found);
            }
        }
        _ => {}
    }
}

/// Names the strings of a server that the client will change.
fn report_expansion(draft: &mut Draft, client: Client, name: &str, definition: &Json) {
    for (place, _) in expanding(definition) {
        let mut loss = Loss::new(
            LossKind::TargetExpansion,
            "mcp.json",
            format!("server {name:?}: {place}"),
            format!(
                "{} puts variables of the user in the place of ${{…}} there",
                client.label()
            ),
        );
        loss.pointer = Some(format!(
            "/mcpServers/{}/{place}",
            name.replace('~', "~0").replace('/', "~1")
        ));
        draft.lose(loss);
    }
}

/// A server that the client will not load.
fn drops(draft: &mut Draft, client: Client, name: &str, why: &str) {
    let mut loss = Loss::new(
        LossKind::TargetServer,
        "mcp.json",
        format!("server {name:?} in {}", client.label()),
        why,
    );
    loss.pointer = Some(format!(
        "/mcpServers/{}",
        name.replace('~', "~0").replace('/', "~1")
    ));
    draft.lose(loss);
}
