//! What is wrong with a text that is not YAML as it is read here, for people.

use granit_parser::{ErrorKind, ScanError, Tag};

use crate::diagnostic::Span;
use crate::document::show::{character, clip};
use crate::document::{Limits, ParseError};

/// The first character that YAML does not allow to stand for itself.
pub(super) fn unprintable(yaml: &str, base: usize) -> Option<ParseError> {
    // Nearly every text is printable ASCII: one quick look settles it.
    let usual = |byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    if yaml.bytes().all(usual) {
        return None;
    }
    let (at, found) = yaml.char_indices().find(|&(_, found)| {
        let allowed = matches!(found, '\t' | '\n' | '\r' | '\u{85}');
        !allowed && (found.is_control() || matches!(found, '\u{FFFE}' | '\u{FFFF}'))
    })?;
    let start = base + at;
    let span = Span::new(start, start + found.len_utf8());
    let message = format!("YAML does not allow the character {}", character(found));
    Some(ParseError::syntax(span, message))
}

/// Refuses a tab between the token that ends at `before` and the key or value at
/// `start`, in the line of the latter. Comments end before that line begins.
pub(super) fn tab(text: &str, before: usize, start: usize) -> Result<(), ParseError> {
    let gap = text.get(before..start).unwrap_or_default();
    let Some(at) = gap.rfind('\t') else {
        return Ok(());
    };
    if gap.get(at..).unwrap_or_default().contains(['\n', '\r']) {
        return Ok(());
    }
    let span = Span::new(before + at, before + at + 1);
    let lines = text.get(..before + at).unwrap_or_default();
    let line = lines.rsplit(['\n', '\r']).next().unwrap_or_default();
    let message = if line.trim().is_empty() {
        TAB_INDENT
    } else {
        "a tab stands before the value: use a space, many readers refuse a tab"
    };
    Err(ParseError::syntax(span, message))
}

const TAB_INDENT: &str = "a tab cannot indent YAML: use spaces";

pub(super) fn second_document(text: &str, span: Span) -> ParseError {
    let message = "a second YAML document starts here, one was expected";
    ParseError::syntax(Place::new(text, span.start).line_from_here(), message)
}

pub(super) fn recursive_alias(text: &str, span: Span) -> ParseError {
    let alias = text.get(span.start..span.end).unwrap_or_default();
    let message = format!("the alias `{}` stands inside its own anchor", clip(alias));
    ParseError::syntax(span, message)
}

pub(super) fn complex_key(text: &str, span: Span) -> ParseError {
    let place = Place::new(text, span.start);
    let (span, message) = match place.rest().as_bytes() {
        // `{{ name }}`: a template, not two mappings.
        [b'{', ..] if place.before().ends_with('{') => (
            Span::new(span.start - 1, span.start + 1),
            "`{{` starts two mappings: quote a value that starts with it",
        ),
        [b'*', ..] => (span, "a key must be a scalar, this alias is a collection"),
        _ => (
            place.character(),
            "a key must be a scalar, this one is a collection",
        ),
    };
    ParseError::syntax(span, message)
}

pub(super) fn tag(tag: Option<&Tag>, what: &str, span: Span) -> ParseError {
    let tag = tag.map(Tag::original).unwrap_or_default();
    let message = format!("the tag `{}` does not fit {what}", clip(&tag));
    ParseError::syntax(span, message)
}

pub(super) fn too_deep(span: Span, limits: Limits) -> ParseError {
    let message = format!("nested deeper than {} levels", limits.depth);
    ParseError::too_complex(span, message)
}

pub(super) fn too_large(span: Span, limits: Limits) -> ParseError {
    let limit = limits.nodes;
    let message = format!("more than {limit} keys and values, aliases included");
    ParseError::too_complex(span, message)
}

/// What had been read when the parser stopped.
pub(super) struct Context<'t> {
    pub(super) text: &'t str,
    /// Where the YAML starts in the text.
    pub(super) base: usize,
    pub(super) limits: Limits,
    /// The last scalar.
    pub(super) last: Span,
    /// Start of the innermost open collection.
    pub(super) open: Option<usize>,
}

/// Says in our words what the parser did not accept.
pub(super) fn explain(error: &ScanError, context: &Context<'_>) -> ParseError {
    let &Context {
        text, last, limits, ..
    } = context;
    let at = context.base + error.marker().byte_offset().unwrap_or_default();
    let place = Place::new(text, at);
    let (span, message) = match error.kind() {
        ErrorKind::RecursionLimitExceeded => return too_deep(place.character(), limits),
        ErrorKind::MappingValueNotAllowed => (
            place.line_from(last.start),
            if last.start < place.line_start() {
                "a mapping inside a value: the line is indented too far, or the value needs quotes"
            } else {
                "`: ` inside a value: quote the whole value"
            }
            .to_owned(),
        ),
        ErrorKind::UnexpectedCharacter { .. } => cannot_start(&place),
        // The parser speaks of an end that is not there.
        ErrorKind::UnexpectedEofBlockMapping | ErrorKind::UnexpectedEofBlockSequence
            if place.rest().starts_with(',') =>
        {
            cannot_start(&place)
        }
        ErrorKind::UnknownAnchor => {
            let alias = place.token();
            let shown = clip(text.get(alias.start..alias.end).unwrap_or_default());
            let message =
                format!("no anchor for the alias `{shown}`; quote a value that starts with `*`");
            (alias, message)
        }
        ErrorKind::MissingAnchorOrAliasName => (
            place.character(),
            "a name must follow `&` or `*`; quote a value that starts with one".to_owned(),
        ),
        ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabNotAllowed
        | ErrorKind::TabInPlainScalar
        | ErrorKind::TabAtBlockScalarStart => (place.near_tab(), TAB_INDENT.to_owned()),
        ErrorKind::UnclosedQuotedScalar => (
            place.line_from_here(),
            "the quoted value is never closed".to_owned(),
        ),
        ErrorKind::MisplacedFlowCollectionEnd => (
            place.character(),
            "this bracket closes nothing: quote the whole value".to_owned(),
        ),
        ErrorKind::UnclosedFlowCollection { .. } => unclosed(place),
        // A bracket of an earlier line is still open: that is where to look.
        ErrorKind::InvalidColonPlacement
        | ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
            if context.open.is_some_and(|open| open < place.line_start()) =>
        {
            unclosed(Place::new(text, context.open.unwrap_or(at)))
        }
        ErrorKind::InvalidTrailingDoubleQuotedScalar
        | ErrorKind::InvalidTrailingSingleQuotedScalar => (
            place.line_from_here(),
            "text behind the closing quote: a quote inside the value must be escaped".to_owned(),
        ),
        ErrorKind::UnknownQuotedScalarEscape => (
            place.bad_escape(),
            "unknown escape: in double quotes a backslash is written `\\\\`".to_owned(),
        ),
        ErrorKind::BlockSequenceEntryNotAllowed => (
            place.character(),
            "a list cannot start in the line of its key; quote a value that starts with `- `"
                .to_owned(),
        ),
        ErrorKind::SimpleKeyExpected => (
            place.line_from_here(),
            "`:` is missing behind the key, or the line is not indented as part of a value"
                .to_owned(),
        ),
        ErrorKind::ExpectedBlockMappingKey if place.before().ends_with([']', '}']) => (
            place.line_from_here(),
            "text behind the closing bracket: quote the whole value".to_owned(),
        ),
        ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::ExpectedDocumentStart
        | ErrorKind::InvalidIndentation => (
            place.line_from_here(),
            "this line does not continue what stands above: check its indentation".to_owned(),
        ),
        other => (place.character(), other.to_string()),
    };
    ParseError::syntax(span, message)
}

fn cannot_start(place: &Place<'_>) -> (Span, String) {
    let found = place.rest().chars().next().map(character);
    let found = found.unwrap_or_default();
    let message = format!("a plain value cannot start with {found}: quote the value");
    (place.character(), message)
}

fn unclosed(bracket: Place<'_>) -> (Span, String) {
    let span = bracket.character();
    let shown = bracket.text.get(span.start..span.end).unwrap_or_default();
    let message = format!("`{shown}` is never closed; quote a value that starts with it");
    (span, message)
}

/// A place in the text and what stands around it.
struct Place<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Place<'t> {
    /// The parser's offsets are on character boundaries and within the text.
    fn new(text: &'t str, at: usize) -> Self {
        Self { text, at }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// What stands before the place, white space at its end left out.
    fn before(&self) -> &'t str {
        self.text.get(..self.at).unwrap_or_default().trim_end()
    }

    fn line_start(&self) -> usize {
        let before = self.text.get(..self.at).unwrap_or_default();
        before.rfind(['\n', '\r']).map_or(0, |at| at + 1)
    }

    /// The rest of the line, white space at its end left out.
    fn rest_of_line(&self) -> &'t str {
        let rest = self.rest();
        let line = rest.split(['\n', '\r']).next().unwrap_or_default();
        line.trim_end()
    }

    /// The character at the place; empty at a line's or the text's end.
    fn character(&self) -> Span {
        let width = self.rest_of_line().chars().next().map_or(0, char::len_utf8);
        Span::new(self.at, self.at + width)
    }

    fn token(&self) -> Span {
        let line = self.rest_of_line();
        let ends = |found: char| found.is_whitespace() || ",[]{}".contains(found);
        Span::new(self.at, self.at + line.find(ends).unwrap_or(line.len()))
    }

    fn line_from_here(&self) -> Span {
        Span::new(self.at, self.at + self.rest_of_line().len())
    }

    /// The line of the place, from `start` on if that is in it.
    fn line_from(&self, start: usize) -> Span {
        let line = self.line_start();
        let indent = self.text.get(line..self.at).unwrap_or_default();
        let first = line + (indent.len() - indent.trim_start().len());
        Span::new(start.max(first).min(self.at), self.line_from_here().end)
    }

    /// A tab that indents the line of the place or a later one.
    fn near_tab(&self) -> Span {
        let mut start = self.line_start();
        let lines = self.text.get(start..).unwrap_or_default();
        for line in lines.split_inclusive(['\n', '\r']) {
            let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
            let tab = line.get(..indent).unwrap_or_default().find('\t');
            if let Some(tab) = tab {
                return Span::new(start + tab, start + tab + 1);
            }
            start += line.len();
        }
        self.character()
    }

    /// The first escape behind the quote at the place that YAML does not know.
    fn bad_escape(&self) -> Span {
        const KNOWN: &str = "0abt\tnvfre \"/\\N_LPxuU\r\n";
        let mut characters = self.rest().char_indices();
        while let Some((start, found)) = characters.next() {
            if found == '\\'
                && let Some((at, escaped)) = characters.next()
                && !KNOWN.contains(escaped)
            {
                return Span::new(self.at + start, self.at + at + escaped.len_utf8());
            }
        }
        self.character()
    }
}
