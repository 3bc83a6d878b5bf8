//! `apkit hook EVENT`: what a host runs. It is dispatched before the command
//! line is parsed, and it never fails: exit status 0, and on standard output one
//! JSON object or nothing.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;

use apkit::everos::config::Env;
use apkit::host::claude_code::{self, Hook};

/// The largest payload that is read. A prompt of several megabytes is legal.
const MAX_PAYLOAD: u64 = 64 * 1024 * 1024;

/// Runs the hook called `name`.
pub(crate) fn run(name: &OsStr) -> ExitCode {
    // A build that aborts on panic would end with a signal, which the host
    // shows to the user.
    std::panic::set_hook(Box::new(|panic| {
        let _ = writeln!(io::stderr(), "apkit: internal error: {panic}");
        #[expect(clippy::exit, reason = "a hook ends with status 0 whatever happens")]
        std::process::exit(0);
    }));
    let Some(hook) = name.to_str().and_then(Hook::named) else {
        let known: Vec<&str> = Hook::ALL.iter().map(|(name, _)| *name).collect();
        let _ = writeln!(io::stderr(), "usage: apkit hook {}", known.join("|"));
        return ExitCode::SUCCESS;
    };
    let payload = || {
        let mut bytes = Vec::new();
        io::stdin()
            .lock()
            .take(MAX_PAYLOAD)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let answer = claude_code::run(hook, payload, Env::new(std::env::vars_os()));
    if !answer.is_empty() {
        let mut out = io::stdout().lock();
        let _ = out.write_all(&answer).and_then(|()| out.flush());
    }
    ExitCode::SUCCESS
}
