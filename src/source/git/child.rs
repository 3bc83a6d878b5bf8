//! Programs of the user's system that take part in a fetch: run so that none can
//! hold it up for ever.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::super::{Environment, Stop};
use crate::secret;

/// How often the wish to stop is looked at.
const TICK: Duration = Duration::from_millis(50);
/// How long a program may take to end once nothing is asked of it any more.
const GRACE: Duration = Duration::from_secs(1);
/// How much is written at a time, in bytes: each such piece shows that the program
/// still reads.
const PIECE: usize = 4096;
/// What is kept of the errors a program writes, in bytes.
const KEPT: usize = 4096;
/// The most of them that is told, in characters.
const TOLD: usize = 400;

/// A running program. It is ended when this is dropped.
pub(super) struct Running {
    child: Child,
    input: Option<Input>,
    output: Receiver<io::Result<Vec<u8>>>,
    current: Vec<u8>,
    at: usize,
    errors: Arc<Mutex<Vec<u8>>>,
    errors_end: Receiver<()>,
    stop: Stop,
    patience: Duration,
}

/// The way into a program. A thread writes, as a program that does not read holds
/// up whoever does.
struct Input {
    pieces: SyncSender<Vec<u8>>,
    written: Receiver<io::Result<()>>,
}

/// Why nothing more is read from a program, or written to it.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The user wants to stop.
    Stopped,
    /// It has written nothing, or read nothing, for too long.
    Silent,
    /// The pipe broke.
    Broken(io::Error),
}

/// A command with the user's environment, which is handed in, and no other.
pub(super) fn command(program: &str, environment: &Environment) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(&environment.variables);
    if !environment.directory.as_os_str().is_empty() {
        command.current_dir(&environment.directory);
    }
    command
}

impl Running {
    pub(super) fn start(
        command: &mut Command,
        stop: &Stop,
        patience: Duration,
    ) -> io::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().map(|mut to| {
            let (pieces, next) = sync_channel::<Vec<u8>>(1);
            let (done, written) = sync_channel(1);
            thread::spawn(move || {
                // It ends when either side is gone.
                while let Ok(piece) = next.recv() {
                    let result = to.write_all(&piece).and_then(|()| to.flush());
                    if done.send(result).is_err() {
                        return;
                    }
                }
            });
            Input { pieces, written }
        });
        // Few, so that a program cannot write faster than is read.
        let (send, output) = sync_channel(4);
        if let Some(mut from) = child.stdout.take() {
            thread::spawn(move || {
                let mut buffer = vec![0; 64 << 10];
                loop {
                    let piece = match from.read(&mut buffer) {
                        Ok(0) => return,
                        Ok(count) => Ok(buffer.get(..count).unwrap_or_default().to_vec()),
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                        Err(error) => Err(error),
                    };
                    let last = piece.is_err();
                    if send.send(piece).is_err() || last {
                        return;
                    }
                }
            });
        }
        let errors = Arc::new(Mutex::new(Vec::new()));
        let (end, errors_end) = sync_channel(1);
        if let Some(mut from) = child.stderr.take() {
            let errors = Arc::clone(&errors);
            thread::spawn(move || {
                let mut buffer = [0; 1024];
                loop {
                    let count = match from.read(&mut buffer) {
                        Ok(count @ 1..) => count,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                        Ok(0) | Err(_) => break,
                    };
                    let mut kept = errors.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.extend_from_slice(buffer.get(..count).unwrap_or_default());
                    let surplus = kept.len().saturating_sub(KEPT);
                    kept.drain(..surplus);
                }
                let _ = end.send(());
            });
        }
        Ok(Self {
            child,
            input,
            output,
            current: Vec::new(),
            at: 0,
            errors,
            errors_end,
            stop: stop.clone(),
            patience,
        })
    }

    /// Writes, as long as the program reads and nobody wants to stop.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        let gone = || Trouble::Broken(io::ErrorKind::BrokenPipe.into());
        let input = self.input.as_ref().ok_or_else(gone)?;
        for piece in bytes.chunks(PIECE) {
            input.pieces.send(piece.to_vec()).map_err(|_| gone())?;
            let since = Instant::now();
            loop {
                if self.stop.is_requested() {
                    return Err(Trouble::Stopped);
                }
                match input.written.recv_timeout(TICK) {
                    Ok(result) => break result.map_err(Trouble::Broken)?,
                    Err(RecvTimeoutError::Disconnected) => return Err(gone()),
                    Err(RecvTimeoutError::Timeout) if since.elapsed() > self.patience => {
                        return Err(Trouble::Silent);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        }
        Ok(())
    }

    /// Says that nothing more will be written.
    pub(super) fn close_input(&mut self) {
        self.input = None;
    }

    /// Reads what the program writes next; 0 at its end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Trouble> {
        let since = Instant::now();
        while self.at == self.current.len() {
            if self.stop.is_requested() {
                return Err(Trouble::Stopped);
            }
            match self.output.recv_timeout(TICK) {
                Ok(Ok(piece)) => {
                    self.current = piece;
                    self.at = 0;
                }
                Ok(Err(error)) => return Err(Trouble::Broken(error)),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) if since.elapsed() > self.patience => {
                    return Err(Trouble::Silent);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        let waiting = self.current.get(self.at..).unwrap_or_default();
        let count = waiting.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), waiting.get(..count)) {
            to.copy_from_slice(from);
        }
        self.at += count;
        Ok(count)
    }

    /// Ends the program, gently first, and tells what it wrote about errors, in
    /// one short line.
    pub(super) fn end(&mut self) -> String {
        self.input = None;
        let until = Instant::now() + GRACE;
        while !self.stop.is_requested() && Instant::now() < until {
            match self.child.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(5)),
                _ => break,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Something it started may still hold the pipe open.
        let _ = self.errors_end.recv_timeout(Duration::from_millis(200));
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&errors);
        let whole = match errors.len() {
            // The first word may be the end of an address.
            KEPT.. => text.split_once(char::is_whitespace),
            _ => None,
        };
        shortened(whole.map_or(&text, |(_, whole)| whole))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last lines of a text in one, without decoration and control characters.
pub(super) fn shortened(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("@@") && !line.starts_with("** "))
        .collect();
    let last = lines.len().saturating_sub(4);
    let line = lines
        .get(last..)
        .unwrap_or_default()
        .join("; ")
        .replace(char::is_control, " ");
    secret::cut(&line, TOLD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_short_and_plain() {
        let banner = "@@@@\n** WARNING: x\na\nb\nc\x1b[1m\n\nd\r\ne\n";
        assert_eq!(shortened(banner), "b; c [1m; d; e");
        assert_eq!(shortened(&"x".repeat(1000)).len(), 400);
        let address = format!("{} https://me:S3CRETPW@host/", "x".repeat(380));
        assert_eq!(shortened(&address), format!("{} …", "x".repeat(380)));
    }
}
