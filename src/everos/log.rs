//! The debug log: what happened, never what was said.

use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::time;
use crate::sys;

/// Name of the log in the data directory.
pub const DEBUG_LOG: &str = "debug.log";
/// A log that has grown to this is set aside, once.
const MAX_SIZE: u64 = 1024 * 1024;

/// Writes to the debug log, if there is to be one.
#[derive(Debug)]
pub struct Log {
    path: Option<PathBuf>,
    stage: &'static str,
}

impl Log {
    /// A log for `stage` in `directory`; silent unless `on`.
    pub fn new(directory: Option<&Path>, on: bool, stage: &'static str) -> Self {
        Self {
            path: directory
                .filter(|_| on)
                .map(|directory| directory.join(DEBUG_LOG)),
            stage,
        }
    }

    /// Adds a line. The caller names ids, counts and failures; text of prompts,
    /// answers and tools has no place here.
    pub fn line(&self, message: &str) {
        let Some(path) = &self.path else { return };
        set_aside(path, MAX_SIZE);
        let line = format!(
            "{} {} {}\n",
            time::now(),
            self.stage,
            message.replace(['\n', '\r'], " ")
        );
        let open = || sys::keep_private(OpenOptions::new().create(true).append(true)).open(path);
        let file = open().or_else(|error| match path.parent() {
            Some(parent) => sys::create_private_dir(parent).and_then(|()| open()),
            None => Err(error),
        });
        if let Ok(mut file) = file {
            let _ = file.write_all(line.as_bytes());
        }
    }
}

/// Renames a file larger than `limit`, so that two generations are kept.
pub fn set_aside(path: &Path, limit: u64) {
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() > limit) {
        let _ = fs::rename(path, path.with_extension("log.1"));
    }
}

/// The last `count` lines of a log.
pub fn last_lines(path: &Path, count: usize) -> Vec<String> {
    let tail = || {
        let mut file = sys::open_regular(path).ok()?;
        let size = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(16 * 1024)))
            .ok()?;
        let mut bytes = Vec::new();
        file.take(16 * 1024).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = tail().unwrap_or_default();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines
        .iter()
        .skip(lines.len().saturating_sub(count))
        .map(|line| (*line).to_owned())
        .collect()
}
