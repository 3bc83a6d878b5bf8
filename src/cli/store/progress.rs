//! How a fetch proceeds, in one line of the terminal.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use apkit::source::{Progress, Quiet};

/// How often the line is written again.
const EVERY: Duration = Duration::from_millis(100);
/// Nothing that is done before is worth a line.
const FROM: Duration = Duration::from_millis(400);

/// Shows it on standard error, if that is a terminal.
pub(super) fn on_terminal() -> Box<dyn Progress> {
    let is_dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
    if io::stderr().is_terminal() && !is_dumb {
        Box::new(Line {
            state: Mutex::new(State {
                started: Instant::now(),
                written: None,
            }),
        })
    } else {
        Box::new(Quiet)
    }
}

struct Line {
    state: Mutex<State>,
}

struct State {
    started: Instant,
    written: Option<Instant>,
}

impl Progress for Line {
    fn advance(&self, what: &'static str, done: u64, total: u64) {
        let Ok(mut state) = self.state.lock() else {
            return;
        };
        let is_due = state.started.elapsed() > FROM
            && state
                .written
                .is_none_or(|written| written.elapsed() > EVERY);
        if !is_due {
            return;
        }
        state.written = Some(Instant::now());
        let _ = write!(io::stderr(), "\r\x1b[K{}", shown(what, done, total));
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Line {
    fn clear(&self) {
        if let Ok(mut state) = self.state.lock()
            && state.written.take().is_some()
        {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

fn shown(what: &str, done: u64, total: u64) -> String {
    let is_bytes = what == "bytes";
    let number = |number: u64| {
        if is_bytes {
            // A tenth of a megabyte is exact enough for anyone.
            format!("{}.{} MB", number / 1_000_000, number % 1_000_000 / 100_000)
        } else {
            number.to_string()
        }
    };
    let unit = if is_bytes {
        String::new()
    } else {
        format!(" {what}")
    };
    match total {
        0 => format!("{}{unit}", number(done)),
        total => {
            let percent = done.saturating_mul(100) / total;
            format!("{} of {}{unit} ({percent} %)", number(done), number(total))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_line_says_how_much_is_there() {
        assert_eq!(shown("bytes", 1_250_000, 0), "1.2 MB");
        assert_eq!(
            shown("bytes", 1_250_000, 2_500_000),
            "1.2 MB of 2.5 MB (50 %)"
        );
        assert_eq!(shown("objects", 3, 12), "3 of 12 objects (25 %)");
    }
}
