//! The turn model: what a host's transcript says, in terms every host shares,
//! and how it falls into turns.
//!
//! A turn is everything between one prompt and the next. Reading goes forward
//! from a known byte offset, so that its cost follows what is new and not what
//! the transcript holds.

use std::io;

use super::deadline::Deadline;
use super::json::Json;
use super::text::Text;

/// One line of a transcript, as far as it matters.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// The byte after the line.
    pub end: u64,
    /// The turn it names itself part of.
    pub turn: Option<String>,
    /// When it was written, in milliseconds since 1970.
    pub at: Option<i64>,
    /// Which answer of the model it is part of; consecutive entries of one
    /// answer are one message.
    pub group: Option<String>,
    /// What was said and done.
    pub parts: Vec<Part>,
    /// Whether the line has the shape the host is known to write.
    pub known: bool,
}

/// One thing said or done.
#[derive(Debug, Clone)]
pub enum Part {
    /// The user's own words.
    User(Text),
    /// The model's words.
    Reply(Text),
    /// The model calls a tool.
    Call {
        /// Its id.
        id: String,
        /// The tool.
        name: String,
        /// The arguments.
        input: Json,
    },
    /// What a tool gave back.
    Result {
        /// The call it answers.
        call: String,
        /// The output.
        text: Text,
        /// Whether the tool failed.
        failed: bool,
    },
}

/// A transcript that is open for reading.
pub trait Transcript {
    /// Its size in bytes.
    fn size(&mut self) -> io::Result<u64>;

    /// The byte after its last finished line.
    fn end(&mut self) -> io::Result<u64>;

    /// Calls `visit` for each entry that starts in `from..to`, until it returns
    /// false. A last line that is not finished yet is left alone. The result is
    /// the byte after the last line that was passed.
    fn read(&mut self, from: u64, to: u64, visit: &mut dyn FnMut(Entry) -> bool)
    -> io::Result<u64>;

    /// Where the first entry of `turn` starts, looking back from the end; of the
    /// last turn if none is named. `None` if there is none, or no time.
    fn turn_start(&mut self, turn: Option<&str>, deadline: Deadline) -> io::Result<Option<u64>>;

    /// A short digest of what stands right before `at`, by which a replaced file
    /// is told from one that has grown. `None` if the file is shorter.
    fn mark(&mut self, at: u64) -> io::Result<Option<String>>;
}

/// Entries in a row that belong to one turn.
#[derive(Debug, Clone, Default)]
pub struct Segment {
    /// The turn; `None` if nothing tells.
    pub turn: Option<String>,
    /// Where it starts.
    pub from: u64,
    /// Where it ends.
    pub to: u64,
    /// The earliest-standing time in it.
    pub first_at: Option<i64>,
    /// Calls still without a result, of before or of this segment.
    pub open: Vec<String>,
    /// The last words of the model, as [`Text::digest`] gives them.
    pub reply: Option<String>,
    /// Whether the model has done anything.
    pub answered: bool,
    /// Whether anything in it can become a message.
    pub spoken: bool,
}

/// Divides new entries into segments, again and again as a transcript grows.
#[derive(Debug)]
pub struct Scan {
    /// What was found so far.
    pub segments: Vec<Segment>,
    /// Up to where the transcript has been read.
    pub at: u64,
    /// Entries of a known shape.
    pub known: u64,
    /// Lines of some other shape.
    pub foreign: u64,
}

impl Scan {
    /// Starts at `from`, where the turn `before` (if any) goes on.
    pub fn new(from: u64, before: Segment) -> Self {
        let first = Segment {
            from,
            to: from,
            first_at: None,
            spoken: false,
            answered: before.reply.is_some(),
            ..before
        };
        Self {
            segments: vec![first],
            at: from,
            known: 0,
            foreign: 0,
        }
    }

    /// Reads what is new; stops at the deadline.
    pub fn advance(
        &mut self,
        transcript: &mut dyn Transcript,
        deadline: Deadline,
    ) -> io::Result<()> {
        let size = transcript.size()?;
        if size <= self.at {
            return Ok(());
        }
        let from = self.at;
        let mut at = from;
        let passed = transcript.read(from, size, &mut |entry| {
            self.add(&entry, at);
            at = entry.end;
            !deadline.passed()
        })?;
        self.at = passed;
        if let Some(last) = self.segments.last_mut() {
            last.to = passed;
        }
        Ok(())
    }

    fn add(&mut self, entry: &Entry, start: u64) {
        if entry.known {
            self.known += 1;
        } else {
            self.foreign += 1;
        }
        let current = self
            .segments
            .last()
            .and_then(|segment| segment.turn.as_deref());
        if let Some(turn) = entry.turn.as_deref().filter(|turn| current != Some(turn)) {
            if let Some(last) = self.segments.last_mut() {
                last.to = start;
            }
            self.segments.push(Segment {
                turn: Some(turn.to_owned()),
                from: start,
                ..Segment::default()
            });
        }
        let Some(segment) = self.segments.last_mut() else {
            return;
        };
        segment.to = entry.end;
        for part in &entry.parts {
            segment.first_at = segment.first_at.or(entry.at);
            segment.spoken = true;
            match part {
                Part::User(_) => {}
                Part::Reply(text) => {
                    segment.reply = Some(text.digest());
                    segment.answered = true;
                }
                Part::Call { id, .. } => {
                    segment.open.push(id.clone());
                    segment.answered = true;
                }
                Part::Result { call, .. } => segment.open.retain(|id| id != call),
            }
        }
    }

    /// Whether `turn` is complete: every call has its result, and the model's
    /// last words are `last_reply`; if those are unknown, it has answered.
    pub fn finished(&self, turn: Option<&str>, last_reply: Option<&Text>) -> bool {
        let last_reply = last_reply.map(Text::digest);
        // Without a name it is the last turn that is meant.
        let last = || {
            self.segments
                .iter()
                .rev()
                .find(|segment| segment.spoken || segment.answered)
        };
        let turn = turn.or_else(|| last().and_then(|segment| segment.turn.as_deref()));
        let mut of_turn = self
            .segments
            .iter()
            .filter(|segment| segment.turn.as_deref() == turn && turn.is_some())
            .peekable();
        let Some(first) = of_turn.peek().map(|segment| segment.from) else {
            return false;
        };
        if of_turn.clone().any(|segment| !segment.open.is_empty()) {
            return false;
        }
        match last_reply {
            None => of_turn.any(|segment| segment.answered),
            // A prompt queued meanwhile may stand before the closing words.
            Some(expected) => self
                .segments
                .iter()
                .filter(|segment| segment.from >= first)
                .any(|segment| segment.reply.as_ref() == Some(&expected)),
        }
    }
}
