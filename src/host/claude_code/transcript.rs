//! Claude Code's transcript: one JSON object per line, appended to as the
//! session goes on (measured with 2.1.197).
//!
//! What a line says is told by `type`. Only `user` lines name their turn
//! (`promptId`); the model's answers come as one `assistant` line per block,
//! held together by `requestId`. A person's words are not only in lines with a
//! `promptSource`: a skill the user typed has none, and a prompt typed while a
//! tool runs is an attachment. Nor are all lines with one a person's: finished
//! background tasks have it too.
//!
//! A compaction that comes while a turn runs may write the turn's last lines once
//! more, each with the `uuid` it had.

mod seen;

use std::io;
use std::path::Path;

use self::seen::Seen;
use super::super::jsonl::Lines;
use super::WRAPPERS;
use crate::everos::deadline::Deadline;
use crate::everos::json::{Fields, Json, ReadError};
use crate::everos::text::{Text, strip_wrappers};
use crate::everos::time;
use crate::everos::turn::{Entry, Part, Transcript};

/// The members of a line that are looked at.
const FIELDS: Fields = Fields::Only {
    some: &[
        "type",
        "uuid",
        "promptId",
        "promptSource",
        "origin",
        "kind",
        "isMeta",
        "isSidechain",
        "isCompactSummary",
        "isApiErrorMessage",
        "requestId",
        "timestamp",
        "message",
        "id",
        "role",
        "model",
        "content",
        "text",
        "name",
        "tool_use_id",
        "is_error",
        "attachment",
        "prompt",
        "commandMode",
    ],
    whole: &["input"],
};
/// The members that tell a line's turn.
const TURN_FIELDS: Fields = Fields::Only {
    some: &["type", "promptId", "isSidechain"],
    whole: &[],
};
/// The model's name on lines the host wrote in its place.
const SYNTHETIC: &str = "<synthetic>";

/// A transcript file.
pub(super) struct File {
    lines: Lines,
    seen: Seen,
}

impl File {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            lines: Lines::open(path)?,
            seen: Seen::default(),
        })
    }

    /// The entry of the line at the present position; `None` at the end and for
    /// a line that is not finished yet.
    fn entry(&mut self, fields: Fields) -> io::Result<Option<Entry>> {
        let start = self.lines.position();
        let json = match Json::read(&mut self.lines.line(), fields) {
            Ok(json) => Some(json),
            Err(ReadError::Syntax) => None,
            Err(ReadError::Io(error)) => return Err(error),
        };
        let ended = self.lines.finish_line()?;
        let end = self.lines.position();
        if end == start || !ended && json.is_none() {
            return Ok(None);
        }
        let Some(json) = json else {
            return Ok(Some(Entry {
                end,
                ..Entry::default()
            }));
        };
        let again = json
            .str("uuid")
            .is_some_and(|id| self.seen.is_again(id, start));
        let entry = if again {
            Entry {
                known: true,
                ..Entry::default()
            }
        } else {
            entry_of(&json)
        };
        Ok(Some(Entry { end, ..entry }))
    }
}

impl Transcript for File {
    fn size(&mut self) -> io::Result<u64> {
        self.lines.size()
    }

    fn end(&mut self) -> io::Result<u64> {
        self.lines.end()
    }

    fn read(
        &mut self,
        from: u64,
        to: u64,
        visit: &mut dyn FnMut(Entry) -> bool,
    ) -> io::Result<u64> {
        self.lines.seek(from, to)?;
        let mut passed = from;
        while let Some(entry) = self.entry(FIELDS)? {
            passed = entry.end;
            if !visit(entry) {
                break;
            }
        }
        Ok(passed)
    }

    fn turn_start(&mut self, turn: Option<&str>, deadline: Deadline) -> io::Result<Option<u64>> {
        let size = self.lines.size()?;
        let mut backward = self.lines.backward()?;
        let mut wanted = turn.map(str::to_owned);
        let mut found = None;
        while let Some(start) = backward.previous(&mut self.lines)? {
            if deadline.passed() {
                break;
            }
            self.lines.seek(start, size)?;
            let Some(named) = self.entry(TURN_FIELDS)?.and_then(|entry| entry.turn) else {
                continue;
            };
            match &wanted {
                Some(wanted) if *wanted == named => found = Some(start),
                None => {
                    found = Some(start);
                    wanted = Some(named);
                }
                Some(_) if found.is_some() => break,
                Some(_) => {}
            }
        }
        Ok(found)
    }

    fn mark(&mut self, at: u64) -> io::Result<Option<String>> {
        self.lines.mark(at)
    }
}

/// What a line says.
fn entry_of(line: &Json) -> Entry {
    let kind = line.str("type");
    let mut entry = Entry {
        turn: line
            .str("promptId")
            .filter(|turn| !turn.is_empty())
            .map(str::to_owned),
        at: line.str("timestamp").and_then(time::parse),
        known: kind.is_some(),
        ..Entry::default()
    };
    if line.flag("isSidechain") {
        // A subagent's; it carries the turn's name but is not part of it.
        return Entry {
            turn: None,
            ..entry
        };
    }
    match kind {
        Some("user") => entry.parts = user_parts(line),
        Some("assistant") => {
            let message = line.get("message");
            let id = message.and_then(|message| message.str("id"));
            entry.group = line.str("requestId").or(id).map(str::to_owned);
            entry.parts = message
                .map(|message| assistant_parts(line, message))
                .unwrap_or_default();
        }
        Some("attachment") => entry
            .parts
            .extend(line.get("attachment").and_then(queued_prompt)),
        _ => {}
    }
    entry
}

fn user_parts(line: &Json) -> Vec<Part> {
    let Some(message) = line.get("message") else {
        return Vec::new();
    };
    let mut parts: Vec<Part> = message
        .list("content")
        .iter()
        .filter_map(tool_result)
        .collect();
    let meta = line.flag("isMeta") || line.flag("isCompactSummary");
    if let Some(text) = joined_text(message.get("content")).filter(|_| !meta) {
        let said = if is_prompt(line) {
            Some(own_words(text))
        } else if line.get("promptSource").is_none() {
            typed_skill(&text.head).map(Text::from)
        } else {
            None
        };
        parts.extend(said.filter(|text| !text.is_blank()).map(Part::User));
    }
    parts
}

/// Whether a person sent this prompt: typed, queued, or through the SDK.
fn is_prompt(line: &Json) -> bool {
    let source = line
        .str("promptSource")
        .is_some_and(|source| source != "system");
    source && is_human(line)
}

fn is_human(item: &Json) -> bool {
    item.get("origin")
        .is_none_or(|origin| origin.str("kind") == Some("human"))
}

/// The text without what the host put around it.
fn own_words(mut text: Text) -> Text {
    text.edit(|part| {
        if part.contains('<') {
            *part = strip_wrappers(part, WRAPPERS).trim().to_owned();
        }
    });
    text
}

/// A skill as the user typed it: `/name arguments`. Commands of the host itself
/// begin with their name instead of their message, and are nobody's words.
fn typed_skill(text: &str) -> Option<String> {
    if !text.trim_start().starts_with("<command-message>") {
        return None;
    }
    let inner = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>"))
            .map(|(inner, _)| inner.trim())
    };
    let name = inner("command-name")?;
    let arguments = inner("command-args").unwrap_or_default();
    Some(format!("{name} {arguments}").trim().to_owned())
}

/// A prompt typed while a tool was running.
fn queued_prompt(attachment: &Json) -> Option<Part> {
    let queued = attachment.str("type") == Some("queued_command");
    let prompt = attachment
        .str("commandMode")
        .is_none_or(|mode| mode == "prompt");
    if !queued || !prompt || !is_human(attachment) {
        return None;
    }
    let text = own_words(joined_text(attachment.get("prompt"))?);
    (!text.is_blank()).then_some(Part::User(text))
}

/// The text of a content: a string, or the text blocks of a list.
fn joined_text(content: Option<&Json>) -> Option<Text> {
    match content? {
        Json::Text(text) => Some(text.clone()),
        Json::List(blocks) => {
            let texts = blocks
                .iter()
                .filter(|block| block.str("type") == Some("text"))
                .filter_map(|block| block.text("text"));
            texts.cloned().reduce(|mut all, text| {
                all.join("\n\n", text);
                all
            })
        }
        _ => None,
    }
}

fn tool_result(block: &Json) -> Option<Part> {
    if block.str("type") != Some("tool_result") {
        return None;
    }
    let content = block.get("content");
    let text = joined_text(content).unwrap_or_else(|| {
        // Without text, at least what kind of thing came back.
        let Some(Json::List(blocks)) = content else {
            return Text::default();
        };
        let kinds: Vec<String> = blocks
            .iter()
            .filter_map(|block| Some(format!("[{}]", block.str("type")?)))
            .collect();
        kinds.join(" ").into()
    });
    Some(Part::Result {
        call: block.str("tool_use_id")?.to_owned(),
        text,
        failed: block.flag("is_error"),
    })
}

fn assistant_parts(line: &Json, message: &Json) -> Vec<Part> {
    if message.str("model") == Some(SYNTHETIC) || line.flag("isApiErrorMessage") {
        return Vec::new();
    }
    if let Some(Json::Text(text)) = message.get("content") {
        return vec![Part::Reply(text.clone())];
    }
    let part = |block: &Json| match block.str("type")? {
        "text" => block
            .text("text")
            .filter(|text| !text.is_blank())
            .cloned()
            .map(Part::Reply),
        "tool_use" => Some(Part::Call {
            id: block.str("id").filter(|id| !id.is_empty())?.to_owned(),
            name: block.str("name")?.to_owned(),
            input: block
                .get("input")
                .cloned()
                .unwrap_or_else(|| Json::Object(Vec::new())),
        }),
        _ => None,
    };
    message.list("content").iter().filter_map(part).collect()
}
