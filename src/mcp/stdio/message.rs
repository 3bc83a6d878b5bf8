//! A line as JSON-RPC messages.

use rmcp::RoleClient;
use rmcp::model::{ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use serde::Deserialize as _;
use serde_json::Value;

use super::super::wire::{self, Results};

/// What a message of the server comes to.
#[derive(Debug)]
pub(super) enum Read {
    /// A message to pass on.
    Message(Box<RxJsonRpcMessage<RoleClient>>),
    /// A request that makes no sense: the answer to it.
    Refuse(Box<TxJsonRpcMessage<RoleClient>>),
}

/// Reads a line; `None` if it holds no JSON-RPC message. A batch, which the
/// protocol of 2025-03-26 has, is several.
pub(super) fn read(line: &[u8], results: Results) -> Option<Vec<Read>> {
    let text = std::str::from_utf8(line).ok()?;
    if let Ok(message) = results.message(text) {
        return Some(vec![Read::Message(Box::new(message))]);
    }
    match serde_json::from_slice(line).ok()? {
        Value::Array(batch) if !batch.is_empty() => {
            let read =
                batch
                    .into_iter()
                    .map(|message| match results.message(&message.to_string()) {
                        Ok(message) => Some(Some(Read::Message(Box::new(message)))),
                        Err(error) => odd(&message, &error),
                    });
            Some(
                read.collect::<Option<Vec<_>>>()?
                    .into_iter()
                    .flatten()
                    .collect(),
            )
        }
        message => {
            let error = results.message(text).err()?;
            Some(odd(&message, &error)?.into_iter().collect())
        }
    }
}

/// What has the outline of a message and does not keep to the protocol: a caller
/// is told so instead of waiting, whichever side it is on. `None` if it has not
/// even the outline; `Some(None)` for a notification, which nobody waits for.
fn odd(message: &Value, error: &serde_json::Error) -> Option<Option<Read>> {
    let message = message.as_object()?;
    if message.get("jsonrpc") != Some(&Value::from("2.0")) {
        return None;
    }
    let id = message
        .get("id")
        .and_then(|id| RequestId::deserialize(id).ok());
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

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(line: &str) -> Option<usize> {
        read(line.as_bytes(), Results::Typed).map(|read| read.len())
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
    }

    #[test]
    fn whoever_waits_is_told() {
        let line = br#"{"jsonrpc": "2.0", "id": 4, "error": "no"}"#;
        let read_ = read(line, Results::Typed).expect("the outline of an answer");
        let [Read::Message(message)] = read_.as_slice() else {
            panic!("{read_:?}");
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
