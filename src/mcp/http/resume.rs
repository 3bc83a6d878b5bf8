//! A stream of messages that is taken up again where it broke off, with
//! `Last-Event-ID` (MCP 2025-11-25, transports: resumability). rmcp sees one stream
//! without a break: taken up by itself it hurries without a pause after an error,
//! and loses the reason when it gives up.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, unfold};
use rmcp::transport::streamable_http_client::SseError;
use serde::de::IgnoredAny;
use serde_json::Value;
use sse_stream::Sse;

use super::events::{Event, Events};
use super::exchange::{EVENTS, Exchange, own};
use super::failure::{Failure, Hint};
use super::headers::Field;
use super::heard::{Heard, instead, unreadable};
use crate::mcp::wire::{self, Texts};
use crate::net::{ErrorKind, shown};

/// Whether a failure stays as it is however often it is tried.
pub(super) fn is_lasting(failure: &Failure) -> bool {
    match failure {
        Failure::Net(error) => !matches!(
            error.kind,
            ErrorKind::Timeout { .. }
                | ErrorKind::Cut { .. }
                | ErrorKind::Protocol { .. }
                | ErrorKind::Connect { .. }
                | ErrorKind::Refused { .. }
                | ErrorKind::Dns { .. }
        ),
        // 409: the server has not seen yet that the stream before is gone.
        Failure::Status { status, .. } => {
            (400..500).contains(status) && !matches!(status, 408 | 409 | 429)
        }
        Failure::Endpoint { announced, .. } => *announced,
        Failure::Ended { .. } => false,
        _ => true,
    }
}

/// A stream of messages.
pub(super) struct Resumable {
    exchange: Exchange,
    /// The headers of the client's own with which it is taken up again.
    own: Vec<Field>,
    events: Option<Events>,
    /// The request whose answer the stream is for; without it, the stream is for
    /// what the server says unasked.
    request: Option<Value>,
    /// Messages that came together and are handed on one by one.
    ready: VecDeque<String>,
    answered: bool,
    over: bool,
    last_id: Option<String>,
    asked: Option<Duration>,
    failed: u32,
}

impl Resumable {
    /// `own` are the headers that a GET for this session carries.
    pub(super) fn new(
        exchange: Exchange,
        mut own_headers: Vec<Field>,
        events: Option<Events>,
        request: Option<Value>,
    ) -> Self {
        own_headers.push(own("accept", EVENTS));
        Self {
            exchange,
            own: own_headers,
            events,
            request,
            ready: VecDeque::new(),
            answered: false,
            over: false,
            last_id: None,
            asked: None,
            failed: 0,
        }
    }

    /// The messages, as rmcp takes them. A failure takes the place of the answer.
    pub(super) fn into_stream(self) -> BoxStream<'static, Result<Sse, SseError>> {
        unfold(self, |mut stream| async move {
            let data = stream.next().await?;
            Some((Ok(Sse::default().data(data)), stream))
        })
        .boxed()
    }

    async fn next(&mut self) -> Option<String> {
        if self.over {
            return None;
        }
        let failure = match self.message().await {
            Ok(Some(message)) => return Some(message),
            Ok(None) => None,
            Err(failure) => Some(failure),
        };
        self.over = true;
        let failure = failure?;
        self.exchange.watch.note(&failure);
        let request = self.request.as_ref().filter(|_| !self.answered)?;
        Some(instead(request, &failure))
    }

    /// The next message; `None` is the end of a stream that has done its work.
    async fn message(&mut self) -> Result<Option<String>, Failure> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Ok(Some(message));
            }
            let Some(events) = &mut self.events else {
                self.open(None).await?;
                continue;
            };
            let failure = match events.next().await {
                Ok(Some(event)) => {
                    self.take(event)?;
                    continue;
                }
                Ok(None) => None,
                Err(error) => Some(Failure::from(error)),
            };
            if self.answered {
                return Ok(None);
            }
            self.events = None;
            if let Some(failure) = failure {
                let resumable = self.request.is_none() || self.last_id.is_some();
                if is_lasting(&failure) || !resumable {
                    return Err(failure);
                }
                self.open(Some(failure)).await?;
            } else if self.request.is_some() && self.last_id.is_none() {
                return Err(self.ended(None));
            }
        }
    }

    fn ended(&self, last: Option<Failure>) -> Failure {
        Failure::Ended {
            address: shown(&self.exchange.home),
            detail: last.map(|failure| failure.to_string()),
        }
    }

    /// Takes the messages of an event.
    fn take(&mut self, event: Event) -> Result<(), Failure> {
        if event.id.is_some() {
            self.last_id.clone_from(&event.id);
            self.failed = 0;
        }
        self.asked = event.retry.or(self.asked);
        if event.kind == "endpoint" {
            return Err(Failure::Message {
                address: shown(&self.exchange.home),
                detail: "it announces an endpoint, as servers of the older transport do; its entry needs \"type\": \"sse\"".to_owned(),
            });
        }
        if !event.is_message() {
            return Ok(());
        }
        self.failed = 0;
        let texts = wire::texts(&event.data).and_then(|texts| match texts {
            Texts::One(text) => serde_json::from_str(text).map(|_: IgnoredAny| vec![text]),
            Texts::Batch(texts) => Ok(texts),
        });
        let texts = match texts {
            Ok(texts) => texts,
            // Nobody waits for it.
            Err(_) if self.request.is_none() => {
                self.exchange.pass_over(&event.data);
                return Ok(());
            }
            Err(error) => return Err(unreadable(&self.exchange, &error)),
        };
        if texts.is_empty() {
            self.exchange.pass_over(&event.data);
        }
        let heard = Heard::of(&self.exchange, texts, self.request.as_ref());
        self.answered |= heard.is_answered;
        self.ready.extend(heard.messages);
        Ok(())
    }

    /// Opens the stream anew until that works or is no use.
    async fn open(&mut self, mut last: Option<Failure>) -> Result<(), Failure> {
        let reconnect = self.exchange.rules.reconnect;
        loop {
            if self.request.is_some() && self.failed >= reconnect.times {
                return Err(self.ended(last));
            }
            tokio::time::sleep(reconnect.before(self.failed, self.asked.take())).await;
            self.failed = self.failed.saturating_add(1);
            let mut own_headers = self.own.clone();
            if let Some(id) = &self.last_id {
                own_headers.push(own("last-event-id", id.as_str()));
            }
            let waits = self.request.is_some();
            let opened = self.exchange.open(&own_headers, waits, |_| Hint::None);
            match opened.await {
                Ok((events, _)) => {
                    self.events = Some(events);
                    return Ok(());
                }
                Err(failure) if is_lasting(&failure) => return Err(failure),
                Err(failure) => {
                    self.exchange.watch.note(&failure);
                    last = Some(failure);
                }
            }
        }
    }
}
