//! One point in time that everything of a stage has to keep.

use std::time::{Duration, Instant};

/// The moment by which work must be done.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Instant);

impl Deadline {
    /// `limit` from now.
    pub fn after(limit: Duration) -> Self {
        Self(Instant::now() + limit)
    }

    /// `limit` from now, but not later than this deadline.
    pub fn within(self, limit: Duration) -> Self {
        Self(self.0.min(Instant::now() + limit))
    }

    /// Somewhat before this deadline: what is started then leaves two fifths of
    /// the time that is left now.
    pub fn earlier(self) -> Self {
        self.within(self.left().unwrap_or_default() * 3 / 5)
    }

    /// The time left; nothing once it has passed.
    pub fn left(self) -> Option<Duration> {
        self.0
            .checked_duration_since(Instant::now())
            .filter(|left| !left.is_zero())
    }

    /// Whether it has passed.
    pub fn passed(self) -> bool {
        self.left().is_none()
    }

    /// Sleeps for `pause`, but not past the deadline; whether there is time left.
    pub fn sleep(self, pause: Duration) -> bool {
        match self.left() {
            Some(left) => {
                std::thread::sleep(pause.min(left));
                !self.passed()
            }
            None => false,
        }
    }
}
