//! What can be mended, and how: one function for each fix.
//!
//! A fix answers findings: it is given one and says which edits end it, or why a
//! person must decide. Whether the edits are made is not decided here.
//!
//! | module | findings about |
//! | --- | --- |
//! | `text` | the text as such: byte order marks, commas, double keys |
//! | `manifest` | `$schema`, the fields of `plugin.json` |
//! | `server` | the entries of `mcp.json` |
//! | `skill`, `quote` | the frontmatter of `SKILL.md` |
//! | `files` | names and modes of files |

mod files;
mod manifest;
mod quote;
mod server;
mod skill;
mod table;
mod text;

use std::path::{Path, PathBuf};

pub use table::FIXES;

use super::json::{self, Layout};
use super::text::Edit;
use super::tree::{self, Found};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::document::frontmatter::{self, Frontmatter};
use crate::document::{Document, Node, json as json_text, yaml};
use crate::package::Package;

/// One way to end findings.
#[derive(Debug)]
pub struct Fix {
    /// The codes it answers.
    pub codes: &'static [&'static Code],
    /// What it does, as a phrase that follows "apkit fix": `adds …`.
    pub does: &'static str,
    /// Why it is only made when asked for, if it always is.
    pub risk: Option<&'static str>,
    run: fn(&Site<'_>) -> Answer,
}

/// The edits that end a finding, or why there are none, as a phrase.
type Answer = Result<Change, String>;

/// What a fix would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// Edits of files of the package, by their physical paths.
    pub(super) edits: Vec<Edit>,
    /// What is done to a file beside its text.
    pub(super) operation: Option<Operation>,
    /// Why it is only made when asked for.
    pub(super) risk: Option<String>,
}

/// A change that is none of a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Give an entry another name in the same directory.
    Rename {
        /// Where it is.
        from: PathBuf,
        /// Where it will be.
        to: PathBuf,
    },
    /// Set the executable bits of a file, where it may be read.
    MakeExecutable(PathBuf),
}

/// The fixes that answer findings with this code.
pub fn of(code: &Code) -> impl Iterator<Item = &'static Fix> {
    let id = code.id;
    FIXES
        .iter()
        .filter(move |fix| fix.codes.iter().any(|code| code.id == id))
}

impl Fix {
    /// What it would do about the finding.
    pub(super) fn answer(&self, site: &Site<'_>) -> Answer {
        let mut change = (self.run)(site)?;
        if let Some(risk) = self.risk {
            change.risk.get_or_insert_with(|| risk.to_owned());
        }
        Ok(change)
    }
}

/// What a fix may look at.
pub(super) struct Site<'s> {
    /// The physical package root.
    pub(super) root: &'s Path,
    /// The package as it is judged now.
    pub(super) package: &'s Package,
    /// The finding to end.
    pub(super) finding: &'s Diagnostic,
    /// The file it is about, unless it is about none that is read.
    pub(super) file: Option<&'s File>,
    /// Where unknown fields go.
    pub(super) namespace: Option<&'s str>,
}

/// A file of the package: its physical path and its text.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl<'s> Site<'s> {
    fn file(&self) -> Result<&'s File, String> {
        self.file
            .ok_or_else(|| "the file is not readable as UTF-8".to_owned())
    }

    fn text(&self) -> &'s str {
        self.file.map_or("", |file| file.text.as_str())
    }

    fn code(&self, code: &Code) -> bool {
        self.finding.code == code
    }

    fn raw(&self, span: Span) -> &'s str {
        self.text().get(span.start..span.end).unwrap_or_default()
    }

    /// The bytes the finding is about.
    fn span(&self) -> Result<Span, String> {
        let location = self.finding.location.ok_or_else(nothing)?;
        Ok(Span::new(
            location.offset,
            location.offset + location.length,
        ))
    }

    fn edit(&self, span: Span, replacement: impl Into<String>) -> Answer {
        self.edits([(span, replacement.into())])
    }

    fn edits(&self, changes: impl IntoIterator<Item = json::Change>) -> Answer {
        let path = &self.file()?.path;
        let edits = changes.into_iter().map(|(span, replacement)| Edit {
            path: path.clone(),
            span,
            replacement,
        });
        Ok(Change {
            edits: edits.collect(),
            ..Change::default()
        })
    }

    fn json(&self) -> Result<Document, String> {
        json_text::parse(self.file()?.text.as_bytes(), json_text::LIMITS)
            .map_err(|error| error.message)
    }

    /// The frontmatter of the skill, split and parsed.
    fn skill(&self) -> Result<(Frontmatter, Document), String> {
        let text = &self.file()?.text;
        let parts = frontmatter::split(text).map_err(|error| error.message)?;
        let document =
            yaml::parse(text, parts.yaml, yaml::LIMITS).map_err(|error| error.message)?;
        Ok((parts, document))
    }

    /// The value the finding points to.
    fn found<'d>(&self, document: &'d Document) -> Result<Found<'d>, String> {
        let pointer = self.finding.pointer.as_deref().ok_or_else(nothing)?;
        tree::at(&document.root, pointer).ok_or_else(nothing)
    }

    /// The keys that lead to the value the finding points to.
    fn keys(&self) -> Vec<String> {
        tree::keys(self.finding.pointer.as_deref().unwrap_or_default()).collect()
    }

    fn layout(&self, root: &Node) -> Layout<'s> {
        Layout::of(self.text(), root)
    }
}

/// There is no answer, and nothing to say about it.
fn nothing() -> String {
    String::new()
}

/// A phrase that says why there is no answer.
fn left(reason: impl Into<String>) -> Answer {
    Err(reason.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::codes;

    #[test]
    fn every_fix_says_what_it_does() {
        for fix in FIXES {
            assert!(!fix.codes.is_empty());
            assert!(
                !fix.does.ends_with('.') && fix.does.contains(' '),
                "{}",
                fix.does
            );
            for code in fix.codes {
                assert!(codes::find(code.id).is_some());
            }
        }
    }
}
