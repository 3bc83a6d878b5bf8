//! Colours, marks and line breaking.

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Something does not load or work.
    Error,
    /// Something may not be as it should.
    Warning,
    /// Something is worth knowing.
    Info,
    /// All is well.
    Good,
    /// The name of a value.
    Label,
}

/// What the reader's screen can show.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    /// Whether terminal escapes may be written; without it there is none.
    pub color: bool,
    /// Whether characters outside of ASCII may draw frames and marks.
    pub unicode: bool,
    /// Columns.
    pub width: usize,
}

/// Styles text for a screen, or leaves it alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint(pub(super) Screen);

impl Paint {
    pub(super) fn styled(self, style: Style, text: &str) -> String {
        self.sequence(
            match style {
                Style::Error => "1;31",
                Style::Warning => "1;33",
                Style::Info => "1;36",
                Style::Good => "1;32",
                Style::Label => "36",
            },
            text,
        )
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.sequence("1", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.sequence("2", text)
    }

    /// The mark before a package.
    pub(super) fn mark(self, style: Style) -> String {
        let mark = match (style, self.0.unicode) {
            (Style::Error, true) => "✗",
            (Style::Error, false) => "x",
            (Style::Warning, true) => "⚠",
            (Style::Warning, false) => "!",
            (_, true) => "✓",
            (_, false) => "+",
        };
        self.styled(style, mark)
    }

    fn sequence(self, parameters: &str, text: &str) -> String {
        if self.0.color {
            format!("\u{1b}[{parameters}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Breaks prose at spaces into lines of at most `width` characters; a longer
/// word stays whole, so that it can be copied.
pub(super) fn wrap(text: &str, width: usize) -> impl Iterator<Item = String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut length = 0;
    for word in text.split(' ') {
        let word_length = word.chars().count();
        if length > 0 && length + 1 + word_length > width {
            lines.push(std::mem::take(&mut line));
            length = 0;
        }
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        line.push_str(word);
        length += word_length;
    }
    lines.push(line);
    lines.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_breaks_at_spaces_and_words_stay_whole() {
        let lines = |text, width| wrap(text, width).collect::<Vec<_>>();
        assert_eq!(lines("one two three", 7), ["one two", "three"]);
        assert_eq!(lines("a verylongword b", 4), ["a", "verylongword", "b"]);
        assert_eq!(lines("", 4), [""]);
    }

    #[test]
    fn plain_text_has_no_escape() {
        let paint = |color| {
            Paint(Screen {
                color,
                unicode: true,
                width: 80,
            })
        };
        assert_eq!(paint(false).styled(Style::Error, "x"), "x");
        assert_eq!(paint(true).bold("x"), "\u{1b}[1mx\u{1b}[0m");
    }
}
