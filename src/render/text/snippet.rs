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
use super::secrets::Secrets;
use crate::diagnostic::{Diagnostic, LineIndex, Location, Severity, Span};
use crate::package::Package;

/// Draws findings of one package.
pub(super) struct Frame<'r> {
    package: &'r Package,
    sources: BTreeMap<&'r str, Source<'r>>,
    paint: Paint,
}

impl<'r> Frame<'r> {
    pub(super) fn new(package: &'r Package, paint: Paint) -> Self {
        Self {
            package,
            sources: BTreeMap::new(),
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
        let package = self.package;
        let text: &'r str = package.sources.get(&found.path)?;
        let source = self.sources.entry(&found.path).or_insert_with(|| Source {
            text,
            index: LineIndex::new(text.as_bytes()),
            secrets: Secrets::of(
                text,
                package
                    .diagnostics
                    .iter()
                    .filter(|other| other.path == found.path),
            ),
        });
        // Where bytes were replaced, offsets do not fit any more.
        let there = source.index.locate(Span::new(place.offset, place.offset));
        if (there.line, there.column) != (place.line, place.column) {
            return None;
        }
        let name = facts::joined(&self.package.path, &found.path);
        let room = self.paint.0.width.saturating_sub(MARGIN).max(NARROWEST);
        Snippet::new(source, place, &name, room, self.paint.0.unicode)
    }
}

/// One text of a package, looked at once.
struct Source<'r> {
    text: &'r str,
    index: LineIndex<'r>,
    secrets: Secrets,
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
    fn new(
        source: &Source<'_>,
        place: Location,
        name: &str,
        room: usize,
        unicode: bool,
    ) -> Option<Self> {
        let text = source.text;
        let start = floor_boundary(text, place.offset);
        let end = ceil_boundary(text, place.offset.saturating_add(place.length));
        let here = line_around(text, start)?;
        let cut = |line: Span, label: Span| Cut::around(source, line, label, room, unicode);
        let line = cut(here, Span::new(start, end.min(here.end)))?;

        let mut shown = String::new();
        let mut first_line = place.line.saturating_sub(1);
        let mut lines = 1;
        // A neighbour helps only where columns still stand below each other.
        if !line.left_is_cut
            && let Some(previous) = previous_line(text, here)
        {
            shown.push_str(&cut(previous, Span::new(previous.start, previous.start))?.text);
            shown.push('\n');
            first_line = first_line.saturating_sub(1);
            lines += 1;
        }
        let label = SourceSpan::new((shown.len() + line.label.start).into(), line.label.len());
        shown.push_str(&line.text);
        if !line.left_is_cut
            && let Some(next) = next_line(text, here)
        {
            shown.push('\n');
            shown.push_str(&cut(next, Span::new(next.start, next.start))?.text);
            lines += 1;
        }
        let note = (place.end_line > place.line && end > here.end + 1)
            .then(|| format!("up to line {}", place.end_line));
        Some(Self {
            text: shown,
            first_line,
            lines,
            label,
            note,
            name: escape::visible(name).into_owned(),
            place,
        })
    }
}

/// The line that `at` is in, without its ending, and no more of it than any
/// screen shows: a file may be one line of megabytes with a finding in each word.
fn line_around(text: &str, at: usize) -> Option<Span> {
    const REACH: usize = 4096;
    let from = floor_boundary(text, at.saturating_sub(REACH));
    let to = floor_boundary(text, at.saturating_add(REACH));
    let before = text.get(from..at)?.rfind(['\n', '\r']);
    let start = before.map_or(from, |end| from + end + 1);
    let rest = text.get(at..to)?;
    let end = at + rest.find(['\n', '\r']).unwrap_or(rest.len());
    Some(Span::new(start, end))
}

/// The line before `line`, if there is one.
fn previous_line(text: &str, line: Span) -> Option<Span> {
    let before = text.get(..line.start)?;
    let before = before
        .strip_suffix("\r\n")
        .or_else(|| before.strip_suffix(['\n', '\r']))?;
    line_around(text, before.len())
}

/// The line behind `line`, if it holds any text.
fn next_line(text: &str, line: Span) -> Option<Span> {
    let behind = text.get(line.end..)?;
    let behind = behind
        .strip_prefix("\r\n")
        .or_else(|| behind.strip_prefix(['\n', '\r']))?;
    line_around(text, text.len() - behind.len()).filter(|line| !line.is_empty())
}

/// A part of one line that fits the screen, with everything hazardous visible.
struct Cut {
    text: String,
    label: Span,
    left_is_cut: bool,
}

impl Cut {
    /// Cuts `line` to about `room` columns around `label`; both are places of
    /// the source.
    fn around(
        source: &Source<'_>,
        line: Span,
        label: Span,
        room: usize,
        unicode: bool,
    ) -> Option<Self> {
        let left = source.text.get(line.start..label.start)?;
        let right = source.text.get(label.start..line.end)?;
        let (mut taken, width) = fit(right.chars(), room - room / 3);
        let (left_taken, left_width) = fit(left.chars().rev(), room.saturating_sub(width));
        if taken < right.len() {
            // What the left side does not need goes to the right.
            (taken, _) = fit(right.chars(), room.saturating_sub(left_width));
        }
        let shown = Span::new(label.start - left_taken, label.start + taken);
        let ellipsis = if unicode { "…" } else { "..." };

        let mut text = String::new();
        if shown.start > line.start {
            text.push_str(ellipsis);
        }
        let mut underlined = Span::default();
        let mut at = shown.start;
        for character in source.text.get(shown.start..shown.end)?.chars() {
            if at <= label.start {
                underlined.start = text.len();
            }
            if source.secrets.hides(at) {
                text.push('*');
            } else {
                push_source(&mut text, character);
            }
            at += character.len_utf8();
            if at <= label.end {
                underlined.end = text.len();
            }
        }
        if at <= label.start {
            underlined.start = text.len();
        }
        underlined.end = underlined.end.max(underlined.start);
        if shown.end < line.end {
            text.push_str(ellipsis);
        }
        // miette draws no line for an empty text.
        if text.is_empty() {
            text.push(' ');
        }
        Some(Self {
            text,
            label: underlined,
            left_is_cut: shown.start > line.start,
        })
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
