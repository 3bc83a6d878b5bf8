//! A line as JSON-RPC messages.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use rmcp::RoleClient;
use rmcp::model::{ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::wire::{self, Results, Texts};

/// What a message of the server comes to.
#[derive(Debug)]
pub(super) enum Read {
    /// A message to pass on.
    Message(Box<RxJsonRpcMessage<RoleClient>>),
    /// A request that makes no sense: the answer to it.
    Refuse(Box<TxJsonRpcMessage<RoleClient>>),
}

/// What a line holds.
#[derive(Debug, Default)]
pub(super) struct Heard<'l> {
    /// What its messages come to, in order.
    pub(super) read: Vec<Read>,
    /// Whether there were messages at all: some come to nothing.
    pub(super) is_useful: bool,
    /// What stands beside messages in a batch and is none.
    pub(super) junk: Vec<&'l str>,
}

/// Reads a line: each message of a batch as if it had come alone. `broken` is for
/// one that was no UTF-8 and has U+FFFD where it was none.
pub(super) fn read(line: &str, broken: bool, results: Results) -> Heard<'_> {
    let mut heard = Heard::default();
    for text in wire::texts(line).map(Texts::all).unwrap_or_default() {
        // The others of its batch may be sound.
        let message = match broken && text.contains(char::REPLACEMENT_CHARACTER) {
            true => odd(text, &"it is not UTF-8"),
            false => message(text, results),
        };
        match message {
            Some(read) => {
                heard.is_useful = true;
                heard.read.extend(read);
            }
            None => heard.junk.push(text),
        }
    }
    heard
}

/// Reads one message. `None` if it is none; `Some(None)` for one that nobody waits
/// for and that cannot be read.
fn message(text: &str, results: Results) -> Option<Option<Read>> {
    match results.message(text) {
        Ok(message) => Some(Some(Read::Message(Box::new(message)))),
        Err(error) => odd(text, &error),
    }
}

/// What has the outline of a message and does not keep to the protocol: a caller
/// is told so instead of waiting, whichever side it is on. `None` if it has not
/// even the outline; `Some(None)` for a notification, which nobody waits for.
fn odd(text: &str, error: &dyn fmt::Display) -> Option<Option<Read>> {
    // Its members may hold numbers and texts that nothing can be made of.
    let message: HashMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    let version: Option<Cow<'_, str>> = read_as(message.get("jsonrpc"));
    if version.as_deref() != Some("2.0") {
        return None;
    }
    let id: Option<RequestId> = read_as(message.get("id"));
    let answers = message.contains_key("result") || message.contains_key("error");
    match (message.contains_key("method"), answers, id) {
        (true, _, Some(id)) => {
            let error = ErrorData::invalid_request(error.to_string(), None);
            let answer = JsonRpcMessage::error(error, Some(id));
            Some(Some(Read::Refuse(Box::new(answer))))
        }
        (true, _, None) => Some(None),
        (false, true, Some(id)) => {
            let text = format!("the server's answer breaks the protocol: {error}");
            let answer = JsonRpcMessage::error(wire::lost(text), Some(id));
            Some(Some(Read::Message(Box::new(answer))))
        }
        (false, true, None) => Some(None),
        (false, false, _) => None,
    }
}

fn read_as<'t, T: Deserialize<'t>>(member: Option<&&'t RawValue>) -> Option<T> {
    serde_json::from_str(member?.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(line: &str) -> Option<usize> {
        let heard = read(line, false, Results::Typed);
        heard.is_useful.then_some(heard.read.len())
    }

    #[test]
    fn what_is_no_message_is_told_from_what_is() {
        for no in [
            "",
            "hello",
            "1",
            "{}",
            "[]",
            "[1]",
            "{\"id\": 1, \"result\": {}}",
        ] {
            assert_eq!(messages(no), None, "{no}");
        }
        assert_eq!(
            messages(r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#),
            Some(1)
        );
        assert_eq!(
            messages(r#"{"jsonrpc": "2.0", "method": "notifications/progress", "params": 7}"#),
            Some(0)
        );
        let batch = r#"[{"jsonrpc": "2.0", "id": 1, "result": {}},
            {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}]"#;
        assert_eq!(messages(batch), Some(2));
        let mixed = r#"[3, {"jsonrpc": "2.0", "id": 1, "result": {}}, {}]"#;
        assert_eq!(messages(mixed), Some(1));
        assert_eq!(read(mixed, false, Results::Typed).junk, ["3", "{}"]);
    }

    #[test]
    fn whoever_waits_is_told() {
        let line = r#"{"jsonrpc": "2.0", "id": 4, "error": {"message": "\ud800"}, "x": 1e400}"#;
        let heard = read(line, false, Results::Typed);
        let [Read::Message(message)] = heard.read.as_slice() else {
            panic!("{heard:?}");
        };
        let JsonRpcMessage::Error(error) = message.as_ref() else {
            panic!("{message:?}");
        };
        assert_eq!(error.id, Some(RequestId::Number(4)));
        assert!(
            error
                .error
                .message
                .starts_with("the server's answer breaks")
        );
    }
}
