//! Changes of YAML frontmatter that keep everything around them.

use crate::diagnostic::Span;
use crate::document::{Member, Text, Value, yaml};

/// A text as a quoted scalar: in double quotes, unless it holds characters that
/// would have to be escaped there.
pub(super) fn quoted(text: &str) -> String {
    if text.contains(['"', '\\']) {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        format!("\"{text}\"")
    }
}

/// A text of one line as a plain scalar, or quoted where it would be read as
/// something else.
pub(super) fn scalar(text: &str) -> String {
    let document = format!("a: {text}\n");
    let parsed = yaml::parse(&document, Span::new(0, document.len()), yaml::LIMITS);
    let plain = parsed.is_ok_and(|parsed| {
        let value = parsed.root.as_object().and_then(|object| object.get("a"));
        let is_text = value.is_some_and(|member| {
            member.value.kind == Value::String(Text::new(text))
                && member.value.span == Span::new(3, 3 + text.len())
        });
        is_text && !text.starts_with(['"', '\'', '|', '>'])
    });
    match plain {
        true => text.to_owned(),
        false => quoted(text),
    }
}

/// The line that holds the byte `at`, without its ending.
pub(super) fn line(text: &str, at: usize) -> Span {
    let before = text.get(..at).unwrap_or_default();
    let start = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
    let behind = text.get(at..).unwrap_or_default();
    let end = behind.find(['\n', '\r']).unwrap_or(behind.len());
    Span::new(start, at + end)
}

/// Whether a text may hold a comment; quoted text that looks like one counts, too.
pub(super) fn has_comment(text: &str) -> bool {
    let mut before = ' ';
    text.chars().any(|character| {
        let begins = character == '#' && before.is_whitespace();
        before = character;
        begins
    })
}

/// The lines of a member that stands alone on them, with the last line ending;
/// `None` if something else stands there too, be it a comment.
pub(super) fn lines(text: &str, member: &Member) -> Option<Span> {
    let first = line(text, member.key_span.start);
    let before = text.get(first.start..member.key_span.start)?;
    let end = member.value.span.end.max(member.key_span.end);
    let last = line(text, end);
    let behind = text.get(end..last.end)?;
    let inside = text.get(member.key_span.end..end)?;
    let alone = before.trim_matches([' ', '\t']).is_empty()
        && matches!(behind.trim_matches([' ', '\t']), "" | ":")
        && !has_comment(inside);
    let rest = text.get(last.end..)?;
    let ending = if rest.starts_with("\r\n") {
        2
    } else {
        1.min(rest.len())
    };
    alone.then_some(Span::new(first.start, last.end + ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_where_they_must_be() {
        for (text, wanted) in [
            ("Read Grep", "Read Grep"),
            ("Bash(git:*) Read", "Bash(git:*) Read"),
            ("a: b", "\"a: b\""),
            ("a #b", "\"a #b\""),
            ("1.10", "\"1.10\""),
            ("true", "\"true\""),
            ("", "\"\""),
            ("*x", "\"*x\""),
            ("say \"it\": so", "'say \"it\": so'"),
            ("it's \\d: x", "'it''s \\d: x'"),
            ("Bash(npm: *) é", "\"Bash(npm: *) é\""),
        ] {
            assert_eq!(scalar(text), wanted);
        }
    }
}
