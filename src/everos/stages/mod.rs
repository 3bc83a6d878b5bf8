//! One file per stage, and what they share.

pub mod capture;
pub mod recall;
pub mod seal;
pub mod session_start;

use std::time::Duration;

use super::deadline::Deadline;
use super::state::{Cursor, Session};
use super::{Call, Context, Event, Start};

/// How long a stage that does not capture waits for the session's lock.
const SHORT_WAIT: Duration = Duration::from_millis(100);

/// Notes down a session at its first hook call, so that capture knows where to
/// begin: a new session at the start of its transcript, one that goes on at its
/// present end, one first seen in the middle at the turn it is in.
fn first_sight(context: &Context<'_>, call: &Call) {
    let Some(store) = &context.store else { return };
    if store.session(&call.session).is_some() {
        store.touch(&call.session);
        return;
    }
    let Ok(_lock) = store.lock(&call.session, Deadline::after(SHORT_WAIT)) else {
        return;
    };
    if store.session(&call.session).is_some() {
        return;
    }
    let mut state = Session {
        session: call.session.clone(),
        project: context.identity.project.clone(),
        transcript: call.transcript.clone(),
        ..Session::default()
    };
    match call.event {
        // A compaction may come in the middle of a turn.
        Event::SessionStart(start) if start != Start::Compacted || call.turn.is_none() => {
            let open = || {
                context
                    .host
                    .transcript(call.transcript.as_deref()?.as_ref())
                    .ok()
            };
            let end = open().and_then(|mut transcript| {
                let at = transcript.end().ok()?;
                Some(Cursor {
                    at,
                    mark: transcript.mark(at).ok()??,
                })
            });
            // No file yet: everything that will be in it is new.
            state.cursor = Some(end.unwrap_or_default());
        }
        _ => state.begin.clone_from(&call.turn),
    }
    if let Err(error) = store.save_session(&state) {
        context.log.line(&format!("state not saved: {error}"));
    }
}

/// Whether the host starts the session anew, so that nothing shown before is in
/// the model's window any more.
fn forgets(start: Start) -> bool {
    matches!(start, Start::Compacted | Start::Fresh)
}
