//! What looks like a secret. Configuration of a package is visible data; a
//! credential in it is a leak (§7.2.1, §9.2). No text defines "credential", so
//! this only ever leads to a warning, and the value is never shown.

mod within;

use std::borrow::Cow;

use crate::secret::{self, Place};
pub use within::{Reading, places};

/// Headers that carry credentials by definition.
const HEADERS: &[&str] = &["authorization", "proxy-authorization", "cookie"];
/// Last words of names whose value is a credential if it looks like one: `X-Auth`,
/// `?key=`, `-k`.
const ABOUT_ACCESS: &[&str] = &[
    "auth",
    "authorization",
    "authentication",
    "key",
    "k",
    "code",
    "sig",
    "signature",
    "jwt",
];
/// HTTP authentication schemes.
const SCHEMES: &[&str] = &["bearer", "basic", "token"];

/// What a value holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// What looks like a credential.
    Credential,
    /// A stand-in that somebody is to replace by one.
    Slot,
}

/// Whether the value is or holds a credential, by its name (a variable, a header,
/// an option, a parameter), by its own shape, or by what is named inside it.
pub fn held(name: Option<&str>, value: &str) -> Option<Held> {
    name.and_then(|name| judge(name, value)).or_else(|| {
        let inside = has_secret_shape(value) || !places(value, Reading::Configuration).is_empty();
        inside.then_some(Held::Credential)
    })
}

/// The same for an argument of a command line behind the argument `before`.
pub fn held_by_argument(argument: &str, before: Option<&str>) -> Option<Held> {
    match option_value(argument, before) {
        Some((name, value)) => held(Some(name), value),
        None => held(None, argument),
    }
}

/// What a value is by its name.
fn judge(name: &str, value: &str) -> Option<Held> {
    if is_secret_name(name) {
        return is_filled(value).then(|| match is_slot(value) {
            true => Held::Slot,
            false => Held::Credential,
        });
    }
    let looks_like_one = || within::is_opaque(value) || strip_scheme(value) != value;
    let is_one = is_telling(name) && is_filled(value) && !is_slot(value) && looks_like_one();
    is_one.then_some(Held::Credential)
}

/// Whether a value of this name may be a credential.
fn is_telling(name: &str) -> bool {
    let last = secret::words(name).pop();
    last.is_some_and(|last| ABOUT_ACCESS.contains(&last.as_str())) || is_secret_name(name)
}

/// Whether a value of this name is a credential by its name.
pub fn is_secret_name(name: &str) -> bool {
    let header = HEADERS
        .iter()
        .any(|header| name.eq_ignore_ascii_case(header));
    header || secret::strength(name, Place::Anywhere).is_some()
}

/// Whether the value fills the slot: not empty, no template that is to be
/// filled in elsewhere, no switch or small number.
pub fn is_filled(value: &str) -> bool {
    let value = value.trim();
    let bare = strip_scheme(value);
    let nothing = [
        "true",
        "false",
        "null",
        "none",
        "nil",
        "undefined",
        "unset",
        "on",
        "off",
        "yes",
        "no",
    ];
    let trivial = bare.len() < 10
        && (bare.len() < 8 && bare.bytes().all(|byte| byte.is_ascii_digit())
            || nothing.iter().any(|word| bare.eq_ignore_ascii_case(word)));
    let enclosed = |open: char, close: char| bare.starts_with(open) && bare.ends_with(close);
    let template = bare.contains("${")
        || bare.starts_with("$(")
        || bare.starts_with('`')
        || enclosed('<', '>')
        || bare.starts_with("{{")
        || (bare.len() > 1 && enclosed('%', '%'));
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
        "enter-",
        "enter_",
        "put-",
        "put_",
        "<",
    ];
    variable
        || bare.ends_with("...")
        || bare.ends_with("xxxx")
        || bare.ends_with("****")
        || bare.ends_with('…')
        || begins.iter().any(|word| bare.starts_with(word))
        || bare
            .bytes()
            .all(|byte| matches!(byte, b'x' | b'*' | b'.' | b'-'))
}

/// Whether the value looks like a credential by its own shape, whatever its
/// name, or is a URL with a password in it.
pub fn has_secret_shape(value: &str) -> bool {
    let password = || {
        secret::password_in_url(value)
            .and_then(|place| value.get(place))
            .is_some_and(|password| is_filled(password) && !is_slot(password))
    };
    holds_token(value) || password()
}

/// Whether a token or a private key stands in the value.
pub fn holds_token(value: &str) -> bool {
    (value.contains("-----BEGIN ") && value.contains("PRIVATE KEY-----"))
        || secret::tokens(value).next().is_some()
}

/// Where in a text of any kind credentials stand: tokens of known issuers but for
/// those of documentation, and what is assigned to the name of a secret and looks
/// like one.
pub fn shown_in(text: &str) -> Vec<usize> {
    let is_example = |place: &std::ops::Range<usize>| {
        text.get(place.clone())
            .is_some_and(|value| value.to_ascii_lowercase().contains("example"))
    };
    secret::tokens(text)
        .chain(places(text, Reading::Prose))
        .filter(|place| !is_example(place))
        .map(|place| place.start)
        .collect()
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
        Some((option, value)) if argument.starts_with('-') => Some((name(option)?, value)),
        None if argument.starts_with('-') => None,
        _ => {
            let before = before.filter(|before| !before.contains('='))?;
            Some((name(before)?, argument))
        }
    }
}

/// `text` without tokens, what is assigned to the names of secrets, and passwords in
/// URLs.
pub fn masked(text: &str) -> Cow<'_, str> {
    let mut places: Vec<_> = places(text, Reading::Configuration);
    places.extend(secret::tokens(text));
    let mut from = 0;
    while let Some(url) = text.get(from..).and_then(|rest| rest.find("://")) {
        // Each URL by itself: what stands before it is no part of it.
        let start = from + url;
        let rest = text.get(start..).unwrap_or_default();
        let end = rest.find(|c: char| c.is_whitespace() || c == '"');
        let one = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        if let Some(place) = secret::password_in_url(one) {
            places.push(start + place.start..start + place.end);
        }
        from = start + 3;
    }
    if places.is_empty() {
        return Cow::Borrowed(text);
    }
    places.sort_unstable_by_key(|place| place.start);
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for place in places.into_iter().filter(|place| !place.is_empty()) {
        if place.start >= at {
            shown.push_str(text.get(at..place.start).unwrap_or_default());
            shown.push_str("[hidden]");
        }
        at = at.max(place.end);
    }
    shown.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(shown)
}

/// The value behind an HTTP authentication scheme such as `Bearer`.
fn strip_scheme(value: &str) -> &str {
    match value.split_once(' ') {
        Some((scheme, rest)) if is_token_scheme(scheme) => rest.trim(),
        _ if is_token_scheme(value) => "",
        _ => value,
    }
}

/// Whether the word is an HTTP authentication scheme.
fn is_token_scheme(word: &str) -> bool {
    SCHEMES.iter().any(|known| word.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        for name in ["Authorization", "Cookie", "X-Api-Key", "GITHUB_TOKEN"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["X-Tenant", "TOKEN_URL"] {
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
        assert_eq!(option_value("A=x", Some("-e")), Some(("e", "A=x")));
        assert_eq!(option_value("x", Some("--a=b")), None);
    }

    #[test]
    fn tokens_are_masked_in_messages() {
        let token = format!("ghp_{}", "a1".repeat(18));
        let text = format!("command \"npx --token {token}\" is wrong");
        assert_eq!(masked(&text), "command \"npx --token [hidden]\" is wrong");
        assert_eq!(
            masked(&format!(
                "\"{token}\", \"db://u:pw@h/d\" and https://h:80/@x"
            )),
            "\"[hidden]\", \"db://u:[hidden]@h/d\" and https://h:80/@x"
        );
        assert_eq!(masked("plain é text"), "plain é text");
    }

    #[test]
    fn shapes_of_secrets() {
        assert!(has_secret_shape(&format!("--key=ghp_{}", "a1".repeat(18))));
        assert!(has_secret_shape("-----BEGIN RSA PRIVATE KEY-----\nx"));
        assert!(has_secret_shape("--db=postgres://u:hunter2@h/d"));
        for plain in [
            "ghp_short",
            "sk-learn",
            "postgres://u:${PASSWORD}@h/d",
            "postgres://user:your-password@h/d",
            "postgres://user@h/d",
        ] {
            assert!(!has_secret_shape(plain), "{plain}");
        }
    }
}
