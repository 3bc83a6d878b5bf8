//! The real program, run with a scrubbed environment and a time limit.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::case::Options;

/// Long enough for a busy machine, short enough to notice that the program
/// waits for the other end of a FIFO.
const PATIENCE: Duration = Duration::from_secs(120);

/// How to start the program so that permission bits mean something.
#[derive(Debug)]
pub(super) struct Program {
    /// The user to become; `None` if this one will do or nothing better is possible.
    user: Option<u32>,
    non_root: bool,
}

/// What one run gave.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Program {
    /// Finds out who runs the tests. Root is not stopped by permission bits, so
    /// the program then runs as a user without rights, if it can.
    pub(super) fn find() -> Self {
        let own = |user, non_root| Self { user, non_root };
        if !is_root() {
            return own(None, true);
        }
        let other = own(Some(65534), true);
        let started = other
            .command()
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        match started {
            Ok(status) if status.success() => other,
            _ => own(None, false),
        }
    }

    /// Whether permission bits stop the program.
    pub(super) fn non_root(&self) -> bool {
        self.non_root
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apkit"));
        command.env_clear().stdin(Stdio::null());
        #[cfg(unix)]
        if let Some(user) = self.user {
            use std::os::unix::process::CommandExt;
            command.uid(user).gid(user);
        }
        command
    }

    /// Validates `paths`, which are relative to `directory`; outputs go to files
    /// in `directory`.
    pub(super) fn validate<'p>(
        &self,
        directory: &Path,
        options: &Options,
        paths: impl IntoIterator<Item = &'p PathBuf>,
    ) -> Output {
        static RUN: AtomicUsize = AtomicUsize::new(0);
        let run = RUN.fetch_add(1, Ordering::Relaxed);
        let place = |what: &str| directory.join(format!("{run}.{what}"));
        let open = |what| File::create(place(what)).expect("a file in an own directory");
        let mut command = self.command();
        command
            .current_dir(directory)
            .args(["validate", "--format", "json"])
            .args(&options.args)
            .stdout(open("stdout"))
            .stderr(open("stderr"));
        if let Some(draft) = &options.spec_draft {
            command.args(["--spec-draft", draft]);
        }
        let mut child = command
            .arg("--")
            .args(paths)
            .spawn()
            .expect("the program starts");
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("an own child") {
                break status;
            }
            if begin.elapsed() > PATIENCE {
                child.kill().expect("an own child");
                panic!("{command:?} does not end");
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let read = |what| {
            let bytes = std::fs::read(place(what)).expect("an own file");
            String::from_utf8(bytes).expect("what the program writes is UTF-8")
        };
        Output {
            status,
            stdout: read("stdout"),
            stderr: read("stderr"),
        }
    }
}

#[cfg(unix)]
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    let file = tempfile::tempfile().expect("a temporary file");
    file.metadata().expect("an own file").uid() == 0
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}
