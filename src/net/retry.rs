//! Which failures are worth another try.

use std::time::Duration;

use super::{Error, ErrorKind};

/// How often and after which pauses something is tried again. The pauses are
/// fixed, so that a run can be predicted.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    /// How many more times.
    pub times: u32,
    /// The pause before the second try; each further one is four times as long.
    pub pause: Duration,
    /// The longest pause, also when the server asks for more: then no other try
    /// is made.
    pub longest: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            times: 2,
            pause: Duration::from_millis(500),
            longest: Duration::from_secs(20),
        }
    }
}

impl Retry {
    /// The pause before the try after `error`, when `done` tries were made
    /// already; none if there should be no other.
    pub fn after(&self, error: &Error, done: u32) -> Option<Duration> {
        if done > self.times {
            return None;
        }
        let own = self
            .pause
            .saturating_mul(4_u32.saturating_pow(done.saturating_sub(1)))
            .min(self.longest);
        match &error.kind {
            ErrorKind::Status {
                code: 408 | 429 | 500 | 502 | 503 | 504,
                retry_after,
                ..
            } => match retry_after {
                Some(wanted) => (*wanted <= self.longest).then_some((*wanted).max(own)),
                None => Some(own),
            },
            ErrorKind::Timeout { .. }
            | ErrorKind::Cut { .. }
            | ErrorKind::Encoding { .. }
            | ErrorKind::Protocol { .. }
            | ErrorKind::Connect { .. } => Some(own),
            // The rest stays as it is however often it is tried.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Retry;
    use crate::net::{Error, ErrorKind};
    use std::time::Duration;

    fn failed(kind: ErrorKind) -> Error {
        Error {
            address: String::new(),
            kind,
        }
    }

    fn status(code: u16, retry_after: Option<u64>) -> Error {
        failed(ErrorKind::Status {
            code,
            reason: None,
            retry_after: retry_after.map(Duration::from_secs),
        })
    }

    #[test]
    fn pauses_grow_and_end() {
        let retry = Retry::default();
        let pauses: Vec<_> = (1..5)
            .map(|done| retry.after(&status(503, None), done))
            .collect();
        let millis = |millis| Some(Duration::from_millis(millis));
        assert_eq!(pauses, [millis(500), millis(2000), None, None]);
        let many = Retry { times: 99, ..retry };
        assert_eq!(many.after(&status(503, None), 99), Some(many.longest));
    }

    #[test]
    fn the_server_may_ask_for_a_pause_but_not_for_any() {
        let retry = Retry::default();
        assert_eq!(
            retry.after(&status(429, Some(3)), 1),
            Some(Duration::from_secs(3))
        );
        assert_eq!(retry.after(&status(429, Some(0)), 1), Some(retry.pause));
        assert_eq!(retry.after(&status(429, Some(3600)), 1), None);
    }

    #[test]
    fn what_will_not_change_is_not_tried_again() {
        let retry = Retry::default();
        for code in [400, 401, 403, 404, 501] {
            assert_eq!(retry.after(&status(code, None), 1), None, "{code}");
        }
        for kind in [
            ErrorKind::Dns { proxy: None },
            ErrorKind::Refused { proxy: None },
            ErrorKind::TooLarge { limit: 1 },
            ErrorKind::Stopped,
        ] {
            assert_eq!(retry.after(&failed(kind), 1), None);
        }
    }
}
