//! Which of the messages in a text of Streamable HTTP is the answer to a request, and
//! how rmcp is given the others.

use rmcp::model::ServerJsonRpcMessage;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::exchange::Exchange;
use super::failure::Failure;
use crate::mcp::members::object;
use crate::mcp::wire;
use crate::net::shown;

/// What a message is about.
#[derive(Deserialize)]
struct Outline {
    id: Option<Value>,
    method: Option<IgnoredAny>,
}

/// Messages as rmcp takes them.
#[derive(Default)]
pub(super) struct Heard {
    /// The answer to the request is the last of them: rmcp reads no further behind it.
    pub(super) messages: Vec<String>,
    /// Whether the answer is among them.
    pub(super) is_answered: bool,
}

impl Heard {
    /// Sorts these texts, each of which is JSON, by whether they answer `request`.
    /// What is no message is noted and passed over, and an answer that cannot be read
    /// fails that request alone.
    pub(super) fn of(exchange: &Exchange, texts: Vec<&str>, request: Option<&Value>) -> Self {
        let results = exchange.rules.results;
        let (mut heard, mut answer) = (Self::default(), None);
        for text in texts {
            let Ok(outline) = object::<Outline>(text) else {
                exchange.pass_over(text);
                continue;
            };
            let asked = request.filter(|_| outline.method.is_none());
            let asked = asked.filter(|request| answers(&outline.id, request));
            match (results.message(text), asked) {
                (Ok(_), Some(_)) => answer = Some(results.for_rmcp(text).into_owned()),
                // rmcp drops what it cannot read, and the request would wait for ever.
                (Err(error), Some(request)) => {
                    answer = Some(instead(request, &unreadable(exchange, &error)));
                }
                (Ok(_), None) => heard.messages.push(
                    match request {
                        Some(_) => results.beside(text),
                        None => results.for_rmcp(text),
                    }
                    .into_owned(),
                ),
                (Err(_), None) => exchange.pass_over(text),
            }
        }
        heard.is_answered = answer.is_some();
        heard.messages.extend(answer);
        heard
    }
}

/// The failure of a request whose answer cannot be read.
pub(super) fn unreadable(exchange: &Exchange, error: &serde_json::Error) -> Failure {
    let failure = Failure::Message {
        address: shown(&exchange.home),
        detail: exchange.masked(&error.to_string()),
    };
    exchange.watch.note(&failure);
    failure
}

/// An error in place of the answer to the request `id`.
pub(super) fn instead(id: &Value, failure: &Failure) -> String {
    let error = wire::lost(failure.to_string());
    json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
}

/// `message` if it answers `request`. An error may leave out what it answers.
pub(super) fn due(
    mut message: ServerJsonRpcMessage,
    request: &Value,
) -> Option<ServerJsonRpcMessage> {
    let id = match &mut message {
        ServerJsonRpcMessage::Response(response) => Some(&response.id),
        ServerJsonRpcMessage::Error(error) => {
            if error.id.is_none() {
                error.id = serde_json::from_value(request.clone()).ok();
            }
            error.id.as_ref()
        }
        _ => None,
    };
    let id = serde_json::to_value(id?).ok();
    answers(&id, request).then_some(message)
}

/// Whether an answer with this `id` is one to `request`. Some servers make numbers
/// texts.
pub(super) fn answers(id: &Option<Value>, request: &Value) -> bool {
    match id {
        Some(Value::String(text)) => {
            request.as_str() == Some(text)
                || request
                    .as_i64()
                    .is_some_and(|number| number.to_string() == *text)
        }
        Some(id) => id == request,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::answers;
    use serde_json::{Value, json};

    #[test]
    fn identifiers_are_compared_as_servers_write_them() {
        assert!(answers(&Some(json!(7)), &json!(7)));
        assert!(answers(&Some(json!("7")), &json!(7)));
        assert!(answers(&Some(json!("a")), &json!("a")));
        assert!(!answers(&Some(json!(8)), &json!(7)));
        assert!(!answers(&Some(Value::Null), &json!(7)));
        assert!(!answers(&None, &json!(7)));
    }
}
