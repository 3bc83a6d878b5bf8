//! Why a server was not started or could not be spoken to.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use crate::sys::child::Failed;

use super::super::plan::Process;
use super::Limits;

/// How much of a file's first line is looked at for its interpreter, in bytes.
const FIRST_LINE: u64 = 256;

/// Why a server was not started. Reads after "the server did not start: ".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// An argument or a variable cannot be passed to a process.
    #[error("{what} {why}")]
    Text {
        /// Which one.
        what: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A directory cannot be made or used.
    #[error("{what} {} cannot be used: {error}", path.display())]
    Place {
        /// What it is to the server.
        what: &'static str,
        /// Where it is.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A path leads elsewhere than it did when the launch was planned (§4.1).
    #[error(
        "its {what} {} leads out of the package, or of its data directory, where it did not before",
        path.display()
    )]
    Outside {
        /// What it is to the server.
        what: &'static str,
        /// The path.
        path: PathBuf,
    },
    /// The package is not the one that the user's rule lets be started (AP-19).
    #[error("the package in {} has changed: {why}", root.display())]
    Changed {
        /// The package.
        root: PathBuf,
        /// What its content is now, or why that has no digest.
        why: String,
    },
    /// The program cannot be executed.
    #[error("{} cannot be executed: {reason}", program.display())]
    Program {
        /// The program.
        program: PathBuf,
        /// Why, and what helps.
        reason: String,
        /// What the system says.
        error: io::Error,
    },
    /// The program that stands between this one and the server does not run.
    #[error("{}, which is to guard it, did not do so: {error}", path.display())]
    Guard {
        /// The program.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

/// Why a message did not reach a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// It does not read, or not as fast as it is written to.
    #[error("the server does not read its standard input")]
    NotRead,
    /// It no longer reads.
    #[error("the server's standard input cannot be written to: {0}")]
    Write(#[source] io::Error),
    /// The transport is closed, or was broken before.
    #[error("the server's standard input is closed")]
    Closed,
    /// The message cannot be written as JSON.
    #[error("the message cannot be written as JSON: {0}")]
    Json(#[source] serde_json::Error),
}

impl StartError {
    pub(super) fn new(failed: Failed, process: &Process, cwd: &Path, limits: &Limits) -> Self {
        match failed {
            Failed::Program(error) => Self::Program {
                program: process.program.clone(),
                reason: reason(&process.program, &error),
                error,
            },
            Failed::Cwd(error) => Self::Place {
                what: "the working directory",
                path: cwd.to_owned(),
                error,
            },
            Failed::Guard(error) => Self::guard(limits, error),
        }
    }

    pub(super) fn guard(limits: &Limits, error: io::Error) -> Self {
        Self::Guard {
            path: limits.guard.clone(),
            error,
        }
    }
}

/// Refuses what no system can pass on.
pub(super) fn check_texts(
    process: &Process,
    env: &BTreeMap<OsString, OsString>,
) -> Result<(), StartError> {
    const NUL: &str = "holds a NUL character, which no process can be given";
    let text = |what: String, why| Err(StartError::Text { what, why });
    let has = |text: &OsStr, byte| text.as_encoded_bytes().contains(&byte);
    for (at, arg) in process.args.iter().enumerate() {
        if has(arg.as_ref(), 0) {
            return text(format!("argument {}", at + 1), NUL);
        }
    }
    for (name, value) in env {
        let what = format!("the variable {:?}", name.to_string_lossy());
        if has(name, 0) || has(value, 0) {
            return text(what, NUL);
        }
        if name.is_empty() || has(name, b'=') {
            return text(what, "has a name that no process can be given");
        }
    }
    Ok(())
}

/// What an error of the system means for a program that was to be executed.
fn reason(program: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => match interpreter(program) {
            Some(Some(interpreter)) => format!(
                "its first line names the interpreter {interpreter}, which does not exist here"
            ),
            Some(None) => "the program that is to load it does not exist here, as for one that \
                           was built for another system"
                .to_owned(),
            None => "there is no such file".to_owned(),
        },
        io::ErrorKind::PermissionDenied if program.is_dir() => "it is a directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied; it must be marked as executable \
             (chmod +x), and lie on a file system that allows that"
            .to_owned(),
        io::ErrorKind::ArgumentListTooLong => {
            "its arguments and environment are longer than the system allows".to_owned()
        }
        io::ErrorKind::InvalidInput => {
            format!("its arguments cannot be passed safely to a batch file: {error}")
        }
        _ if no_format(error) => "it is neither a program for this machine nor a script: the \
             first line of a script is #! and its interpreter"
            .to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(unix)]
fn no_format(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOEXEC)
}

#[cfg(not(unix))]
fn no_format(error: &io::Error) -> bool {
    const ERROR_BAD_EXE_FORMAT: i32 = 193;
    error.raw_os_error() == Some(ERROR_BAD_EXE_FORMAT)
}

/// The interpreter that a script names. `None` if there is no such file.
fn interpreter(program: &Path) -> Option<Option<String>> {
    let mut line = Vec::new();
    let read = File::open(program).ok()?.take(FIRST_LINE);
    BufReader::new(read).read_until(b'\n', &mut line).ok()?;
    let words = line.strip_prefix(b"#!").map(String::from_utf8_lossy);
    Some(words.map(|words| {
        // A carriage return is a part of the name to the kernel.
        let name = words.trim_matches([' ', '\t', '\n']);
        let name = name.split([' ', '\t']).next().unwrap_or_default();
        format!("{name:?}")
    }))
}
