//! The session ends or is compacted: close its buffer, which makes EverOS
//! extract (design document, section 6.4 and D14).
//!
//! Nothing is sealed while turns of the session still have to be sent. A session
//! that could not be sealed stays unsealed, and the next start seals it. One whose
//! seal was not answered counts as sealed, and a later start asks again.

use std::time::Duration;

use super::super::client::Buffer;
use super::super::deadline::Deadline;
use super::super::http::Failure;
use super::super::identity;
use super::super::state::{Session, Store, Unavailable, millis};
use super::super::{Call, Context, Event, Outcome};
use super::capture::{self, Take};

/// How long an answer to a seal is waited for. Extraction goes on without us, so
/// silence until then counts as received.
pub const DISPATCH: Duration = Duration::from_millis(1500);
/// Everything together, at a session's end: the host ends the process 1.45
/// seconds after it started it.
const AT_END: Duration = Duration::from_millis(1150);
/// Everything together, before a compaction.
const AT_COMPACTION: Duration = Duration::from_secs(5);
/// How much of it may go into what was missed.
const FOR_CAPTURE: Duration = Duration::from_millis(600);
/// How long the lines of an interrupted turn may take to reach the disk.
const LAG: Duration = Duration::from_millis(100);

/// Runs the stage.
pub fn run(context: &Context<'_>, call: &Call) -> Outcome {
    let ends = matches!(call.event, Event::SessionEnd);
    let deadline = Deadline::after(if ends { AT_END } else { AT_COMPACTION });
    let capture = if ends {
        deadline.within(FOR_CAPTURE)
    } else {
        deadline.within(AT_COMPACTION - DISPATCH)
    };
    let locked = context
        .store
        .as_ref()
        .map(|store| (store, store.lock(&call.session, capture)));
    let (store, lock) = match locked {
        Some((store, Ok(lock))) => (store, lock),
        Some((_, Err(Unavailable::Busy))) => {
            context
                .log
                .line("another hook of this session is at work, not sealed");
            return Outcome::default();
        }
        // Without state nobody knows what is missing, but what is stored can be
        // sealed.
        Some((_, Err(Unavailable::Unusable(_)))) | None => {
            let state = Session {
                session: call.session.clone(),
                ..Session::default()
            };
            let flushes = flushes(&state, Some(&context.identity.project));
            flush_all(context, &flushes, deadline.within(DISPATCH));
            return Outcome::default();
        }
    };
    let fresh = || Session {
        session: call.session.clone(),
        begin: call.turn.clone(),
        ..Session::default()
    };
    let known = store.session(&call.session);
    let is_known = known.is_some();
    let mut state = known.unwrap_or_else(fresh);
    state.project.clone_from(&context.identity.project);
    if call.transcript.is_some() {
        state.transcript.clone_from(&call.transcript);
    }
    // Compaction may come in the middle of a turn, which stays whole for its end.
    let (take, wait) = if ends {
        (Take::All, Deadline::after(LAG))
    } else {
        (
            Take::Before(call.turn.as_deref()),
            Deadline::after(Duration::ZERO),
        )
    };
    let caught = capture::catch_up(context, Some(store), &mut state, take, None, wait, capture);
    // The next session's start seals what cannot be recorded now.
    if is_known && !caught.recorded {
        context.log.line("state not saved, not sealed");
    } else if state.pending.is_empty() {
        let flushes = flushes(&state, Some(&context.identity.project));
        let results = flush_all(context, &flushes, deadline.within(DISPATCH));
        record(context, store, &mut state, &flushes, &results);
    } else {
        context
            .log
            .line(&format!("{} pieces left, not sealed", state.pending.len()));
    }
    // No hook of this session may come any more: what is left is for the next one.
    if ends && !(state.pending.is_empty() && state.unsealed.is_empty()) {
        state.ended = true;
        if let Err(error) = store.save_session(&state) {
            context.log.line(&format!("state not saved: {error}"));
        }
    }
    drop(lock);
    Outcome::default()
}

/// What became of a seal that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sealed {
    /// The server said that it is done.
    Done,
    /// The request has left whole, and nothing came back in time.
    Unanswered,
}

/// One buffer to close.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flush {
    session: String,
    project: String,
}

/// The buffers of a session: every project it has messages in or whose seal was
/// never answered, and `current`.
pub fn flushes(state: &Session, current: Option<&str>) -> Vec<Flush> {
    let mut projects = state.unsealed.clone();
    projects.extend(state.unanswered.iter().cloned());
    projects.extend(current.map(str::to_owned));
    projects
        .into_iter()
        .map(|project| Flush {
            session: state.session.clone(),
            project,
        })
        .collect()
}

/// Closes all buffers at the same time.
pub fn flush_all(
    context: &Context<'_>,
    flushes: &[Flush],
    deadline: Deadline,
) -> Vec<Result<Sealed, Failure>> {
    let client = context.client();
    let close = |flush: &Flush| {
        let session_id = identity::session_id(&flush.session);
        let buffer = Buffer {
            session_id,
            app_id: context.identity.app,
            project_id: &flush.project,
        };
        match client.flush(buffer, deadline) {
            // The connection was open all the time.
            Err(Failure::Silent) => Ok(Sealed::Unanswered),
            other => other.map(|()| Sealed::Done),
        }
    };
    let Some((first, others)) = flushes.split_first() else {
        return Vec::new();
    };
    std::thread::scope(|scope| {
        let handles: Vec<_> = others
            .iter()
            .map(|flush| std::thread::Builder::new().spawn_scoped(scope, move || close(flush)))
            .collect();
        let mut results = vec![close(first)];
        results.extend(
            handles
                .into_iter()
                .zip(others)
                .map(|(handle, flush)| match handle {
                    Ok(handle) => handle.join().unwrap_or(Err(Failure::Broken)),
                    Err(_) => close(flush),
                }),
        );
        results
    })
}

/// Records what was closed of a session, and saves its state.
pub fn record(
    context: &Context<'_>,
    store: &Store,
    state: &mut Session,
    flushes: &[Flush],
    results: &[Result<Sealed, Failure>],
) {
    let before = state.clone();
    for (flush, result) in flushes
        .iter()
        .zip(results)
        .filter(|(flush, _)| flush.session == state.session)
    {
        match result {
            Ok(sealed) => {
                state.unsealed.remove(&flush.project);
                match sealed {
                    Sealed::Done => state.unanswered.remove(&flush.project),
                    Sealed::Unanswered => state.unanswered.insert(flush.project.clone()),
                };
                state.report.sealed_at = Some(millis(std::time::SystemTime::now()));
            }
            Err(failure) => {
                context.log.line(&format!("not sealed: {failure}"));
                state.report.trouble = Some(format!("not sealed: {failure}"));
                if failure.is_rejection() {
                    state.unsealed.remove(&flush.project);
                    state.unanswered.remove(&flush.project);
                }
            }
        }
    }
    if *state != before
        && let Err(error) = store.save_session(state)
    {
        context.log.line(&format!("state not saved: {error}"));
    }
}
