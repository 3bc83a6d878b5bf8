//! `apkit mcp-guard N`: what apkit starts itself as, to stand between it and an
//! MCP server (see `apkit::sys::child`). No user runs it, and no help shows it.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::process::ExitCode;

use apkit::sys::child;

use super::exit::Exit;

/// Runs the guard, whose descriptor has this number.
pub(crate) fn run(descriptor: &OsStr) -> ExitCode {
    match child::guard(descriptor) {
        Ok(()) => Exit::Clean.into(),
        Err(error) => {
            let _ = writeln!(
                io::stderr(),
                "apkit: {} is started by apkit itself, for an MCP server: {error}",
                child::GUARD
            );
            Exit::Failed.into()
        }
    }
}
