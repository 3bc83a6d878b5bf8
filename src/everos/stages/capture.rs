//! After a turn: store it (design document, section 6.3), and with it whatever
//! earlier hooks of the session missed.
//!
//! What is new in the transcript is first noted down as pieces to send, in one
//! atomic write of the session's state, and only then sent. A piece names bytes
//! and the time to start from, so sending it again is the same request to the
//! letter, which the server ignores as long as the session was not sealed; and
//! nothing is sealed while pieces are left. So whenever this process dies,
//! nothing the transcript holds is lost, and nothing is stored twice.

use std::io;
use std::time::{Duration, SystemTime};

use super::super::client::{Buffer, MAX_MESSAGES};
use super::super::deadline::Deadline;
use super::super::http::Failure;
use super::super::identity::{self, Identity};
use super::super::message::{Mapper, Message, Start};
use super::super::redact::Redactor;
use super::super::state::{
    Cursor, MAX_AGE, MAX_PENDING, Pending, Session, Store, Unavailable, millis,
};
use super::super::text::Text;
use super::super::turn::{Scan, Segment, Transcript};
use super::super::{Call, Context, Outcome};

/// Everything together. A hook that overruns can cost the session its end, and
/// what is not sent now is sent later.
const TOTAL: Duration = Duration::from_secs(5);
/// How long the last lines of a turn may take to reach the disk.
const LAG: Duration = Duration::from_secs(2);
/// How long its file may take to appear. A session that keeps none names one too.
const FILE_LAG: Duration = Duration::from_millis(500);
/// First and longest pause between two looks.
const PAUSE: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(50));
/// A batch is sent when it has grown to this, in bytes.
const BATCH_BYTES: usize = 2 * 1024 * 1024;
/// How often progress is saved while many pieces are sent.
const SAVE_EVERY: usize = 16;

/// How much of what is new is taken.
#[derive(Debug, Clone, Copy)]
pub enum Take<'a> {
    /// Up to and with this turn, which has ended; the next may have begun.
    Through(Option<&'a str>),
    /// What comes before this turn, which is still going on.
    Before(Option<&'a str>),
    /// Everything.
    All,
}

/// Runs the stage.
pub fn run(context: &Context<'_>, call: &Call, last_reply: Option<&Text>) -> Outcome {
    let deadline = Deadline::after(TOTAL);
    if call.transcript.is_none() {
        context.log.line("no transcript named");
    }
    let fresh = || Session {
        session: call.session.clone(),
        begin: call.turn.clone(),
        ..Session::default()
    };
    let (store, _lock, mut state) = match context
        .store
        .as_ref()
        .map(|store| (store, store.lock(&call.session, deadline)))
    {
        Some((store, Ok(lock))) => (
            Some(store),
            Some(lock),
            store.session(&call.session).unwrap_or_else(fresh),
        ),
        Some((_, Err(Unavailable::Busy))) => {
            context.log.line("another hook of this session is at work");
            return Outcome::default();
        }
        Some((_, Err(Unavailable::Unusable(error)))) => {
            context.log.line(&format!("no state: {error}"));
            (None, None, fresh())
        }
        None => (None, None, fresh()),
    };
    state.ended = false;
    state.project.clone_from(&context.identity.project);
    if call.transcript.is_some() {
        state.transcript.clone_from(&call.transcript);
    }
    if state.cursor.is_none() && state.begin.is_none() {
        state.begin.clone_from(&call.turn);
    }
    let Caught { sent, .. } = catch_up(
        context,
        store,
        &mut state,
        Take::Through(call.turn.as_deref()),
        last_reply,
        deadline.within(LAG),
        deadline,
    );
    context.log.line(&format!(
        "{sent} messages stored, {} pieces left",
        state.pending.len()
    ));
    if context.config.verbose.value && sent > 0 {
        return Outcome::notice(format!("💾 EverOS: saved {sent} messages"));
    }
    Outcome::default()
}

/// What [`catch_up`] did.
#[derive(Debug, Clone, Copy)]
pub struct Caught {
    /// The number of messages stored.
    pub sent: u64,
    /// Whether the session's file tells of all that was sent. If not, a later
    /// hook sends it again, which is harmless only until the session is sealed.
    pub recorded: bool,
}

/// Takes over what is new in the session's transcript and sends it, with what
/// is left from before. `wait` is how long to wait for the end of the turn.
pub fn catch_up(
    context: &Context<'_>,
    store: Option<&Store>,
    state: &mut Session,
    take: Take<'_>,
    last_reply: Option<&Text>,
    wait: Deadline,
    deadline: Deadline,
) -> Caught {
    let before = state.clone();
    expire(state);
    let left = state.pending.len();
    let noted = note_down(context, state, take, last_reply, wait, deadline);
    if let Err(error) = noted {
        context.log.line(&format!("transcript: {error}"));
        state.report.trouble = Some(format!("transcript: {}", error.kind()));
    }
    let journal = match store {
        Some(store) if *state != before => store.save_session(state),
        Some(_) => Ok(()),
        None => Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    if let Err(error) = &journal {
        // Without a journal a piece sent now could be sent again by a later
        // hook. The turn at hand is the one that no later hook takes for new.
        context.log.line(&format!("state not saved: {error}"));
        let current = match take {
            Take::Through(turn) => turn,
            Take::Before(_) | Take::All => None,
        };
        let mut at = 0;
        state.pending.retain(|piece| {
            at += 1;
            at > left && current.is_some() && piece.turn.as_deref() == current
        });
    }
    let after_noting = state.clone();
    let sent = send_pieces(context, store.filter(|_| journal.is_ok()), state, deadline);
    if let Some(store) = store.filter(|_| journal.is_ok() && *state != after_noting)
        && let Err(error) = store.save_session(state)
    {
        context.log.line(&format!("state not saved: {error}"));
    }
    Caught {
        sent,
        recorded: journal.is_ok(),
    }
}

/// Gives up pieces that are too old.
fn expire(state: &mut Session) {
    let oldest = millis(SystemTime::now()) - i64::try_from(MAX_AGE.as_millis()).unwrap_or(i64::MAX);
    let before = state.pending.len();
    state.pending.retain(|piece| piece.since >= oldest);
    state.report.lost += (before - state.pending.len()) as u64;
}

/// Finds what is new and turns it into pieces to send; moves the cursor.
fn note_down(
    context: &Context<'_>,
    state: &mut Session,
    take: Take<'_>,
    last_reply: Option<&Text>,
    wait: Deadline,
    deadline: Deadline,
) -> io::Result<()> {
    let Some(path) = state.transcript.clone() else {
        return Ok(());
    };
    let turn = match take {
        Take::Through(turn) | Take::Before(turn) => turn,
        Take::All => None,
    };
    let mut scan = None;
    let mut pause = PAUSE.0;
    let appears = Deadline::after(FILE_LAG);
    let mut transcript = loop {
        let opened = context.host.transcript(path.as_ref());
        if let Ok(mut transcript) = opened {
            let transcript = transcript.as_mut();
            let scan = match &mut scan {
                Some(scan) => scan,
                None => scan.insert(start(context, state, turn, transcript, deadline)?),
            };
            // Whatever was found in time is taken; the rest is for the next hook.
            scan.advance(transcript, deadline.earlier())?;
        }
        let finished = scan
            .as_ref()
            .is_some_and(|scan| scan.finished(turn, last_reply));
        let missing = scan.is_none() && appears.passed();
        let waits = !matches!(take, Take::Before(_)) && !finished && !missing;
        if waits && wait.sleep(pause) {
            pause = (pause * 2).min(PAUSE.1);
            continue;
        }
        break context.host.transcript(path.as_ref())?;
    };
    let Some(scan) = scan else { return Ok(()) };
    if scan.known == 0 && scan.foreign > 0 {
        state.report.trouble = Some("transcript has an unknown shape".to_owned());
        context.log.line("transcript has an unknown shape");
    }
    let count = taken(&scan, take);
    let first = first_own(&scan, state, turn);
    for (index, segment) in scan.segments.iter().enumerate().take(count).skip(first) {
        if deadline.passed() {
            break;
        }
        // Results may follow whose calls were taken over before.
        let calls = if index == 0 {
            std::mem::take(&mut state.tail.open)
        } else {
            Vec::new()
        };
        note_segment(context, state, segment, calls, &path, transcript.as_mut())?;
    }
    Ok(())
}

/// Where to read from: the cursor; or, at the first look and when the file is
/// not the one that was read before, the turn at hand.
fn start(
    context: &Context<'_>,
    state: &mut Session,
    turn: Option<&str>,
    transcript: &mut dyn Transcript,
    deadline: Deadline,
) -> io::Result<Scan> {
    if let Some(cursor) = &state.cursor {
        if transcript.mark(cursor.at)?.as_ref() == Some(&cursor.mark) {
            return Ok(Scan::new(cursor.at, state.tail.clone().into()));
        }
        context
            .log
            .line("the transcript is not the one that was read before");
        state.cursor = None;
        state.tail = Default::default();
        // What was captured once is not captured again from the new file.
        let new = turn.filter(|turn| !state.recent.iter().any(|recent| recent == turn));
        state.begin = new.map(str::to_owned);
        if new.is_none() {
            return Ok(Scan::new(transcript.end()?, Segment::default()));
        }
    }
    let begin = state.begin.clone();
    let mut at = None;
    if let Some(begin) = begin.as_deref() {
        at = transcript.turn_start(Some(begin), deadline)?;
    }
    if at.is_none() && begin.as_deref() != turn {
        at = transcript.turn_start(turn, deadline)?;
    } else if at.is_none() && turn.is_none() {
        at = transcript.turn_start(None, deadline)?;
    }
    // The turn is not on disk yet: everything that is there is older.
    let at = match at {
        Some(at) => at,
        None => transcript.end()?,
    };
    Ok(Scan::new(at, Segment::default()))
}

/// The first segment that is this session's own: at the first look, that of the
/// turn it was first seen in. A fork begins its file with what was said before,
/// and may still be writing that when the file is read.
fn first_own(scan: &Scan, state: &Session, turn: Option<&str>) -> usize {
    if state.cursor.is_some() {
        return 0;
    }
    [state.begin.as_deref(), turn]
        .into_iter()
        .flatten()
        .find_map(|wanted| {
            let named = |segment: &Segment| segment.turn.as_deref() == Some(wanted);
            scan.segments.iter().position(named)
        })
        .unwrap_or(0)
}

/// How many of the segments are taken.
fn taken(scan: &Scan, take: Take<'_>) -> usize {
    let all = scan.segments.len();
    let mut turns = scan.segments.iter().map(|segment| segment.turn.as_deref());
    match take {
        Take::All | Take::Through(None) | Take::Before(None) => all,
        // A turn that is not there yet comes after all that is.
        Take::Through(turn) => turns
            .rposition(|named| named == turn)
            .map_or(all, |last| last + 1),
        Take::Before(turn) => turns.position(|named| named == turn).unwrap_or(all),
    }
}

/// Takes one segment over: a piece to send if it holds any message, and the
/// cursor behind it.
fn note_segment(
    context: &Context<'_>,
    state: &mut Session,
    segment: &Segment,
    calls: Vec<String>,
    path: &str,
    transcript: &mut dyn Transcript,
) -> io::Result<()> {
    let to = Cursor {
        at: segment.to,
        mark: transcript.mark(segment.to)?.unwrap_or_default(),
    };
    if segment.spoken {
        let piece = Pending {
            turn: segment.turn.clone(),
            transcript: path.to_owned(),
            from: segment.from,
            to: to.clone(),
            project: state.project.clone(),
            user: context.identity.user.clone(),
            floor: state.last_at.max(segment.first_at.unwrap_or(1) - 1),
            calls,
            since: millis(SystemTime::now()),
        };
        // A dry run tells the time of its last message, from which the next
        // piece starts.
        let identity = identity_of(context, &piece);
        let (last_at, count) = map(
            &piece,
            &identity,
            &mut Redactor::new(false),
            transcript,
            &mut |_| {},
        )?;
        if count > 0 {
            state.last_at = last_at;
            state.pending.push(piece);
            if state.pending.len() > MAX_PENDING {
                state.pending.remove(0);
                state.report.lost += 1;
            }
        }
    }
    state.tail = segment.into();
    state.remember(segment.turn.as_deref().filter(|_| segment.spoken));
    state.cursor = Some(to);
    state.begin = None;
    Ok(())
}

/// The ids a piece was noted down under.
fn identity_of(context: &Context<'_>, piece: &Pending) -> Identity {
    Identity {
        project: piece.project.clone(),
        user: piece.user.clone(),
        ..context.identity.clone()
    }
}

/// Maps a piece of a transcript to messages; the time of the last and how many.
fn map(
    piece: &Pending,
    identity: &Identity,
    redactor: &mut Redactor,
    transcript: &mut dyn Transcript,
    sink: &mut dyn FnMut(Message),
) -> io::Result<(i64, u64)> {
    let start = Start {
        floor: piece.floor,
        calls: piece.calls.clone(),
    };
    let mut mapper = Mapper::new(identity, redactor, &start, sink);
    transcript.read(piece.from, piece.to.at, &mut |entry| {
        mapper.entry(entry);
        true
    })?;
    Ok(mapper.finish())
}

/// Sends pieces in order until one fails; the number of messages stored.
fn send_pieces(
    context: &Context<'_>,
    store: Option<&Store>,
    state: &mut Session,
    deadline: Deadline,
) -> u64 {
    let mut stored = 0;
    let mut since_save = 0;
    while let Some(piece) = state.pending.first().cloned() {
        if deadline.passed() {
            break;
        }
        match send_piece(context, &state.session, &piece, deadline) {
            Ok(Sent::Stored {
                messages,
                redactions,
            }) => {
                stored += messages;
                state.report.messages += messages;
                state.report.redactions += redactions;
                state.report.turns += 1;
                state.report.captured_at = Some(millis(SystemTime::now()));
                state.report.trouble = None;
                state.unsealed.insert(piece.project);
            }
            Ok(Sent::Gone) => {
                context.log.line("a turn is lost: its transcript is gone");
                state.report.lost += 1;
            }
            Err(failure) if failure.is_rejection() => {
                context.log.line(&format!("a turn was refused: {failure}"));
                state.report.refused += 1;
                state.report.trouble = Some(format!("refused: {failure}"));
            }
            Err(failure) => {
                context.log.line(&format!("not stored: {failure}"));
                state.report.trouble = Some(format!("not stored: {failure}"));
                // It may have arrived all the same; then it wants sealing even
                // if it can never be sent again.
                if !matches!(failure, Failure::Unreachable(_)) {
                    state.unsealed.insert(piece.project);
                }
                break;
            }
        }
        state.pending.remove(0);
        since_save += 1;
        if since_save == SAVE_EVERY {
            since_save = 0;
            if let Some(store) = store {
                let _ = store.save_session(state);
            }
        }
    }
    stored
}

enum Sent {
    Stored {
        messages: u64,
        redactions: u64,
    },
    /// The transcript does not hold it any more.
    Gone,
}

fn send_piece(
    context: &Context<'_>,
    session: &str,
    piece: &Pending,
    deadline: Deadline,
) -> Result<Sent, Failure> {
    let Ok(mut transcript) = context.host.transcript(piece.transcript.as_ref()) else {
        return Ok(Sent::Gone);
    };
    let transcript = transcript.as_mut();
    if !matches!(transcript.mark(piece.to.at), Ok(Some(mark)) if mark == piece.to.mark) {
        return Ok(Sent::Gone);
    }
    let identity = identity_of(context, piece);
    let buffer = Buffer {
        session_id: identity::session_id(session),
        app_id: identity.app,
        project_id: &identity.project,
    };
    let client = context.client();
    let mut batch: Vec<Message> = Vec::new();
    let mut weight = 0;
    let mut failed = None;
    let flush = |batch: &mut Vec<Message>, failed: &mut Option<Failure>| {
        if failed.is_none() && !batch.is_empty() {
            *failed = client.add(buffer, batch, deadline).err();
        }
        batch.clear();
    };
    let mut redactor = Redactor::new(context.config.redact.value);
    let mapped = map(
        piece,
        &identity,
        &mut redactor,
        transcript,
        &mut |message| {
            if failed.is_some() {
                return;
            }
            // The borders depend on the messages alone, so they are the same again.
            if batch.len() == MAX_MESSAGES || weight > BATCH_BYTES {
                flush(&mut batch, &mut failed);
                weight = 0;
            }
            weight += message.weight();
            batch.push(message);
        },
    );
    let Ok((_, messages)) = mapped else {
        return Ok(Sent::Gone);
    };
    flush(&mut batch, &mut failed);
    match failed {
        Some(failure) => Err(failure),
        None => Ok(Sent::Stored {
            messages,
            redactions: redactor.count,
        }),
    }
}
