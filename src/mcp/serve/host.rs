//! The side of the host: lines of JSON in, lines of JSON out. Two threads of
//! their own read and write, so that a pipe that nobody reads or fills holds up
//! nothing else, the end of the program least of all.

use std::borrow::Cow;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::thread;

use rmcp::model::ErrorData;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::mcp::members::object;
use crate::mcp::session::Room;
use crate::mcp::session::Waiting;
use crate::mcp::wire::{self, Texts};

/// The longest line that is read.
const LONGEST: usize = 64 << 20;
/// How many lines wait on either side.
const LINES: usize = 64;

/// A line of the host.
pub(super) enum Line {
    /// Its text.
    Text(Vec<u8>),
    /// It was longer than any message may be, and its rest was passed over.
    TooLong,
}

/// Reads lines until the end of `input`.
pub(super) fn read(input: impl Read + Send + 'static) -> mpsc::Receiver<Line> {
    let (lines, read) = mpsc::channel(LINES);
    thread::spawn(move || {
        let mut input = BufReader::new(input);
        while let Ok(Some(line)) = next_line(&mut input) {
            if lines.blocking_send(line).is_err() {
                break;
            }
        }
    });
    read
}

fn next_line(input: &mut BufReader<impl Read>) -> std::io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let chunk = input.fill_buf()?;
        if chunk.is_empty() {
            // The last line may lack its end.
            let line = (!line.is_empty()).then_some(Line::Text(line));
            return Ok(line);
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
        if line.len() + part.len() > LONGEST {
            too_long = true;
            line = Vec::new();
        } else if !too_long {
            line.extend_from_slice(part);
        }
        let taken = end.map_or(chunk.len(), |end| end + 1);
        input.consume(taken);
        if end.is_some() {
            return Ok(Some(if too_long {
                Line::TooLong
            } else {
                Line::Text(line)
            }));
        }
    }
}

/// Where messages to the host go. Waits when the host does not read.
#[derive(Clone)]
pub(super) struct Out {
    lines: mpsc::Sender<(Vec<u8>, Waiting)>,
    room: Room,
}

/// Writes lines until the last [`Out`] is dropped or the host reads no more; the
/// receiver ends then.
pub(super) fn write(
    mut output: impl Write + Send + 'static,
    room: Room,
) -> (Out, tokio::sync::oneshot::Receiver<()>) {
    let (lines, mut written) = mpsc::channel::<(Vec<u8>, Waiting)>(LINES);
    let (end, ended) = tokio::sync::oneshot::channel();
    thread::spawn(move || {
        while let Some((line, _waiting)) = written.blocking_recv() {
            if output
                .write_all(&line)
                .and_then(|()| output.flush())
                .is_err()
            {
                break;
            }
        }
        drop(written);
        let _ = end.send(());
    });
    (Out { lines, room }, ended)
}

impl Out {
    /// Whether the host reads no more; waits until it is so.
    pub(super) async fn closed(&self) {
        self.lines.closed().await;
    }

    /// Waits until the host has read enough of what there is for it.
    pub(super) async fn room(&self) {
        self.room.free().await;
    }

    pub(super) async fn result(&self, id: &RawValue, result: &str) {
        self.line(&[
            "{\"jsonrpc\":\"2.0\",\"id\":",
            id.get(),
            ",\"result\":",
            result,
            "}",
        ])
        .await;
    }

    pub(super) async fn error(&self, id: Option<&RawValue>, error: &ErrorData) {
        let error = serde_json::to_string(error).unwrap_or_default();
        let id = id.map_or("null", RawValue::get);
        self.line(&[
            "{\"jsonrpc\":\"2.0\",\"id\":",
            id,
            ",\"error\":",
            &error,
            "}",
        ])
        .await;
    }

    /// A notification without parameters if `params` is empty.
    pub(super) async fn notify(&self, method: &str, params: &str) {
        let method = json!(method).to_string();
        let start = ["{\"jsonrpc\":\"2.0\",\"method\":", &method];
        match params {
            "" => self.line(&[start[0], start[1], "}"]).await,
            params => {
                self.line(&[start[0], start[1], ",\"params\":", params, "}"])
                    .await
            }
        }
    }

    async fn line(&self, parts: &[&str]) {
        let length = parts.iter().map(|part| part.len()).sum::<usize>() + 1;
        let waiting = self.room.put(length);
        let mut line = Vec::with_capacity(length);
        for part in parts {
            // A message is one line. Inside strings of JSON there are no ends of
            // lines, outside they are white space.
            line.extend(part.bytes().map(|byte| match byte {
                b'\n' | b'\r' => b' ',
                byte => byte,
            }));
        }
        line.push(b'\n');
        let _ = self.lines.send((line, waiting)).await;
    }
}

/// A message of the host.
pub(super) enum Message<'t> {
    Request {
        id: &'t RawValue,
        method: Cow<'t, str>,
        params: Option<&'t RawValue>,
    },
    Notification {
        method: Cow<'t, str>,
        params: Option<&'t RawValue>,
    },
    /// An answer: nothing is ever asked of the host.
    Answer,
}

#[derive(Deserialize)]
struct Envelope<'t> {
    #[serde(borrow, default)]
    id: Option<&'t RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'t, str>>,
    #[serde(borrow, default)]
    params: Option<&'t RawValue>,
}

/// What a line holds.
pub(super) enum Said<'t> {
    One(Result<Message<'t>, ErrorData>),
    /// The messages of a batch, each read by [`message`].
    Batch(Vec<&'t str>),
}

/// Reads a line.
pub(super) fn said(line: &[u8]) -> Said<'_> {
    let no_json = || ErrorData::parse_error("the line is no JSON", None::<Value>);
    let Ok(text) = std::str::from_utf8(line) else {
        return Said::One(Err(no_json()));
    };
    match wire::texts(text) {
        Ok(Texts::Batch(texts)) => Said::Batch(texts),
        Ok(Texts::One(text)) => Said::One(match serde_json::from_str::<&RawValue>(text) {
            Ok(value) => message(value.get()),
            Err(_) => Err(no_json()),
        }),
        Err(error) if error.is_data() => {
            Said::One(Err(ErrorData::invalid_request(error.to_string(), None)))
        }
        Err(_) => Said::One(Err(no_json())),
    }
}

/// Reads one message of JSON.
pub(super) fn message(text: &str) -> Result<Message<'_>, ErrorData> {
    let invalid = || ErrorData::invalid_request("no message of JSON-RPC 2.0", None::<Value>);
    let envelope: Envelope<'_> = object(text).map_err(|_| invalid())?;
    match (envelope.id, envelope.method) {
        (Some(id), _) if id.get().starts_with(['{', '[']) => Err(invalid()),
        (Some(id), Some(method)) => Ok(Message::Request {
            id,
            method,
            params: envelope.params,
        }),
        (None, Some(method)) => Ok(Message::Notification {
            method,
            params: envelope.params,
        }),
        (Some(_), None) => Ok(Message::Answer),
        (None, None) => Err(invalid()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_hold_messages() {
        let kinds = |line: &str| -> Vec<String> {
            let name = |message: Result<Message<'_>, ErrorData>| match message {
                Ok(Message::Request { id, method, .. }) => format!("{} {method}", id.get()),
                Ok(Message::Notification { method, .. }) => method.into_owned(),
                Ok(Message::Answer) => "answer".to_owned(),
                Err(error) => error.code.0.to_string(),
            };
            match said(line.as_bytes()) {
                Said::One(message) => vec![name(message)],
                Said::Batch(texts) => texts.into_iter().map(|text| name(message(text))).collect(),
            }
        };
        assert_eq!(kinds(r#"{"id":"a","method":"ping"}"#), ["\"a\" ping"]);
        assert_eq!(kinds(r#"{"id":1.5,"method":"p\u0069ng"}"#), ["1.5 ping"]);
        assert_eq!(kinds(r#" {"method":"x","params":{}} "#), ["x"]);
        assert_eq!(kinds(r#"{"id":3,"result":{}}"#), ["answer"]);
        assert_eq!(
            kinds(r#"[{"id":1,"method":"a"},{"method":"b"},3]"#),
            ["1 a", "b", "-32600"]
        );
        assert_eq!(kinds(r#"[["a","ping",{}]]"#), ["-32600"]);
        assert_eq!(kinds("[]"), [""; 0]);
        assert_eq!(kinds(&format!("[{}1]", "1,".repeat(10_000))), ["-32600"]);
        assert_eq!(kinds("{"), ["-32700"]);
        assert_eq!(kinds(r#"{"id":{},"method":"a"}"#), ["-32600"]);
    }

    #[test]
    fn long_lines_are_passed_over() {
        let mut long = vec![b'x'; LONGEST + 1];
        long.extend_from_slice(b"\nshort\nlast");
        let mut input = BufReader::new(&long[..]);
        assert!(matches!(next_line(&mut input), Ok(Some(Line::TooLong))));
        assert!(matches!(next_line(&mut input), Ok(Some(Line::Text(line))) if line == b"short"));
        assert!(matches!(next_line(&mut input), Ok(Some(Line::Text(line))) if line == b"last"));
        assert!(matches!(next_line(&mut input), Ok(None)));
    }
}
