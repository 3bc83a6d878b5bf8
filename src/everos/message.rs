//! From a turn to the messages EverOS stores (design document, section 7).

use serde::Serialize;

use super::FENCE;
use super::identity::Identity;
use super::redact::Redactor;
use super::text::{Text, strip_wrappers};
use super::turn::{Entry, Part};

/// The longest tool output that is sent, in characters.
const MAX_OUTPUT: usize = 20_000;
/// What stands before the output of a tool that failed.
const FAILED: &str = "[tool error] ";
/// An answer larger than this, in bytes, is continued in another message, so
/// that memory does not grow with it.
const MAX_ANSWER: usize = 512 * 1024;
/// Between texts that become one message.
const PARAGRAPH: &str = "\n\n";

/// A message as `/add` takes it.
#[derive(Debug, Clone, Serialize)]
pub struct Message {
    sender_id: String,
    role: &'static str,
    timestamp: i64,
    content: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
struct ToolCall {
    id: String,
    r#type: &'static str,
    function: Function,
}

#[derive(Debug, Clone, Serialize)]
struct Function {
    name: String,
    arguments: String,
}

impl Message {
    /// About how many bytes it takes on the way.
    pub fn weight(&self) -> usize {
        let calls: usize = self
            .tool_calls
            .iter()
            .map(|call| call.function.arguments.len() + 100)
            .sum();
        self.content.len() + calls + 150
    }
}

/// Where a mapping starts. The same start and the same bytes of a transcript
/// always give the same messages, which is what makes sending again harmless.
#[derive(Debug, Clone)]
pub struct Start {
    /// Every message is later than this, in milliseconds since 1970.
    pub floor: i64,
    /// Calls from before whose results may follow.
    pub calls: Vec<String>,
}

/// Turns entries into messages, in order, and hands each one to a sink.
pub struct Mapper<'a> {
    identity: &'a Identity,
    redactor: &'a mut Redactor,
    sink: &'a mut dyn FnMut(Message),
    last: i64,
    calls: Vec<String>,
    draft: Option<Draft>,
    /// Messages given out.
    pub count: u64,
}

/// An answer of the model that may still grow.
struct Draft {
    group: Option<String>,
    at: i64,
    text: Option<Text>,
    calls: Vec<ToolCall>,
    /// About how many bytes it holds.
    weight: usize,
}

impl<'a> Mapper<'a> {
    /// A mapper that starts at `start`.
    pub fn new(
        identity: &'a Identity,
        redactor: &'a mut Redactor,
        start: &Start,
        sink: &'a mut dyn FnMut(Message),
    ) -> Self {
        Self {
            identity,
            redactor,
            sink,
            last: start.floor,
            calls: start.calls.clone(),
            draft: None,
            count: 0,
        }
    }

    /// Takes the next entry.
    pub fn entry(&mut self, entry: Entry) {
        let group = entry.group;
        for part in entry.parts {
            match part {
                Part::User(text) => {
                    self.close();
                    self.user(&text, entry.at);
                }
                Part::Reply(text) => {
                    let draft = self.draft(group.as_deref(), entry.at);
                    draft.weight += text.held();
                    match &mut draft.text {
                        Some(before) => before.join(PARAGRAPH, text),
                        None => draft.text = Some(text),
                    }
                }
                Part::Call {
                    id,
                    name,
                    mut input,
                } => {
                    self.calls.push(id.clone());
                    self.redactor.tree(&mut input);
                    let arguments = input.to_compact(MAX_OUTPUT);
                    let draft = self.draft(group.as_deref(), entry.at);
                    draft.weight += arguments.len();
                    draft.calls.push(ToolCall {
                        id,
                        r#type: "function",
                        function: Function { name, arguments },
                    });
                }
                Part::Result { call, text, failed } => {
                    self.close();
                    // A result whose request is unknown would say nothing.
                    if !call.is_empty() && self.calls.contains(&call) {
                        self.result(call, text, failed, entry.at);
                    }
                }
            }
        }
    }

    /// Gives out what is left; the time of the last message.
    pub fn finish(mut self) -> (i64, u64) {
        self.close();
        (self.last, self.count)
    }

    /// Times must strictly increase, whatever the clock did.
    fn tick(&mut self, at: Option<i64>) -> i64 {
        self.last = at.unwrap_or(0).max(self.last.saturating_add(1));
        self.last
    }

    /// The answer that entries of `group` add to.
    fn draft(&mut self, group: Option<&str>, at: Option<i64>) -> &mut Draft {
        let same = self.draft.as_ref().is_some_and(|draft| {
            draft.group.as_deref() == group && group.is_some() && draft.weight < MAX_ANSWER
        });
        if !same {
            self.close();
        }
        let draft = match self.draft.take() {
            Some(draft) => draft,
            None => Draft {
                group: group.map(str::to_owned),
                at: self.tick(at),
                text: None,
                calls: Vec::new(),
                weight: 0,
            },
        };
        self.draft.insert(draft)
    }

    /// The text as it may leave: without our own injected memory, without
    /// credentials, bounded.
    fn outgoing(&mut self, mut text: Text, limit: usize) -> String {
        text.edit(|part| {
            if part.contains('<') {
                *part = strip_wrappers(part, &[FENCE]);
            }
        });
        self.redactor.text(&mut text);
        text.guard(limit)
    }

    fn give(&mut self, message: Message) {
        self.count += 1;
        (self.sink)(message);
    }

    fn user(&mut self, text: &Text, at: Option<i64>) {
        let Some(user) = self.identity.user.clone() else {
            return;
        };
        let mut text = text.clone();
        text.edit(|part| {
            if part.contains('<') {
                *part = self.redactor.private(part);
            }
        });
        let content = self.outgoing(text, usize::MAX);
        let content = content.trim();
        if content.is_empty() {
            return;
        }
        let timestamp = self.tick(at);
        let content = content.to_owned();
        self.give(Message {
            sender_id: user,
            role: "user",
            timestamp,
            content,
            tool_calls: Vec::new(),
            tool_call_id: None,
        });
    }

    fn result(&mut self, call: String, text: Text, failed: bool, at: Option<i64>) {
        let mut content = self.outgoing(text, MAX_OUTPUT);
        if failed {
            content.insert_str(0, FAILED);
        }
        let timestamp = self.tick(at);
        self.give(Message {
            sender_id: self.identity.agent.to_owned(),
            role: "tool",
            timestamp,
            content,
            tool_calls: Vec::new(),
            tool_call_id: Some(call),
        });
    }

    fn close(&mut self) {
        let Some(draft) = self.draft.take() else {
            return;
        };
        let content = draft
            .text
            .map(|text| self.outgoing(text, usize::MAX))
            .unwrap_or_default();
        if content.trim().is_empty() && draft.calls.is_empty() {
            return;
        }
        self.give(Message {
            sender_id: self.identity.agent.to_owned(),
            role: "assistant",
            timestamp: draft.at,
            content,
            tool_calls: draft.calls,
            tool_call_id: None,
        });
    }
}
