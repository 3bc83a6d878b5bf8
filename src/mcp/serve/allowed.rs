//! Which tools are offered: the entries of `allowed-tools`, in the syntax of
//! the field of a skill.
//!
//! `mcp__api__read` is one tool, `*` in a name stands for any text, and
//! `mcp__api` alone is every tool of that server, as Claude Code reads it. An
//! entry that limits arguments (`mcp__api__read(x)`) allows nothing here: the
//! limit could not be kept.

use crate::spec::{pattern, skill};

/// What is allowed.
#[derive(Debug, Clone, Default)]
pub struct Allowed {
    patterns: Vec<String>,
}

/// Entries that allow nothing here, each with the reason.
pub type Ignored = Vec<(String, &'static str)>;

/// Why a list of tools cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AllowedError {
    /// A parenthesis has no partner.
    #[error("its parentheses are not balanced")]
    Parentheses,
    /// Commas stand where white space is asked for.
    #[error("spaces separate the tools, not commas")]
    Commas,
}

impl Allowed {
    /// Reads a list of tools. The second part holds the entries that allow
    /// nothing here, each with the reason.
    ///
    /// # Errors
    ///
    /// The text is no such list.
    pub fn parse(text: &str) -> Result<(Self, Ignored), AllowedError> {
        if skill::has_separating_comma(text) {
            return Err(AllowedError::Commas);
        }
        let entries = skill::tools(text).ok_or(AllowedError::Parentheses)?;
        let mut allowed = Self::default();
        let mut ignored = Vec::new();
        for entry in entries {
            let names_mcp = entry.starts_with("mcp__") || entry == "*" || entry == "mcp__*";
            if entry.contains('(') && names_mcp {
                ignored.push((entry.to_owned(), "limits on arguments cannot be kept here"));
            } else if names_mcp {
                allowed.patterns.push(entry.to_owned());
            } else {
                ignored.push((entry.to_owned(), "it names no tool of an MCP server"));
            }
        }
        Ok((allowed, ignored))
    }

    /// Adds what `other` allows.
    pub fn and(&mut self, other: Self) {
        self.patterns.extend(other.patterns);
    }

    /// Whether the tool of these names is allowed. It may be named as it is
    /// offered or as its server alone would be.
    pub fn allows(&self, names: [&str; 2]) -> bool {
        self.patterns.iter().any(|entry| fits(entry, names))
    }

    /// The entries that fit no tool of these names.
    pub(super) fn idle(&self, tools: &[[String; 2]]) -> impl Iterator<Item = &str> {
        let entries = self.patterns.iter().filter(|entry| {
            let mut names = tools
                .iter()
                .map(|names| names.each_ref().map(String::as_str));
            !names.any(|names| fits(entry, names))
        });
        entries.map(String::as_str)
    }
}

fn fits(entry: &str, names: [&str; 2]) -> bool {
    let whole_server = entry
        .strip_prefix("mcp__")
        .is_some_and(|server| !server.contains("__") && !server.contains('*'));
    names.into_iter().any(|name| {
        pattern::fits(entry, name)
            || whole_server
                && name
                    .strip_prefix(entry)
                    .is_some_and(|rest| rest.starts_with("__"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(text: &str) -> Allowed {
        Allowed::parse(text).expect("a list").0
    }

    #[test]
    fn entries_name_tools_patterns_and_servers() {
        let list = allowed("mcp__api__* mcp__files__read mcp__whole");
        for (name, expected) in [
            ("mcp__api__read", true),
            ("mcp__apis__read", false),
            ("mcp__files__read", true),
            ("mcp__files__read_all", false),
            ("mcp__whole__x", true),
            ("mcp__wholesale__x", false),
        ] {
            assert_eq!(list.allows([name, name]), expected, "{name}");
        }
        assert!(list.allows(["mcp__one_api__read", "mcp__api__read"]));
        assert!(allowed("*").allows(["mcp__a__b", "mcp__a__b"]));
        assert!(!allowed("").allows(["mcp__a__b", "mcp__a__b"]));
    }

    #[test]
    fn other_tools_are_named_as_ignored() {
        let (list, ignored) = Allowed::parse("Bash(git *) Read mcp__a__b(x y)").expect("a list");
        let entries: Vec<&str> = ignored.iter().map(|(entry, _)| entry.as_str()).collect();
        assert_eq!(entries, ["Bash(git *)", "Read", "mcp__a__b(x y)"]);
        assert!(!list.allows(["mcp__a__b", "mcp__a__b"]));
        assert_eq!(
            Allowed::parse("Bash(").unwrap_err(),
            AllowedError::Parentheses
        );
        assert_eq!(Allowed::parse("a, b").unwrap_err(), AllowedError::Commas);
    }
}
