//! Starting a program through the guard.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream as Pair;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use super::tree;
use super::wire::{self, Report};
use super::{Failed, GUARD, Start, Status};

/// A program that was started. It ends when this value goes away, and everything
/// it started with it.
#[derive(Debug)]
pub struct Child {
    id: u32,
    /// Its standard input.
    pub stdin: Option<ChildStdin>,
    /// Its standard output.
    pub stdout: Option<ChildStdout>,
    /// Its standard error.
    pub stderr: Option<ChildStderr>,
    guard: tokio::process::Child,
    control: UnixStream,
    heard: [u8; wire::REPORT],
    filled: usize,
    ended: Option<Status>,
}

/// Starts a program, or says why not. Needs a runtime with I/O.
///
/// # Errors
///
/// See [`Failed`].
pub async fn start(start: &Start<'_>) -> Result<Child, Failed> {
    let request = wire::encode(start).map_err(Failed::Program)?;
    let (guard, control) = spawn_guard(start.guard.as_os_str()).map_err(Failed::Guard)?;
    let mut child = Child {
        id: 0,
        stdin: None,
        stdout: None,
        stderr: None,
        guard,
        control,
        heard: [0; wire::REPORT],
        filled: 0,
        ended: None,
    };
    let told = child.control.write_all(&request).await;
    match told.and(child.hear().await).map_err(Failed::Guard)? {
        Some(Report::Started(id)) => {
            child.id = id.cast_unsigned();
            child.stdin = child.guard.stdin.take();
            child.stdout = child.guard.stdout.take();
            child.stderr = child.guard.stderr.take();
            Ok(child)
        }
        report => {
            // It ends by itself now.
            let _ = child.guard.wait().await;
            Err(match report {
                Some(Report::NoCwd(error)) => Failed::Cwd(io::Error::from_raw_os_error(error)),
                Some(Report::NoProgram(error)) => {
                    Failed::Program(io::Error::from_raw_os_error(error))
                }
                _ => Failed::Guard(io::ErrorKind::UnexpectedEof.into()),
            })
        }
    }
}

fn spawn_guard(program: &OsStr) -> io::Result<(tokio::process::Child, UnixStream)> {
    let (ours, theirs) = Pair::pair()?;
    ours.set_nonblocking(true)?;
    let descriptor = theirs.as_raw_fd();
    let mut command = std::process::Command::new(program);
    command
        .arg0(env!("CARGO_PKG_NAME"))
        .arg(GUARD)
        .arg(descriptor.to_string())
        // What the package sets could change how the guard itself runs.
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[expect(
        unsafe_code,
        reason = "two system calls, on a flag of the child and on a descriptor that is open until it \
                  was started"
    )]
    unsafe {
        command.pre_exec(move || {
            // A guard that the program has stopped runs on when this process is killed.
            // Bound to the thread that forks; that its end comes earlier does no harm.
            #[cfg(target_os = "linux")]
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGCONT);
            // In the new process alone: no other child of this one is to have it.
            match libc::fcntl(descriptor, libc::F_SETFD, 0) {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            }
        });
    }
    let guard = Command::from(command).spawn()?;
    Ok((guard, UnixStream::from_std(ours)?))
}

impl Child {
    /// The program's process id.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Waits until the program has ended, for as long as it takes. What it started
    /// may still run, and is being ended. May be given up and asked again.
    pub async fn exited(&mut self) -> Status {
        while self.ended.is_none() {
            match self.hear().await {
                Ok(Some(Report::Exited(status))) => self.ended = Some(status),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => self.ended = Some(Status::Unknown),
            }
        }
        self.ended.unwrap_or(Status::Unknown)
    }

    /// Asks the program and what it started to end.
    pub fn terminate(&mut self) {
        // If that fails the guard is gone, and the program with it.
        let _ = self.control.try_write(&[wire::TERMINATE]);
        self.wake_guard();
    }

    /// Ends the program and what it started.
    pub fn kill(&mut self) {
        let _ = self.control.try_write(&[wire::KILL]);
        self.wake_guard();
    }

    /// Ends a program that [`Self::kill`] has not ended in good time: it keeps its guard
    /// stopped.
    pub fn kill_without_guard(&mut self) {
        // The guard has not said that it ended, and does not reap it before.
        if self.ended.is_none() {
            tree::end_group(self.id.cast_signed());
        }
        self.wake_guard();
    }

    /// Lets the guard run on if the program has stopped it.
    pub fn wake_guard(&self) {
        // It is our own child and there until it is waited for.
        if let Some(guard) = self.guard.id() {
            tree::wake(guard.cast_signed());
        }
    }

    /// Waits until nothing runs any more.
    pub async fn gone(&mut self) {
        self.exited().await;
        while let Ok(Some(_)) = self.hear().await {}
        let ended = self.guard.wait().await;
        if !ended.is_ok_and(|status| status.success()) {
            // The guard was ended itself and has cleared nothing away. As long as
            // anything is left of the group, its id is nobody else's.
            tree::end_group(self.id.cast_signed());
        }
    }

    /// What the guard says next; `None` when it has ended.
    async fn hear(&mut self) -> io::Result<Option<Report>> {
        // Bytes are kept here and not in the future, which may be dropped.
        while let Some(rest @ [_, ..]) = self.heard.get_mut(self.filled..) {
            match self.control.read(rest).await? {
                0 => return Ok(None),
                count => self.filled += count,
            }
        }
        self.filled = 0;
        Report::decode(self.heard).map(Some)
    }
}
