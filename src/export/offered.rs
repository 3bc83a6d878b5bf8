//! A plugin that a marketplace offers: where it is, and what only its entry says
//! about it.

use super::client::Client;
use super::json::{Json, Text};
use super::loss::{Loss, LossKind};
use super::paths::relative;
use super::recognise::MANIFEST;
use super::skills;
use super::tree::{File, Tree};
use super::{PlanError, Source};
use crate::spec::foreign::{self, CODEX_MARKETPLACE};
use crate::spec::near;

/// Fields of an entry that are about the offer, not about the plugin.
const OF_THE_OFFER: &[&str] = &["source", "strict", "category", "tags"];

/// A plugin of a marketplace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its directory, relative to the source, if it is there.
    pub path: Option<String>,
    /// How a source elsewhere is written as a SOURCE, if it can be.
    pub elsewhere: Option<String>,
}

/// A marketplace and its entries.
struct Marketplace {
    path: &'static str,
    entries: Vec<(Listed, Json)>,
}

fn marketplace(tree: &Tree) -> Option<Marketplace> {
    foreign::MARKETPLACES.iter().find_map(|path| {
        let text = Text::read(path, &tree.files.get(*path)?.bytes).ok()?;
        let catalogue = Json::of(&text.document.root);
        let Json::Array(entries) = catalogue.get("plugins")? else {
            return None;
        };
        // Claude Code puts this in front of sources that are bare names.
        let base = catalogue
            .get("metadata")
            .and_then(|metadata| metadata.get("pluginRoot"))
            .and_then(Json::as_str);
        let entries = entries.iter().filter_map(|entry| {
            let name = entry.get("name")?.as_str()?.to_owned();
            let source = entry.get("source");
            let listed = Listed {
                name,
                path: source.and_then(|source| directory(tree, source, base)),
                elsewhere: source.and_then(elsewhere),
            };
            Some((listed, entry.clone()))
        });
        Some(Marketplace {
            path,
            entries: entries.collect(),
        })
    })
}

/// The directory that a source names, if it is there; "." is the whole.
fn directory(tree: &Tree, source: &Json, base: Option<&str>) -> Option<String> {
    let written = source.as_str().or_else(|| source.get("path")?.as_str())?;
    let is_remote = ["url", "repo", "package"]
        .iter()
        .any(|key| source.get(key).is_some());
    if is_remote {
        return None;
    }
    let below = base.map(|base| format!("{base}/{written}"));
    let places = [Some(written), below.as_deref()];
    places.into_iter().flatten().find_map(|place| {
        let path = relative(place)?;
        match path.as_str() {
            "" => Some(".".to_owned()),
            _ => tree.has_directory(&path).then_some(path),
        }
    })
}

/// A source that is not in the marketplace's own directory, as a SOURCE.
fn elsewhere(source: &Json) -> Option<String> {
    let text = |key: &str| source.get(key)?.as_str();
    if let Some(package) = text("package") {
        let version = text("version").map(|version| format!("@{version}"));
        return Some(format!("npm:{package}{}", version.unwrap_or_default()));
    }
    let path = text("path").map(|path| format!("?path={path}"));
    let revision = text("sha").or_else(|| text("ref"));
    let revision = revision.map(|name| format!("#{name}"));
    let address = match text("url") {
        Some(url) if url.starts_with("https://") => format!("git+{url}"),
        Some(url) => url.to_owned(),
        None => format!("git+https://github.com/{}", text("repo")?),
    };
    Some(format!(
        "{address}{}{}",
        path.unwrap_or_default(),
        revision.unwrap_or_default()
    ))
}

/// What the marketplace of a source lists, for whoever named none of it.
pub(super) fn list(tree: &Tree) -> Option<PlanError> {
    let marketplace = marketplace(tree)?;
    Some(PlanError::Marketplace {
        path: marketplace.path.to_owned(),
        plugins: marketplace
            .entries
            .into_iter()
            .map(|(listed, _)| listed)
            .collect(),
    })
}

/// The plugin `name` of the source's marketplace, with what the entry says in a
/// manifest of its own where it has none.
pub(super) fn choose(source: Source, name: &str) -> Result<Source, PlanError> {
    let Some(marketplace) = marketplace(&source.tree) else {
        return Err(PlanError::NoMarketplace);
    };
    let names = || marketplace.entries.iter().map(|(listed, _)| listed);
    let Some((listed, entry)) = marketplace
        .entries
        .iter()
        .find(|(listed, _)| listed.name == name)
    else {
        return Err(PlanError::NoSuchPlugin {
            path: marketplace.path.to_owned(),
            name: name.to_owned(),
            nearest: near::nearest(name, names().map(|listed| listed.name.as_str()))
                .map(str::to_owned),
        });
    };
    let Some(path) = &listed.path else {
        return Err(PlanError::Elsewhere {
            name: name.to_owned(),
            place: listed.elsewhere.clone(),
        });
    };
    let is_whole = path == ".";
    let directory = if is_whole { "" } else { path };
    let mut tree = Tree {
        files: source
            .tree
            .below(directory)
            .map(|(path, file)| (path.to_owned(), file.clone()))
            .collect(),
        losses: source.tree.losses.clone(),
    };
    // Entries for Codex only say where the plugin is.
    if marketplace.path != CODEX_MARKETPLACE {
        complete(&mut tree, entry, marketplace.path, is_whole);
    }
    Ok(Source {
        name: path
            .rsplit('/')
            .next()
            .filter(|_| !is_whole)
            .map_or(source.name, str::to_owned),
        tree,
    })
}

/// Puts what the entry says into the plugin's manifest: behind what the manifest
/// says itself, unless the entry is the whole definition (`"strict": false`).
fn complete(tree: &mut Tree, entry: &Json, marketplace: &str, is_whole: bool) {
    let is_strict = entry.get("strict") != Some(&Json::Bool(false));
    let is_portable = tree.files.contains_key(MANIFEST);
    let [path, ..] = Client::ClaudeCode.manifests() else {
        return;
    };
    let own = tree.files.get(*path).and_then(|file| {
        let text = Text::read(path, &file.bytes).ok()?;
        Some(Json::of(&text.document.root))
    });
    let others = Client::ALL.iter().flat_map(|client| client.manifests());
    let has_other = others
        .filter(|other| *other != path)
        .any(|other| tree.files.contains_key(*other));
    if own.is_none() && (is_portable || has_other) {
        return;
    }
    let is_defined_here = own.is_none() || !is_strict;
    let mut manifest = own.clone().unwrap_or(Json::Object(Vec::new()));
    for (key, value) in entry.as_object().unwrap_or_default() {
        let is_free = is_defined_here || manifest.get(key).is_none();
        if is_free && !OF_THE_OFFER.contains(&key.as_str()) {
            manifest.set(key, value.clone());
        }
    }
    if is_whole && is_defined_here {
        only_the_skills(tree, entry, marketplace);
    }
    if own.as_ref() != Some(&manifest) {
        let file = File {
            bytes: manifest.text().into_bytes(),
            executable: false,
        };
        tree.files.insert((*path).to_owned(), file);
    }
}

/// Several entries often share one directory and divide its skills among
/// themselves; each then has those it lists, and what tells about all of them.
fn only_the_skills(tree: &mut Tree, entry: &Json, marketplace: &str) {
    let has_parts = Client::ClaudeCode
        .parts()
        .iter()
        .any(|part| entry.get(part.field).is_some());
    let Some(Json::Array(listed)) = entry.get("skills").filter(|_| !has_parts) else {
        return;
    };
    if entry.get("mcpServers").is_some() {
        return;
    }
    let listed: Option<Vec<String>> = listed
        .iter()
        .map(|item| relative(item.as_str()?).filter(|path| !path.is_empty()))
        .collect();
    let Some(listed) = listed else { return };
    let before = tree.files.len();
    tree.files.retain(|path, _| {
        skills::tells_about_all(path)
            || listed.iter().any(|directory| {
                path.strip_prefix(directory)
                    .is_some_and(|rest| rest.starts_with('/'))
            })
    });
    // The marketplace itself is no file of the plugin.
    let left_out = (before - tree.files.len()).saturating_sub(1);
    if left_out > 0 {
        tree.losses.push(Loss::new(
            LossKind::FileLeftOut,
            marketplace,
            format!("{left_out} other files beside the marketplace"),
            "the entry of the plugin lists its skills, and nothing else",
        ));
    }
}
