//! Where the parts of a native plugin lie afterwards.

use std::collections::BTreeMap;

use super::super::client::Client;
use super::super::draft::Draft;
use super::super::json::Json;
use super::super::loss::{Loss, LossKind};
use super::super::paths::relative;
use super::super::recognise::MANIFEST;
use crate::spec::foreign::NATIVE_MANIFESTS;

/// Old place → new place, of files and directories.
#[derive(Debug, Default)]
pub(super) struct Moves(BTreeMap<String, String>);

impl Moves {
    /// Moves a file, or everything below a directory, into `namespace`, and
    /// gives its new path; what is there already stays. `None` if nothing is at
    /// the path.
    pub(super) fn bring(
        &mut self,
        draft: &mut Draft,
        path: &str,
        namespace: &str,
    ) -> Option<String> {
        let is_file = draft.has(path);
        if path.is_empty() || !(is_file || draft.tree.has_directory(path)) {
            return None;
        }
        if path.starts_with(&format!("{namespace}/")) {
            return Some(path.to_owned());
        }
        // A hidden file would be hidden in its directory, too, for no reason.
        let wanted = format!(
            "{namespace}/{}",
            path.strip_prefix('.').filter(|_| is_file).unwrap_or(path)
        );
        let new = free(draft, path, &wanted, is_file);
        if is_file {
            if let Some(file) = draft.tree.files.remove(path) {
                draft.tree.files.insert(new.clone(), file);
            }
        } else {
            for (inner, file) in draft.take_directory(path) {
                draft.tree.files.insert(format!("{new}/{inner}"), file);
            }
        }
        self.0.insert(path.to_owned(), new.clone());
        Some(new)
    }

    /// Something else was moved.
    pub(super) fn note(&mut self, old: &str, new: &str) {
        self.0.insert(old.to_owned(), new.to_owned());
    }

    /// What was moved to `from` lies at `to` now.
    pub(super) fn redirect(&mut self, from: &str, to: &str) {
        for new in self.0.values_mut().filter(|new| *new == from) {
            *new = to.to_owned();
        }
    }

    /// The new path of a path that was moved, alone or with its directory.
    pub(super) fn follow(&self, path: &str) -> Option<String> {
        let (old, new) = self.0.iter().rev().find(|(old, _)| {
            path.strip_prefix(old.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })?;
        Some(format!(
            "{new}{}",
            path.strip_prefix(old.as_str()).unwrap_or_default()
        ))
    }

    /// Follows a path of a manifest, or every path of a list.
    pub(super) fn follow_in(&self, value: &mut Json) {
        match value {
            Json::String(text) => {
                if let Some(new) = relative(text).and_then(|path| self.follow(&path)) {
                    *text = format!("./{new}");
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.follow_in(item)),
            _ => {}
        }
    }

    /// Follows the `source` of each definition in an object: a command's file.
    pub(super) fn follow_sources(&self, value: &mut Json) {
        match value {
            Json::Object(members) => {
                for (key, member) in members {
                    match member {
                        Json::String(_) if key == "source" => self.follow_in(member),
                        member => self.follow_sources(member),
                    }
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.follow_sources(item)),
            _ => {}
        }
    }

    /// Every place that was moved.
    pub(super) fn olds(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The old place of a file that was moved, if the word is its path from the
    /// directory of the text or from the root.
    fn moved_file(&self, draft: &Draft, directory: &str, word: &str) -> Option<String> {
        let word = word.trim_end_matches(['.', ',']);
        if !word.contains('/') || word.starts_with('/') {
            return None;
        }
        let from_directory = (!directory.is_empty()).then(|| format!("{directory}/{word}"));
        let places = from_directory.into_iter().chain([word.to_owned()]);
        let mut olds = places.filter_map(|place| relative(&place));
        olds.find(|old| {
            let new = self.follow(old);
            new.is_some_and(|new| new != *old && draft.has(&new))
        })
    }

    /// Names every text that still speaks of an old place by a path from the
    /// plugin's root, or, where the text itself was moved, of a neighbour.
    pub(super) fn report(&self, draft: &mut Draft) {
        let mut losses = Vec::new();
        if self.0.is_empty() {
            return;
        }
        for (path, file) in &draft.tree.files {
            // Their paths have been followed.
            let is_manifest = Client::ALL
                .iter()
                .any(|client| client.manifests().contains(&path.as_str()))
                || NATIVE_MANIFESTS
                    .iter()
                    .any(|(manifest, _)| path == manifest)
                || path == MANIFEST;
            let Ok(text) = std::str::from_utf8(&file.bytes) else {
                continue;
            };
            let moved = self.0.values().any(|new| {
                !new.starts_with("skills/") && (path == new || path.starts_with(&format!("{new}/")))
            });
            let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
            for (index, line) in text.lines().enumerate() {
                let bare: String = line.chars().filter(|c| !"\"'\\{}".contains(*c)).collect();
                let old = self
                    .olds()
                    .find(|old| names(&bare, &format!("PLUGIN_ROOT/{old}")))
                    .map(str::to_owned)
                    .or_else(|| {
                        if is_manifest {
                            return None;
                        }
                        let mut words = line.split(|c: char| !is_in_path(c));
                        words.find_map(|word| self.moved_file(draft, directory, word))
                    })
                    .filter(|_| !moved || line.contains("PLUGIN_ROOT"));
                let why = match old {
                    Some(old) => format!("the text names {old}, which was moved"),
                    None if moved && path.ends_with(".md") && line.contains("](../") => {
                        "the text links to a neighbour of its old place".to_owned()
                    }
                    None => continue,
                };
                losses
                    .push(Loss::new(LossKind::MovedReference, path, path, why).on_line(index + 1));
                // Once a file is enough to go and look.
                break;
            }
        }
        losses.into_iter().for_each(|loss| draft.lose(loss));
    }
}

/// What a path is written with.
fn is_in_path(c: char) -> bool {
    c.is_alphanumeric() || "/._-@+".contains(c)
}

/// The wanted place, or one with a number where other files are there already.
fn free(draft: &Draft, path: &str, wanted: &str, is_file: bool) -> String {
    let differs = |from: &str, to: &str| {
        draft
            .bytes(to)
            .is_some_and(|there| draft.bytes(from) != Some(there))
    };
    let is_taken = |new: &str| {
        if is_file {
            return differs(path, new) || draft.tree.has_directory(new);
        }
        let mut inside = draft.tree.below(path);
        draft.has(new)
            || inside
                .any(|(inner, _)| differs(&format!("{path}/{inner}"), &format!("{new}/{inner}")))
    };
    let (stem, extension) = wanted
        .rsplit_once('.')
        .filter(|(_, extension)| is_file && !extension.contains('/'))
        .map_or((wanted, String::new()), |(stem, extension)| {
            (stem, format!(".{extension}"))
        });
    let mut new = wanted.to_owned();
    let mut number = 2_usize;
    while is_taken(&new) {
        new = format!("{stem}-{number}{extension}");
        number += 1;
    }
    new
}

/// Whether `line` names this path as a whole.
fn names(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let behind = line
            .get(at + path.len()..)
            .and_then(|rest| rest.chars().next());
        behind.is_none_or(|c| !(c.is_alphanumeric() || "-_.".contains(c)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_moved_is_followed() {
        let mut draft = Draft::default();
        for path in [
            "commands/a.md",
            "commands/x/b.md",
            "commandsx",
            ".mcp.json",
            "n/own.json",
        ] {
            draft.put(path, "");
        }
        let mut moves = Moves::default();
        assert_eq!(
            moves.bring(&mut draft, "commands", "n").as_deref(),
            Some("n/commands")
        );
        assert_eq!(
            moves.bring(&mut draft, ".mcp.json", "n").as_deref(),
            Some("n/mcp.json")
        );
        assert_eq!(
            moves.bring(&mut draft, "n/own.json", "n").as_deref(),
            Some("n/own.json")
        );
        assert_eq!(moves.bring(&mut draft, "nothing", "n"), None);
        let paths: Vec<&String> = draft.tree.files.keys().collect();
        assert_eq!(
            paths,
            [
                "commandsx",
                "n/commands/a.md",
                "n/commands/x/b.md",
                "n/mcp.json",
                "n/own.json"
            ]
        );
        assert_eq!(moves.follow("commands/x").as_deref(), Some("n/commands/x"));
        assert_eq!(moves.follow("commandsx"), None);
        let mut value = Json::strings(["./commands/", "./.mcp.json", "./other"]);
        moves.follow_in(&mut value);
        assert_eq!(
            value,
            Json::strings(["./n/commands", "./n/mcp.json", "./other"])
        );
    }
}
