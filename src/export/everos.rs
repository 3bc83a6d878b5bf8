//! The everos memory plugin as a package, and the marketplace that offers it.

use super::{Output, Plan};
use crate::source::builtin::{Builtin, versioned};
use crate::spec::foreign::CLAUDE_MARKETPLACE;

pub use crate::source::builtin::{NAME, Program, VERSION};

/// How the command line names this source.
pub const SOURCE: &str = "builtin:everos";

/// A marketplace that offers the package, and has its name.
const MARKETPLACE: &str = include_str!("../../package/marketplace/marketplace.json");

/// What to write: the package, or with `marketplace` a marketplace that holds
/// the package in a directory of its name.
pub fn plan(program: Program, marketplace: bool) -> Plan {
    let root = if marketplace { NAME } else { "" };
    let within = |path: &str| match root {
        "" => path.to_owned(),
        root => format!("{root}/{path}"),
    };
    let files = Builtin::Everos.files(program).into_iter();
    let mut outputs: Vec<Output> = files
        .map(|file| Output {
            path: within(&file.path),
            bytes: file.bytes,
            executable: file.executable,
        })
        .collect();
    if marketplace {
        outputs.push(Output::text(CLAUDE_MARKETPLACE, versioned(MARKETPLACE)));
    }
    Plan {
        outputs,
        packages: vec![root.to_owned()],
        source: SOURCE,
        name: NAME.to_owned(),
        version: Some(VERSION.to_owned()),
        ..Plan::default()
    }
}
