//! What the server writes, line by line, and no more of it than is allowed.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::ChildStdout;

use super::Limits;
use super::watch::{Fault, Shared};

/// How much is read at a time, in bytes.
const CHUNK: usize = 64 << 10;
/// A buffer beyond this, in bytes, is given back after its line.
const KEPT: usize = 1 << 20;
/// How long what the server wrote before its end is waited for, if somebody else
/// holds its standard output open.
const REST: Duration = Duration::from_secs(1);

/// The server's standard output.
#[derive(Debug)]
pub(super) struct Lines {
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
    /// Nothing more is read.
    over: bool,
    /// Lines in a row that were no messages, and their bytes.
    skipped: (usize, usize),
    most_skipped: usize,
    longest: usize,
    shared: Arc<Shared>,
}

impl Lines {
    pub(super) fn new(stdout: ChildStdout, limits: &Limits, shared: &Arc<Shared>) -> Self {
        Self {
            stdout: BufReader::with_capacity(CHUNK, stdout),
            line: Vec::new(),
            over: false,
            skipped: (0, 0),
            most_skipped: limits.skipped,
            longest: limits.line,
            shared: Arc::clone(shared),
        }
    }

    /// The next line without its end; `None` if there is none or may be none. May
    /// be given up and asked again: what was read of a line stays here.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        while !self.over {
            let chunk = tokio::select! {
                biased;
                chunk = self.stdout.fill_buf() => chunk.unwrap_or_default(),
                () = self.shared.ended_for(REST) => &[],
            };
            if chunk.is_empty() {
                self.over = true;
                // A last line that its writer did not end is one all the same.
                return Some(std::mem::take(&mut self.line)).filter(|line| !line.is_empty());
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(chunk.len());
            if self.line.len() + taken > self.longest {
                self.end(Fault::Line {
                    longest: self.longest,
                });
                return None;
            }
            self.line.extend_from_slice(chunk.get(..taken)?);
            self.stdout.consume(taken + usize::from(end.is_some()));
            if end.is_some() {
                return Some(std::mem::take(&mut self.line));
            }
        }
        None
    }

    /// Takes a line back, for its memory, and notes whether it was of any use.
    pub(super) fn took(&mut self, mut line: Vec<u8>, useful: bool) {
        if useful {
            self.skipped = (0, 0);
        } else {
            self.shared.skip(&line);
            self.skipped = (self.skipped.0 + 1, self.skipped.1 + line.len());
            if self.skipped.0 > self.most_skipped || self.skipped.1 > self.longest {
                self.end(Fault::NoMessages {
                    lines: self.skipped.0,
                });
            }
        }
        if line.capacity() <= KEPT && self.line.is_empty() {
            line.clear();
            self.line = line;
        }
    }

    /// Reads on to the end, so that a server that is to end is not kept from it by
    /// a full pipe.
    pub(super) async fn drain(&mut self) {
        self.line = Vec::new();
        loop {
            match self.stdout.fill_buf().await {
                Ok([]) | Err(_) => break,
                Ok(chunk) => {
                    let length = chunk.len();
                    self.stdout.consume(length);
                }
            }
        }
        self.over = true;
    }

    fn end(&mut self, fault: Fault) {
        self.over = true;
        self.line = Vec::new();
        self.shared.fault(fault);
    }
}
