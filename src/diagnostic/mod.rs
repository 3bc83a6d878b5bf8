//! What apkit says about a package: one [`Diagnostic`] per finding.
//!
//! A finding about a *package* is data, never a Rust error; a failure of the
//! *run* (an unreadable path, a bad flag) is an error, never a diagnostic.
//! Every finding refers to one [`Code`], declared once in
//! [`crate::spec::codes`], which fixes its severity, effect and section.
//!
//! This module does no I/O and depends on nothing else of the crate.

mod code;
mod span;
mod threshold;

pub use code::{Code, Effect, Severity};
pub use span::{LineIndex, Location, Span};
pub use threshold::Threshold;

/// One finding about a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which rule was broken; carries severity, effect and section.
    pub code: &'static Code,
    /// What is wrong with this very value: one sentence, no final period needed.
    pub message: String,
    /// The way out, as concrete as the value allows.
    pub help: Option<String>,
    /// The file or directory, relative to the package root, `/`-separated.
    /// Bytes that are no UTF-8 are shown as U+FFFD.
    pub path: String,
    /// RFC 6901 pointer to the value in a JSON text or in YAML frontmatter.
    pub pointer: Option<String>,
    /// Where in the file; `None` where there is no text (a missing file, a link).
    pub location: Option<Location>,
}

impl Diagnostic {
    /// A finding about the file or directory `path` as a whole.
    pub fn new(code: &'static Code, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            help: None,
            path: path.into(),
            pointer: None,
            location: None,
        }
    }

    /// Adds the way out.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the RFC 6901 pointer of the value.
    #[must_use]
    pub fn with_pointer(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }

    /// Adds the place in the text.
    #[must_use]
    pub fn at(mut self, location: Location) -> Self {
        self.location = Some(location);
        self
    }

    /// The severity its code declares.
    pub fn severity(&self) -> Severity {
        self.code.severity
    }

    /// What a conforming client does about it, as its code declares.
    pub fn effect(&self) -> Effect {
        self.code.effect
    }
}
