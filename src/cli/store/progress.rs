//! How a fetch proceeds, in one line of the terminal.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use apkit::archive::Count;
use apkit::render::visible;
use apkit::source::Progress;

use super::super::failure;

/// How often the line is written again.
const EVERY: Duration = Duration::from_millis(100);
/// Nothing that is done before is worth a line.
const FROM: Duration = Duration::from_millis(400);

/// Shows on standard error, if that is a terminal, what is waited for. A thread of
/// its own writes, so that the line is there also while nothing comes.
pub(super) struct Shown {
    now: Arc<(Mutex<Now>, Condvar)>,
    writer: Option<JoinHandle<()>>,
}

/// What is waited for.
#[derive(Default)]
struct Now {
    name: String,
    phase: Phase,
    /// The line as it is on the screen.
    written: String,
    is_over: bool,
}

impl Now {
    fn clear_line(&mut self) {
        if !self.written.is_empty() {
            let _ = write!(io::stderr(), "\r\x1b[K");
            self.written.clear();
        }
    }
}

#[derive(Default)]
enum Phase {
    #[default]
    Nothing,
    Fetching {
        what: &'static str,
        done: u64,
        total: u64,
    },
    TakingIn(Arc<Count>),
    Judging,
}

impl Shown {
    pub(super) fn on_terminal() -> Self {
        let is_dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
        let now = Arc::new((Mutex::default(), Condvar::new()));
        let shared = Arc::clone(&now);
        let is_watched = io::stderr().is_terminal() && !is_dumb;
        // Without the thread, nothing is shown, and nothing else is missing.
        let writer = is_watched
            .then(|| thread::Builder::new().spawn(move || write_until_over(&shared)))
            .and_then(Result::ok);
        Self { now, writer }
    }

    /// Takes the line away, before the results.
    pub(super) fn end(&mut self) {
        self.change(|now| now.is_over = true);
        self.now.1.notify_all();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }

    /// Writes notes, each on a line of its own.
    pub(super) fn notes(&self) -> impl Fn(&str) + Send + Sync + use<> {
        let shared = Arc::clone(&self.now);
        move |text| {
            let mut now = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
            now.clear_line();
            failure::note(text);
        }
    }

    fn change(&self, change: impl FnOnce(&mut Now)) {
        change(&mut self.now.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.end();
    }
}

impl Progress for Shown {
    fn advance(&self, what: &'static str, done: u64, total: u64) {
        self.change(|now| now.phase = Phase::Fetching { what, done, total });
    }

    fn begin(&self, name: &str) {
        self.change(|now| {
            name.clone_into(&mut now.name);
            now.phase = Phase::Fetching {
                what: "bytes",
                done: 0,
                total: 0,
            };
        });
    }

    fn take_in(&self, count: &Arc<Count>) {
        self.change(|now| now.phase = Phase::TakingIn(Arc::clone(count)));
    }

    fn judge(&self) {
        self.change(|now| now.phase = Phase::Judging);
    }
}

fn write_until_over(shared: &(Mutex<Now>, Condvar)) {
    let started = Instant::now();
    let mut now = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
    while !now.is_over {
        if started.elapsed() > FROM {
            let text = shown(&now);
            if text != now.written {
                let _ = write!(io::stderr(), "\r\x1b[K{text}");
                now.written = text;
            }
        }
        let waited = shared.1.wait_timeout(now, EVERY);
        now = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
    now.clear_line();
}

fn shown(now: &Now) -> String {
    let phase = match &now.phase {
        Phase::Nothing => return String::new(),
        Phase::Fetching { done: 0, .. } => "fetching".to_owned(),
        Phase::Fetching { what, done, total } => {
            format!("fetching, {}", part(what, *done, *total))
        }
        Phase::TakingIn(count) => match (count.files(), count.expected()) {
            (0, 0) => "unpacking".to_owned(),
            (files, expected) => format!("unpacking {}", part("files", files, expected)),
        },
        Phase::Judging => "judging".to_owned(),
    };
    format!("{}: {phase}", visible(&now.name))
}

fn part(what: &str, done: u64, total: u64) -> String {
    let is_bytes = what == "bytes";
    let number = |number: u64| {
        if is_bytes {
            size(number)
        } else {
            grouped(number)
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
            let percent = u128::from(done) * 100 / u128::from(total);
            format!("{} of {}{unit} ({percent} %)", number(done), number(total))
        }
    }
}

/// A number of bytes in the unit that leaves it at most four digits, to a tenth.
fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = UNITS.iter().find(|(unit, _)| bytes >= *unit);
    unit.map_or_else(
        || format!("{bytes} bytes"),
        |(unit, name)| {
            let tenths = u128::from(bytes) * 10 / u128::from(*unit);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        },
    )
}

/// A number with a space before each three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Now, Phase, part, shown};

    #[test]
    fn a_line_says_whose_and_what() {
        let mut now = Now::default();
        assert_eq!(shown(&now), "");
        now.name = "big".to_owned();
        now.phase = Phase::Fetching {
            what: "bytes",
            done: 42 << 20,
            total: 0,
        };
        assert_eq!(shown(&now), "big: fetching, 42.0 MiB");
        now.phase = Phase::TakingIn(Default::default());
        assert_eq!(shown(&now), "big: unpacking");
        now.phase = Phase::Judging;
        assert_eq!(shown(&now), "big: judging");
    }

    #[test]
    fn a_line_says_how_much_is_there() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (1_047_552, "1023.0 KiB"),
            (1_048_575, "1023.9 KiB"),
            (1 << 20, "1.0 MiB"),
            (20_000_000, "19.0 MiB"),
            (3 << 29, "1.5 GiB"),
            (u64::MAX, "17179869183.9 GiB"),
        ] {
            assert_eq!(part("bytes", bytes, 0), text);
        }
        assert_eq!(
            part("bytes", 1_250_000, 2_500_000),
            "1.1 MiB of 2.3 MiB (50 %)"
        );
        assert_eq!(
            part("objects", 999, 1_234_567),
            "999 of 1 234 567 objects (0 %)"
        );
        assert_eq!(part("files", 3, 12), "3 of 12 files (25 %)");
    }
}
