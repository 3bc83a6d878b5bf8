//! The lines of source around a finding, made harmless and short, and drawn
//! by miette.

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents,
    SourceCode, SourceSpan, SpanContents, ThemeCharacters, ThemeStyles,
};

use super::super::paint::Paint;
use super::super::{escape, facts};
use crate::diagnostic::{Diagnostic, LineIndex, Location, Severity, Span};
use crate::package::Package;

/// Draws findings of one package.
pub(super) struct Frame<'r> {
    package: &'r Package,
    indexes: BTreeMap<&'r str, LineIndex<'r>>,
    paint: Paint,
}

impl<'r> Frame<'r> {
    pub(super) fn new(package: &'r Package, paint: Paint) -> Self {
        Self {
            package,
            indexes: BTreeMap::new(),
            paint,
        }
    }

    /// Writes the message and, where there is source to show, the lines it is
    /// about. Says whether there was.
    pub(super) fn write(
        &mut self,
        found: &'r Diagnostic,
        message: &str,
        out: &mut dyn io::Write,
    ) -> io::Result<bool> {
        let snippet = self.snippet(found);
        let has_snippet = snippet.is_some();
        let drawing = Drawing {
            message,
            severity: found.severity(),
            snippet,
        };
        let mut text = String::new();
        self.handler(found.severity())
            .render_report(&mut text, &drawing)
            .map_err(io::Error::other)?;
        out.write_all(text.as_bytes())?;
        Ok(has_snippet)
    }

    fn handler(&self, severity: Severity) -> GraphicalReportHandler {
        let mut styles = if self.paint.0.color {
            ThemeStyles::ansi()
        } else {
            ThemeStyles::none()
        };
        // The underline has the colour of the finding.
        styles.highlights = vec![match severity {
            Severity::Error => styles.error,
            Severity::Warning => styles.warning,
            Severity::Info => styles.advice,
        }];
        let characters = if self.paint.0.unicode {
            ThemeCharacters::unicode()
        } else {
            ThemeCharacters::ascii()
        };
        GraphicalReportHandler::new_themed(GraphicalTheme { characters, styles })
            .with_width(self.paint.0.width)
            .with_break_words(false)
            .with_links(false)
            .without_syntax_highlighting()
    }

    fn snippet(&mut self, found: &'r Diagnostic) -> Option<Snippet> {
        let place = found.location?;
        let source: &'r str = self.package.sources.get(&found.path)?;
        let index = self
            .indexes
            .entry(&found.path)
            .or_insert_with(|| LineIndex::new(source.as_bytes()));
        // Where bytes were replaced, offsets do not fit any more.
        let there = index.locate(Span::new(place.offset, place.offset));
        if (there.line, there.column) != (place.line, place.column) {
            return None;
        }
        let name = facts::joined(&self.package.path, &found.path);
        let room = self.paint.0.width.saturating_sub(MARGIN).max(NARROWEST);
        Snippet::new(source, place, &name, room, self.paint.0.unicode)
    }
}

/// Columns that miette needs beside the text: line number and frame.
const MARGIN: usize = 10;

/// Columns of source shown at least, however narrow the screen is.
const NARROWEST: usize = 20;

/// Up to three lines, ready to show.
struct Snippet {
    text: String,
    /// Number of the first line, from 0.
    first_line: usize,
    lines: usize,
    /// What is underlined, in `text`.
    label: SourceSpan,
    /// What the label says besides.
    note: Option<String>,
    /// The place as the heading names it.
    name: String,
    place: Location,
}

impl Snippet {
    fn new(source: &str, place: Location, name: &str, room: usize, unicode: bool) -> Option<Self> {
        let start = floor_boundary(source, place.offset);
        let end = ceil_boundary(source, place.offset.saturating_add(place.length));
        let before = source.get(..start)?;
        let line_start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let rest = source.get(start..)?;
        let line_end = start + rest.find(['\n', '\r']).unwrap_or(rest.len());
        let line = Cut::around(
            source.get(line_start..line_end)?,
            start - line_start,
            end.min(line_end) - line_start,
            room,
            unicode,
        );

        let mut text = String::new();
        let mut first_line = place.line.saturating_sub(1);
        let mut lines = 1;
        // A neighbour helps only where columns still stand below each other.
        if !line.left_is_cut
            && let Some(previous) = previous_line(source, line_start)
        {
            text.push_str(&Cut::around(previous, 0, 0, room, unicode).text);
            text.push('\n');
            first_line = first_line.saturating_sub(1);
            lines += 1;
        }
        let label = SourceSpan::new((text.len() + line.label.start).into(), line.label.len());
        text.push_str(&line.text);
        if !line.left_is_cut
            && let Some(next) = next_line(source, line_end)
        {
            text.push('\n');
            text.push_str(&Cut::around(next, 0, 0, room, unicode).text);
            lines += 1;
        }
        let note = (place.end_line > place.line && end > line_end + 1)
            .then(|| format!("up to line {}", place.end_line));
        Some(Self {
            text,
            first_line,
            lines,
            label,
            note,
            name: escape::visible(name).into_owned(),
            place,
        })
    }
}

/// The line that ends right before `line_start`, if there is one.
fn previous_line(source: &str, line_start: usize) -> Option<&str> {
    let before = source.get(..line_start)?;
    let before = before
        .strip_suffix("\r\n")
        .or_else(|| before.strip_suffix(['\n', '\r']))?;
    let start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    before.get(start..)
}

/// The line behind the line ending at `line_end`, if it has any text.
fn next_line(source: &str, line_end: usize) -> Option<&str> {
    let after = source.get(line_end..)?;
    let after = after
        .strip_prefix("\r\n")
        .or_else(|| after.strip_prefix(['\n', '\r']))?;
    let end = after.find(['\n', '\r']).unwrap_or(after.len());
    after.get(..end).filter(|line| !line.is_empty())
}

/// A part of one line that fits the screen, with everything hazardous visible.
struct Cut {
    text: String,
    label: Span,
    left_is_cut: bool,
}

impl Cut {
    /// Cuts `line` to about `room` columns around `start..end` (bytes of it).
    fn around(line: &str, start: usize, end: usize, room: usize, unicode: bool) -> Self {
        let (left, right) = line.split_at_checked(start).unwrap_or((line, ""));
        let (taken, width) = fit(right.chars(), room - room / 3);
        let (left_taken, left_width) = fit(left.chars().rev(), room - width);
        // What the left side does not need goes to the right.
        let (taken, _) = match right.get(taken..) {
            Some(more) if !more.is_empty() => fit(right.chars(), room - left_width),
            _ => (taken, width),
        };
        let left_start = left.len() - left_taken;
        let right_end = start + taken;
        let ellipsis = if unicode { "…" } else { "..." };

        let mut text = String::new();
        if left_start > 0 {
            text.push_str(ellipsis);
        }
        let mut label = Span::default();
        let mut at = left_start;
        for character in line.get(left_start..right_end).unwrap_or_default().chars() {
            if at <= start {
                label.start = text.len();
            }
            push_source(&mut text, character);
            at += character.len_utf8();
            if at <= end {
                label.end = text.len();
            }
        }
        if at <= start {
            label.start = text.len();
        }
        label.end = label.end.max(label.start);
        if right_end < line.len() {
            text.push_str(ellipsis);
        }
        // miette draws no line for an empty text.
        if text.is_empty() {
            text.push(' ');
        }
        Self {
            text,
            label,
            left_is_cut: left_start > 0,
        }
    }
}

/// A tab of the source stays a tab: miette aligns it.
fn push_source(text: &mut String, character: char) {
    if character == '\t' {
        text.push(character);
    } else {
        escape::push_visible_or(text, character);
    }
}

/// How many bytes of `characters` fit into `room` columns, and their columns.
fn fit(characters: impl Iterator<Item = char>, room: usize) -> (usize, usize) {
    let (mut bytes, mut columns) = (0, 0);
    let mut shown = String::new();
    for character in characters {
        shown.clear();
        push_source(&mut shown, character);
        let width: usize = shown.chars().map(columns_of).sum();
        if columns + width > room {
            break;
        }
        columns += width;
        bytes += character.len_utf8();
    }
    (bytes, columns)
}

/// Columns of a character, well enough to keep a line on the screen: from
/// Hangul on, most scripts that go on are wide.
fn columns_of(character: char) -> usize {
    match character {
        '\t' => 4,
        '\u{1100}'.. => 2,
        _ => 1,
    }
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil_boundary(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

impl SourceCode for Snippet {
    /// miette asks twice: for the lines to draw, and without any context for
    /// the place that stands in the heading.
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        _after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let (span, line, column, lines) = if before == 0 {
            let line = self.place.line.saturating_sub(1);
            (*span, line, self.place.column.saturating_sub(1), 1)
        } else {
            let all = SourceSpan::new(0.into(), self.text.len());
            (all, self.first_line, 0, self.lines)
        };
        let data = self
            .text
            .as_bytes()
            .get(span.offset()..span.offset() + span.len())
            .ok_or(MietteError::OutOfBounds)?;
        let name = self.name.clone();
        Ok(Box::new(MietteSpanContents::new_named(
            name, data, span, line, column, lines,
        )))
    }
}

/// A finding in the form that miette draws.
struct Drawing<'r> {
    message: &'r str,
    severity: Severity,
    snippet: Option<Snippet>,
}

impl miette::Diagnostic for Drawing<'_> {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
            Severity::Info => miette::Severity::Advice,
        })
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.snippet
            .as_ref()
            .map(|snippet| snippet as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let snippet = self.snippet.as_ref()?;
        let label = LabeledSpan::new_primary_with_span(snippet.note.clone(), snippet.label);
        Some(Box::new(std::iter::once(label)))
    }
}

impl fmt::Display for Drawing<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.message)
    }
}

impl fmt::Debug for Drawing<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.message)
    }
}

impl std::error::Error for Drawing<'_> {}
