//! Codex: reads a package of the specification itself, nearly to the letter,
//! and then ignores every other manifest, hooks included. Hooks need a second
//! plugin that has a manifest of Codex and no `plugin.json`; it is installed as
//! a copy of its own, so it brings along what its hooks run.

use super::super::client::{Client, HOOKS};
use super::super::draft::Draft;
use super::super::json::Json;
use super::super::loss::LossKind;
use super::{Facts, drops};

/// The directory of the second plugin.
pub(crate) const SECOND: &str = "com.openai.codex";

/// The name of the second plugin.
pub(crate) fn second_name(name: &str) -> String {
    format!("{name}-codex-hooks")
}

/// Whether the draft holds the second plugin.
pub(crate) fn has_second(draft: &Draft) -> bool {
    draft.has(&format!("{SECOND}/.codex-plugin/plugin.json"))
}

pub(super) fn add(draft: &mut Draft, facts: &Facts) {
    for (name, definition) in &facts.servers {
        if definition.get("type").and_then(Json::as_str) == Some("sse") {
            drops(
                draft,
                Client::Codex,
                name,
                "Codex does not know the sse transport",
            );
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_:@/.-".contains(c);
        if name.is_empty() || !name.chars().all(is_plain) {
            drops(
                draft,
                Client::Codex,
                name,
                "Codex starts no server with such a name: letters, digits and _ : @ / . - only",
            );
        }
    }
    second(draft, facts);
}

fn second(draft: &mut Draft, facts: &Facts) {
    let hooks: Vec<String> = facts
        .pointers(Client::Codex, HOOKS)
        .into_iter()
        .filter(|path| path.starts_with(&format!("{SECOND}/")) && draft.has(path))
        .collect();
    if hooks.is_empty() || has_second(draft) {
        return;
    }
    let mut manifest = Json::object([("name", Json::String(second_name(&facts.name)))]);
    let mut identity = facts.identity.clone();
    identity.description = Some(format!("The hooks of {} for Codex.", facts.name));
    identity.write_to(&mut manifest);
    let mut pointers = Vec::new();
    let mut needed = Vec::new();
    for path in &hooks {
        let text = String::from_utf8_lossy(draft.bytes(path).unwrap_or_default()).into_owned();
        needed.extend(named(&text));
        let inside = path.strip_prefix(&format!("{SECOND}/")).unwrap_or(path);
        pointers.push(Json::String(format!("./{inside}")));
    }
    let one = pointers.len() == 1;
    manifest.set(
        HOOKS,
        pointers
            .pop()
            .filter(|_| one)
            .unwrap_or(Json::Array(pointers)),
    );
    needed.sort_unstable();
    needed.dedup();
    for top in needed {
        if top == SECOND {
            continue;
        }
        let files: Vec<(String, super::super::File)> = match draft.tree.files.get(&top) {
            Some(file) => vec![(top.clone(), file.clone())],
            None => draft
                .tree
                .below(&top)
                .map(|(inner, file)| (format!("{top}/{inner}"), file.clone()))
                .collect(),
        };
        for (path, file) in files {
            draft.tree.files.insert(format!("{SECOND}/{path}"), file);
        }
    }
    draft.put_json(format!("{SECOND}/.codex-plugin/plugin.json"), &manifest);
    draft.losses.retain(|loss| {
        loss.kind != LossKind::ClientComponent
            || loss.what != HOOKS
            || !loss.why.starts_with("Codex runs no hooks")
    });
    draft.note(format!(
        "Codex runs the hooks from a second plugin, {} in {SECOND}/, once the user trusts them",
        second_name(&facts.name)
    ));
}

/// The first part of every path that a text names from the plugin's root.
pub(crate) fn named(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for root in [
        "${CLAUDE_PLUGIN_ROOT}/",
        "${PLUGIN_ROOT}/",
        "$CLAUDE_PLUGIN_ROOT/",
        "$PLUGIN_ROOT/",
    ] {
        for (at, _) in text.match_indices(root) {
            let rest = text.get(at + root.len()..).unwrap_or_default();
            let end = rest
                .find(|c: char| c == '/' || c == '"' || c == '\'' || c == '\\' || c.is_whitespace())
                .unwrap_or(rest.len());
            found.push(rest.get(..end).unwrap_or_default().to_owned());
        }
    }
    found.retain(|top| !top.is_empty() && top != "..");
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hooks_run_is_found() {
        let text = r#"{"command": "\"${CLAUDE_PLUGIN_ROOT}/hooks/a.sh\" ${PLUGIN_ROOT}/run x"}"#;
        assert_eq!(named(text), ["hooks", "run"]);
    }
}
