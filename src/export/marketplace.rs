//! A marketplace around one package.

use super::client::Client;
use super::draft::Draft;
use super::json::Json;
use super::targets::{Facts, Target, codex};
use crate::spec::foreign::{CLAUDE_MARKETPLACE, CODEX_MARKETPLACE};

/// Moves everything into a directory named like the package and lists it; gives
/// the directories that are packages.
pub(super) fn wrap(draft: &mut Draft, facts: &Facts, target: Target) -> Vec<String> {
    let name = &facts.name;
    let second = codex::has_second(draft);
    let files = std::mem::take(&mut draft.tree.files);
    draft.tree.files = files
        .into_iter()
        .map(|(path, file)| (format!("{name}/{path}"), file))
        .collect();
    let clients = match target {
        Target::AgentPlugins => &Client::ALL,
        target => target.clients(),
    };
    if clients.iter().any(|client| *client != Client::Codex) {
        draft.put_json(CLAUDE_MARKETPLACE, &claude(facts));
    }
    if clients.contains(&Client::Codex) {
        let mut plugins = vec![codex_entry(name, &format!("./{name}"))];
        if second {
            plugins.push(codex_entry(
                &codex::second_name(name),
                &format!("./{name}/{}", codex::SECOND),
            ));
        }
        let marketplace = Json::object([
            ("name", Json::string(name)),
            ("plugins", Json::Array(plugins)),
        ]);
        draft.put_json(CODEX_MARKETPLACE, &marketplace);
    }
    vec![name.clone()]
}

fn claude(facts: &Facts) -> Json {
    let author = facts
        .identity
        .author
        .as_ref()
        .and_then(|author| author.name.as_ref());
    let mut entry = Json::object([("name", Json::string(&facts.name))]);
    facts.identity.write_to(&mut entry);
    for field in ["author", "homepage", "repository", "license", "keywords"] {
        entry.remove(field);
    }
    entry.set("source", Json::String(format!("./{}", facts.name)));
    let mut marketplace = Json::object([("name", Json::string(&facts.name))]);
    if let Some(description) = &facts.identity.description {
        marketplace.set("description", Json::string(description));
    }
    // The client wants an owner, and the package may name none.
    let owner = author.unwrap_or(&facts.name);
    marketplace.set("owner", Json::object([("name", Json::string(owner))]));
    marketplace.set("plugins", Json::Array(vec![entry]));
    marketplace
}

fn codex_entry(name: &str, path: &str) -> Json {
    Json::object([
        ("name", Json::string(name)),
        (
            "source",
            Json::object([
                ("source", Json::string("local")),
                ("path", Json::string(path)),
            ]),
        ),
        (
            "policy",
            Json::object([
                ("installation", Json::string("AVAILABLE")),
                ("authentication", Json::string("ON_INSTALL")),
            ]),
        ),
    ])
}
