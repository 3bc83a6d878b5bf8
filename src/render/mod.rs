//! The report formats: a [`Report`](crate::package::Report) in, bytes out.
//!
//! Nothing here prints or looks at the environment: what a terminal can show
//! comes in as options. Every format carries the same findings.
//!
//! | module | format | for |
//! | --- | --- | --- |
//! | [`text`] | source underlined, in words | people |
//! | [`json_v1`] | `schemas/report.v1.schema.json` | programs |
//! | [`sarif`] | SARIF 2.1.0 | code scanning |
//! | [`github`] | workflow commands | annotations in a pull request |
//! | [`junit`] | JUnit XML | test reports of GitLab, Jenkins and the like |
//! | [`load_report`] | JSON lines | conformance suites |
//! | [`inspect`] | what a client gets from one package | implementers |
//! | [`explain`] | the rule book | people and programs |
//!
//! Package data is hostile until shown otherwise: no format lets a control
//! character of a name, a message or a source line through as it is.

mod escape;
mod facts;
mod outline;
mod paint;

pub mod explain;
pub mod github;
pub mod inspect;
pub mod json_v1;
pub mod junit;
pub mod load_report;
pub mod sarif;
pub mod text;

pub use escape::{visible, write_json};
pub use outline::Outline;
pub use paint::{Screen, Style};

use crate::diagnostic::Code;

/// Which findings count: those that make the run fail.
pub type Counts<'c> = &'c dyn Fn(&Code) -> bool;

/// Stands for a value that looks like a credential.
pub const HIDDEN: &str = "[credential, not shown]";

/// The name of this tool in every format.
const TOOL: &str = env!("CARGO_PKG_NAME");

/// The version of this tool in every format.
const TOOL_VERSION: &str = env!("CARGO_PKG_VERSION");
