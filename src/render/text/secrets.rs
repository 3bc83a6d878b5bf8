//! Credentials in a source, which a report must not spread further.

use crate::diagnostic::{Diagnostic, Span};
use crate::secret;
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
        spans.extend(secret::tokens(source).map(span_of));
        strings(source, &mut spans);
        lines(source, &mut spans);
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
        if let Some(user) = secret::user_information(content)
            .filter(|_| !name.is_some_and(credential::is_secret_name))
            .filter(|_| !credential::holds_token(content))
        {
            spans.push(span_of(user).shifted(span.start));
        } else if credential::held(name, content).is_some() {
            spans.push(span);
        }
        at = close + 1;
        let rest = source.get(at..).unwrap_or_default();
        name = rest.trim_start().starts_with(':').then_some(content);
    }
}

/// Lines `name: value` without quotes around the name, as frontmatter has them,
/// and the lines of a block below such a name.
fn lines(source: &str, spans: &mut Vec<Span>) {
    let mut start = 0;
    // The indentation of the name whose block goes on.
    let mut block: Option<usize> = None;
    for line in source.split_inclusive('\n') {
        let text = line.trim_end();
        let span_of = |part: &str| {
            let from = start + (text.len() - part.len());
            Span::new(from, start + text.len())
        };
        let inner = text.trim_start();
        let depth = text.len() - inner.len();
        if block.is_some_and(|above| depth > above || inner.is_empty()) {
            spans.push(span_of(inner));
        } else {
            block = None;
            let item = inner.trim_start_matches(['-', ' ', '?']);
            if let Some((name, value)) = item.split_once(':') {
                let value = value.trim_start();
                let plain = name.bytes().all(crate::secret::in_name);
                if plain && credential::is_secret_name(name) {
                    if value.is_empty() || value.starts_with(['|', '>']) {
                        block = Some(depth);
                    } else if credential::is_filled(value) {
                        spans.push(span_of(value));
                    }
                }
            }
        }
        start += line.len();
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

fn span_of(place: std::ops::Range<usize>) -> Span {
    Span::new(place.start, place.end)
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
                "see ****************************************.",
            ),
            (
                r#"{"PASSWORD": "a\"b é c"#.to_owned(),
                r#"{"PASSWORD": "********"#,
            ),
            (
                "token: hush hush\n- DB_PASSWORD:\n    one\n    two\nname: x\n".to_owned(),
                "token: *********\n- DB_PASSWORD:\n    ***\n    ***\nname: x\n",
            ),
            (
                "api_key: |\n  one\n\n  two\nthe token: x\nTOKEN_FILE: y".to_owned(),
                "api_key: |\n  ***\n\n  ***\nthe token: x\nTOKEN_FILE: y",
            ),
            ("\"".to_owned(), "\""),
            ("\"\\".to_owned(), "\"\\"),
        ] {
            assert_eq!(shown(&source), expected);
        }
    }
}
