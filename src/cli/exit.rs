//! The exit status of every command.

use std::process::ExitCode;

/// What the exit status says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Nothing was found at or above the threshold.
    Clean = 0,
    /// Something was found at or above the threshold.
    Findings = 1,
    /// The run itself failed: bad usage, an unreadable path, a full disk.
    Failed = 2,
    /// The user interrupted it before it was done (128 and the number of SIGINT).
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The table above, for help texts.
pub(crate) const HELP: &str = "\
Exit status:
  0  nothing found at or above the threshold
  1  something found at or above the threshold
  2  the run failed: bad usage, a path that cannot be read, a full disk";
