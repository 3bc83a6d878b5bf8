//! The messages of rmcp with what they carry left as it came.
//!
//! rmcp reads a result into types that know the fields of one version of the
//! protocol and drop the others; what passes through here keeps its text, so a
//! host gets from a server what the server wrote. The way to do that within
//! rmcp's messages is a result that is one JSON *string* holding the text: no
//! result of MCP is a string, and rmcp takes it for a result it does not know. Any
//! other message travels within a notification of a method that only stands here.

mod batch;

use std::borrow::Cow;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, CustomNotification, CustomRequest, CustomResult,
    ErrorCode, ErrorData, InitializeResult, RequestId, ServerJsonRpcMessage, ServerNotification,
    ServerRequest, ServerResult,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::members::{Object, object};
pub(super) use batch::{Texts, texts};

/// The method of a notification that holds a message as text.
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

    /// The same for a message that comes beside the answer to a request, on the
    /// stream for that answer: rmcp reads no further behind whatever answers
    /// anything.
    pub(super) fn beside(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Typed => Cow::Borrowed(text),
            Self::Text => Cow::Owned(wrapped(text)),
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
    error: Option<Object<ErrorObject>>,
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
    let envelope: Envelope<'_> = object(text)?;
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
            (None, Some(Object(error)), id) => Ok(ServerJsonRpcMessage::error(error.into(), id)),
            _ => Err(invalid()),
        },
    }
}

/// The same message with its result as a string, or the notification as text within
/// another one, for a reader of rmcp's own that [`server_message`] cannot take the
/// place of. Requests, errors and the answer to `initialize` stay as they are.
fn veiled(text: &str) -> Cow<'_, str> {
    let Ok(envelope) = object::<Envelope<'_>>(text) else {
        return Cow::Borrowed(text);
    };
    let veiled = match envelope {
        Envelope {
            id: None,
            method: Some(_),
            ..
        } => return Cow::Owned(wrapped(text)),
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

/// A notification that holds a message as text.
fn wrapped(text: &str) -> String {
    json!({"jsonrpc": "2.0", "method": WRAPPED, "params": {"message": text}}).to_string()
}

fn result_of(result: &RawValue) -> ServerResult {
    let text = result.get();
    if text.contains("\"protocolVersion\"")
        && let Ok(initialized) = object::<InitializeResult>(text)
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
                ServerNotification::CustomNotification(custom) => match unwrapped(&custom) {
                    Some(message) => message.into(),
                    None => Self::Notification(custom.method, custom.params.and_then(unveiled)),
                },
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

/// The message that a notification holds as text. What is within is read by
/// [`server_message`], whose parameters are texts: it holds no further one.
fn unwrapped(outer: &CustomNotification) -> Option<ServerJsonRpcMessage> {
    let params = outer.params.as_ref().filter(|_| outer.method == WRAPPED)?;
    server_message(params.get("message")?.as_str()?).ok()
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
/// look for; every other keeps the text of its parameters, which [`text`] writes.
pub(super) fn request(id: RequestId, method: &str, params: &RawValue) -> ClientJsonRpcMessage {
    if method == "initialize"
        && let Some(message) =
            typed(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    {
        return message;
    }
    let params = Value::String(params.get().to_owned());
    let request = CustomRequest::new(method, Some(params));
    ClientJsonRpcMessage::request(ClientRequest::CustomRequest(request), id)
}

/// The text of a message to a server, in one line: that of [`request`] with its
/// parameters as they were written.
///
/// # Errors
///
/// A message cannot be written as JSON.
pub(super) fn text(message: &ClientJsonRpcMessage) -> Result<Vec<u8>, serde_json::Error> {
    #[derive(Serialize)]
    struct Written<'t> {
        jsonrpc: &'static str,
        id: &'t RequestId,
        method: &'t str,
        params: &'t RawValue,
    }
    if let ClientJsonRpcMessage::Request(asked) = message
        && let ClientRequest::CustomRequest(custom) = &asked.request
        && let Some(Value::String(params)) = &custom.params
    {
        let mut text = serde_json::to_vec(&Written {
            jsonrpc: "2.0",
            id: &asked.id,
            method: &custom.method,
            params: serde_json::from_str(params)?,
        })?;
        // Inside texts of JSON there are no ends of lines, outside they are white space.
        for byte in text.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
        return Ok(text);
    }
    serde_json::to_vec(message)
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
mod tests;
