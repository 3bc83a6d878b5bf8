//! What can be seen of a connection from outside.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::failure::Failure;

/// The longest text that is no message in a remark, in characters.
const STRAY: usize = 100;

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

/// What a server sent that is no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// How many texts.
    pub texts: u64,
    /// The first of them, cut to a length that fits a message.
    pub first: String,
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { texts: 1, first } => {
                write!(f, "it sent what is no JSON-RPC message: `{first}`")
            }
            Self { texts, first } => write!(
                f,
                "it sent {texts} texts that are no JSON-RPC messages, the first: `{first}`"
            ),
        }
    }
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
        let mut noted = self.noted();
        match &mut noted.stray {
            Some(stray) => stray.texts += 1,
            none => {
                let first = text().trim().chars().take(STRAY).collect();
                *none = Some(Stray { texts: 1, first });
            }
        }
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
