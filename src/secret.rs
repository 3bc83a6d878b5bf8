//! What tokens of known issuers and names of secrets look like: the one list of
//! both, for what a package shows and for what leaves the machine.
//!
//! Nothing here is compiled or built at run time; a hook pays for what it looks
//! at and no more.

use std::borrow::Cow;
use std::ops::Range;

/// Beginnings that issuers put in front of their tokens, and how many characters
/// follow at least. What follows holds a digit or a capital.
const SHAPES: [(&str, usize); 42] = [
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("gldt-", 16),
    ("glsa_", 20),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxa-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("AIza", 30),
    ("npm_", 30),
    ("pypi-", 30),
    ("hf_", 20),
    ("gsk_", 20),
    ("dop_v1_", 30),
    ("doo_v1_", 30),
    ("shpat_", 20),
    ("shpss_", 20),
    ("shpca_", 20),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("rk_test_", 10),
    ("whsec_", 16),
    ("dckr_pat_", 20),
    ("rubygems_", 30),
    ("lin_api_", 20),
    ("tskey-", 16),
    ("ATATT3", 30),
    ("AGE-SECRET-KEY-1", 20),
    ("sq0csp-", 20),
    ("sk-", 20),
    ("ntn_", 20),
    ("secret_", 30),
    // Identifiers of keys; they are capitals and digits throughout.
    ("AKIA", 16),
    ("ASIA", 16),
];
/// No token is shorter, apart from those with dots.
const SHORTEST: usize = 15;

/// Words that make a name the name of a secret, whatever its value looks like.
const STRONG: [&str; 6] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "credential",
    "credentials",
];
/// Words that do so when the value looks like one.
const WEAK: [&str; 6] = ["token", "apikey", "pwd", "pass", "pat", "bearer"];
/// Words that make a `key` behind them a secret one.
const KEY_KINDS: [&str; 9] = [
    "api",
    "secret",
    "access",
    "private",
    "auth",
    "encryption",
    "signing",
    "master",
    "account",
];
/// Last words of names that only speak about a secret: its place, its limits.
const ABOUT: [&str; 23] = [
    "file", "path", "dir", "url", "uri", "endpoint", "name", "type", "ttl", "limit", "count",
    "size", "length", "expiry", "expires", "env", "header", "prefix", "id", "required", "enabled",
    "max", "min",
];
/// First words of such names.
const LIMITS: [&str; 2] = ["max", "min"];

/// How much a name says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strength {
    /// It is a secret.
    Strong,
    /// It is one if it looks like one.
    Weak,
}

/// Where in a name the word has to stand that makes it the name of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Anywhere: for names that configuration gives.
    Anywhere,
    /// At the end: for words of running text, most of which name nothing.
    End,
}

/// Whether values of `name` are secret: the words of the name say so, and it
/// names the secret itself, not a place or a limit.
pub fn strength(name: &str, place: Place) -> Option<Strength> {
    // The working directory of a shell.
    if name.len() > 100 || matches!(name, "PWD" | "OLDPWD") {
        return None;
    }
    let words = words(name);
    let (first, last) = (words.first()?.as_str(), words.last()?.as_str());
    if ABOUT.contains(&last) || LIMITS.contains(&first) {
        return None;
    }
    let judge = |at: usize| {
        let word = words.get(at)?.as_str();
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        // `PGPASSWORD`, `dbpassword`.
        if STRONG.contains(&word) || word.ends_with("password") {
            Some(Strength::Strong)
        } else if WEAK.contains(&word)
            || word == "key" && before.is_some_and(|kind| KEY_KINDS.contains(&kind.as_str()))
        {
            Some(Strength::Weak)
        } else {
            None
        }
    };
    let from = match place {
        Place::Anywhere => 0,
        Place::End => words.len() - 1,
    };
    let found = (from..words.len()).filter_map(judge);
    found.reduce(|known, next| match known {
        Strength::Strong => known,
        Strength::Weak => next,
    })
}

/// The words of a name, in small letters and without digits at their end:
/// `clientSecret2`, `client-secret`, `CLIENT_SECRET`.
pub fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous = '_';
    for ch in name.chars() {
        if !ch.is_ascii_alphanumeric() {
            previous = '_';
            continue;
        }
        let border = !previous.is_ascii_alphanumeric()
            || previous.is_ascii_lowercase() && ch.is_ascii_uppercase();
        match words.last_mut().filter(|_| !border) {
            Some(word) => word.push(ch.to_ascii_lowercase()),
            None => words.push(ch.to_ascii_lowercase().to_string()),
        }
        previous = ch;
    }
    for word in &mut words {
        let bare = word.trim_end_matches(|ch: char| ch.is_ascii_digit()).len();
        word.truncate(bare);
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether `byte` can stand in a name or in a token without dots.
pub fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The length of the token of a known issuer that `text` begins with.
pub fn token_at_start(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let run = |test: fn(u8) -> bool| {
        let end = bytes.iter().position(|byte| !test(*byte));
        text.get(..end.unwrap_or(bytes.len())).unwrap_or_default()
    };
    let word = run(in_name);
    let like_a_token = |rest: &str| {
        rest.bytes()
            .any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
    };
    // With dots: `eyJ….eyJ….sig`, `ya29.…`, `SG.….…`. Each such word makes a token
    // of what follows or is followed by little, so looking ahead stays cheap.
    let prefix = match word {
        "ya29" | "SG" => word,
        _ if word.starts_with("eyJ") => "eyJ",
        _ => "",
    };
    if !prefix.is_empty() {
        let whole = run(|byte| in_name(byte) || byte == b'.').trim_end_matches('.');
        let rest = whole.get(prefix.len()..).unwrap_or_default();
        let long = match prefix {
            "eyJ" => rest.len() >= 40 || rest.contains('.') && rest.len() >= 27,
            "ya29" => rest.len() > 20,
            _ => rest.len() > 30,
        };
        return (long && like_a_token(rest)).then_some(whole.len());
    }
    if word.len() < SHORTEST {
        return None;
    }
    let shaped = SHAPES.iter().any(|(prefix, least)| {
        let capitals = matches!(*prefix, "AKIA" | "ASIA");
        word.strip_prefix(prefix).is_some_and(|rest| {
            rest.len() >= *least
                && like_a_token(rest)
                && !(capitals
                    && rest
                        .bytes()
                        .any(|byte| !byte.is_ascii_uppercase() && !byte.is_ascii_digit()))
        })
    });
    shaped.then_some(word.len())
}

/// The places of all tokens of known issuers in `text`.
pub fn tokens(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(next) = rest.iter().position(|byte| in_name(*byte)) else {
                break;
            };
            let start = at + next;
            let rest = text.get(start..).unwrap_or_default();
            if let Some(length) = token_at_start(rest) {
                at = start + length;
                return Some(start..at);
            }
            let word = rest.bytes().position(|byte| !in_name(byte));
            at = start + word.unwrap_or(rest.len());
        }
        at = bytes.len();
        None
    })
}

/// The user information of the first URL in `text`: what stands between `//` and
/// `@`. A password that was not encoded ends the authority early; then what looks
/// like a port is no number.
pub fn user_information(text: &str) -> Option<Range<usize>> {
    let start = text.find("://")? + 3;
    let rest = text.get(start..)?;
    let authority = rest.split(['/', '?', '#']).next()?;
    if let Some(end) = authority.rfind('@') {
        return Some(start..start + end);
    }
    let (_, port) = authority.rsplit_once(':')?;
    let is_port = port
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b']');
    let end = rest.rfind('@').filter(|_| !is_port)?;
    Some(start..start + end)
}

/// The password of the first URL in `text`: what stands behind the first `:` of
/// its user information.
pub fn password_in_url(text: &str) -> Option<Range<usize>> {
    let user = user_information(text)?;
    let colon = text.get(user.clone())?.find(':')?;
    Some(user.start + colon + 1..user.end).filter(|password| !password.is_empty())
}

/// The first `most` characters of a text. Of an address that does not end by then
/// nothing is left: the half of a password in it would not be known as one.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => whole_words(text.get(..end).unwrap_or_default()).into_owned(),
        None => text.to_owned(),
    }
}

/// A text of which the end is missing, with `…` in place of an address or a value
/// that its last word may be the beginning of.
pub fn whole_words(text: &str) -> Cow<'_, str> {
    let space = text.char_indices().rfind(|(_, c)| c.is_whitespace());
    let start = space.map_or(0, |(at, c)| at + c.len_utf8());
    let (before, word) = text.split_at(start);
    let begun = [begun_address(word), begun_value(word)];
    match begun.into_iter().flatten().min() {
        Some(end) => format!("{before}{}…", word.get(..end).unwrap_or_default()).into(),
        None => text.into(),
    }
}

/// Where the first address in a word begins.
fn begun_address(word: &str) -> Option<usize> {
    let before = word.get(..word.find(":/")?)?;
    let in_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    Some(before.trim_end_matches(in_scheme).len())
}

/// Where what may be a password or the value of a parameter begins in a word.
fn begun_value(word: &str) -> Option<usize> {
    let is_other = |c: char| !u8::try_from(c).is_ok_and(in_name);
    let mut marks = word.match_indices([':', '=']);
    let (at, _) = marks.find(|(at, mark)| {
        let before = word.get(..*at).unwrap_or_default();
        let value = word.get(at + mark.len()..).unwrap_or_default();
        let name = before.trim_end_matches(['"', '\'']).rsplit(is_other).next();
        let is_secret = name.is_some_and(|name| strength(name, Place::Anywhere).is_some());
        // Prose of scripts without spaces is one word, and a quoted one may be.
        let is_prose = value.starts_with(['"', '\''])
            || !value.is_ascii()
            || !before.ends_with(|c: char| c.is_ascii());
        !value.is_empty() && (is_secret || !is_prose)
    })?;
    Some(at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_secret(name: &str) -> bool {
        strength(name, Place::Anywhere).is_some()
    }

    #[test]
    fn names_of_secrets() {
        for name in [
            "X-Api-Key",
            "GITHUB_TOKEN",
            "accessToken",
            "DB_PASSWORD",
            "DB_PASSWORD2",
            "apikey",
            "AWS_SECRET_ACCESS_KEY",
            "ACCOUNT_KEY",
            "TOKEN_PROD",
            "token",
            "pwd",
            "PGPASSWORD",
            "DB_PASS",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "MAX_TOKENS",
            "MAX_TOKEN_SIZE_BYTES",
            "TOKEN_FILE",
            "TOKEN_PREFIX",
            "PASSWORD_MIN_LENGTH",
            "KEY",
            "X-Tenant",
            "AUTHOR",
            "MONKEY",
            "TOKEN_URL",
            "PWD",
            "OLDPWD",
            "",
            "_",
            "12",
        ] {
            assert!(!is_secret(name), "{name}");
        }
        assert_eq!(strength("secretToken", Place::End), Some(Strength::Weak));
        assert_eq!(
            strength("secretToken", Place::Anywhere),
            Some(Strength::Strong)
        );
        assert_eq!(strength("token parser", Place::End), None);
    }

    #[test]
    fn tokens_of_known_issuers() {
        let body = "a1B2".repeat(12);
        for prefix in SHAPES.map(|(prefix, _)| prefix) {
            let token = format!("{prefix}{}", body.to_ascii_uppercase());
            let text = format!("see {token}.");
            let found: Vec<&str> = tokens(&text).map(|place| &text[place]).collect();
            assert_eq!(found, [token]);
        }
        for token in [
            format!("eyJ{body}"),
            "eyJhbGciOiJI.eyJzdWIiOiIxMjM0.sig_nature-1".to_owned(),
            format!("ya29.{body}"),
            format!("SG.{}.{body}", "x".repeat(22)),
        ] {
            assert_eq!(token_at_start(&format!("{token}. ")), Some(token.len()));
        }
        for plain in [
            "ghp_short1",
            "sk-learn",
            "task-list-of-many-things-to-do-in-2026",
            "pypi-publish-action-for-many-projects",
            "AKIAlower0123456789abc",
            "SG.com",
            "eyJ.x1",
            "ya29",
            "",
        ] {
            assert_eq!(token_at_start(plain), None, "{plain}");
        }
    }

    #[test]
    fn looking_ahead_stays_cheap() {
        let started = std::time::Instant::now();
        for word in [
            "ya29-.", "ya29.", "SG.", "SGx.", "eyJ.", "eyj.", "a.", "sk-",
        ] {
            tokens(&word.repeat(100_000)).for_each(drop);
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(10));
    }

    #[test]
    fn no_address_is_cut() {
        for (text, wanted) in [
            ("of https://u:word@h/", "of …"),
            ("https://u:word@h/", "…"),
            ("=https://u:word@h/", "=…"),
            ("a:b@https://u:word@h/", "a:…"),
            ("of token=word", "of token=…"),
            ("token='a-long-word'", "token=…"),
            ("of user:word@h", "of user:…"),
            ("of a kind not known", "of a kind no"),
            // One word, and no address.
            ("why='denied-by-policy'", "why='denied-"),
            ("{\"error\":\"denied\"}", "{\"error\":\"de"),
            ("{\"token\":\"s3cret\"}", "{\"token\":…"),
            ("a@b-c-d-e-f-g-h", "a@b-c-d-e-f-"),
            (
                "\u{5305}:\u{5305}\u{5305}\u{5305}\u{5305}\u{5305}\u{5305}\u{5305}\u{5305}\u{5305}\u{5305}\u{5305}",
                "\u{5305}:\u{5305}\u{5305}\u{5305}\u{5305}\u{5305}\u{5305}\u{5305}\u{5305}\u{5305}\u{5305}",
            ),
            ("\u{fc}\u{fc}\u{fc}\u{fc}", "\u{fc}\u{fc}\u{fc}\u{fc}"),
        ] {
            assert_eq!(cut(text, 12), wanted, "{text}");
        }
    }

    #[test]
    fn users_and_passwords_in_urls() {
        for (text, user, password) in [
            ("https://u:p@h/x", Some("u:p"), Some("p")),
            ("postgres://u:p/w@h:5432/d", Some("u:p/w"), Some("p/w")),
            ("https://me@h/x", Some("me"), None),
            ("https://me:@h/x", Some("me:"), None),
            ("https://h:8080/x@y", None, None),
            ("https://h/@", None, None),
            ("u:p@h", None, None),
        ] {
            assert_eq!(user_information(text).map(|at| &text[at]), user, "{text}");
            assert_eq!(
                password_in_url(text).map(|at| &text[at]),
                password,
                "{text}"
            );
        }
    }
}
