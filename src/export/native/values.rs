//! Strings of a native server: placeholders and secrets.

use crate::spec::credential::{self, Held};
use crate::spec::placeholder;

/// What stands in the way of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// `${user_config.name}`.
    Option(String),
    /// Another placeholder, as written.
    Variable(String),
}

impl Obstacle {
    /// Why the value cannot be portable.
    pub(super) fn why(&self) -> String {
        match self {
            Self::Option(name) => {
                format!(
                    "its value is the user's option {name:?}, which no portable client asks for"
                )
            }
            Self::Variable(text) => format!("{text} is expanded by no portable client"),
        }
    }
}

/// A value with the placeholders of the specification.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Portable {
    pub(super) text: String,
    /// Placeholders whose default was written.
    pub(super) defaults: Vec<String>,
    /// It holds a placeholder of the specification.
    pub(super) expands: bool,
}

/// Puts the placeholders of the specification in the place of a client's own,
/// and defaults in the place of variables that have one.
pub(super) fn portable(value: &str) -> Result<Portable, Obstacle> {
    let mut result = Portable::default();
    let mut from = 0;
    for found in placeholder::find(value) {
        let Some(name) = found
            .text
            .strip_prefix("${")
            .and_then(|rest| rest.strip_suffix('}'))
        else {
            // `$PLUGIN_ROOT` without braces is literal text everywhere.
            return Err(Obstacle::Variable(found.text.to_owned()));
        };
        result
            .text
            .push_str(value.get(from..found.offset).unwrap_or_default());
        from = found.offset + found.text.len();
        let plain = ["CLAUDE_", "COPILOT_"]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix))
            .unwrap_or(name);
        if placeholder::NAMES.contains(&plain) {
            result.expands = true;
            result.text.push_str(&format!("${{{plain}}}"));
        } else if let Some(option) = name.strip_prefix("user_config.") {
            return Err(Obstacle::Option(option.to_owned()));
        } else if let Some((variable, default)) = name
            .split_once(":-")
            .filter(|(_, default)| !default.is_empty())
        {
            // The default may be a secret: it is told without.
            result.defaults.push(format!("${{{variable}:-…}}"));
            result.text.push_str(default);
        } else {
            return Err(Obstacle::Variable(found.text.to_owned()));
        }
    }
    result.text.push_str(value.get(from..).unwrap_or_default());
    Ok(result)
}

/// Gives the package's placeholders braces where a shell would put their value
/// anyway.
pub(super) fn braced(script: &str) -> String {
    let mut result = String::with_capacity(script.len());
    let mut from = 0;
    for found in placeholder::find(script) {
        let ours = placeholder::counterpart(found.text)
            .map(str::to_owned)
            .or_else(|| {
                let name = found.text.strip_prefix('$')?;
                placeholder::NAMES
                    .contains(&name)
                    .then(|| format!("${{{name}}}"))
            });
        result.push_str(script.get(from..found.offset).unwrap_or_default());
        result.push_str(&ours.unwrap_or_else(|| found.text.to_owned()));
        from = found.offset + found.text.len();
    }
    result.push_str(script.get(from..).unwrap_or_default());
    result
}

/// Whether the value is a secret, by its name or its own shape.
pub(super) fn is_secret(name: Option<&str>, value: &str) -> bool {
    credential::held(name, value) == Some(Held::Credential) || has_secret_default(name, value)
}

/// Whether an argument is a secret, behind the argument `before`.
pub(super) fn is_secret_argument(argument: &str, before: Option<&str>) -> bool {
    credential::held_by_argument(argument, before) == Some(Held::Credential)
        || has_secret_default(None, argument)
}

/// Whether a placeholder in the value has a default that is a secret.
fn has_secret_default(name: Option<&str>, value: &str) -> bool {
    placeholder::find(value).any(|found| {
        let inner = found.text.trim_start_matches("${").trim_end_matches('}');
        inner.split_once(":-").is_some_and(|(variable, default)| {
            (credential::is_secret_name(variable) || name.is_some_and(credential::is_secret_name))
                && credential::is_filled(default)
                && !credential::is_slot(default)
        })
    })
}

/// Whether the value only stands for a secret that its reader is to fill in.
pub(super) fn is_secret_slot(name: &str, value: &str) -> bool {
    credential::is_secret_name(name) && credential::is_filled(value) && credential::is_slot(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Result<String, Obstacle> {
        portable(value).map(|portable| portable.text)
    }

    #[test]
    fn placeholders_of_clients_become_those_of_the_specification() {
        for (value, wanted) in [
            ("${CLAUDE_PLUGIN_ROOT}/a", "${PLUGIN_ROOT}/a"),
            (
                "x${CLAUDE_PLUGIN_DATA}y${COPILOT_PLUGIN_ROOT}",
                "x${PLUGIN_DATA}y${PLUGIN_ROOT}",
            ),
            ("${PLUGIN_ROOT}", "${PLUGIN_ROOT}"),
            ("${PORT:-80}/${X:-a b}", "80/a b"),
            ("$HOME ${} $5", "$HOME ${} $5"),
        ] {
            assert_eq!(text(value).as_deref(), Ok(wanted), "{value}");
        }
        let portable = portable("${PORT:-80}").expect("a value");
        assert_eq!(
            (portable.defaults, portable.expands),
            (vec!["${PORT:-…}".to_owned()], false)
        );
    }

    #[test]
    fn what_no_client_fills_in_is_an_obstacle() {
        assert_eq!(text("a${user_config.k}"), Err(Obstacle::Option("k".into())));
        for variable in [
            "${HOME}",
            "${CLAUDE_PROJECT_DIR}",
            "${X:-}",
            "${input:x}",
            "$PLUGIN_ROOT",
            "$CLAUDE_PLUGIN_ROOT",
        ] {
            assert_eq!(
                text(&format!("-{variable}-")),
                Err(Obstacle::Variable(variable.into()))
            );
        }
    }

    #[test]
    fn a_shell_needs_no_braces() {
        assert_eq!(
            braced("exec \"$CLAUDE_PLUGIN_ROOT/s\" $PLUGIN_DATA $HOME ${CLAUDE_PLUGIN_ROOT}"),
            "exec \"${PLUGIN_ROOT}/s\" ${PLUGIN_DATA} $HOME ${PLUGIN_ROOT}"
        );
    }

    #[test]
    fn secrets_are_told_from_slots() {
        assert!(is_secret(Some("API_KEY"), "zz-0123456789abcdef"));
        assert!(is_secret(
            None,
            "--key=ghp_0123456789012345678901234567890123AB"
        ));
        assert!(is_secret(Some("X"), "${TOKEN:-zz-0123456789abcdef}"));
        assert!(is_secret(None, "a${X}${API_KEY:-zz-0123456789abcdef}"));
        for harmless in ["${API_KEY}", "", "YOUR_API_KEY", "true"] {
            assert!(!is_secret(Some("API_KEY"), harmless), "{harmless}");
        }
        assert!(is_secret_slot("API_KEY", "YOUR_API_KEY"));
    }
}
