//! The messages of rmcp with what they carry left as it came.
//!
//! rmcp reads a result into types that know the fields of one version of the
//! protocol and drop the others; what passes through here keeps its text, so a
//! host gets from a server what the server wrote. The way to do that within
//! rmcp's messages is a result that is one JSON *string* holding the text: no
//! result of MCP is a string, and rmcp takes it for a result it does not know. A
//! notification travels within one of a method that only stands here.

use std::borrow::Cow;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, CustomNotification, CustomRequest, CustomResult,
    ErrorCode, ErrorData, InitializeResult, RequestId, ServerJsonRpcMessage, ServerNotification,
    ServerRequest, ServerResult,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

/// The method of a notification that holds another one as text.
const WRAPPED: &str = "apkit/text";

/// The data of an error that stands for an answer which never came. A server that
/// writes it says of itself that its answer is none.
const LOST: &str = "apkit/lost";

/// An error in the place of an answer which never came, and why it did not.
pub(super) fn lost(why: String) -> ErrorData {
    ErrorData::internal_error(why, Some(LOST.into()))
}

/// Whether an error stands for an answer which never came.
pub(super) fn is_lost(error: &ErrorData) -> bool {
    error.data.as_ref().and_then(Value::as_str) == Some(LOST)
}

/// How the results of a server are handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Results {
    /// As rmcp's types, for rmcp's own client.
    #[default]
    Typed,
    /// As their text, for [`super::session`].
    Text,
}

impl Results {
    /// Reads a message of a server.
    ///
    /// # Errors
    ///
    /// The text is no message of JSON-RPC that can be handed on so.
    pub fn message(self, text: &str) -> Result<ServerJsonRpcMessage, serde_json::Error> {
        match self {
            Self::Typed => serde_json::from_str(text),
            Self::Text => server_message(text),
        }
    }

    /// The text of a message for a reader of rmcp's own.
    pub fn for_rmcp(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Typed => Cow::Borrowed(text),
            Self::Text => veiled(text),
        }
    }
}

/// A message as a server sent it, read as far as its envelope.
#[derive(Deserialize)]
struct Envelope<'t> {
    #[serde(borrow, default)]
    jsonrpc: Cow<'t, str>,
    #[serde(default)]
    id: Option<RequestId>,
    #[serde(borrow, default)]
    method: Option<Cow<'t, str>>,
    #[serde(borrow, default)]
    params: Option<&'t RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'t RawValue>,
    #[serde(default)]
    error: Option<ErrorObject>,
}

/// An error that lacks something or says more than fits is still an answer.
#[derive(Deserialize)]
struct ErrorObject {
    #[serde(default)]
    code: Value,
    #[serde(default)]
    message: Value,
    #[serde(default)]
    data: Option<Value>,
}

/// A member that is there, `null` included.
fn present<'de: 't, 't, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'t RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads a message of a server: results and parameters stay text. Only the
/// answer to `initialize` gets its type, which rmcp's own transports look at.
pub(super) fn server_message(text: &str) -> Result<ServerJsonRpcMessage, serde_json::Error> {
    let envelope: Envelope<'_> = serde_json::from_str(text)?;
    let invalid = || serde_json::Error::custom("no message of JSON-RPC 2.0");
    if envelope.jsonrpc != "2.0" {
        return Err(invalid());
    }
    let params = match envelope.params.map(RawValue::get) {
        Some(params) if !params.starts_with(['{', '[']) => return Err(invalid()),
        params => params.map(|params| Value::String(params.to_owned())),
    };
    match (envelope.method, envelope.id) {
        (Some(method), Some(id)) => Ok(ServerJsonRpcMessage::request(
            ServerRequest::CustomRequest(CustomRequest::new(method, params)),
            id,
        )),
        (Some(method), None) => Ok(ServerJsonRpcMessage::notification(
            ServerNotification::CustomNotification(CustomNotification::new(method, params)),
        )),
        (None, id) => match (envelope.result, envelope.error, id) {
            (Some(result), None, Some(id)) => {
                Ok(ServerJsonRpcMessage::response(result_of(result), id))
            }
            (None, Some(error), id) => Ok(ServerJsonRpcMessage::error(error.into(), id)),
            _ => Err(invalid()),
        },
    }
}

/// The same message with its result as a string, or the notification as text within
/// another one, for a reader of rmcp's own that [`server_message`] cannot take the
/// place of. Requests, errors and the answer to `initialize` stay as they are.
fn veiled(text: &str) -> Cow<'_, str> {
    let Ok(envelope) = serde_json::from_str::<Envelope<'_>>(text) else {
        return Cow::Borrowed(text);
    };
    let veiled = match envelope {
        Envelope {
            id: None,
            method: Some(_),
            ..
        } => json!({"jsonrpc": "2.0", "method": WRAPPED, "params": {"message": text}}),
        Envelope {
            id: Some(id),
            method: None,
            result: Some(result),
            error: None,
            ..
        } => match result_of(result) {
            ServerResult::CustomResult(CustomResult(result)) => {
                json!({"jsonrpc": "2.0", "id": id, "result": result})
            }
            _ => return Cow::Borrowed(text),
        },
        _ => return Cow::Borrowed(text),
    };
    Cow::Owned(veiled.to_string())
}

fn result_of(result: &RawValue) -> ServerResult {
    let text = result.get();
    if text.contains("\"protocolVersion\"")
        && let Ok(initialized) = serde_json::from_str::<InitializeResult>(text)
    {
        return ServerResult::InitializeResult(initialized);
    }
    ServerResult::CustomResult(CustomResult(Value::String(text.to_owned())))
}

impl From<ErrorObject> for ErrorData {
    fn from(error: ErrorObject) -> Self {
        let code = error
            .code
            .as_i64()
            .and_then(|code| i32::try_from(code).ok());
        let message = match error.message {
            Value::String(message) => message,
            Value::Null => String::new(),
            other => other.to_string(),
        };
        Self::new(
            code.map_or(ErrorCode::INTERNAL_ERROR, ErrorCode),
            message,
            error.data,
        )
    }
}

/// What a server sent, whichever transport read it.
pub(super) enum Incoming {
    /// The answer to the request with this identifier.
    Answer(RequestId, Result<Box<RawValue>, ErrorData>),
    /// An error that answers nothing that can be named.
    Stray,
    /// A request to the client.
    Request(RequestId, String),
    /// A notification.
    Notification(String, Option<Box<RawValue>>),
}

impl From<ServerJsonRpcMessage> for Incoming {
    fn from(message: ServerJsonRpcMessage) -> Self {
        match message {
            ServerJsonRpcMessage::Response(response) => {
                let result = match response.result {
                    ServerResult::CustomResult(CustomResult(value)) => unveiled(value),
                    typed => to_raw_value(&typed).ok(),
                };
                let missing = || lost("the result cannot be read".to_owned());
                Self::Answer(response.id, result.ok_or_else(missing))
            }
            ServerJsonRpcMessage::Error(error) => match error.id {
                Some(id) => Self::Answer(id, Err(error.error)),
                None => Self::Stray,
            },
            ServerJsonRpcMessage::Request(request) => {
                let method = match &request.request {
                    ServerRequest::CustomRequest(custom) => custom.method.clone(),
                    typed => member(typed, "method"),
                };
                Self::Request(request.id, method)
            }
            ServerJsonRpcMessage::Notification(notification) => match notification.notification {
                ServerNotification::CustomNotification(custom) => {
                    let custom = unwrapped(&custom).unwrap_or(custom);
                    Self::Notification(custom.method, custom.params.and_then(unveiled))
                }
                typed => {
                    let method = member(&typed, "method");
                    let mut params = serde_json::to_value(&typed).ok();
                    let params = params.as_mut().and_then(|value| value.get_mut("params"));
                    Self::Notification(method, params.and_then(|params| to_raw_value(params).ok()))
                }
            },
        }
    }
}

/// The notification that another one holds as text.
fn unwrapped(outer: &CustomNotification) -> Option<CustomNotification> {
    let text = outer.params.as_ref().filter(|_| outer.method == WRAPPED)?;
    let message = server_message(text.get("message")?.as_str()?).ok()?;
    match message.into_notification()? {
        ServerNotification::CustomNotification(inner) => Some(inner),
        _ => None,
    }
}

/// The text that a string stands for, or the value itself as text.
fn unveiled(value: Value) -> Option<Box<RawValue>> {
    match value {
        Value::String(text) => RawValue::from_string(text).ok(),
        value => to_raw_value(&value).ok(),
    }
}

fn member(message: &impl serde::Serialize, name: &str) -> String {
    let value = serde_json::to_value(message).unwrap_or_default();
    let text = value.get(name).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// A request to a server. `initialize` gets its type, which rmcp's transports
/// look for; every other keeps its parameters as they are.
pub(super) fn request(id: RequestId, method: &str, params: Value) -> ClientJsonRpcMessage {
    if method == "initialize"
        && let Some(message) =
            typed(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    {
        return message;
    }
    let request = CustomRequest::new(method, Some(params));
    ClientJsonRpcMessage::request(ClientRequest::CustomRequest(request), id)
}

/// A notification to a server, with its type: rmcp's transports act on some.
pub(super) fn notification(method: &str, params: Value) -> Option<ClientJsonRpcMessage> {
    typed(match params {
        Value::Null => json!({"jsonrpc": "2.0", "method": method}),
        params => json!({"jsonrpc": "2.0", "method": method, "params": params}),
    })
}

/// The answer to a server's request.
pub(super) fn answer(
    id: RequestId,
    answer: Result<Value, ErrorData>,
) -> Option<ClientJsonRpcMessage> {
    match answer {
        Ok(result) => typed(json!({"jsonrpc": "2.0", "id": id, "result": result})),
        Err(error) => Some(ClientJsonRpcMessage::error(error, Some(id))),
    }
}

fn typed(message: Value) -> Option<ClientJsonRpcMessage> {
    serde_json::from_value(message).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: &str =
        r#"{ "content":[{"type":"text","text":"x","own":1.0}],"n":12345678901234567890123 }"#;

    fn answer_of(message: ServerJsonRpcMessage) -> String {
        match message.into() {
            Incoming::Answer(RequestId::Number(7), Ok(result)) => result.get().to_owned(),
            _ => panic!("no answer"),
        }
    }

    #[test]
    fn results_keep_their_text_here_and_through_rmcp() {
        let line = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{RESULT}}}"#);
        assert_eq!(answer_of(server_message(&line).expect("a message")), RESULT);
        let through = serde_json::from_str(&veiled(&line)).expect("a message");
        assert_eq!(answer_of(through), RESULT);
        // What rmcp alone makes of it.
        let lossy = answer_of(serde_json::from_str(&line).expect("a message"));
        assert!(!lossy.contains("own"), "{lossy}");
    }

    #[test]
    fn the_answer_to_initialize_has_its_type() {
        let line = r#"{"jsonrpc":"2.0","id":7,"result":{"protocolVersion":"2025-06-18","capabilities":{"x":{}},"serverInfo":{"name":"a","version":"1"}}}"#;
        assert_eq!(veiled(line), line);
        let ServerJsonRpcMessage::Response(response) = server_message(line).expect("a message")
        else {
            panic!("no answer");
        };
        assert!(matches!(response.result, ServerResult::InitializeResult(_)));
    }

    #[test]
    fn other_messages_are_read_alike() {
        let read = |message: ServerJsonRpcMessage| match message.into() {
            Incoming::Answer(id, Err(error)) => {
                format!("{id} {} {} {:?}", error.code.0, error.message, error.data)
            }
            Incoming::Request(id, method) => format!("{id} {method}"),
            Incoming::Notification(method, params) => {
                format!(
                    "{method} {}",
                    params.map_or(String::new(), |params| params.get().into())
                )
            }
            _ => "?".to_owned(),
        };
        for (line, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32099,"message":"no","data":{"a":[1]}}}"#,
                r#"1 -32099 no Some(Object {"a": Array [Number(1)]})"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":"x","method":"roots/list"}"#,
                "x roots/list",
            ),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
                "notifications/tools/list_changed ",
            ),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/own","params":{"a":1}}"#,
                r#"notifications/own {"a":1}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"a":1.50}}"#,
                r#"notifications/progress {"progressToken":1,"progress":1,"a":1.50}"#,
            ),
        ] {
            assert_eq!(read(server_message(line).expect("a message")), expected);
            let rmcp = serde_json::from_str(&veiled(line)).expect("a message");
            assert_eq!(read(rmcp), expected);
        }
        for line in [
            "",
            "[]",
            "{}",
            r#"{"id":1}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
        ] {
            assert!(server_message(line).is_err(), "{line}");
        }
        let odd =
            server_message(r#"{"jsonrpc":"2.0","id":1,"error":{"message":5}}"#).expect("a message");
        assert_eq!(read(odd), "1 -32603 5 None");
    }
}
