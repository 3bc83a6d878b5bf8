//! Text that looks like a placeholder (§9.2): the specification knows two, and
//! everything else stays literal.

use std::ffi::{OsStr, OsString};

/// Whose placeholder a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// `${PLUGIN_ROOT}` or `${PLUGIN_DATA}`, which the specification defines.
    Specification,
    /// One that a single client expands.
    Client,
    /// One that editors and their configuration files expand.
    Editor,
    /// Everything else: environment variables and the like.
    Nobody,
}

/// A placeholder found in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placeholder<'t> {
    /// The whole of it, `${…}` or one without braces that means the same.
    pub text: &'t str,
    /// Byte offset in the text.
    pub offset: usize,
    /// Who expands it.
    pub owner: Owner,
}

/// The names the specification expands.
pub const NAMES: &[&str] = &["PLUGIN_ROOT", "PLUGIN_DATA"];

/// Stands for the package's directory.
pub const ROOT: &str = "${PLUGIN_ROOT}";

/// Stands for the directory that the package may write to.
pub const DATA: &str = "${PLUGIN_DATA}";

/// Names of single clients that are a placeholder without braces, too.
const CLIENT_NAMES: &[&str] = &[
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PLUGIN_DATA",
    "CLAUDE_PROJECT_DIR",
    "COPILOT_PLUGIN_ROOT",
    "COPILOT_PLUGIN_DATA",
    "COPILOT_PROJECT_DIR",
    "ARGUMENTS",
];

/// Beginnings of names that belong to one client.
const CLIENT_PREFIXES: &[&str] = &[
    "CLAUDE_",
    "COPILOT_",
    "CODEX_",
    "CURSOR_",
    "GEMINI_",
    "user_config.",
];

/// Beginnings of names that editors expand.
const EDITOR_PREFIXES: &[&str] = &[
    "input:",
    "env:",
    "config:",
    "command:",
    "workspaceFolder",
    "workspaceRoot",
    "userHome",
    "extensionPath",
    "pathSeparator",
];

/// Longest name of a placeholder, in bytes.
const MAX_NAME: usize = 200;

/// The placeholder of the specification that means what one of a single client
/// does: the package's directory, or that for its data.
pub fn counterpart(text: &str) -> Option<&'static str> {
    Some(match text {
        "${CLAUDE_PLUGIN_ROOT}"
        | "${COPILOT_PLUGIN_ROOT}"
        | "$CLAUDE_PLUGIN_ROOT"
        | "$COPILOT_PLUGIN_ROOT" => "${PLUGIN_ROOT}",
        "${CLAUDE_PLUGIN_DATA}"
        | "${COPILOT_PLUGIN_DATA}"
        | "$CLAUDE_PLUGIN_DATA"
        | "$COPILOT_PLUGIN_DATA" => "${PLUGIN_DATA}",
        _ => return None,
    })
}

/// `text` with every occurrence of [`ROOT`] and [`DATA`] replaced, and nothing
/// else. What a replacement brings in is not looked at again (§9.2).
pub fn expand(text: &str, root: &OsStr, data: &OsStr) -> OsString {
    let mut expanded = OsString::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${PLUGIN_") {
        expanded.push(before);
        rest = if let Some(behind) = behind.strip_prefix("ROOT}") {
            expanded.push(root);
            behind
        } else if let Some(behind) = behind.strip_prefix("DATA}") {
            expanded.push(data);
            behind
        } else {
            expanded.push("${PLUGIN_");
            behind
        };
    }
    expanded.push(rest);
    expanded
}

/// Every placeholder in `text`, in order.
pub fn find(text: &str) -> impl Iterator<Item = Placeholder<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        while let Some(at) = text.get(from..)?.find('$') {
            let offset = from + at;
            let behind = text.get(offset + 1..)?;
            // A name is short; looking further would cost the whole text each time.
            if let Some(inner) = behind.strip_prefix('{')
                && let Some(end) = inner
                    .bytes()
                    .take(MAX_NAME + 1)
                    .position(|byte| byte == b'}')
                && let Some(name) = inner.get(..end).filter(|name| is_name(name))
            {
                from = offset + end + 3;
                return Some(Placeholder {
                    text: text.get(offset..from)?,
                    offset,
                    owner: owner(name),
                });
            }
            from = offset + 1;
            // Without braces only the names of the specification and of clients are meant.
            for name in NAMES.iter().chain(CLIENT_NAMES) {
                let whole =
                    |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
                if behind.strip_prefix(name).is_some_and(whole) {
                    from = offset + 1 + name.len();
                    return Some(Placeholder {
                        text: text.get(offset..from)?,
                        offset,
                        owner: match CLIENT_NAMES.contains(name) {
                            true => Owner::Client,
                            false => Owner::Nobody,
                        },
                    });
                }
            }
        }
        None
    })
}

fn owner(name: &str) -> Owner {
    if NAMES.contains(&name) {
        Owner::Specification
    } else if CLIENT_PREFIXES
        .iter()
        .any(|prefix| name.starts_with(prefix))
    {
        Owner::Client
    } else if EDITOR_PREFIXES
        .iter()
        .any(|prefix| name.starts_with(prefix))
    {
        Owner::Editor
    } else {
        Owner::Nobody
    }
}

/// `NAME`, `name.with:more`, `NAME:-default`: begins like an identifier and
/// stays on one line.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && !name.contains(['{', '\n', '$'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expansion_is_single_and_exact() {
        // Both directories are named like placeholders themselves.
        let (root, data) = ("/r${PLUGIN_DATA}", "/d${PLUGIN_ROOT}");
        for (text, wanted) in [
            ("", ""),
            ("plain", "plain"),
            ("${PLUGIN_ROOT}", root),
            ("${PLUGIN_ROOT}/a", "/r${PLUGIN_DATA}/a"),
            (
                "${PLUGIN_ROOT}${PLUGIN_DATA}",
                "/r${PLUGIN_DATA}/d${PLUGIN_ROOT}",
            ),
            (
                "a ${PLUGIN_DATA} b ${PLUGIN_DATA}",
                "a /d${PLUGIN_ROOT} b /d${PLUGIN_ROOT}",
            ),
            ("$${PLUGIN_ROOT}", "$/r${PLUGIN_DATA}"),
            ("${${PLUGIN_ROOT}}", "${/r${PLUGIN_DATA}}"),
            ("${PLUGIN_${PLUGIN_ROOT}", "${PLUGIN_/r${PLUGIN_DATA}"),
            ("$PLUGIN_ROOT ${HOME} $HOME", "$PLUGIN_ROOT ${HOME} $HOME"),
            (
                "${PLUGIN_ROOTS} ${plugin_root}",
                "${PLUGIN_ROOTS} ${plugin_root}",
            ),
            (
                "${CLAUDE_PLUGIN_ROOT} ${PLUGIN_ROOT",
                "${CLAUDE_PLUGIN_ROOT} ${PLUGIN_ROOT",
            ),
            ("é${PLUGIN_ROOT:-x}", "é${PLUGIN_ROOT:-x}"),
        ] {
            assert_eq!(expand(text, root.as_ref(), data.as_ref()), wanted, "{text}");
        }
    }

    fn owners(text: &str) -> Vec<(&str, Owner)> {
        find(text).map(|found| (found.text, found.owner)).collect()
    }

    #[test]
    fn placeholders_and_their_owners() {
        assert_eq!(
            owners("${PLUGIN_ROOT}/a${PLUGIN_DATA}"),
            [
                ("${PLUGIN_ROOT}", Owner::Specification),
                ("${PLUGIN_DATA}", Owner::Specification)
            ]
        );
        assert_eq!(
            owners("${CLAUDE_PLUGIN_ROOT} ${user_config.x} ${HOME}"),
            [
                ("${CLAUDE_PLUGIN_ROOT}", Owner::Client),
                ("${user_config.x}", Owner::Client),
                ("${HOME}", Owner::Nobody)
            ]
        );
        assert_eq!(
            owners("$PLUGIN_ROOT/x $PLUGIN_ROOTS $HOME"),
            [("$PLUGIN_ROOT", Owner::Nobody)]
        );
        assert_eq!(
            owners("\"$CLAUDE_PLUGIN_ROOT\"/x $ARGUMENTS $CLAUDE_PLUGIN_ROOTS $ARGUMENTS_2"),
            [
                ("$CLAUDE_PLUGIN_ROOT", Owner::Client),
                ("$ARGUMENTS", Owner::Client)
            ]
        );
        assert_eq!(
            owners("$${PLUGIN_ROOT}"),
            [("${PLUGIN_ROOT}", Owner::Specification)]
        );
        assert_eq!(
            owners("${plugin_root}"),
            [("${plugin_root}", Owner::Nobody)]
        );
        assert_eq!(owners("cost: $5, ${}, ${1}, ${ x }, ${unclosed, $é"), []);
        assert_eq!(owners("${A${B}"), [("${B}", Owner::Nobody)]);
        assert_eq!(owners(&format!("${{{}}}", "a".repeat(MAX_NAME + 1))), []);
        // Linear, whatever is never closed.
        assert_eq!(find(&"${".repeat(1 << 20)).count(), 0);
    }
}
