//! What tools are called: `mcp__<server>__<tool>`, in characters and lengths
//! that hosts take.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// As long as a name may be for the hosts that take least.
pub const LONGEST: usize = 64;
/// How many digits of the digest end a name that was too long.
const DIGITS: usize = 8;

/// `mcp__<server>__<tool>` with everything but letters and digits of ASCII, `_`
/// and `-` as `_`.
pub fn plain(server: &str, tool: &str) -> String {
    format!("mcp__{}__{}", sanitized(server), sanitized(tool))
}

/// The name that is offered: [`plain`], and if that is longer than [`LONGEST`],
/// its beginning and a digest of the names it was made from.
pub fn offered(server: &str, tool: &str) -> String {
    let mut name = plain(server, tool);
    if name.len() > LONGEST {
        name.truncate(LONGEST - DIGITS - 1);
        name.push('_');
        name.push_str(&digest(server, tool));
    }
    name
}

/// The first digits of a digest of two names.
pub(super) fn digest(one: &str, other: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(one);
    hash.update([0]);
    hash.update(other);
    let mut digits = String::new();
    for byte in hash.finalize().iter().take(DIGITS / 2) {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// Which names are whose: `mcp__a__b__c` is a tool of `a__b` if there is such a server,
/// and none of `a`, whichever of them lists its tools first.
pub struct Spaces(Vec<(String, String)>);

impl Spaces {
    /// Those of servers with these labels.
    pub fn of<'l>(labels: impl Iterator<Item = &'l str>) -> Self {
        let space = |label: &str| (plain(label, ""), label.to_owned());
        Self(labels.map(space).collect())
    }

    /// The other server, by its label, that a name of the server `own` is kept for.
    pub fn other(&self, own: &str, offered: &str) -> Option<&str> {
        let least = plain(own, "").len();
        let longer = self.0.iter().filter(|(space, _)| space.len() > least);
        let mut other = longer.filter(|(space, _)| offered.starts_with(space));
        other.next().map(|(_, label)| label.as_str())
    }
}

/// `text` in the characters that hosts take.
pub(in crate::mcp) fn sanitized(text: &str) -> String {
    let keep = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '_' | '-');
    text.chars()
        .map(|ch| if keep(ch) { ch } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hold_what_hosts_take() {
        for (server, tool, name) in [
            ("api", "read", "mcp__api__read"),
            ("my api", "Read-It_2", "mcp__my_api__Read-It_2"),
            ("ü", "a/b.c", "mcp_____a_b_c"),
            ("", "x", "mcp____x"),
        ] {
            assert_eq!(offered(server, tool), name);
        }
    }

    #[test]
    fn names_below_another_servers_are_kept_for_it() {
        let spaces = Spaces::of(["a", "a__b", "my api"].into_iter());
        let other = |own: &str, tool: &str| spaces.other(own, &offered(own, tool));
        assert_eq!(other("a", "b__c"), Some("a__b"));
        assert_eq!(other("a", "b"), None);
        assert_eq!(other("a__b", "c"), None);
        assert_eq!(other("my", "api__t"), None);
    }

    #[test]
    fn long_names_end_in_a_digest_of_what_they_were_made_from() {
        let exact = "t".repeat(LONGEST - "mcp__s__".len());
        assert_eq!(offered("s", &exact), format!("mcp__s__{exact}"));
        let long = format!("{exact}x");
        let name = offered("s", &long);
        assert_eq!(name.len(), LONGEST);
        assert!(
            name.starts_with(&format!("mcp__s__{}_", "t".repeat(47))),
            "{name}"
        );
        assert_eq!(name, offered("s", &long), "the same each time");
        assert_ne!(name, offered("s", &format!("{exact}y")));
    }
}
