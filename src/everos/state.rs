//! What is remembered between hook calls: one small file per session, replaced
//! atomically, under a lock of the session's own.
//!
//! Below the data directory: `state/<session>.json` says what was captured,
//! `recall/<session>.json` what was shown, `lock/<session>` is the lock. The
//! time of the state file is the time of the session's last sign of life.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::deadline::Deadline;
use super::identity;
use super::turn::Segment;
use crate::sys;

/// How many turns that could not be sent are remembered per session.
pub const MAX_PENDING: usize = 256;
/// How many captured turns are remembered by name.
const MAX_RECENT: usize = 200;
/// How many injected items are remembered.
const MAX_INJECTED: usize = 512;
/// How long anything is remembered.
pub const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// A state file is never larger than this.
const MAX_FILE: u64 = 4 * 1024 * 1024;
/// Pause between two attempts to take a lock.
const LOCK_PAUSE: Duration = Duration::from_millis(3);

/// What was captured of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// The session's id, as the host gave it.
    pub session: String,
    /// The project of its last hook call.
    pub project: String,
    /// Its transcript.
    pub transcript: Option<String>,
    /// Up to where the transcript has been taken over.
    pub cursor: Option<Cursor>,
    /// Until there is a cursor: the turn capture starts with.
    pub begin: Option<String>,
    /// The turn the cursor stands in.
    pub tail: Tail,
    /// The time of the last message, in milliseconds since 1970.
    pub last_at: i64,
    /// Pieces of the transcript that still have to be sent.
    pub pending: Vec<Pending>,
    /// Projects that hold messages nobody has sealed.
    pub unsealed: BTreeSet<String>,
    /// Projects whose seal was sent and never answered. Asking once more costs
    /// nothing if it was done, and saves the session if the server died over it.
    pub unanswered: BTreeSet<String>,
    /// Whether the session has ended with something left to send or to seal.
    pub ended: bool,
    /// Turns captured lately.
    pub recent: Vec<String>,
    /// What a report says about the session.
    pub report: Report,
}

/// Counts and times for a report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Turns stored.
    pub turns: u64,
    /// Messages stored.
    pub messages: u64,
    /// Credentials taken out of them.
    pub redactions: u64,
    /// Turns given up: their transcript is gone, or they were too many or too old.
    pub lost: u64,
    /// Turns the server refused for good.
    pub refused: u64,
    /// When the last turn was stored, in milliseconds since 1970.
    pub captured_at: Option<i64>,
    /// When the session was last sealed.
    pub sealed_at: Option<i64>,
    /// What went wrong last.
    pub trouble: Option<String>,
}

/// A place in a transcript.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Byte offset.
    pub at: u64,
    /// Digest of what stands before it.
    pub mark: String,
}

/// What is known of the turn a cursor stands in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tail {
    /// The turn.
    pub turn: Option<String>,
    /// Calls without a result.
    pub open: Vec<String>,
    /// Digest of the model's last words.
    pub reply: Option<String>,
}

impl From<&Segment> for Tail {
    fn from(segment: &Segment) -> Self {
        Self {
            turn: segment.turn.clone(),
            open: segment.open.clone(),
            reply: segment.reply.clone(),
        }
    }
}

impl From<Tail> for Segment {
    fn from(tail: Tail) -> Self {
        Self {
            turn: tail.turn,
            open: tail.open,
            reply: tail.reply,
            ..Self::default()
        }
    }
}

/// A piece of a transcript that has to be sent. Bytes and start fix the messages
/// exactly, so that sending it again is the same request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The turn.
    pub turn: Option<String>,
    /// The transcript.
    pub transcript: String,
    /// Where the piece starts.
    pub from: u64,
    /// Where it ends.
    pub to: Cursor,
    /// The project it belongs to.
    pub project: String,
    /// The user it belongs to.
    pub user: Option<String>,
    /// Messages are later than this.
    pub floor: i64,
    /// Calls of before whose results are in it.
    pub calls: Vec<String>,
    /// When it was noted down, in milliseconds since 1970.
    pub since: i64,
}

/// What was shown in a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recall {
    /// Recalls since the start or the last compaction.
    pub count: u64,
    /// Digests of items the model has been given.
    pub injected: Vec<String>,
    /// Warnings that were given.
    pub warned: BTreeSet<String>,
    /// Until when only keyword searches are worth trying, in milliseconds since
    /// 1970.
    pub keyword_until: i64,
}

impl Recall {
    /// Whether `warning` is new; it is not the next time.
    pub fn first(&mut self, warning: &str) -> bool {
        self.warned.insert(warning.to_owned())
    }

    /// Remembers what was injected.
    pub fn remember(&mut self, digests: impl IntoIterator<Item = String>) {
        self.injected.extend(digests);
        let surplus = self.injected.len().saturating_sub(MAX_INJECTED);
        self.injected.drain(..surplus);
    }
}

impl Session {
    /// Remembers that `turn` was taken over.
    pub fn remember(&mut self, turn: Option<&str>) {
        let Some(turn) = turn.filter(|turn| self.recent.last().map(String::as_str) != Some(turn))
        else {
            return;
        };
        self.recent.push(turn.to_owned());
        let surplus = self.recent.len().saturating_sub(MAX_RECENT);
        self.recent.drain(..surplus);
    }
}

/// The data directory's files.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

/// Why a session's state cannot be worked with.
#[derive(Debug)]
pub enum Unavailable {
    /// Another hook of the session is at work.
    Busy,
    /// The data directory cannot be used.
    Unusable(io::Error),
}

impl Store {
    /// The files below `root`; nothing is created yet.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// A path below the data directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn file(&self, kind: &str, session: &str) -> PathBuf {
        let name = identity::safe_id(session);
        self.root
            .join(kind)
            .join(if kind == "lock" { name } else { name + ".json" })
    }

    /// Takes the session's lock, waiting for it until the deadline.
    ///
    /// # Errors
    ///
    /// Fails when the lock is not free in time or cannot be had at all.
    pub fn lock(&self, session: &str, deadline: Deadline) -> Result<sys::Lock, Unavailable> {
        self.lock_file(&self.file("lock", session), deadline)
    }

    /// Takes the lock `name` that all sessions share.
    ///
    /// # Errors
    ///
    /// Fails when the lock is not free in time or cannot be had at all.
    pub fn lock_shared(&self, name: &str, deadline: Deadline) -> Result<sys::Lock, Unavailable> {
        self.lock_file(&self.root.join(name), deadline)
    }

    fn lock_file(&self, path: &Path, deadline: Deadline) -> Result<sys::Lock, Unavailable> {
        loop {
            let attempt = sys::try_lock(path).or_else(|error| {
                if error.kind() != io::ErrorKind::NotFound {
                    return Err(error);
                }
                sys::create_private_dir(path.parent().unwrap_or(&self.root))?;
                sys::try_lock(path)
            });
            match attempt {
                Ok(Some(lock)) => return Ok(lock),
                Ok(None) if deadline.sleep(LOCK_PAUSE) => {}
                Ok(None) => return Err(Unavailable::Busy),
                Err(error) => return Err(Unavailable::Unusable(error)),
            }
        }
    }

    /// The session's state; `None` if there is none that can be read.
    pub fn session(&self, session: &str) -> Option<Session> {
        self.read::<Session>(&self.file("state", session))
            .filter(|state| state.session == session)
    }

    /// What was shown in the session.
    pub fn recall(&self, session: &str) -> Recall {
        self.read(&self.file("recall", session)).unwrap_or_default()
    }

    /// Replaces the session's state.
    ///
    /// # Errors
    ///
    /// Fails when the file cannot be written; the old one is then still there.
    pub fn save_session(&self, state: &Session) -> io::Result<()> {
        self.write(&self.file("state", &state.session), state)
    }

    /// Replaces what was shown in the session.
    ///
    /// # Errors
    ///
    /// Fails when the file cannot be written.
    pub fn save_recall(&self, session: &str, recall: &Recall) -> io::Result<()> {
        self.write(&self.file("recall", session), recall)
    }

    /// Gives a sign of life: an existing state file gets the present time.
    pub fn touch(&self, session: &str) {
        if let Ok(file) =
            sys::keep_private(OpenOptions::new().append(true)).open(self.file("state", session))
        {
            let _ = file.set_modified(SystemTime::now());
        }
    }

    /// Whether files can be written to this directory.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::write`] does.
    pub fn probe(&self) -> io::Result<()> {
        let path = self.path("probe.json");
        self.write(&path, &())?;
        fs::remove_file(path)
    }

    /// Reads a file of this directory.
    pub fn read<T: DeserializeOwned>(&self, path: &Path) -> Option<T> {
        let mut bytes = Vec::new();
        sys::open_regular(path)
            .ok()?
            .take(MAX_FILE)
            .read_to_end(&mut bytes)
            .ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Replaces a file of this directory, so that readers see the old or the new
    /// content whole, whenever the process ends.
    ///
    /// # Errors
    ///
    /// Fails when the file cannot be written; the old one is then still there.
    pub fn write(&self, path: &Path, value: &impl Serialize) -> io::Result<()> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let bytes = serde_json::to_vec(value)?;
        let unique = format!(
            "{}-{}.tmp",
            std::process::id(),
            COUNTER.fetch_add(1, Ordering::Relaxed)
        );
        let temporary = path.with_extension(unique);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let create = || sys::keep_private(&mut options.clone()).open(&temporary);
        let file = create().or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(error);
            }
            sys::create_private_dir(path.parent().unwrap_or(&self.root))?;
            create()
        });
        let written = file
            .and_then(|mut file| file.write_all(&bytes))
            .and_then(|()| fs::rename(&temporary, path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// All sessions with the time of their last sign of life, oldest first.
    pub fn sessions(&self) -> Vec<(PathBuf, SystemTime)> {
        let Ok(entries) = fs::read_dir(self.root.join("state")) else {
            return Vec::new();
        };
        let mut found: Vec<_> = entries
            .flatten()
            .filter(|entry| {
                entry
                    .path()
                    .extension()
                    .is_some_and(|extension| extension == "json")
            })
            .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?.modified().ok()?)))
            .collect();
        found.sort_by_key(|(_, modified)| *modified);
        found
    }

    /// Removes what is older than [`MAX_AGE`], and leftovers of writes that were
    /// cut short.
    pub fn expire(&self, now: SystemTime) {
        for kind in ["state", "recall", "lock"] {
            let Ok(entries) = fs::read_dir(self.root.join(kind)) else {
                continue;
            };
            for entry in entries.flatten() {
                let leftover = entry
                    .path()
                    .extension()
                    .is_some_and(|extension| extension == "tmp");
                let limit = if leftover {
                    Duration::from_secs(60 * 60)
                } else {
                    MAX_AGE
                };
                let age = entry
                    .metadata()
                    .ok()
                    .and_then(|metadata| now.duration_since(metadata.modified().ok()?).ok());
                let held =
                    |path: &Path| kind == "lock" && !matches!(sys::try_lock(path), Ok(Some(_)));
                if age.is_some_and(|age| age > limit) && !held(&entry.path()) {
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }
}

/// Milliseconds since 1970.
pub fn millis(time: SystemTime) -> i64 {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
