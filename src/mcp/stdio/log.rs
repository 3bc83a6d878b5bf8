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

    /// What is kept, from the beginning of a line if there is one.
    pub(super) fn text(&self) -> String {
        let (front, back) = self.bytes.as_slices();
        let bytes = [front, back].concat();
        let text = String::from_utf8_lossy(&bytes);
        match text.split_once('\n') {
            Some((_, whole)) if self.cut => whole.to_owned(),
            _ => text.into_owned(),
        }
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
            if line.ends_with(b"\n") || line.len() >= CHUNK {
                tell(listener, &mut line, &shared);
            }
        }
    }
    if let Some(listener) = listener.filter(|_| !line.is_empty()) {
        tell(&listener, &mut line, &shared);
    }
    shared.silence();
}

fn tell(listener: &Listener, line: &mut Vec<u8>, shared: &Shared) {
    let text = String::from_utf8_lossy(line);
    listener(&shared.without_credentials(text.trim_end_matches(['\n', '\r'])));
    line.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_whole_lines_are_kept() {
        let mut log = Log::new(10);
        log.add(b"one\ntwo\n");
        assert_eq!(log.text(), "one\ntwo\n");
        log.add(b"three\n");
        assert_eq!(log.text(), "three\n");
        log.add(&[b'x'; 100]);
        assert_eq!(log.text(), "x".repeat(10));
    }
}
