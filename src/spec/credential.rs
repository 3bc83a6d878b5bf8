//! What looks like a secret. Configuration of a package is visible data; a
//! credential in it is a leak (§7.2.1, §9.2). No text defines "credential", so
//! this only ever leads to a warning, and the value is never shown.

use std::borrow::Cow;

/// Headers that carry credentials by definition.
const HEADERS: &[&str] = &["authorization", "proxy-authorization", "cookie"];

/// Beginnings that issuers put in front of their tokens, and the least length
/// of what follows.
const TOKEN_PREFIXES: &[(&str, usize)] = &[
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghu_", 30),
    ("ghs_", 30),
    ("ghr_", 30),
    ("github_pat_", 30),
    ("glpat-", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xoxa-", 16),
    ("xapp-", 16),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("ya29.", 20),
    ("npm_", 30),
    ("pypi-", 30),
    ("hf_", 30),
    ("eyJ", 40),
    ("SG.", 30),
    ("dop_v1_", 30),
    ("lin_api_", 20),
    ("ntn_", 20),
    ("secret_", 30),
];

/// Whether a value of this name is a credential by its name: the words of the
/// name say so, and it names the secret itself, not a place or a limit.
pub fn is_secret_name(name: &str) -> bool {
    if HEADERS
        .iter()
        .any(|header| name.eq_ignore_ascii_case(header))
    {
        return true;
    }
    let words = words(name);
    let about = |word: &String| {
        matches!(
            word.as_str(),
            "file"
                | "path"
                | "dir"
                | "url"
                | "uri"
                | "endpoint"
                | "name"
                | "type"
                | "ttl"
                | "limit"
                | "count"
                | "size"
                | "length"
                | "expiry"
                | "env"
                | "header"
                | "id"
                | "required"
                | "enabled"
                | "max"
                | "min"
        )
    };
    if words.last().is_some_and(about)
        || words
            .first()
            .is_some_and(|word| word == "max" || word == "min")
    {
        return false;
    }
    let secret = |word: &String| {
        matches!(
            word.as_str(),
            "token"
                | "secret"
                | "password"
                | "passwd"
                | "passphrase"
                | "apikey"
                | "credential"
                | "credentials"
                | "bearer"
                | "pat"
        )
    };
    let key_pair = words.windows(2).any(|pair| {
        matches!(pair, [first, second] if second == "key"
            && matches!(first.as_str(), "api" | "access" | "secret" | "private" | "auth" | "signing" | "encryption"))
    });
    words.iter().any(secret) || key_pair
}

/// Whether the value fills the slot: not empty, no template that is to be
/// filled in elsewhere, no switch or small number.
pub fn is_filled(value: &str) -> bool {
    let value = value.trim();
    let bare = strip_scheme(value);
    let trivial = bare.len() < 8
        && (bare.bytes().all(|byte| byte.is_ascii_digit()) || matches!(bare, "true" | "false"));
    let template = bare.contains("${")
        || (bare.starts_with('<') && bare.ends_with('>'))
        || bare.starts_with("{{");
    !bare.is_empty() && !trivial && !template
}

/// Whether the value is a stand-in that its reader is to replace: `YOUR_TOKEN`,
/// `changeme`, `xxxx`, `$API_KEY`.
pub fn is_slot(value: &str) -> bool {
    let bare = strip_scheme(value.trim()).to_ascii_lowercase();
    let variable = bare.strip_prefix('$').is_some_and(|name| {
        name.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    });
    let begins = [
        "your",
        "my-",
        "my_",
        "insert",
        "replace",
        "change",
        "example",
        "dummy",
        "placeholder",
        "todo",
    ];
    variable
        || begins.iter().any(|word| bare.starts_with(word))
        || bare
            .bytes()
            .all(|byte| matches!(byte, b'x' | b'*' | b'.' | b'-'))
}

/// Whether the value looks like a credential by its own shape, whatever its name.
pub fn has_secret_shape(value: &str) -> bool {
    (value.contains("-----BEGIN ") && value.contains("PRIVATE KEY-----"))
        || value.split(|c| !in_word(c)).any(is_token)
}

/// Names and values of options in command line arguments: `--name=value`, or the
/// argument behind `--name`.
pub fn option_value<'a>(argument: &'a str, before: Option<&'a str>) -> Option<(&'a str, &'a str)> {
    let name = |option: &'a str| {
        option
            .starts_with('-')
            .then(|| option.trim_start_matches('-'))
    };
    match argument.split_once('=') {
        Some((option, value)) => Some((name(option)?, value)),
        None if argument.starts_with('-') => None,
        None => Some((name(before?)?, argument)),
    }
}

/// `text` with every word of a secret's shape taken out.
pub fn masked(text: &str) -> Cow<'_, str> {
    if !has_secret_shape(text) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !in_word(c)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        shown.push_str(if is_token(word) { "[hidden]" } else { word });
        let next = behind.find(in_word).unwrap_or(behind.len());
        let (between, further) = behind.split_at(next);
        shown.push_str(between);
        rest = further;
    }
    Cow::Owned(shown)
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

/// Whether a word begins like a token of a known issuer and goes on like one.
fn is_token(word: &str) -> bool {
    TOKEN_PREFIXES.iter().any(|(prefix, least)| {
        word.strip_prefix(prefix).is_some_and(|rest| {
            rest.len() >= *least
                && rest
                    .bytes()
                    .any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
        })
    })
}

/// The value behind an HTTP authentication scheme such as `Bearer`.
fn strip_scheme(value: &str) -> &str {
    match value.split_once(' ') {
        Some((scheme, rest))
            if ["bearer", "basic", "token"]
                .iter()
                .any(|known| scheme.eq_ignore_ascii_case(known)) =>
        {
            rest.trim()
        }
        _ if ["bearer", "basic", "token"]
            .iter()
            .any(|known| value.eq_ignore_ascii_case(known)) =>
        {
            ""
        }
        _ => value,
    }
}

/// `GITHUB_TOKEN`, `X-Api-Key`, `accessToken` as lower-case words.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous_lower = false;
    for character in name.chars() {
        if !character.is_ascii_alphanumeric() {
            words.push(String::new());
        } else {
            if character.is_ascii_uppercase() && previous_lower {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.push(character.to_ascii_lowercase());
            }
        }
        previous_lower = character.is_ascii_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        for name in [
            "Authorization",
            "X-Api-Key",
            "GITHUB_TOKEN",
            "accessToken",
            "DB_PASSWORD",
            "apikey",
            "AWS_SECRET_ACCESS_KEY",
            "token",
            "Cookie",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "MAX_TOKENS",
            "TOKEN_FILE",
            "PASSWORD_MIN_LENGTH",
            "KEY",
            "X-Tenant",
            "AUTHOR",
            "MONKEY",
            "TOKEN_URL",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn slots_are_not_values() {
        for slot in [
            "",
            " ",
            "Bearer",
            "Bearer ",
            "Bearer ${TOKEN}",
            "${X}",
            "<token>",
            "true",
            "4096",
            "{{token}}",
        ] {
            assert!(!is_filled(slot), "{slot}");
        }
        assert!(is_filled("Bearer zz_0123456789abcdef"));
        assert!(is_filled("hunter2!"));
    }

    #[test]
    fn stand_ins_are_slots() {
        for slot in [
            "YOUR_API_KEY_HERE",
            "your-token",
            "changeme",
            "xxx",
            "Bearer YOUR_TOKEN",
            "$API_KEY",
            "****",
        ] {
            assert!(is_slot(slot), "{slot}");
        }
        for value in ["Bearer zz_0123456789abcdef", "hunter2!", "$5 and $6"] {
            assert!(!is_slot(value), "{value}");
        }
    }

    #[test]
    fn options_name_their_values() {
        assert_eq!(option_value("--api-key=x", None), Some(("api-key", "x")));
        assert_eq!(option_value("x", Some("--api-key")), Some(("api-key", "x")));
        assert_eq!(option_value("x", Some("run")), None);
        assert_eq!(option_value("--y", Some("--x")), None);
    }

    #[test]
    fn tokens_are_masked_in_messages() {
        let token = format!("ghp_{}", "a1".repeat(18));
        let text = format!("command \"npx --token {token}\" is wrong");
        assert_eq!(masked(&text), "command \"npx --token [hidden]\" is wrong");
        assert_eq!(masked("plain é text"), "plain é text");
    }

    #[test]
    fn shapes_of_secrets() {
        assert!(has_secret_shape(&format!("--key=ghp_{}", "a1".repeat(18))));
        assert!(has_secret_shape("-----BEGIN RSA PRIVATE KEY-----\nx"));
        for plain in [
            "ghp_short",
            "sk-learn",
            "task-list-of-many-things-to-do",
            "pypi-publish-action-for-many-projects",
        ] {
            assert!(!has_secret_shape(plain), "{plain}");
        }
    }
}
