//! Programs of the user that print a credential.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::super::plan;
use super::super::stdio::Listener;
use super::value::LONGEST;
use crate::sys::child::{self, Failed, Start, Status};

/// The longest piece of a line that a listener gets at once, in bytes.
const PIECE: usize = 4 << 10;
/// How long its output is waited for after the end: another process, such as the agent of a
/// keyring that it has started, may hold it open. What was written before is there at once.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How programs that print credentials are run. Each has a guard as servers have
/// ([`crate::sys::child`]): when it is given up or this process ends, it ends with
/// all it started. What it started goes on when it has ended by itself, as the agent
/// of a keyring does.
#[derive(Clone)]
pub struct Helpers {
    /// The absolute path of the apkit program, which is the guard.
    pub guard: PathBuf,
    /// How long everything that one server is given may take together.
    pub limit: Duration,
    /// Hears each line of standard error. It must not block.
    pub listener: Listener,
}

impl fmt::Debug for Helpers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Helpers")
            .field("guard", &self.guard)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

/// What a helper prints, unless it has not ended by then. No shell sees the command; it
/// has nothing to read, as our standard input may be a host's, and no terminal.
pub(super) async fn run(
    command: &[String],
    environment: &BTreeMap<OsString, OsString>,
    helpers: &Helpers,
    until: Instant,
) -> Result<Vec<u8>, String> {
    let late = |_| {
        format!(
            "gave no answer within {} s; --timeout gives it more time",
            helpers.limit.as_secs_f32()
        )
    };
    let printed = timeout_at(until, print(command, environment, helpers));
    printed.await.map_err(late)?
}

async fn print(
    command: &[String],
    environment: &BTreeMap<OsString, OsString>,
    helpers: &Helpers,
) -> Result<Vec<u8>, String> {
    let (program, args) = command
        .split_first()
        .ok_or_else(|| "is not named".to_owned())?;
    let refused = |why: &dyn fmt::Display| format!("cannot be started: {why}");
    let program = find(program, environment).map_err(|why| refused(&why))?;
    let cwd = std::env::current_dir().map_err(|error| refused(&error))?;
    let start = Start {
        program: &program,
        args,
        env: environment,
        cwd: &cwd,
        guard: &helpers.guard,
        leave: true,
    };
    let mut child = child::start(&start).await.map_err(|failed| match failed {
        Failed::Program(error) | Failed::Cwd(error) | Failed::Guard(error) => refused(&error),
    })?;
    drop(child.stdin.take());
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err("gives nothing".to_owned());
    };
    // Ends with this, whoever holds standard error.
    let mut words = JoinSet::new();
    words.spawn(hear(stderr, helpers.listener.clone()));
    let mut bytes = Vec::new();
    let unreadable = |error| format!("cannot be read: {error}");
    let ended = {
        let mut reading = pin!(read(stdout, &mut bytes));
        tokio::select! {
            biased;
            read = &mut reading => {
                read.map_err(unreadable)?;
                None
            }
            status = child.exited() => {
                let until = Instant::now() + LAST_WORDS;
                if let Ok(read) = timeout_at(until, reading).await {
                    read.map_err(unreadable)?;
                }
                Some((status, until))
            }
        }
    };
    if bytes.len() as u64 > LONGEST {
        // It may have more, and is ended.
        return Ok(bytes);
    }
    let (status, until) = match ended {
        Some(ended) => ended,
        None => (child.exited().await, Instant::now() + LAST_WORDS),
    };
    let _ = timeout_at(until, words.join_next()).await;
    match status {
        Status::Code(0) => Ok(bytes),
        Status::Code(code) => Err(format!("failed with status {code}")),
        Status::Signal(signal) => Err(format!("was ended by signal {signal}")),
        Status::Unknown => Err("was ended".to_owned()),
    }
}

/// Reads up to the longest value and a little more. What was read is in `bytes` also when
/// this is given up.
async fn read(stdout: impl AsyncRead + Unpin, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut stdout = stdout.take(LONGEST + 1);
    while stdout.read_buf(bytes).await? > 0 {}
    Ok(())
}

/// A path is one from our working directory, and a name is searched for.
fn find(program: &str, environment: &BTreeMap<OsString, OsString>) -> Result<PathBuf, String> {
    if program.contains(std::path::is_separator) {
        return std::path::absolute(Path::new(program)).map_err(|error| error.to_string());
    }
    plan::find_program(program, environment)
}

/// Hands on each line.
async fn hear(stderr: impl AsyncRead + Unpin, listener: Listener) {
    let mut stderr = BufReader::with_capacity(PIECE, stderr);
    let mut line = Vec::new();
    let tell = |line: &mut Vec<u8>| {
        listener(String::from_utf8_lossy(line).trim_end_matches(['\n', '\r']));
        line.clear();
    };
    while let Ok(chunk @ [_, ..]) = stderr.fill_buf().await {
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(chunk.len(), |end| end + 1);
        line.extend_from_slice(chunk.get(..taken).unwrap_or_default());
        stderr.consume(taken);
        if end.is_some() || line.len() >= PIECE {
            tell(&mut line);
        }
    }
    if !line.is_empty() {
        tell(&mut line);
    }
}
