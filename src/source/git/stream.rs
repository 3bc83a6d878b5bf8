//! What libgit2 reads from and writes to where one connection lasts for a whole
//! fetch.

use std::io::{self, Read, Write};
use std::sync::Arc;

use super::advertisement::Advertisement;
use super::child::Trouble;
use super::error::Failure;
use super::transport::{Context, MAX_LIST};

/// A way to a server and back.
pub(super) trait Pipe: Send + 'static {
    /// What comes next; 0 at the end.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Trouble>;
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// What an end before its time means.
    fn ended(&mut self, host: String) -> Failure;
}

/// A pipe whose advertisement is read along, and whose failures are kept.
pub(super) struct Stream<P> {
    context: Arc<Context>,
    pipe: P,
    received: u64,
}

impl<P: Pipe> Stream<P> {
    pub(super) fn new(context: &Arc<Context>, pipe: P) -> Self {
        *context.advertisement() = Advertisement::expect(false);
        Self {
            context: Arc::clone(context),
            pipe,
            received: 0,
        }
    }

    fn fail(&self, failure: Failure) -> io::Error {
        io::Error::other(self.context.fail(failure))
    }

    fn ended(&mut self) -> io::Error {
        let failure = self.pipe.ended(self.context.address.authority());
        self.fail(failure)
    }
}

impl<P: Pipe> Read for Stream<P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let host = || self.context.address.authority();
        let count = match self.pipe.read(buffer) {
            // libgit2 knows how much it still wants: it only reads on because
            // something is missing.
            Ok(0) => return Err(self.ended()),
            Ok(count) => count,
            Err(Trouble::Stopped) => return Err(self.fail(Failure::Stopped)),
            Err(Trouble::Silent) => {
                return Err(self.fail(Failure::Silent {
                    host: host(),
                    seconds: self.context.patience.as_secs(),
                }));
            }
            Err(Trouble::Broken(error)) => {
                return Err(self.fail(Failure::BrokenOff {
                    host: host(),
                    reason: error.to_string(),
                }));
            }
        };
        self.received += count as u64;
        let limit = {
            let mut list = self.context.advertisement();
            list.feed(buffer.get(..count).unwrap_or_default());
            if list.is_whole() {
                self.context.limit
            } else {
                MAX_LIST
            }
        };
        if self.received > limit {
            let host = host();
            return Err(self.fail(Failure::TooMuch { host, limit }));
        }
        Ok(count)
    }
}

impl<P: Pipe> Write for Stream<P> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.pipe.write(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(_) => Err(self.ended()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
