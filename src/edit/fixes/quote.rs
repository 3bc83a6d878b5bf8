//! Quoting the values of frontmatter that cannot be read as YAML.

use super::{Answer, Change, Site, left, nothing};
use crate::diagnostic::Span;
use crate::document::frontmatter::{self, Frontmatter};
use crate::document::{Node, Value, yaml as yaml_text};
use crate::edit::text::{Edit, apply, indentation};
use crate::edit::yaml::{self, quoted};

const BLANKS: &[char] = &[' ', '\t'];

/// A line `key: value` and what belongs to its value.
struct Entry {
    /// Offset behind the colon.
    colon: usize,
    /// The value, with the lines that continue it.
    value: Span,
}

/// The key at the beginning of a line, if the line looks like an entry.
fn key_of(line: &str) -> Option<&str> {
    let (key, rest) = line.trim_start_matches(BLANKS).split_once(':')?;
    let is_key = !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    (is_key && (rest.is_empty() || rest.starts_with(BLANKS))).then_some(key)
}

/// The entry that the line at `at` begins, within the frontmatter.
fn entry(text: &str, parts: Frontmatter, at: usize) -> Option<Entry> {
    let line = yaml::line(text, at);
    let raw = text.get(line.start..line.end)?;
    let key = key_of(raw)?;
    let indent = indentation(text, line.start).len();
    let colon = line.start + indent + key.len() + 1;
    let behind = text.get(colon..line.end)?;
    let start = line.end - behind.trim_start_matches(BLANKS).len();
    let mut end = start + text.get(start..line.end)?.trim_end_matches(BLANKS).len();
    let mut next = line.end;
    loop {
        let rest = text.get(next..parts.yaml.end)?;
        let ending = match rest.as_bytes() {
            [b'\r', b'\n', ..] => 2,
            [b'\r' | b'\n', ..] => 1,
            _ => break,
        };
        let line = yaml::line(text, next + ending);
        if line.start >= parts.yaml.end {
            break;
        }
        let raw = text.get(line.start..line.end)?;
        let filled = raw.trim_matches(BLANKS);
        if !filled.is_empty() {
            if indentation(text, line.start).len() <= indent {
                break;
            }
            end = line.start + raw.trim_end_matches(BLANKS).len();
        }
        next = line.end;
    }
    (end > start).then_some(Entry {
        colon,
        value: Span::new(start, end),
    })
}

/// Every value that has to be quoted, or none if something else is wrong, too.
pub(super) fn quote_value(site: &Site<'_>) -> Answer {
    let mut text = site.text().to_owned();
    let mut edits = Vec::new();
    let mut risk = None;
    // By how much the text has grown, and where the last change ends in the
    // original.
    let mut grown = 0_isize;
    let mut done = 0;
    loop {
        let parts = frontmatter::split(&text).map_err(|error| error.message)?;
        let Err(error) = yaml_text::parse(&text, parts.yaml, yaml_text::LIMITS) else {
            break;
        };
        let (span, replacement, why) = quote_one(&text, parts, error.span.start)?;
        let original = Span::new(
            span.start.checked_add_signed(-grown).ok_or_else(nothing)?,
            span.end.checked_add_signed(-grown).ok_or_else(nothing)?,
        );
        if original.start < done {
            return left("what is meant is not known");
        }
        done = original.end;
        risk = risk.or(why);
        text.replace_range(span.start..span.end, &replacement);
        grown += replacement.len().cast_signed() - span.len().cast_signed();
        edits.push((original, replacement));
    }
    let change = site.edits(edits)?;
    Ok(Change { risk, ..change })
}

/// What to write in the place of the value in or before which reading stopped;
/// with why that may be wrong.
fn quote_one(
    text: &str,
    parts: Frontmatter,
    error: usize,
) -> Result<(Span, String, Option<String>), String> {
    let mut at = error;
    let mut reason = "what is meant is not known".to_owned();
    // The fault may lie in the entry before the one in which it is noticed.
    for _ in 0..2 {
        let Some((line, entry)) = preceding(text, parts, at) else {
            break;
        };
        match requote(text, &entry) {
            Ok((span, replacement, risk)) => {
                if reads(text, parts, span, &replacement, line) {
                    return Ok((span, replacement, risk));
                }
            }
            Err(said) => reason = said,
        }
        let Some(before) = line.checked_sub(1).filter(|at| *at >= parts.yaml.start) else {
            break;
        };
        at = before;
    }
    Err(reason)
}

/// The entry whose lines hold the byte `at`, and where its line starts.
fn preceding(text: &str, parts: Frontmatter, at: usize) -> Option<(usize, Entry)> {
    let mut at = at.min(parts.yaml.end);
    loop {
        let line = yaml::line(text, at);
        if line.start < parts.yaml.start {
            return None;
        }
        if let Some(entry) = entry(text, parts, line.start) {
            return Some((line.start, entry));
        }
        at = line.start.checked_sub(1)?;
    }
}

/// The value of an entry as one quoted text; with why that may be wrong.
fn requote(text: &str, entry: &Entry) -> Result<(Span, String, Option<String>), String> {
    let raw = text
        .get(entry.value.start..entry.value.end)
        .unwrap_or_default();
    let key = key_of(
        text.get(yaml::line(text, entry.colon).start..entry.colon)
            .unwrap_or_default(),
    );
    let gap = text.get(entry.colon..entry.value.start).unwrap_or_default();
    let no = |why: &str| Err(why.to_owned());
    let later = raw.split(['\n', '\r']).skip(1);
    if later.into_iter().any(|line| key_of(line).is_some()) {
        return no("a line may be indented too far, or be part of the value");
    }
    if gap.contains('\t') {
        let span = Span::new(entry.colon, entry.value.start);
        return Ok((span, " ".to_owned(), None));
    }
    let bracket = raw.starts_with('{') && !raw.starts_with("{{") || raw.starts_with('[');
    if bracket && !matches!(key, Some("description" | "compatibility")) {
        return no("it may be a list or a text");
    }
    if raw.starts_with(['|', '>']) {
        return no("it may be a text or the beginning of several lines");
    }
    let mut risk = None;
    if raw.contains(" #") {
        risk = Some("what stands behind the # may be a comment".to_owned());
    }
    let inner = match raw.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let rest = raw.get(1..).unwrap_or_default();
            match rest.strip_suffix(quote) {
                // A backslash in double quotes is an escape to some who read it.
                Some(inner) if quote == '"' && knows_escape(inner) => {
                    return no("which backslashes are escapes is not known");
                }
                Some(inner) => inner,
                None if !rest.contains(quote) => {
                    return no("where the quoted value ends is not known");
                }
                None => raw,
            }
        }
        _ => raw,
    };
    Ok((entry.value, quoted(inner), risk))
}

/// Whether a text holds an escape that double quotes know.
fn knows_escape(text: &str) -> bool {
    let mut characters = text.chars();
    while let Some(found) = characters.next() {
        if found == '\\'
            && characters
                .next()
                .is_some_and(|escaped| "nrt\"\\0uUx".contains(escaped))
        {
            return true;
        }
    }
    false
}

/// Whether the frontmatter can be read further with this replacement: as a whole,
/// or at least beyond the line that starts at `line`.
fn reads(text: &str, parts: Frontmatter, span: Span, replacement: &str, line: usize) -> bool {
    let edit = Edit {
        path: std::path::PathBuf::new(),
        span,
        replacement: replacement.to_owned(),
    };
    let Ok(new) = apply(text, [&edit]) else {
        return false;
    };
    let end = (parts.yaml.end - span.len()) + replacement.len();
    let yaml = Span::new(parts.yaml.start, end);
    let value_end = span.start + replacement.len();
    match yaml_text::parse(&new, yaml, yaml_text::LIMITS) {
        Err(error) => error.span.start > value_end,
        Ok(document) => {
            let key = yaml::line(&new, line);
            !matches!(document.root.value(), Value::Null) && is_text(&document.root, key, value_end)
        }
    }
}

/// Whether the value that ends before `end`, of a key on the line `key`, is a
/// string.
fn is_text(node: &Node, key: Span, end: usize) -> bool {
    let Some(object) = node.as_object() else {
        return false;
    };
    object.members.iter().any(|member| {
        let here = member.key_span.start >= key.start && member.key_span.end <= key.end;
        (here && member.value.as_text().is_some() && member.value.span.start <= end)
            || (!here && is_text(&member.value, key, end))
    })
}
