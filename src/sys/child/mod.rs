//! Child processes that end with this one, however it ends, and take all they
//! started along.
//!
//! On Unix a second process of this program stands between: the guard
//! ([`guard()`]). It starts the program asked for, in a process group of its own,
//! and holds one end of a socket. When the other end goes away without a word,
//! this process was killed, and the guard ends what it started. On Linux, what
//! left the group is found too: it becomes the guard's child when its parent
//! dies (`PR_SET_CHILD_SUBREAPER`). If the guard itself is killed, the kernel
//! kills the program it started (`PR_SET_PDEATHSIG`), and this process the rest of
//! its group; what left that goes on. A program that stops its guard is ended without it,
//! and on Linux the guard runs on when this process is gone; one that does
//! so again and again outlives a killed client. Elsewhere there is neither, and only the
//! process group is ended.
//!
//! On Windows a job object holds the process and its descendants, and closing it
//! kills them.

#[cfg(unix)]
mod guard;
#[cfg(unix)]
mod tree;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;
#[cfg(unix)]
mod wire;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
pub use guard::run as guard;
#[cfg(unix)]
pub use unix::{Child, start};
#[cfg(windows)]
pub use windows::{Child, start};

/// The command of this program that is the guard; behind it stands the number of
/// the descriptor that is its end of the socket.
pub const GUARD: &str = "mcp-guard";

/// A program to start.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// Its absolute path. It is executed itself: no shell is asked, and the system
    /// library's habit of giving a file without a `#!` line to one is not followed.
    pub program: &'a Path,
    /// What follows its name.
    pub args: &'a [String],
    /// Its whole environment.
    pub env: &'a BTreeMap<OsString, OsString>,
    /// Its working directory, an absolute path.
    pub cwd: &'a Path,
    /// The absolute path of a program that understands [`GUARD`]. Unused on Windows.
    pub guard: &'a Path,
    /// Whether what it started may go on once it has ended by itself. Not heeded on
    /// Windows.
    pub leave: bool,
}

/// Why a program was not started.
#[derive(Debug)]
pub enum Failed {
    /// The system refused to execute it.
    Program(io::Error),
    /// Its working directory cannot be entered.
    Cwd(io::Error),
    /// The guard did not start or did not answer.
    Guard(io::Error),
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It exited with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// Its guard went away before it, and the system ended it.
    Unknown,
}

/// The path of this program that still leads to it when its file has been
/// replaced or removed meanwhile, where the system has such a path.
///
/// # Errors
///
/// As [`std::env::current_exe`].
pub fn this_program() -> io::Result<PathBuf> {
    // The kernel keeps the file behind this name, and a child that has not
    // executed anything yet still is this program.
    let own = Path::new("/proc/self/exe");
    if cfg!(target_os = "linux") && own.exists() {
        return Ok(own.to_owned());
    }
    std::env::current_exe()
}
