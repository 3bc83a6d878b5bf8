//! The `apkit` program.

mod cli;

use std::process::ExitCode;

// A hook starts on every prompt, and each library that is loaded then costs it
// about a tenth of a millisecond. The standard library wants one besides libc, the
// unwinder of gcc: linked into the program here, there is nothing left to load.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "it declares nothing; it only names the library")]
#[link(name = "gcc_eh", kind = "static", modifiers = "-bundle")]
unsafe extern "C" {}

fn main() -> ExitCode {
    cli::run(std::env::args_os())
}
