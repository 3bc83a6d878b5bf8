//! What can be seen of a connection from outside.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::failure::Failure;
use crate::mcp::stray::{Over, Stray};

/// What went wrong last on a connection, which rmcp does not hand on in every case,
/// and what was sent over it in vain. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Watch(Arc<Mutex<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    /// With whether it lasts.
    last: Option<(String, bool)>,
    stray: Option<Stray>,
}

impl Watch {
    /// The last failure, as a sentence.
    pub fn last(&self) -> Option<String> {
        self.noted().last.as_ref().map(|(last, _)| last.clone())
    }

    /// Whether the last failure is a lasting one ([`Failure::is_lasting`]).
    pub fn is_lasting(&self) -> bool {
        self.noted()
            .last
            .as_ref()
            .is_some_and(|(_, lasting)| *lasting)
    }

    /// What was sent that is no message, if there was any.
    pub fn stray(&self) -> Option<Stray> {
        self.noted().stray.clone()
    }

    pub(super) fn note(&self, failure: &Failure) {
        self.noted().last = Some((failure.to_string(), failure.is_lasting()));
    }

    /// Notes a text that is no message; it holds no value of a credential.
    pub(super) fn pass_over(&self, text: impl FnOnce() -> String) {
        Stray::add(&mut self.noted().stray, Over::Http, text);
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
