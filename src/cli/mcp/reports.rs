//! What `apkit mcp serve` tells on standard error. A thread of its own writes it, so
//! that a pipe that nobody reads holds up nothing: what does not fit is dropped and
//! counted.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::cli::failure::say;

/// How many bytes may wait to be written.
const MOST: usize = 64 << 10;
/// How long what waits may still take when the program ends.
const LAST: Duration = Duration::from_millis(500);

/// Takes texts and has them written in their order. Cheap to clone.
#[derive(Clone)]
pub(super) struct Reports(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    texts: VecDeque<String>,
    bytes: usize,
    /// How many were dropped since the last that was kept.
    dropped: usize,
    /// One of them is being written.
    writing: bool,
}

impl Reports {
    /// Starts the thread that writes.
    pub(super) fn start() -> Self {
        let shared = Arc::<Shared>::default();
        let writer = Arc::clone(&shared);
        // It ends with the program.
        thread::spawn(move || {
            loop {
                say(&writer.next());
            }
        });
        Self(shared)
    }

    /// Has a text written, unless too much waits already. Never blocks.
    pub(super) fn tell(&self, text: &str) {
        let mut queue = self.0.lock();
        // The first may be as long as it likes.
        if queue.bytes > 0 && queue.bytes + text.len() > MOST {
            queue.dropped += 1;
            return;
        }
        if let Some(count) = queue.take_dropped() {
            queue.push(count);
        }
        queue.push(text.to_owned());
        self.0.changed.notify_all();
    }

    /// Waits until everything is written, if it is being read.
    pub(super) fn finish(&self) {
        let queue = self.0.lock();
        let waits = |queue: &mut Queue| queue.writing || !queue.is_empty();
        let waited = self.0.changed.wait_timeout_while(queue, LAST, waits);
        drop(waited);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next text to write; the one before it is written.
    fn next(&self) -> String {
        let mut queue = self.lock();
        queue.writing = false;
        self.changed.notify_all();
        let empty = |queue: &mut Queue| queue.is_empty();
        let mut queue = self
            .changed
            .wait_while(queue, empty)
            .unwrap_or_else(PoisonError::into_inner);
        queue.writing = true;
        let text = queue.texts.pop_front();
        queue.bytes -= text.as_ref().map_or(0, String::len);
        text.or_else(|| queue.take_dropped()).unwrap_or_default()
    }
}

impl Queue {
    fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.dropped == 0
    }

    fn push(&mut self, text: String) {
        self.bytes += text.len();
        self.texts.push_back(text);
    }

    /// Says how many were dropped, if some were.
    fn take_dropped(&mut self) -> Option<String> {
        let what = match std::mem::take(&mut self.dropped) {
            0 => return None,
            1 => "1 message was".to_owned(),
            several => format!("{several} messages were"),
        };
        Some(format!(
            "apkit: {what} left out here: standard error was not read"
        ))
    }
}
