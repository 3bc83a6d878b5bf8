//! Changing packages in place: everything but what has to change stays as it is,
//! down to the line endings.
//!
//! | module | what lives there |
//! | --- | --- |
//! | [`fix`] | mending what findings are about: which fixes, in which order, and when not |
//! | [`fixes`] | the fixes themselves, one function each, in one table with their codes |
//! | [`sync`] | one source for what several manifests say |
//! | [`init`] | a small package to begin with |
//! | `text` | edits of one text |
//! | `json`, `yaml`, `tree` | what edits look like in the two languages |
//! | `metadata` | what a manifest says about the plugin, whatever its shape |
//! | `write` | several files changed together, or none |

pub mod fix;
pub mod fixes;
pub mod init;
pub mod sync;

mod json;
mod metadata;
mod text;
mod tree;
mod write;
mod yaml;

pub use text::{Edit, EditError};
pub use write::{FileChange, WriteError, write};
