//! Starting a program in a job object that dies with this process.

use std::io;
use std::process::Stdio;

use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use super::{Failed, Start, Status};

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
    job: Box<dyn ChildWrapper>,
}

/// Starts a program, or says why not. Needs a runtime with I/O.
///
/// The standard library hands a `.bat` or `.cmd` to the command interpreter with
/// its arguments escaped, and refuses (`InvalidInput`) those that cannot be.
///
/// # Errors
///
/// See [`Failed`].
pub async fn start(start: &Start<'_>) -> Result<Child, Failed> {
    if let Err(error) = std::fs::read_dir(start.cwd) {
        return Err(Failed::Cwd(error));
    }
    let mut command = Command::new(start.program);
    command
        .args(start.args)
        .env_clear()
        .envs(start.env)
        .current_dir(start.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut job = CommandWrap::from(command)
        .wrap(KillOnDrop)
        .wrap(JobObject)
        .spawn()
        .map_err(Failed::Program)?;
    Ok(Child {
        id: job
            .id()
            .ok_or_else(|| Failed::Program(io::ErrorKind::NotFound.into()))?,
        stdin: job.stdin().take(),
        stdout: job.stdout().take(),
        stderr: job.stderr().take(),
        job,
    })
}

impl Child {
    /// The program's process id.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Waits until the program has ended, for as long as it takes. What it started
    /// may still run. May be given up and asked again.
    pub async fn exited(&mut self) -> Status {
        match self
            .job
            .inner_mut()
            .wait()
            .await
            .map(|status| status.code())
        {
            Ok(Some(code)) => Status::Code(code),
            Ok(None) | Err(_) => Status::Unknown,
        }
    }

    /// Windows knows no way to ask a program without a window: it is ended.
    pub fn terminate(&mut self) {
        self.kill();
    }

    /// Ends the program and what it started.
    pub fn kill(&mut self) {
        // If that fails it has ended.
        let _ = self.job.start_kill();
    }

    /// There is no guard.
    pub fn wake_guard(&self) {}

    /// The same as [`Self::kill`].
    pub fn kill_without_guard(&mut self) {
        self.kill();
    }

    /// Waits until nothing runs any more; what is left is ended.
    pub async fn gone(&mut self) {
        self.exited().await;
        self.kill();
        let _ = self.job.wait().await;
    }
}
