//! Codex: reads a package of the specification itself, nearly to the letter,
//! and then ignores every other manifest, hooks included. Hooks need a second
//! plugin that has a manifest of Codex and no `plugin.json`; it is installed as
//! a copy of its own, so it brings along what its hooks run.

use std::collections::BTreeSet;

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
    for path in closure(draft, needed) {
        if let Some(file) = draft.tree.files.get(&path).cloned() {
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

/// What a text needs of the plugin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Needed {
    /// The file or directory of this name at the root.
    Top(String),
    /// Something that is not named: the root is the working directory, or is handed on.
    All,
}

/// Every file that is needed, and what is needed by these.
fn closure(draft: &Draft, first: Vec<Needed>) -> BTreeSet<String> {
    let mut open = first;
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    while let Some(next) = open.pop() {
        if !seen.insert(next.clone()) {
            continue;
        }
        let belongs = |path: &str| {
            let top = path.split('/').next().unwrap_or_default();
            match &next {
                Needed::Top(name) => top == name,
                Needed::All => is_own(top),
            }
        };
        let paths = draft
            .tree
            .files
            .keys()
            .filter(|path| !path.starts_with(&format!("{SECOND}/")) && belongs(path));
        for path in paths {
            if !found.insert(path.clone()) {
                continue;
            }
            if let Ok(text) = std::str::from_utf8(draft.bytes(path).unwrap_or_default()) {
                open.extend(named(text));
                open.extend(above(text));
            }
        }
    }
    found
}

/// Whether an entry at the root belongs to the hooks' programs, if anything may:
/// not what clients read of the package, of which they would then see two.
fn is_own(top: &str) -> bool {
    let is_of_a_client = Client::ALL.iter().any(|client| client.namespace() == top);
    !top.starts_with('.')
        && !is_of_a_client
        && !["plugin.json", "mcp.json", "skills"].contains(&top)
}

/// The entries at the plugin's root that a text names.
pub(in crate::export) fn named_entries(text: &str) -> impl Iterator<Item = String> {
    named(text).into_iter().filter_map(|needed| match needed {
        Needed::Top(name) => Some(name),
        Needed::All => None,
    })
}

/// What a text names from the plugin's root, in the quotes of a shell or of JSON.
fn named(text: &str) -> Vec<Needed> {
    const ROOT: &str = "PLUGIN_ROOT";
    let mut found = Vec::new();
    for (at, _) in text.match_indices(ROOT) {
        let front = text.get(..at).unwrap_or_default();
        let front = front.strip_suffix("CLAUDE_").unwrap_or(front);
        let rest = text.get(at + ROOT.len()..).unwrap_or_default();
        let rest = match front.strip_suffix('{') {
            Some(front) if front.ends_with('$') => rest.strip_prefix('}'),
            None if front.ends_with('$') => Some(rest),
            _ => None,
        };
        let Some(rest) =
            rest.filter(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        else {
            continue;
        };
        let behind = rest.trim_start_matches(['"', '\'', '\\']);
        found.push(match behind.strip_prefix('/').map(component) {
            Some(top) if !top.is_empty() && !top.starts_with('.') && !top.contains(['*', '$']) => {
                Needed::Top(top.to_owned())
            }
            _ => Needed::All,
        });
    }
    found
}

/// What a program names beside its own directory: `../lib/x`.
fn above(text: &str) -> Vec<Needed> {
    let tops = text
        .match_indices("../")
        .map(|(at, up)| component(text.get(at + up.len()..).unwrap_or_default()));
    tops.filter(|top| !top.is_empty() && !top.starts_with('.') && is_own(top))
        .map(|top| Needed::Top(top.to_owned()))
        .collect()
}

/// The first part of a path.
fn component(path: &str) -> &str {
    let end = path
        .find(|c: char| "/\"'\\;|&)".contains(c) || c.is_whitespace())
        .unwrap_or(path.len());
    path.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hooks_run_is_found() {
        let text = r#"{"command": "\"${CLAUDE_PLUGIN_ROOT}/hooks/a.sh\" ${PLUGIN_ROOT}/run x"}"#;
        let top = |name: &str| Needed::Top(name.to_owned());
        assert_eq!(named(text), [top("hooks"), top("run")]);
        for (text, wanted) in [
            (r#"python3 \"${PLUGIN_ROOT}\"/lib/y.py"#, top("lib")),
            (r#"python3 "$PLUGIN_ROOT"/lib/y.py"#, top("lib")),
            ("python3 '$CLAUDE_PLUGIN_ROOT'/lib/y.py", top("lib")),
            ("cd ${PLUGIN_ROOT} && python3 lib/y.py", Needed::All),
            ("cd \"$PLUGIN_ROOT\"; ./run", Needed::All),
            ("${PLUGIN_ROOT}/*.sh", Needed::All),
        ] {
            assert_eq!(named(text), [wanted], "{text}");
        }
        assert_eq!(named("PLUGIN_ROOT=x $PLUGIN_ROOTS MY_PLUGIN_ROOT"), []);
        assert_eq!(above("$(dirname \"$0\")/../lib/x"), [top("lib")]);
    }
}
