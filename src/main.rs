//! The `apkit` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::SUCCESS
}
