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
        let mut hash = Sha256::new();
        hash.update(server);
        hash.update([0]);
        hash.update(tool);
        name.truncate(LONGEST - DIGITS - 1);
        name.push('_');
        for byte in hash.finalize().iter().take(DIGITS / 2) {
            let _ = write!(name, "{byte:02x}");
        }
    }
    name
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
