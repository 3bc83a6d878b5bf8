//! Server-sent events (the HTML standard, 9.2) out of bytes, with bounds: an event
//! has a size and a deadline, and what lies between two events counts too.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::net::{AsyncResponse, Error, ErrorKind, Waiting};

/// The longest identifier that is sent back as `Last-Event-ID`.
const ID_BYTES: usize = 4096;

/// One event. An event without data is given too: it may carry an identifier.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// Its type; empty means `message`.
    pub(super) kind: String,
    pub(super) data: String,
    /// Its identifier, if it has one that a header can carry.
    pub(super) id: Option<String>,
    /// How long to wait before the stream is taken up again.
    pub(super) retry: Option<Duration>,
}

impl Event {
    /// Whether its data is a message of MCP.
    pub(super) fn is_message(&self) -> bool {
        matches!(self.kind.as_str(), "" | "message") && !self.data.trim().is_empty()
    }
}

/// Too many bytes without an event.
#[derive(Debug, PartialEq, Eq)]
struct TooLarge;

/// Bytes in, events out.
struct Parser {
    limit: usize,
    /// Bytes since the last event.
    taken: usize,
    line: Vec<u8>,
    after_return: bool,
    at_start: bool,
    kind: Vec<u8>,
    data: Option<Vec<u8>>,
    id: Option<Vec<u8>>,
    retry: Option<Duration>,
    /// Whether a field of an event has come.
    begun: bool,
    ready: VecDeque<Event>,
}

impl Parser {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            taken: 0,
            line: Vec::new(),
            after_return: false,
            at_start: true,
            kind: Vec::new(),
            data: None,
            id: None,
            retry: None,
            begun: false,
            ready: VecDeque::new(),
        }
    }

    /// Whether something has begun and not ended.
    fn is_within(&self) -> bool {
        self.begun || !self.line.is_empty()
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        for &byte in bytes {
            let second = std::mem::take(&mut self.after_return) && byte == b'\n';
            if second {
                continue;
            }
            self.taken += 1;
            if self.taken > self.limit {
                return Err(TooLarge);
            }
            match byte {
                b'\n' | b'\r' => {
                    self.after_return = byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    self.end_line(&line);
                }
                _ => self.line.push(byte),
            }
        }
        Ok(())
    }

    fn end_line(&mut self, line: &[u8]) {
        let first = std::mem::take(&mut self.at_start);
        let line = match line.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) if first => rest,
            _ => line,
        };
        if line.is_empty() {
            self.dispatch();
            return;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"event" => self.kind = value.to_vec(),
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            b"id" => self.id = Some(value.to_vec()),
            b"retry" => {
                let digits = std::str::from_utf8(value).ok();
                let digits = digits.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
                let millis = digits.and_then(|text| text.parse().ok());
                self.retry = millis.map(Duration::from_millis).or(self.retry);
            }
            // A comment, or a field that nobody knows.
            _ => return,
        }
        self.begun = true;
    }

    fn dispatch(&mut self) {
        let kind = std::mem::take(&mut self.kind);
        let (data, id) = (self.data.take(), self.id.take());
        let retry = self.retry.take();
        if !std::mem::take(&mut self.begun) {
            return;
        }
        self.taken = 0;
        let text = |bytes: Vec<u8>| match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        self.ready.push_back(Event {
            kind: text(kind),
            data: data.map(text).unwrap_or_default(),
            id: id.map(text).filter(|id| {
                id.len() <= ID_BYTES && !id.is_empty() && !id.contains(char::is_control)
            }),
            retry,
        });
    }
}

/// How long is waited for events.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// For any byte; for ever without it.
    pub(super) silence: Option<Duration>,
    /// For the end of an event that has begun.
    pub(super) event: Duration,
}

/// The events of an answer.
pub(super) struct Events {
    response: AsyncResponse,
    parser: Parser,
    patience: Patience,
    /// When what has begun must have ended.
    due: Option<Instant>,
}

impl Events {
    pub(super) fn new(response: AsyncResponse, limit: usize, patience: Patience) -> Self {
        Self {
            response,
            parser: Parser::new(limit),
            patience,
            due: None,
        }
    }

    /// The next event; `None` is the end of the stream. Nothing is lost when the
    /// future is dropped.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.parser.ready.pop_front() {
                return Ok(Some(event));
            }
            let url = self.response.url.clone();
            let chunk = self.response.chunk(self.patience.silence);
            let chunk = match self.due {
                None => chunk.await?,
                Some(due) => timeout_at(due, chunk).await.map_err(|_| {
                    let (waiting, after) = (Waiting::Whole, self.patience.event);
                    Error::new(&url, ErrorKind::Timeout { waiting, after })
                })??,
            };
            let Some(chunk) = chunk else { return Ok(None) };
            self.parser.push(&chunk).map_err(|TooLarge| {
                let limit = self.parser.limit as u64;
                Error::new(&url, ErrorKind::TooLarge { limit })
            })?;
            self.due = if !self.parser.is_within() {
                None
            } else if self.parser.ready.is_empty() {
                self.due.or(Some(Instant::now() + self.patience.event))
            } else {
                Some(Instant::now() + self.patience.event)
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Parser, TooLarge};
    use std::time::Duration;

    fn events(text: &[u8], step: usize) -> Vec<Event> {
        let mut parser = Parser::new(1000);
        for piece in text.chunks(step) {
            assert_eq!(parser.push(piece), Ok(()));
        }
        parser.ready.into()
    }

    fn event(kind: &str, data: &str) -> Event {
        Event {
            kind: kind.to_owned(),
            data: data.to_owned(),
            ..Event::default()
        }
    }

    #[test]
    fn events_are_read_however_they_arrive() {
        let text = "\u{feff}event: endpoint\rdata:/m?é\r\r: note\r\n\r\ndata: a\ndata:  b\ndata\n\n\
                    id: 7\nretry: 20\ndata\n\nid: a\u{1}b\nretry: x\nother: 1\n\ndata: lost";
        let expected = || {
            vec![
                event("endpoint", "/m?é"),
                event("", "a\n b\n"),
                Event {
                    id: Some("7".to_owned()),
                    retry: Some(Duration::from_millis(20)),
                    ..Event::default()
                },
                Event::default(),
            ]
        };
        for step in [1, 2, 3, 7, 1000] {
            assert_eq!(events(text.as_bytes(), step), expected(), "{step}");
        }
    }

    #[test]
    fn what_comes_without_an_event_is_bounded() {
        for line in ["data: x\n", ": x\n", "x", "\n"] {
            let mut parser = Parser::new(100);
            let mut ended = Ok(());
            for _ in 0..200 {
                ended = ended.and_then(|()| parser.push(line.as_bytes()));
            }
            assert_eq!(ended, Err(TooLarge), "{line:?}");
        }
        let mut parser = Parser::new(20);
        for _ in 0..200 {
            assert_eq!(parser.push(b"data: x\n\n"), Ok(()));
        }
        assert_eq!(parser.ready.len(), 200);
    }

    proptest::proptest! {
        #[test]
        fn pieces_make_no_difference(
            lines in proptest::collection::vec("(data|id|event|retry|:)?:? ?[a-c7é]{0,3}(\n|\r|\r\n|\n\n)", 0..30),
            step in 1..9_usize,
        ) {
            let text = lines.concat();
            proptest::prop_assert_eq!(events(text.as_bytes(), step), events(text.as_bytes(), 1000));
        }
    }

    #[test]
    fn it_is_known_whether_something_has_begun() {
        let mut parser = Parser::new(100);
        for (piece, within) in [
            (": note", true),
            ("\n", false),
            ("data: x\n", true),
            ("\n", false),
            ("d", true),
        ] {
            assert_eq!(parser.push(piece.as_bytes()), Ok(()));
            assert_eq!(parser.is_within(), within, "{piece:?}");
        }
    }
}
