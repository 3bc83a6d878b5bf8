//! The program that the memory plugin brings along.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use apkit::export::everos;

use crate::cli::failure::Failure;

/// The program that the package runs: this one, unless another is named.
pub(super) fn program(bin: Option<&Path>) -> Result<everos::Program, Failure> {
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
