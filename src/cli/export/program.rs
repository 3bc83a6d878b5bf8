//! The program that the memory plugin brings along.

use std::path::{Path, PathBuf};

use apkit::export::everos;

use crate::cli::failure::Failure;

/// The program that the package runs: this one, unless another is named.
pub(super) fn program(bin: Option<&Path>) -> Result<everos::Program, Failure> {
    let path = match bin {
        Some(path) => Ok(path.to_owned()),
        None => std::env::current_exe(),
    };
    let path = path.map_err(|error| Failure::Program {
        path: PathBuf::from("apkit"),
        error,
    })?;
    everos::Program::read(&path).map_err(|error| Failure::Program { path, error })
}
