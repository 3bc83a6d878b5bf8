//! Edits of one text.

use std::path::PathBuf;

use crate::diagnostic::Span;

/// A piece of a file and what is to stand in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The file.
    pub path: PathBuf,
    /// The bytes that go; empty for a place where something is put in.
    pub span: Span,
    /// What comes.
    pub replacement: String,
}

/// Why edits do not fit a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// Two of them change the same bytes, or put something in at the same place.
    #[error("two edits overlap at byte {0}")]
    Overlap(usize),
    /// One of them is not within the text, or cuts a character.
    #[error("an edit at byte {0} is not within the text")]
    Outside(usize),
}

/// `text` with `edits`, which all are about it.
///
/// # Errors
///
/// When two edits overlap or one is not within the text.
pub(super) fn apply<'e>(
    text: &str,
    edits: impl IntoIterator<Item = &'e Edit>,
) -> Result<String, EditError> {
    let mut edits: Vec<&Edit> = edits.into_iter().collect();
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    let mut last: Option<Span> = None;
    for edit in edits {
        let span = edit.span;
        let twice = last.is_some_and(|last| last.start == span.start && last.is_empty());
        if span.start < done || (twice && span.is_empty()) {
            return Err(EditError::Overlap(span.start));
        }
        let outside = EditError::Outside(span.start);
        if text.get(span.start..span.end).is_none() {
            return Err(outside);
        }
        out.push_str(text.get(done..span.start).ok_or(outside)?);
        out.push_str(&edit.replacement);
        done = span.end;
        last = Some(span);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Ok(out)
}

/// Whether two sets of edits can be made together.
pub(super) fn overlap(one: &[Edit], other: &[Edit]) -> bool {
    one.iter().any(|one| {
        other.iter().any(|other| {
            one.path == other.path
                && ((one.span.start < other.span.end && other.span.start < one.span.end)
                    || one.span.start == other.span.start)
        })
    })
}

/// The line ending of a text, by its first line.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text.get(..at).is_some_and(|line| line.ends_with('\r')) => "\r\n",
        None if text.contains('\r') => "\r",
        _ => "\n",
    }
}

/// The blanks at the beginning of the line that holds the byte `at`.
pub(super) fn indentation(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let start = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
    let line = text.get(start..).unwrap_or_default();
    let width = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..width).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(start: usize, end: usize, replacement: &str) -> Edit {
        Edit {
            path: PathBuf::new(),
            span: Span::new(start, end),
            replacement: replacement.to_owned(),
        }
    }

    #[test]
    fn edits_apply_in_any_order_and_do_not_overlap() {
        let edits = [edit(4, 5, "Z"), edit(0, 1, ""), edit(2, 2, "--")];
        assert_eq!(apply("abcde", &edits), Ok("b--cdZ".to_owned()));
        let touching = [edit(0, 2, "x"), edit(2, 3, "y")];
        assert_eq!(apply("abc", &touching), Ok("xy".to_owned()));
        for (edits, error) in [
            ([edit(0, 3, ""), edit(2, 4, "")], EditError::Overlap(2)),
            ([edit(1, 1, "a"), edit(1, 1, "b")], EditError::Overlap(1)),
            ([edit(0, 0, "a"), edit(9, 9, "b")], EditError::Outside(9)),
            ([edit(0, 0, "a"), edit(3, 2, "b")], EditError::Outside(3)),
        ] {
            assert_eq!(apply("abcde", &edits), Err(error));
        }
        assert_eq!(apply("é", &[edit(1, 2, "")]), Err(EditError::Outside(1)));
    }

    #[test]
    fn line_endings_and_indentation() {
        for (text, ending) in [
            ("a\r\nb\n", "\r\n"),
            ("a\nb\r\n", "\n"),
            ("a", "\n"),
            ("a\rb", "\r"),
        ] {
            assert_eq!(newline(text), ending, "{text:?}");
        }
        assert_eq!(indentation("{\n\t \"a\": 1", 8), "\t ");
        assert_eq!(indentation("ab", 1), "");
    }
}
