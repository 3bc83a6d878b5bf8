//! How often a server may be spoken of: one that has ever new trouble is not to
//! fill what whoever runs the program reads.

use std::time::Duration;

use tokio::time::Instant;

/// How many messages may come at once.
const AT_ONCE: u32 = 20;
/// How long it takes until there may be one more.
const ONE_MORE: Duration = Duration::from_secs(60);

/// How many messages about one server may still be told.
pub(super) struct Pace {
    left: u32,
    since: Instant,
    left_out: u64,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self {
            left: AT_ONCE,
            since: Instant::now(),
            left_out: 0,
        }
    }

    /// What is told in the place of `text`, which is about the server `label`.
    pub(super) fn paced(&mut self, label: &str, text: &str) -> Option<String> {
        self.refill();
        if self.left == 0 {
            self.left_out += 1;
            return (self.left_out == 1)
                .then(|| format!("further messages about server `{label}` are left out for now"));
        }
        self.left -= 1;
        Some(match std::mem::take(&mut self.left_out) {
            0 => text.to_owned(),
            count => format!("{text}\n  {count} messages before this one were left out"),
        })
    }

    fn refill(&mut self) {
        if self.left >= AT_ONCE {
            self.since = Instant::now();
            return;
        }
        while self.left < AT_ONCE && self.since.elapsed() >= ONE_MORE {
            self.left += 1;
            self.since += ONE_MORE;
        }
    }
}
