//! Spans that the parser's events do not give as people see them.

use crate::diagnostic::Span;

/// The place of a value that is absent: behind the colon of its key, or behind
/// the key if there is no colon (`{key}`, `? key`).
pub(super) fn absent_value(text: &str, key: Span) -> usize {
    let rest = text.get(key.end..).unwrap_or_default();
    let token = rest.trim_start();
    // Otherwise the colon begins the next key: `? a` and then `:b: c`.
    let ends = |rest: &str| rest.is_empty() || rest.starts_with(ends_colon);
    if token.strip_prefix(':').is_some_and(ends) {
        key.end + (rest.len() - token.len()) + 1
    } else {
        key.end
    }
}

/// Whether a colon before this character and without a value is an indicator.
fn ends_colon(found: char) -> bool {
    found.is_whitespace() || matches!(found, ',' | ']' | '}')
}

/// The span of a block scalar from its `|` or `>` to the end of its last line
/// that is not blank. `content` is what the parser gives; the token before the
/// scalar ends at `before`.
pub(super) fn block_scalar(text: &str, before: usize, content: Span) -> Span {
    let start = indicator(text, before).unwrap_or(content.start);
    let scalar = text.get(start..content.end).unwrap_or_default();
    let used = scalar.trim_end().len();
    let rest = scalar.get(used..).unwrap_or_default();
    // Blanks that end the last line belong to it.
    let blanks = rest.find(['\n', '\r']).unwrap_or(rest.len());
    Span::new(start, start + used + blanks)
}

/// The first `|` or `>` from `before` on that starts a token: before it stand
/// only indicators, tags, anchors and comments.
fn indicator(text: &str, before: usize) -> Option<usize> {
    let mut at = before;
    loop {
        let rest = text.get(at..)?;
        at += rest.len() - rest.trim_start().len();
        let token = text.get(at..)?;
        if token.starts_with(['|', '>']) {
            return Some(at);
        }
        let length = if token.starts_with('#') {
            token.find(['\n', '\r'])?
        } else {
            token.find(char::is_whitespace)?
        };
        at += length;
    }
}
