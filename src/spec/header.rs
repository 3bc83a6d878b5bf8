//! HTTP header fields (§7.2.1 and RFC 9110).

/// Whether `name` is an RFC 9110 token.
pub fn is_valid_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// The first character of `value` that no field value may hold: a control
/// character other than tab. Characters beyond ASCII are obs-text, which is
/// allowed.
pub fn forbidden_in_value(value: &str) -> Option<char> {
    value.chars().find(|&c| c != '\t' && c.is_ascii_control())
}

/// Why `value`, though valid, does not arrive alike everywhere.
pub fn portability_problem(value: &str) -> Option<&'static str> {
    if value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']) {
        Some("begins or ends with white space, which is stripped on the way")
    } else if !value.is_ascii() {
        Some("holds characters beyond ASCII, whose encoding in a header is not agreed upon")
    } else {
        None
    }
}

/// Whether clients generate this header themselves, so that a configured value
/// never arrives (§7.2.1).
pub fn is_client_generated(name: &str) -> bool {
    const GENERATED: &[&str] = &[
        "accept",
        "connection",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "mcp-protocol-version",
        "mcp-session-id",
        "transfer-encoding",
    ];
    GENERATED
        .iter()
        .any(|generated| name.eq_ignore_ascii_case(generated))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_tokens() {
        for good in ["X-Tenant", "a", "!#$%&'*+-.^_`|~09"] {
            assert!(is_valid_name(good), "{good}");
        }
        for bad in ["", "X Tenant", "X:", "é", "a\n", "(a)", "\""] {
            assert!(!is_valid_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn values_may_hold_tabs_and_obs_text_but_no_controls() {
        for good in ["", "a\tb", "é", " a ", "\u{85}"] {
            assert_eq!(forbidden_in_value(good), None, "{good:?}");
        }
        for bad in ["a\nb", "a\rb", "\0", "\u{7f}", "\u{1b}[0m"] {
            assert!(forbidden_in_value(bad).is_some(), "{bad:?}");
        }
    }
}
