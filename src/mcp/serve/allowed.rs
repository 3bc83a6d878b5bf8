//! Which tools are offered: the entries of `allowed-tools`, in the syntax of
//! the field of a skill.
//!
//! `mcp__api__read` is one tool, `*` in a name stands for any text, and
//! `mcp__api` alone is every tool of that server, as Claude Code reads it. An
//! entry that limits arguments (`mcp__api__read(x)`) allows nothing here: the
//! limit could not be kept.

use super::names;
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

    /// Whether a tool is allowed. Its server may be named as its label or as it
    /// names itself.
    ///
    /// An entry is about the whole name of a server: `mcp__api__*` is nothing that a
    /// server `api__x` has.
    pub fn allows(&self, servers: [&str; 2], tool: &str) -> bool {
        self.patterns.iter().any(|entry| fits(entry, servers, tool))
    }

    /// The entries that fit none of these tools, each with the names of its server.
    pub(super) fn idle(&self, tools: &[([&str; 2], String)]) -> impl Iterator<Item = &str> {
        let entries = self.patterns.iter().filter(|entry| {
            let mut tools = tools.iter();
            !tools.any(|(servers, tool)| fits(entry, *servers, tool))
        });
        entries.map(String::as_str)
    }
}

fn fits(entry: &str, servers: [&str; 2], tool: &str) -> bool {
    let mut servers = servers.into_iter();
    servers.any(|server| is_about(entry, server, tool))
}

fn is_about(entry: &str, server: &str, tool: &str) -> bool {
    if entry == "*" || entry == names::offered(server, tool) {
        return true;
    }
    let Some(entry) = entry.strip_prefix("mcp__") else {
        return false;
    };
    let (server, tool) = (names::sanitized(server), names::sanitized(tool));
    if !entry.contains("__") && pattern::fits(entry, &server) {
        return true;
    }
    // Where the name of the server ends is not written.
    entry.match_indices("__").any(|(at, between)| {
        let (of_server, behind) = entry.split_at(at);
        let of_tool = behind.get(between.len()..).unwrap_or_default();
        pattern::fits(of_server, &server) && pattern::fits(of_tool, &tool)
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
        for (server, tool, expected) in [
            ("api", "read", true),
            ("apis", "read", false),
            ("api__x", "read", false),
            ("files", "read", true),
            ("files", "read_all", false),
            ("whole", "x", true),
            ("wholesale", "x", false),
            ("whole__x", "x", false),
            ("my api", "x", false),
        ] {
            assert_eq!(list.allows([server; 2], tool), expected, "{server} {tool}");
        }
        assert!(list.allows(["one_api", "api"], "read"));
        assert!(allowed("*").allows(["a"; 2], "b"));
        assert!(allowed("mcp__*").allows(["a__b"; 2], "b"));
        assert!(!allowed("").allows(["a"; 2], "b"));
        assert!(allowed("mcp__my_api mcp__a__x__t").allows(["my api"; 2], "b"));
        assert!(allowed("mcp__a__x__t").allows(["a__x"; 2], "t"));
        assert!(allowed("mcp__a__x__t").allows(["a"; 2], "x__t"));
        assert!(allowed("mcp__a*__r*").allows(["api"; 2], "read"));
        let long = "t".repeat(100);
        assert!(allowed(&names::offered("a", &long)).allows(["a"; 2], &long));
    }

    #[test]
    fn other_tools_are_named_as_ignored() {
        let (list, ignored) = Allowed::parse("Bash(git *) Read mcp__a__b(x y)").expect("a list");
        let entries: Vec<&str> = ignored.iter().map(|(entry, _)| entry.as_str()).collect();
        assert_eq!(entries, ["Bash(git *)", "Read", "mcp__a__b(x y)"]);
        assert!(!list.allows(["a"; 2], "b"));
        assert_eq!(
            Allowed::parse("Bash(").unwrap_err(),
            AllowedError::Parentheses
        );
        assert_eq!(Allowed::parse("a, b").unwrap_err(), AllowedError::Commas);
    }
}
