//! From which finding on a run counts as failed.

use super::{Code, Effect, Severity};

/// The least finding that counts: the exit status, and what a test report
/// shows as a failure, both depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Threshold {
    /// Only what rejects a whole package.
    Rejected,
    /// Whatever keeps anything from loading: every error.
    #[default]
    Skipped,
    /// Warnings, too.
    Warning,
}

impl Threshold {
    /// Whether a finding with this code counts.
    pub fn is_reached_by(self, code: &Code) -> bool {
        match self {
            Self::Rejected => code.effect == Effect::PackageRejected,
            Self::Skipped => code.severity >= Severity::Error,
            Self::Warning => code.severity >= Severity::Warning,
        }
    }
}
