//! Writing packages: a plan, which is data, and its application, which either
//! leaves a whole package behind or nothing.
//!
//! | module | what lives there |
//! | --- | --- |
//! | [`everos`] | the plan for the everos memory plugin, whose sources are in `package/` |
//! | `apply` | staging, judgement, replacement |

mod apply;
pub mod everos;

pub use apply::{Error, Options, apply};

/// Everything that one export writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The files, each path once.
    pub outputs: Vec<Output>,
    /// Directories that have to pass as packages, relative to the target and
    /// `/`-separated; empty for the target itself.
    pub packages: Vec<String>,
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Path relative to the target, `/`-separated.
    pub path: String,
    /// Content.
    pub bytes: Vec<u8>,
    /// Whether it is a program (mode 0755 instead of 0644).
    pub executable: bool,
}

impl Output {
    /// A file that is no program.
    pub fn text(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            bytes: text.into().into_bytes(),
            executable: false,
        }
    }
}
