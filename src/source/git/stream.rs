//! What libgit2 reads from and writes to where one connection lasts for a whole
//! fetch.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::advertisement::Advertisement;
use super::child::Trouble;
use super::error::Failure;
use super::transport::{Context, MAX_LIST};

/// How long one fetch may take.
pub(super) const WHOLE: Duration = Duration::from_secs(60 * 60);
/// How many times longer than a silence the list of what is there may take.
const LIST_TIMES: u32 = 5;

/// A way to a server and back.
pub(super) trait Pipe: Send + 'static {
    /// What comes next; 0 at the end.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Trouble>;
    /// Writes all of it.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Trouble>;
    /// What an end before its time means.
    fn ended(&mut self, host: String) -> Failure;
}

/// A pipe whose advertisement is read along, and whose failures are kept.
pub(super) struct Stream<P> {
    context: Arc<Context>,
    pipe: P,
    received: u64,
    started: Instant,
    /// It has failed. libgit2 says goodbye all the same, and who was silent is not
    /// waited for once more.
    is_over: bool,
}

impl<P: Pipe> Stream<P> {
    pub(super) fn new(context: &Arc<Context>, pipe: P) -> Self {
        *context.advertisement() = Advertisement::expect(false);
        Self {
            context: Arc::clone(context),
            pipe,
            received: 0,
            started: Instant::now(),
            is_over: false,
        }
    }

    fn goes_on(&self) -> io::Result<()> {
        match self.is_over {
            true => Err(io::ErrorKind::BrokenPipe.into()),
            false => Ok(()),
        }
    }

    fn fail(&mut self, failure: Failure) -> io::Error {
        self.is_over = true;
        io::Error::other(self.context.fail(failure))
    }

    fn troubled(&mut self, trouble: Trouble) -> io::Error {
        let host = self.context.address.authority();
        self.fail(match trouble {
            Trouble::Stopped => Failure::Stopped,
            Trouble::Silent => Failure::Silent {
                host,
                seconds: self.context.patience.as_secs(),
            },
            Trouble::Broken(error) => Failure::BrokenOff {
                host,
                reason: error.to_string(),
            },
        })
    }

    fn in_time(&mut self, most: Duration) -> io::Result<()> {
        if self.started.elapsed() <= most {
            return Ok(());
        }
        Err(self.fail(Failure::TooSlow {
            host: self.context.address.authority(),
            seconds: most.as_secs(),
        }))
    }

    fn ended(&mut self) -> io::Error {
        let failure = self.pipe.ended(self.context.address.authority());
        self.fail(failure)
    }
}

impl<P: Pipe> Read for Stream<P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.goes_on()?;
        let count = match self.pipe.read(buffer) {
            // libgit2 knows how much it still wants: it only reads on because
            // something is missing.
            Ok(0) => return Err(self.ended()),
            Ok(count) => count,
            Err(trouble) => return Err(self.troubled(trouble)),
        };
        self.received += count as u64;
        let (limit, most) = {
            let mut list = self.context.advertisement();
            list.feed(buffer.get(..count).unwrap_or_default());
            if list.is_whole() {
                (self.context.limit, WHOLE)
            } else {
                (MAX_LIST, self.context.patience.saturating_mul(LIST_TIMES))
            }
        };
        self.in_time(most)?;
        if self.received > limit {
            let host = self.context.address.authority();
            return Err(self.fail(Failure::TooMuch { host, limit }));
        }
        Ok(count)
    }
}

impl<P: Pipe> Write for Stream<P> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.goes_on()?;
        match self.pipe.write(bytes) {
            Ok(()) => {}
            Err(Trouble::Broken(_)) => return Err(self.ended()),
            Err(trouble) => return Err(self.troubled(trouble)),
        }
        self.in_time(WHOLE)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::address::Address;
    use super::super::configuration::Configuration;
    use super::super::transport::Findings;
    use super::*;
    use crate::source::{Environment, Stop};

    /// Says the same again and again, after a beginning.
    struct Endless {
        beginning: &'static [u8],
        rest: Vec<u8>,
    }

    impl Pipe for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Trouble> {
            let mut from = std::mem::take(&mut self.beginning);
            if from.is_empty() {
                from = &self.rest;
            }
            io::Read::read(&mut from, buffer).map_err(Trouble::Broken)
        }

        fn write(&mut self, _bytes: &[u8]) -> Result<(), Trouble> {
            Ok(())
        }

        fn ended(&mut self, host: String) -> Failure {
            Failure::Ssh {
                host,
                said: String::new(),
            }
        }
    }

    /// Does nothing, and counts how often it is waited for.
    struct Mute(Arc<AtomicUsize>);

    impl Pipe for Mute {
        fn read(&mut self, _buffer: &mut [u8]) -> Result<usize, Trouble> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Err(Trouble::Silent)
        }

        fn write(&mut self, _bytes: &[u8]) -> Result<(), Trouble> {
            self.read(&mut []).map(drop)
        }

        fn ended(&mut self, host: String) -> Failure {
            let said = String::new();
            Failure::Ssh { host, said }
        }
    }

    #[test]
    fn who_is_silent_is_waited_for_once() {
        for reads_first in [true, false] {
            let context = context(1);
            let waits = Arc::new(AtomicUsize::new(0));
            let mut stream = Stream::new(&context, Mute(Arc::clone(&waits)));
            for reads in [reads_first, !reads_first, reads_first] {
                match reads {
                    true => assert!(stream.read(&mut [0]).is_err()),
                    false => assert!(stream.write(b"0000").is_err()),
                }
            }
            assert_eq!(waits.load(Ordering::Relaxed), 1);
            let failure = context.take_failure();
            assert!(matches!(failure, Some(Failure::Silent { .. })));
        }
    }

    fn context(limit: u64) -> Arc<Context> {
        let address = Address::parse("git@host:r").unwrap_or_else(|error| panic!("{error}"));
        Arc::new(Context {
            address,
            password: None,
            environment: Environment::default(),
            configuration: Configuration::default(),
            git_dir: PathBuf::new(),
            stop: Stop::default(),
            permit: None,
            patience: Duration::from_secs(1),
            limit,
            found: Findings::default(),
        })
    }

    /// How much is read before it is too much.
    fn read_of(beginning: &'static [u8], limit: u64) -> u64 {
        let context = context(limit);
        let mut rest = b"ffff".to_vec();
        rest.resize(0xffff, b'x');
        let mut stream = Stream::new(&context, Endless { beginning, rest });
        let mut buffer = vec![0; 0xffff];
        let mut received = 0;
        while let Ok(count) = stream.read(&mut buffer) {
            received += count as u64;
        }
        match context.take_failure() {
            Some(Failure::TooMuch { .. }) => received,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lists_and_objects_have_a_limit_each() {
        let piece = 0xffff;
        let of_list = read_of(b"0010no reference", 1 << 60);
        assert!(
            (MAX_LIST - piece..=MAX_LIST).contains(&of_list),
            "{of_list}"
        );
        let of_objects = read_of(b"0000", 1 << 20);
        assert!(
            ((1 << 20) - piece..=1 << 20).contains(&of_objects),
            "{of_objects}"
        );
    }
}
