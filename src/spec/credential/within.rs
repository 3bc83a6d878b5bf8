//! Credentials inside a longer text: assignments of a command line, headers, JSON,
//! connection strings, queries of URLs.

use std::ops::Range;

use super::{Held, is_filled, is_secret_name, is_slot, is_token_scheme, judge};
use crate::secret::in_name;

/// How much a text has to say before part of it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Configuration: what is assigned to the name of a secret is one.
    Configuration,
    /// Running text and programs, which speak about secrets: the value has to look
    /// like one, too.
    Prose,
}

/// Longest value that is looked at, in bytes; keeps the work linear.
const LONGEST: usize = 4096;
/// Longest name.
const LONGEST_NAME: usize = 100;

/// The places of all credentials that the text names or announces, in order.
pub fn places(text: &str, reading: Reading) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    assigned(text, reading, &mut found);
    announced(text, &mut found);
    found.sort_unstable_by_key(|place| place.start);
    found
}

/// `NAME=value`, `Name: value`, `"name": "value"`.
fn assigned(text: &str, reading: Reading, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(next) = bytes
        .get(at..)
        .and_then(|rest| rest.iter().position(|byte| matches!(byte, b'=' | b':')))
    {
        let sign = at + next;
        at = sign + 1;
        let Some(pair) = pair(text, sign) else {
            continue;
        };
        let name = text.get(pair.name).unwrap_or_default();
        let value = text.get(pair.value.clone()).unwrap_or_default();
        let is_one = match reading {
            Reading::Configuration if pair.is_exact => judge(name, value) == Some(Held::Credential),
            _ => is_secret_name(name) && is_opaque(value) && is_filled(value) && !is_slot(value),
        };
        if is_one {
            at = pair.value.end.max(at);
            found.push(pair.value);
        }
    }
}

/// `Bearer value`, and `--token value` in a command line.
fn announced(text: &str, found: &mut Vec<Range<usize>>) {
    let mut before: Option<&str> = None;
    let mut start = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end().trim_matches(['"', '\'', '\\', ',', ';']);
        let from = start + word.find(bare).unwrap_or_default();
        start += word.len();
        if bare.is_empty() {
            continue;
        }
        let says_so = before.is_some_and(|before| {
            let option = before
                .strip_prefix('-')
                .map(|name| name.trim_start_matches('-'));
            is_token_scheme(before.trim_start_matches(|c: char| !c.is_ascii_alphanumeric()))
                || option.is_some_and(is_secret_name)
        });
        let known = || found.iter().any(|place| place.contains(&from));
        if says_so && is_opaque(bare) && is_filled(bare) && !is_slot(bare) && !known() {
            found.push(from..from + bare.len());
        }
        // The scheme may stand directly behind a sign: `Authorization:Bearer`.
        before = bare.rsplit([':', '=']).next();
    }
}

struct Pair {
    name: Range<usize>,
    value: Range<usize>,
    /// It is written as configuration is, not as prose.
    is_exact: bool,
}

/// The name before the sign and the value behind it, if the name matters.
fn pair(text: &str, sign: usize) -> Option<Pair> {
    let bytes = text.as_bytes();
    let byte = |at: usize| bytes.get(at).copied();
    let is_equals = byte(sign) == Some(b'=');
    // `==`, `!=`, `://` assign nothing.
    if matches!(byte(sign + 1), Some(b'=')) || text.get(sign..)?.starts_with("://") {
        return None;
    }
    let mut end = sign;
    let step_back = |end: &mut usize, what: &[u8]| {
        let before = end.checked_sub(1).and_then(byte);
        let fits = before.is_some_and(|byte| what.contains(&byte));
        *end -= usize::from(fits);
        fits
    };
    let spaced = step_back(&mut end, b" ");
    let quoted_name = step_back(&mut end, b"\"'");
    if quoted_name {
        step_back(&mut end, b"\\");
    }
    let from = end.saturating_sub(LONGEST_NAME);
    let run = bytes.get(from..end)?.iter().rev();
    let start = end - run.take_while(|byte| in_name(**byte)).count();
    let dashes = text
        .get(start..end)?
        .bytes()
        .take_while(|byte| *byte == b'-');
    let name = start + dashes.count()..end;
    if !super::is_telling(text.get(name.clone())?) {
        return None;
    }
    let mut from = sign + 1;
    while byte(from) == Some(b' ') {
        from += 1;
    }
    let spaced_behind = from > sign + 1;
    if !is_equals && byte(from) == Some(b'-') {
        // `${NAME:-default}`.
        from += 1;
    }
    let escaped = byte(from) == Some(b'\\') && matches!(byte(from + 1), Some(b'"' | b'\''));
    from += usize::from(escaped);
    let quote = byte(from).filter(|byte| matches!(byte, b'"' | b'\''));
    let is_header = !is_equals && name.start == 0 && quote.is_none();
    let window = bytes.get(from..(from + LONGEST).min(bytes.len()))?;
    let value = match quote {
        Some(quote) => {
            let inner = window.get(1..)?;
            let stop = inner
                .iter()
                .position(|byte| *byte == quote || (escaped && *byte == b'\\'));
            from + 1..from + 1 + stop.unwrap_or(inner.len())
        }
        None if is_header => {
            let stop = window.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            from..from + stop.unwrap_or(window.len())
        }
        None => from..from + unquoted(window),
    };
    let value = whole(text, value);
    Some(Pair {
        is_exact: match quote {
            _ if is_equals => !spaced && !spaced_behind,
            Some(_) => quoted_name,
            None => is_header && is_header_value(text.get(value.clone())?),
        },
        name,
        value,
    })
}

/// Whether a header has such a value: one word behind its scheme, or cookies; no
/// sentence.
fn is_header_value(value: &str) -> bool {
    let bare = super::strip_scheme(value.trim());
    !bare.contains(char::is_whitespace) || bare.contains('=')
}

/// How long the value without quotes is that the bytes begin with; a scheme and
/// what follows it are one.
fn unquoted(bytes: &[u8]) -> usize {
    let end = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        let stop = rest
            .iter()
            .position(|byte| byte.is_ascii_whitespace() || b";&,\"'`\\|)}<>".contains(byte));
        from + stop.unwrap_or(rest.len())
    };
    let first = end(0);
    let word = bytes
        .get(..first)
        .and_then(|word| std::str::from_utf8(word).ok());
    if bytes.get(first) == Some(&b' ') && word.is_some_and(is_token_scheme) {
        return end(first + 1);
    }
    first
}

/// The range, widened to whole characters.
fn whole(text: &str, mut range: Range<usize>) -> Range<usize> {
    while !text.is_char_boundary(range.start) {
        range.start += 1;
    }
    while !text.is_char_boundary(range.end) {
        range.end -= 1;
    }
    range.end = range.end.max(range.start);
    range
}

/// Whether the value looks as if a machine had made it: long, one word, with a part
/// that mixes letters and digits.
pub(super) fn is_opaque(value: &str) -> bool {
    const SHORTEST: usize = 16;
    const SHORTEST_PART: usize = 8;
    let value = super::strip_scheme(value.trim());
    let is_word = value
        .bytes()
        .all(|byte| in_name(byte) || b".+/=~%:!@#$^*".contains(&byte));
    if value.len() < SHORTEST
        || !is_word
        || value.contains("://")
        || value.starts_with(['/', '.', '~', '@', '$', '#', '%'])
    {
        return false;
    }
    value
        .split(|c: char| !c.is_ascii_alphanumeric())
        .any(|part| {
            let digits = part.bytes().filter(u8::is_ascii_digit).count();
            let letters = part.len() - digits;
            part.len() >= SHORTEST_PART && digits >= 2 && letters >= 1
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, reading: Reading) -> Vec<&str> {
        let places = places(text, reading);
        places.into_iter().map(|place| &text[place]).collect()
    }

    #[test]
    fn configuration_assigns_credentials() {
        for (text, value) in [
            (
                "API_KEY=zz-4444-0123456789abcdef",
                "zz-4444-0123456789abcdef",
            ),
            ("DB_PASSWORD=hunter2x exec npx y", "hunter2x"),
            ("exec env TOKEN='two words' npx y", "two words"),
            ("npx srv --api-key=hunter2x -v", "hunter2x"),
            (
                "npx srv --api-key zz-1111-0123456789abcdef -v",
                "zz-1111-0123456789abcdef",
            ),
            (
                "Authorization: Bearer zz-5555-abcdef",
                "Bearer zz-5555-abcdef",
            ),
            ("X-Api-Key: hunter2x", "hunter2x"),
            (
                "curl -H \"Authorization: Bearer zz-5555-0123456789abcdef\" x",
                "Bearer zz-5555-0123456789abcdef",
            ),
            (
                r#"{"Accept":"x","Authorization": "Bearer zz-bbbb-01"}"#,
                "Bearer zz-bbbb-01",
            ),
            (r#"{\"api_key\":\"hunter2x\",\"a\":1}"#, "hunter2x"),
            ("Server=h;Password=hunter2x;Database=d", "hunter2x"),
            ("https://h.example/x?a=b&token=hunter2x", "hunter2x"),
            (
                "https://h.example/x?key=zz-6666-0123456789abcdef",
                "zz-6666-0123456789abcdef",
            ),
            (
                "https://h.example/x?code=zz-6666-0123456789abcdef&a=b",
                "zz-6666-0123456789abcdef",
            ),
            (
                "${TOKEN:-zz-6666-0123456789abcdef}",
                "zz-6666-0123456789abcdef",
            ),
            (
                "Bearer zz-6666-0123456789abcdef",
                "zz-6666-0123456789abcdef",
            ),
        ] {
            assert_eq!(found(text, Reading::Configuration), [value], "{text}");
        }
    }

    #[test]
    fn what_stands_for_a_credential_is_none() {
        for text in [
            "API_KEY=",
            "API_KEY=<TOKEN>",
            "API_KEY=YOUR_KEY",
            "API_KEY=${KEY}",
            "API_KEY=$KEY",
            "API_KEY=$(cat key)",
            "MAX_TOKENS=100",
            "--key-file=path",
            "--key-file path",
            "https://h.example/x?key=north&code=DE",
            "Authorization: Bearer <TOKEN>",
            "Authorization: Bearer ${TOKEN}",
            r#"{"Authorization": "Bearer YOUR_TOKEN"}"#,
            "use the --token option of the program",
            "token: what the server gave you",
            "sort=token",
            "if token == expected-0123456789abcdef",
            "https://user.example:8080/token:1",
            "KEY=production",
            "AUTH=oauth2",
            "AUTH_TYPE=bearer",
        ] {
            assert!(found(text, Reading::Configuration).is_empty(), "{text}");
        }
    }

    #[test]
    fn prose_has_to_show_one() {
        for (text, value) in [
            (
                "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI3K7MDENG5bPx",
                "wJalrXUtnFEMI3K7MDENG5bPx",
            ),
            (
                "token: \"zz-6666-0123456789abcdef\"",
                "zz-6666-0123456789abcdef",
            ),
            (
                "const apiKey = 'zz-6666-0123456789abcdef';",
                "zz-6666-0123456789abcdef",
            ),
        ] {
            assert_eq!(found(text, Reading::Prose), [value], "{text}");
        }
        for text in [
            "password=hunter2",
            "const token = settings.token_for_the_user",
            "\"token\": \"string\"",
            "cache-key: user-profile-v2-2024",
            "model key: claude-3-5-sonnet-20241022",
            "api_key=process.env.API_KEY",
        ] {
            assert!(found(text, Reading::Prose).is_empty(), "{text}");
        }
    }

    #[test]
    fn the_work_stays_linear() {
        let started = std::time::Instant::now();
        for text in ["token=", "=", "token: \"", "é:", "Bearer "] {
            places(&text.repeat(50_000), Reading::Configuration);
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(20));
    }
}
