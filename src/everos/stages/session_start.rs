//! A session starts: look for the server, start it if need be, catch up on what
//! earlier hooks missed (design document, section 6.1).

use std::fs;
use std::time::{Duration, SystemTime};

use super::super::deadline::Deadline;
use super::super::handover;
use super::super::provision::{self, Found};
use super::super::state::{Session, Store, Unavailable};
use super::super::{Call, Context, Empty, Outcome, Start};
use super::capture::{self, Take};
use super::recall::{no_user, unreachable, update};
use super::seal::{self, Flush};
use super::{SHORT_WAIT, first_sight, forgets};

/// Everything together; the host's limit is 15 seconds.
const TOTAL: Duration = Duration::from_secs(12);
/// What the search for abandoned sessions may take.
const SWEEP: Duration = Duration::from_secs(6);
/// A session untouched for so long was abandoned.
const ABANDONED: Duration = Duration::from_secs(30 * 60);
/// How many abandoned sessions one start takes care of.
const SWEEP_AT_MOST: usize = 5;

/// Runs the stage.
pub fn run(context: &Context<'_>, call: &Call, start: Start) -> Outcome {
    let deadline = Deadline::after(TOTAL);
    handover::hand_on(context);
    first_sight(context, call);
    let found = provision::ensure(context, deadline);
    let mut notes = Vec::new();
    let healthy = match &found {
        Found::Healthy(health) => {
            if context.config.verbose.value {
                let version = health.version.as_deref().unwrap_or("of unknown version");
                notes.push(format!(
                    "🧠 EverOS {version} · project {}",
                    context.identity.project
                ));
            }
            true
        }
        Found::Started(_) => {
            notes.push("⚡ EverOS started".to_owned());
            true
        }
        Found::Starting => {
            notes
                .push("⏳ EverOS starting in background — memory resumes when it is up".to_owned());
            false
        }
        Found::NotStarted(_) | Found::Unreachable(_) => false,
    };
    if start == Start::Resumed {
        resume(context, call, deadline);
    }
    if healthy && start != Start::Compacted {
        sweep(context, call, deadline.within(SWEEP));
    }
    if let Some(store) = &context.store {
        store.expire(SystemTime::now());
    }
    notes.extend(empty_calls(context));
    update(context, &call.session, |recall| {
        if forgets(start) {
            recall.count = 0;
            recall.injected.clear();
        }
        match &found {
            Found::NotStarted(reason) if recall.first("unreachable") => notes.push(format!(
                "⚠️ EverOS could not be started ({reason}); memory is off. Run {}",
                context.host.status_command()
            )),
            Found::Unreachable(failure) if recall.first("unreachable") => {
                notes.push(unreachable(context, failure))
            }
            _ => {}
        }
        if context.identity.user.is_none() && recall.first("no-user") {
            notes.push(no_user(context));
        }
        let endpoint = &context.config.base_url.value;
        if !endpoint.is_loopback() && recall.first("remote") {
            notes.push(format!("⚠️ EverOS is not on this machine: transcripts of this session are sent to {endpoint}"));
        }
    });
    if notes.is_empty() {
        Outcome::default()
    } else {
        Outcome::notice(notes.join("\n"))
    }
}

/// Takes over what the session said since its last capture: an interrupted turn
/// has no hook of its own.
fn resume(context: &Context<'_>, call: &Call, deadline: Deadline) {
    let Some(store) = &context.store else { return };
    let Ok(_lock) = store.lock(&call.session, deadline.within(SHORT_WAIT)) else {
        return;
    };
    let Some(mut state) = store.session(&call.session) else {
        return;
    };
    state.ended = false;
    state.project.clone_from(&context.identity.project);
    if call.transcript.is_some() {
        state.transcript.clone_from(&call.transcript);
    }
    capture::catch_up(
        context,
        Some(store),
        &mut state,
        Take::All,
        None,
        Deadline::after(Duration::ZERO),
        deadline,
    );
}

/// The warning that hooks were called with nothing to say, if they were.
fn empty_calls(context: &Context<'_>) -> Option<String> {
    let store = context.store.as_ref()?;
    let path = store.path(Empty::FILE);
    let empty: Empty = store.read(&path)?;
    if empty.lately < Empty::WORTH_A_WARNING {
        return None;
    }
    let _lock = store
        .lock_shared("no-payload.lock", Deadline::after(SHORT_WAIT))
        .ok()?;
    let empty: Empty = store.read(&path)?;
    let warning = format!(
        "⚠️ EverOS: {} hook calls came without a payload and remembered nothing. Run {}",
        empty.lately,
        context.host.status_command()
    );
    let _ = store.write(&path, &Empty { lately: 0, ..empty });
    Some(warning)
}

/// Completes and seals sessions that nobody ended, and those that ended while that
/// was not possible, each in the project it ran in.
fn sweep(context: &Context<'_>, call: &Call, deadline: Deadline) {
    let Some(store) = &context.store else { return };
    let now = SystemTime::now();
    let old = |time: SystemTime| now.duration_since(time).is_ok_and(|age| age >= ABANDONED);
    let mut ready = Vec::new();
    for (path, modified) in store.sessions() {
        if ready.len() == SWEEP_AT_MOST || deadline.passed() {
            break;
        }
        let Some(state) = store
            .read::<Session>(&path)
            .filter(|state| state.session != call.session)
            .filter(|state| state.ended || old(modified))
        else {
            continue;
        };
        // A turn of half an hour writes to its transcript all the time.
        let transcript = state
            .transcript
            .as_deref()
            .and_then(|path| fs::metadata(path).ok());
        if transcript
            .as_ref()
            .and_then(|metadata| metadata.modified().ok())
            .is_some_and(|modified| !state.ended && !old(modified))
        {
            continue;
        }
        let read_to = state.cursor.as_ref().map_or(u64::MAX, |cursor| cursor.at);
        let more = transcript.is_some_and(|metadata| metadata.len() > read_to);
        if !wants_sealing(&state) && state.pending.is_empty() && !more {
            continue;
        }
        match take_over(context, store, state, deadline) {
            Ok(Some(session)) => ready.push(session),
            Ok(None) => {}
            // A sick server is not to be asked over and over.
            Err(Failed) => break,
        }
    }
    // Extraction takes the server seconds: all are sent off at once.
    let flushes: Vec<Flush> = ready
        .iter()
        .flat_map(|(_, state)| seal::flushes(state, None))
        .collect();
    let results = seal::flush_all(context, &flushes, deadline.within(seal::DISPATCH));
    for (_lock, mut state) in ready {
        seal::record(context, store, &mut state, &flushes, &results);
    }
}

/// Whether a session has a buffer that nobody knows to be closed.
fn wants_sealing(state: &Session) -> bool {
    !(state.unsealed.is_empty() && state.unanswered.is_empty())
}

struct Failed;

/// Captures what an abandoned session left; with its lock, if it can be sealed.
fn take_over(
    context: &Context<'_>,
    store: &Store,
    state: Session,
    deadline: Deadline,
) -> Result<Option<(crate::sys::Lock, Session)>, Failed> {
    let lock = match store.lock(&state.session, Deadline::after(Duration::ZERO)) {
        Ok(lock) => lock,
        Err(Unavailable::Busy | Unavailable::Unusable(_)) => return Ok(None),
    };
    // It may have changed before we had the lock.
    let Some(mut state) = store.session(&state.session) else {
        return Ok(None);
    };
    let caught = capture::catch_up(
        context,
        Some(store),
        &mut state,
        Take::All,
        None,
        Deadline::after(Duration::ZERO),
        deadline,
    );
    if !caught.recorded || !state.pending.is_empty() {
        return Err(Failed);
    }
    Ok(wants_sealing(&state).then_some((lock, state)))
}
