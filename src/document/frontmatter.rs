//! Where the YAML frontmatter of a Markdown file stands.
//!
//! The file starts with a line `---`, and the next line `---` ends the
//! frontmatter. Spaces and tabs behind a marker are allowed, nothing before it:
//! an indented `---` may be the text of a block scalar. Lines end with LF, CRLF
//! or a lone CR. One byte order mark may stand before the first line.

use super::show::clip;
use crate::diagnostic::Span;

/// The parts of a file with frontmatter, as byte spans in the whole text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frontmatter {
    /// Whether the text starts with a byte order mark.
    pub bom: bool,
    /// The lines between the markers, with the last line ending.
    pub yaml: Span,
    /// What follows the closing marker's line.
    pub body: Span,
}

/// Why a text has no frontmatter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SplitError {
    /// What kind of failure it is.
    pub kind: SplitErrorKind,
    /// The line that should have been a marker, or the opening marker if no
    /// line resembles a closing one.
    pub span: Span,
    /// What was found instead, for people.
    pub message: String,
}

/// The kinds of [`SplitError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SplitErrorKind {
    /// The first line is no marker.
    Missing,
    /// No further line is a marker.
    Unclosed,
}

const MARKER: &str = "---";
const BOM: char = '\u{FEFF}';

/// Finds the frontmatter of `text`. Whether it is YAML is not looked at.
///
/// # Errors
///
/// If the first line is no marker, or no line after it is one.
pub fn split(text: &str) -> Result<Frontmatter, SplitError> {
    let bom = text.starts_with(BOM);
    let mut lines = Lines {
        text,
        at: if bom { BOM.len_utf8() } else { 0 },
    };
    let Some(first) = lines.next() else {
        let end = Span::new(text.len(), text.len());
        return Err(missing(end, "the file is empty".to_owned()));
    };
    if !first.is_marker() {
        return Err(missing(first.span(), instead_of_first(&first, lines)));
    }
    let yaml = first.end;
    let mut resembling = None;
    for line in lines {
        if line.is_marker() {
            return Ok(Frontmatter {
                bom,
                yaml: Span::new(yaml, line.start),
                body: Span::new(line.end, text.len()),
            });
        }
        if resembling.is_none() {
            resembling = instead_of_closing(&line).map(|what| (line.span(), what));
        }
    }
    let (span, found) = resembling.unwrap_or_else(|| (first.span(), String::new()));
    Err(SplitError {
        kind: SplitErrorKind::Unclosed,
        span,
        message: format!("no line `---` closes the frontmatter{found}"),
    })
}

fn missing(span: Span, found: String) -> SplitError {
    SplitError {
        kind: SplitErrorKind::Missing,
        span,
        message: format!("the first line must be `---`, but {found}"),
    }
}

/// What the first line is, if it is no marker.
fn instead_of_first(line: &Line<'_>, mut rest: Lines<'_>) -> String {
    let text = line.trimmed();
    if text.trim().is_empty() {
        return if rest.any(|later| later.is_marker()) {
            "it is blank; nothing may stand before the frontmatter".to_owned()
        } else {
            "it is blank".to_owned()
        };
    }
    if text.starts_with(BOM) {
        return "a second byte order mark stands before it".to_owned();
    }
    if text.starts_with([' ', '\t']) && text.trim() == MARKER {
        return "it is indented".to_owned();
    }
    if is_dashes(text) {
        return format!("it is `{}`, with {} hyphens", clip(text), text.len());
    }
    if text.starts_with(MARKER) {
        return format!("it goes on behind the marker: `{}`", clip(text));
    }
    if text.starts_with('#') && rest.any(|later| later.is_marker()) {
        return "it is a heading or comment; nothing may stand before the frontmatter".to_owned();
    }
    format!("it is `{}`", clip(text))
}

/// What a line is that was perhaps meant to close the frontmatter.
fn instead_of_closing(line: &Line<'_>) -> Option<String> {
    let text = line.trimmed();
    if text == "..." {
        return Some("; `...` does not".to_owned());
    }
    if text.trim() == MARKER {
        return Some("; an indented one does not".to_owned());
    }
    if is_dashes(text) {
        return Some(format!("; a line of {} hyphens does not", text.len()));
    }
    None
}

/// Whether the text is hyphens only, about as many as a marker has.
fn is_dashes(text: &str) -> bool {
    text.len() > 1 && text.bytes().all(|byte| byte == b'-')
}

/// A line and its place.
struct Line<'t> {
    /// Without the line ending.
    text: &'t str,
    start: usize,
    /// Behind the line ending.
    end: usize,
}

impl<'t> Line<'t> {
    fn trimmed(&self) -> &'t str {
        self.text.trim_end_matches([' ', '\t'])
    }

    fn is_marker(&self) -> bool {
        self.trimmed() == MARKER
    }

    fn span(&self) -> Span {
        Span::new(self.start, self.start + self.trimmed().len())
    }
}

struct Lines<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Iterator for Lines<'t> {
    type Item = Line<'t>;

    fn next(&mut self) -> Option<Line<'t>> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let ends = |byte| matches!(byte, b'\n' | b'\r');
        let length = rest.bytes().position(ends).unwrap_or(rest.len());
        let (text, ending) = rest.split_at_checked(length)?;
        let start = self.at;
        let width = match ending.as_bytes() {
            [] => 0,
            [b'\r', b'\n', ..] => 2,
            _ => 1,
        };
        self.at = start + length + width;
        Some(Line {
            text,
            start,
            end: self.at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (&str, &str) {
        let found = split(text).unwrap_or_else(|error| panic!("{text:?}: {error:?}"));
        let part = |span: Span| &text[span.start..span.end];
        (part(found.yaml), part(found.body))
    }

    #[test]
    fn the_markers_enclose_the_yaml() {
        for (text, yaml, body) in [
            ("---\na: 1\n---\nbody\n", "a: 1\n", "body\n"),
            ("---\r\na: 1\r\n---\r\nbody", "a: 1\r\n", "body"),
            ("---\ra: 1\r---\rbody", "a: 1\r", "body"),
            ("---\na: 1\n---", "a: 1\n", ""),
            ("--- \t\na: 1\n---  \nb", "a: 1\n", "b"),
            ("---\n---\n", "", ""),
            ("\u{FEFF}---\na: 1\n---\n", "a: 1\n", ""),
            ("---\na: |\n  ---\n---\n---\n", "a: |\n  ---\n", "---\n"),
            (
                "---\na: x --- y\nb: '---'\n---\n",
                "a: x --- y\nb: '---'\n",
                "",
            ),
            ("---\n----\n...\n--- x\n---\n", "----\n...\n--- x\n", ""),
        ] {
            assert_eq!(parts(text), (yaml, body), "{text:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_counts_in_the_offsets() {
        let found = split("\u{FEFF}---\na: 1\n---\nb").expect("frontmatter");
        assert!(found.bom);
        assert_eq!(found.yaml, Span::new(7, 12));
        assert_eq!(found.body, Span::new(16, 17));
        assert!(!split("---\n---").expect("frontmatter").bom);
    }

    #[test]
    fn what_stands_instead_of_a_marker_is_named() {
        use SplitErrorKind::{Missing, Unclosed};
        for (text, kind, part, piece) in [
            ("", Missing, "", "the file is empty"),
            ("\u{FEFF}", Missing, "", "the file is empty"),
            (
                "\n---\na: 1\n---\n",
                Missing,
                "",
                "it is blank; nothing may stand before",
            ),
            ("\n# x\n", Missing, "", "it is blank"),
            (
                "# x\n---\na: 1\n---\n",
                Missing,
                "# x",
                "a heading or comment",
            ),
            ("# Title\ntext\n", Missing, "# Title", "it is `# Title`"),
            ("name: x\n---\n", Missing, "name: x", "it is `name: x`"),
            (" ---\na: 1\n---\n", Missing, " ---", "it is indented"),
            ("----\na: 1\n---\n", Missing, "----", "with 4 hyphens"),
            (
                "--- # x\na: 1\n---\n",
                Missing,
                "--- # x",
                "goes on behind the marker",
            ),
            (
                "---yaml\na: 1\n---\n",
                Missing,
                "---yaml",
                "goes on behind the marker",
            ),
            (
                "\u{FEFF}\u{FEFF}---\n---\n",
                Missing,
                "\u{FEFF}---",
                "second byte order mark",
            ),
            ("---", Unclosed, "---", "no line `---` closes"),
            ("---\na: 1\n", Unclosed, "---", "no line `---` closes"),
            ("---\na: 1\n...\nb", Unclosed, "...", "`...` does not"),
            (
                "---\na: 1\n ---\nb",
                Unclosed,
                " ---",
                "an indented one does not",
            ),
            (
                "---\na: 1\n-----\nb",
                Unclosed,
                "-----",
                "a line of 5 hyphens does not",
            ),
            (
                "---\u{A0}\n---\n",
                Missing,
                "---\u{A0}",
                "goes on behind the marker",
            ),
        ] {
            let error = split(text).expect_err(text);
            assert_eq!(error.kind, kind, "{text:?}");
            assert_eq!(&text[error.span.start..error.span.end], part, "{text:?}");
            assert!(error.message.contains(piece), "{text:?}: {error}");
        }
    }
}
