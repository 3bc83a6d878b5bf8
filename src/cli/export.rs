//! `apkit export`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use apkit::export::{self, everos};

use super::args::{Export, Source};
use super::exit::Exit;
use super::failure::{Failure, show};
use super::output;

pub(crate) fn run(arguments: &Export) -> Result<Exit, Failure> {
    let program = program(arguments.bin.as_deref())?;
    let plan = match arguments.source {
        Source::Everos => everos::plan(program, arguments.marketplace),
    };
    let options = export::Options {
        force: arguments.force,
    };
    let out = &arguments.out;
    export::apply(&plan, out, options).map_err(|error| Failure::Export {
        path: out.clone(),
        error,
    })?;
    let what = if arguments.marketplace {
        "the marketplace of "
    } else {
        ""
    };
    output::to_stdout(|to| {
        writeln!(
            to,
            "Wrote {what}{} {} to {}.",
            everos::NAME,
            everos::VERSION,
            show(out)
        )
    })?;
    Ok(Exit::Clean)
}

/// The program that the package runs: this one, unless another is named.
fn program(bin: Option<&Path>) -> Result<everos::Program, Failure> {
    let (path, bytes) = match bin {
        Some(path) => (path.to_owned(), fs::read(path)),
        None => match std::env::current_exe() {
            Ok(path) => {
                let bytes = fs::read(&path);
                (path, bytes)
            }
            Err(error) => (PathBuf::from("apkit"), Err(error)),
        },
    };
    let program = bytes.and_then(|bytes| {
        let is_exe = path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("exe"));
        if bytes.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is empty"));
        }
        Ok(everos::Program {
            bytes,
            suffix: if is_exe { ".exe" } else { "" },
        })
    });
    program.map_err(|error| Failure::Program { path, error })
}
