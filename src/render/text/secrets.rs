//! Credentials in a source, which a report must not spread further.

use crate::diagnostic::{Diagnostic, Span};
use crate::spec::codes::mcp;
use crate::spec::credential;

/// The places of a source that are not shown, in order.
pub(super) struct Secrets(Vec<Span>);

impl Secrets {
    /// Looks for what findings call a credential, what has the shape of one,
    /// what stands under the name of one, and user information in URLs. A
    /// server that is skipped for another reason is covered, too.
    pub(super) fn of<'r>(source: &str, findings: impl Iterator<Item = &'r Diagnostic>) -> Self {
        let mut spans: Vec<Span> = findings
            .filter(|found| *found.code == mcp::CREDENTIAL)
            .filter_map(|found| found.location)
            .map(|place| Span::new(place.offset, place.offset.saturating_add(place.length)))
            .map(|span| unquoted(source, span))
            .collect();
        words(source, &mut spans);
        strings(source, &mut spans);
        spans.sort_unstable_by_key(|span| (span.start, span.end));
        // Overlapping spans become one, so that a look-up needs to see one only.
        let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
        for span in spans {
            match merged.last_mut() {
                Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
                _ => merged.push(span),
            }
        }
        Self(merged)
    }

    /// Whether the byte at `offset` belongs to a secret.
    pub(super) fn hides(&self, offset: usize) -> bool {
        let behind = self.0.partition_point(|span| span.start <= offset);
        behind
            .checked_sub(1)
            .and_then(|at| self.0.get(at))
            .is_some_and(|span| offset < span.end)
    }
}

/// The span without the quotes around it.
fn unquoted(source: &str, span: Span) -> Span {
    let bytes = source.as_bytes();
    let quoted = span.len() >= 2
        && bytes.get(span.start) == Some(&b'"')
        && bytes.get(span.end - 1) == Some(&b'"');
    if quoted {
        Span::new(span.start + 1, span.end - 1)
    } else {
        span
    }
}

/// Words that are tokens by their shape, wherever they stand.
fn words(source: &str, spans: &mut Vec<Span>) {
    let mut start = 0;
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    for part in source.as_bytes().split(|&byte| !is_word(byte)) {
        let span = Span::new(start, start + part.len());
        start = span.end + 1;
        // Shorter ones are no tokens, and most words are shorter.
        let word = source.get(span.start..span.end).unwrap_or_default();
        if word.len() >= 16 && credential::has_secret_shape(word) {
            spans.push(span);
        }
    }
}

/// Strings in double quotes: what follows the name of a secret, keys in PEM,
/// and user information.
fn strings(source: &str, spans: &mut Vec<Span>) {
    let bytes = source.as_bytes();
    let mut name = None;
    let mut at = 0;
    while let Some(open) = find(bytes, at, b"\"") {
        let close = closing(bytes, open + 1);
        let span = Span::new(open + 1, close);
        let content = source.get(span.start..span.end).unwrap_or_default();
        let named = name.is_some_and(credential::is_secret_name);
        if (named && credential::is_filled(content)) || credential::has_secret_shape(content) {
            spans.push(span);
        } else if let Some(user) = user_information(content) {
            spans.push(user.shifted(span.start));
        }
        at = close + 1;
        let rest = source.get(at..).unwrap_or_default();
        name = rest.trim_start().starts_with(':').then_some(content);
    }
}

/// Where the string that starts at `at` ends: its quote, or the end of all.
fn closing(bytes: &[u8], mut at: usize) -> usize {
    while let Some(stop) = find(bytes, at, b"\"\\") {
        if bytes.get(stop) == Some(&b'"') {
            return stop;
        }
        at = stop + 2;
    }
    bytes.len()
}

fn find(bytes: &[u8], from: usize, any_of: &[u8]) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let at = rest.iter().position(|byte| any_of.contains(byte))?;
    Some(from + at)
}

/// What stands between `//` and `@` of a URL. A password that was not encoded
/// ends the authority early; then what looks like a port is no number.
fn user_information(url: &str) -> Option<Span> {
    let start = url.find("://")? + 3;
    let rest = url.get(start..)?;
    let authority = rest.split(['/', '?', '#']).next()?;
    if let Some(end) = authority.rfind('@') {
        return Some(Span::new(start, start + end));
    }
    let (_, port) = authority.rsplit_once(':')?;
    let is_port = port
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b']');
    let end = rest.rfind('@').filter(|_| !is_port)?;
    Some(Span::new(start, start + end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &str) -> String {
        let secrets = Secrets::of(source, std::iter::empty());
        let show = |(at, c)| if secrets.hides(at) { '*' } else { c };
        source.char_indices().map(show).collect()
    }

    #[test]
    fn secrets_are_hidden_by_name_by_shape_and_in_urls() {
        let token = format!("ghp_{}", "aB3".repeat(12));
        for (source, expected) in [
            (
                r#"{"API_KEY": "hunter22x"}"#.to_owned(),
                r#"{"API_KEY": "*********"}"#,
            ),
            (
                r#"{"API_KEY" : "${KEY}", "a": "b"}"#.to_owned(),
                r#"{"API_KEY" : "${KEY}", "a": "b"}"#,
            ),
            (
                r#"["https://u:p@h/x", "https://h/@"]"#.to_owned(),
                r#"["https://***@h/x", "https://h/@"]"#,
            ),
            (
                format!("see {token}."),
                "see *****************************************",
            ),
            (
                r#"{"PASSWORD": "a\"b é c"#.to_owned(),
                r#"{"PASSWORD": "********"#,
            ),
            ("\"".to_owned(), "\""),
            ("\"\\".to_owned(), "\"\\"),
        ] {
            assert_eq!(shown(&source), expected);
        }
    }
}
