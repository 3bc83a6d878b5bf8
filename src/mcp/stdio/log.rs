//! What a server writes to its standard error: the last of it is kept.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStderr;

use super::Listener;
use super::watch::Shared;

/// How much is read at a time, and the longest piece that a listener gets at once,
/// in bytes.
const CHUNK: usize = 8 << 10;

/// The last bytes of a stream.
#[derive(Debug)]
pub(super) struct Log {
    bytes: VecDeque<u8>,
    most: usize,
    /// Something was dropped at the front.
    cut: bool,
}

impl Log {
    pub(super) fn new(most: usize) -> Self {
        Self {
            bytes: VecDeque::new(),
            most,
            cut: false,
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let over = self.bytes.len().saturating_sub(self.most);
        self.cut |= over > 0;
        self.bytes.drain(..over);
    }

    /// What is kept, from the beginning of a line if there is one. Else, what may be
    /// the rest of a secret of at most `longest` bytes is left out.
    pub(super) fn text(&self, longest: usize) -> String {
        let (front, back) = self.bytes.as_slices();
        let bytes = [front, back].concat();
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let from = match end {
            _ if !self.cut => 0,
            Some(end) => end + 1,
            None => longest.min(bytes.len()),
        };
        String::from_utf8_lossy(bytes.get(from..).unwrap_or_default()).into_owned()
    }
}

/// Reads standard error to its end.
pub(super) async fn keep(mut stderr: ChildStderr, shared: Arc<Shared>, listener: Option<Listener>) {
    let mut chunk = vec![0; CHUNK];
    let mut line = Vec::new();
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        let bytes = chunk.get(..count).unwrap_or_default();
        shared.log(|log| log.add(bytes));
        let Some(listener) = &listener else { continue };
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(piece);
            if line.ends_with(b"\n") {
                tell(listener, &String::from_utf8_lossy(&line), &shared);
                line.clear();
            } else if line.len() >= CHUNK + shared.secrets().longest() {
                let text = String::from_utf8_lossy(&line).into_owned();
                let (piece, rest) = text.split_at(shared.secrets().cut(&text));
                tell(listener, piece, &shared);
                line = rest.into();
            }
        }
    }
    if let Some(listener) = listener.filter(|_| !line.is_empty()) {
        tell(&listener, &String::from_utf8_lossy(&line), &shared);
    }
    shared.silence();
}

fn tell(listener: &Listener, line: &str, shared: &Shared) {
    listener(&shared.secrets().masked(line.trim_end_matches(['\n', '\r'])));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_whole_lines_are_kept() {
        let mut log = Log::new(10);
        log.add(b"one\ntwo\n");
        assert_eq!(log.text(3), "one\ntwo\n");
        log.add(b"three\n");
        assert_eq!(log.text(3), "three\n");
        log.add(&[b'x'; 100]);
        assert_eq!(log.text(3), "x".repeat(7));
    }
}
