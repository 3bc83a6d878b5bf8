//! What no message may show: the values of credentials, in whatever form a server
//! or a library repeats them.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;
use url::Url;

use super::Credentials;
use crate::mcp::serve::names;

/// The shortest part of a value that is a secret by itself, in bytes.
const SHORTEST: usize = 4;

/// The secrets of one server.
#[derive(Clone, Default)]
pub struct Secrets(Vec<Secret>);

/// A text in lower case, and what is shown for it.
#[derive(Clone, PartialEq)]
struct Secret {
    text: String,
    shown: String,
}

impl std::fmt::Debug for Secrets {
    /// Nothing of them.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

impl Secrets {
    /// Those of `credentials`: each value, what stands in it behind a word such as
    /// `Bearer`, and each of its lines.
    pub fn of(credentials: &Credentials) -> Self {
        let mut secrets = Self::default();
        for (name, value) in credentials.headers.iter().chain(&credentials.env) {
            secrets.add(name, value);
            let token = value.split_once(' ').map(|(_, token)| token.trim());
            let parts = value.lines().map(str::trim).chain(token);
            for part in parts.filter(|part| part.len() >= SHORTEST) {
                secrets.add(name, part);
            }
        }
        for (name, part) in &credentials.bare {
            secrets.add(name, part);
        }
        secrets
    }

    /// Adds a text as it is, and as messages quote it: in JSON, in a URL and in the name
    /// of a tool.
    fn add(&mut self, name: &str, text: &str) {
        let quoted = Value::from(text).to_string();
        let quoted = quoted.trim_start_matches('"').trim_end_matches('"');
        let mut forms = vec![text.to_owned(), quoted.to_owned()];
        let named = names::sanitized(text);
        if named.bytes().filter(u8::is_ascii_alphanumeric).count() >= SHORTEST {
            forms.push(named);
        }
        if let Ok(mut url) = Url::parse("http://localhost/") {
            url.set_path(text);
            url.set_query(Some(text));
            forms.push(url.path().trim_start_matches('/').to_owned());
            forms.extend(url.query().map(str::to_owned));
        }
        for form in forms {
            let secret = Secret {
                text: form.to_ascii_lowercase(),
                shown: format!("[{name}]"),
            };
            let is_known = self.0.iter().any(|known| known.text == secret.text);
            if !secret.text.is_empty() && !is_known {
                self.0.push(secret);
            }
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The length of the longest, in bytes.
    pub fn longest(&self) -> usize {
        let lengths = self.0.iter().map(|secret| secret.text.len());
        lengths.max().unwrap_or_default()
    }

    /// `text` with the name of its credential in the place of each secret. Case does
    /// not count: hosts and media types lose theirs on the way.
    pub fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let found = self.found(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut masked = String::new();
        let mut at = 0;
        for (place, shown) in found {
            masked.push_str(text.get(at..place.start).unwrap_or_default());
            masked.push_str(shown);
            at = place.end;
        }
        masked.push_str(text.get(at..).unwrap_or_default());
        Cow::Owned(masked)
    }

    /// Where `text`, which goes on, can be cut so that no secret is: as late as that is
    /// certain.
    pub fn cut(&self, text: &str) -> usize {
        let mut at = text.len().saturating_sub(self.longest());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let found = self.found(text);
        let over = found
            .iter()
            .find(|(place, _)| place.start < at && at < place.end);
        over.map_or(at, |(place, _)| place.start)
    }

    /// The places of all secrets, in order; those that overlap are one.
    fn found(&self, text: &str) -> Vec<(Range<usize>, &str)> {
        let text = text.to_ascii_lowercase();
        let mut found: Vec<(Range<usize>, &str)> = Vec::new();
        for secret in &self.0 {
            let mut from = 0;
            while let Some(at) = text.get(from..).and_then(|rest| rest.find(&secret.text)) {
                let start = from + at;
                found.push((start..start + secret.text.len(), &secret.shown));
                let first = secret.text.chars().next().map_or(1, char::len_utf8);
                from = start + first;
            }
        }
        // Of those that begin together, the longest names them.
        found.sort_by_key(|(place, _)| (place.start, std::cmp::Reverse(place.end)));
        found.dedup_by(|(next, _), (known, _)| {
            let overlaps = next.start < known.end;
            if overlaps {
                known.end = known.end.max(next.end);
            }
            overlaps
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(pairs: &[(&str, &str)]) -> Secrets {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Secrets::of(&Credentials {
            env: pairs.iter().map(pair).collect(),
            ..Credentials::default()
        })
    }

    #[test]
    fn every_form_is_masked() {
        let secrets = secrets(&[
            ("A", "Bearer zqXj-77"),
            ("B", "zqxj"),
            ("C", "a \"b\"/ü"),
            ("D", "line one\nline two\nx"),
        ]);
        for (text, masked) in [
            ("no secret", "no secret"),
            ("Bearer zqXj-77!", "[A]!"),
            ("bad token zqxj-77.", "bad token [A]."),
            ("text/ZQXJ-77", "text/[A]"),
            ("only zqxj and Bearer", "only [B] and Bearer"),
            (r#"string "a \"b\"/ü""#, r#"string "[C]""#),
            ("http://h/a%20%22b%22/%C3%BC", "http://h/[C]"),
            ("line one\nline two\nx", "[D]"),
            ("line two", "[D]"),
            ("mcp__s__zqxj-77_x", "mcp__s__[A]_x"),
            ("line_one_line_two_x", "[D]"),
        ] {
            assert_eq!(secrets.masked(text), masked);
        }
    }

    #[test]
    fn what_overlaps_is_masked_as_one() {
        let secrets = secrets(&[("A", "abcdef"), ("B", "efgh"), ("C", "abab")]);
        assert_eq!(secrets.masked("xabcdefghx"), "x[A]x");
        assert_eq!(secrets.masked("xabababx"), "x[C]x");
    }

    #[test]
    fn no_secret_is_cut() {
        let secrets = secrets(&[("A", "secret"), ("B", "secretest")]);
        for (text, cut) in [
            ("0123456789abc", 4),
            ("01secret89abc", 2),
            ("0123secret", 1),
            ("üüüüüü", 2),
        ] {
            assert_eq!(secrets.cut(text), cut, "{text}");
        }
    }
}
