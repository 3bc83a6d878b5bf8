//! What people read about one thing: a title, entries, and rows below them.

use std::io;

use super::escape::visible_cut;
use super::paint::{Paint, Screen, Style, wrap};

/// Characters of one value shown at most, and of one name.
const LONGEST_VALUE: usize = 2_000;
const LONGEST_NAME: usize = 200;

/// Writes it, every value made harmless.
pub struct Outline<'o> {
    paint: Paint,
    out: &'o mut dyn io::Write,
}

impl std::fmt::Debug for Outline<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outline").finish_non_exhaustive()
    }
}

/// Every method fails only if the writer does.
impl<'o> Outline<'o> {
    /// Begins.
    pub fn new(screen: Screen, out: &'o mut dyn io::Write) -> Self {
        Self {
            paint: Paint(screen),
            out,
        }
    }

    /// Name and version of a package, or where it is if it has neither.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn title(
        &mut self,
        name: Option<&str>,
        version: Option<&str>,
        path: &str,
    ) -> io::Result<()> {
        let identity: Vec<_> = [name, version]
            .into_iter()
            .flatten()
            .map(|part| visible_cut(part, LONGEST_NAME))
            .collect();
        let title = match identity.as_slice() {
            [] => visible_cut(path, LONGEST_VALUE).into_owned(),
            parts => parts.join(" "),
        };
        writeln!(self.out, "{}", self.paint.bold(&title))
    }

    /// The heading of a list, behind an empty line.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn heading(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "\n{}", self.paint.bold(text))
    }

    /// An entry of a list, with a word or two beside it.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn entry(&mut self, style: Style, name: &str, beside: &str) -> io::Result<()> {
        let name = visible_cut(name, LONGEST_NAME);
        let (mark, name) = (self.paint.mark(style), self.paint.styled(style, &name));
        if beside.is_empty() {
            return writeln!(self.out, "  {mark} {name}");
        }
        let beside = visible_cut(beside, LONGEST_VALUE);
        writeln!(self.out, "  {mark} {name}  {}", self.paint.dim(&beside))
    }

    /// A value below a title or an entry.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn row(&mut self, label: &str, value: &str) -> io::Result<()> {
        writeln!(
            self.out,
            "    {} {}",
            self.paint.styled(Style::Label, &format!("{label:>8}:")),
            visible_cut(value, LONGEST_VALUE)
        )
    }

    /// Sentences below an entry.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn prose(&mut self, text: &str) -> io::Result<()> {
        let text = visible_cut(text, LONGEST_VALUE);
        for line in wrap(&text, self.paint.0.width.saturating_sub(4)) {
            writeln!(self.out, "    {line}")?;
        }
        Ok(())
    }
}
