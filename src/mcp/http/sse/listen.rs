//! The listening side: the stream, its endpoint, and what is done when it breaks.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::service::RxJsonRpcMessage;
use serde_json::Value;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, timeout};
use url::Url;

use super::super::events::{Event, Events};
use super::super::exchange::{EVENTS, own};
use super::super::failure::{Failure, Hint};
use super::super::heard::{answers, instead, unreadable};
use super::super::resume::is_lasting;
use super::{Line, State};
use crate::mcp::wire::{self, Texts};
use crate::net::{same_origin, shown};

type Inbox = Sender<RxJsonRpcMessage<RoleClient>>;

/// Listens until the stream is lost for good or nobody listens any more.
pub(super) async fn run(line: Arc<Line>, inbox: Inbox) {
    let mut listener = Listener {
        line,
        inbox,
        endpoint: None,
        last_id: None,
        asked: None,
        failed: 0,
        began: Instant::now(),
        opened: false,
    };
    let failure = listener.keep().await;
    let line = &listener.line;
    line.exchange.watch.note(&failure);
    listener.fail_waiting(&failure).await;
    line.state.send_replace(State::Over(Arc::new(failure)));
}

struct Listener {
    line: Arc<Line>,
    inbox: Inbox,
    /// The endpoint of the session that goes on.
    endpoint: Option<Url>,
    last_id: Option<String>,
    asked: Option<Duration>,
    /// How often in a row the stream broke without anything coming of it.
    failed: u32,
    began: Instant,
    /// Whether the stream that broke had been open.
    opened: bool,
}

impl Listener {
    /// Keeps the stream open; gives why that ended.
    async fn keep(&mut self) -> Failure {
        let reconnect = self.line.exchange.rules.reconnect;
        loop {
            let failure = self.once().await;
            let first = self.endpoint.is_none();
            if first || is_lasting(&failure) || self.inbox.is_closed() {
                return failure;
            }
            if self.began.elapsed() > reconnect.longest {
                self.failed = 0;
            }
            if self.failed >= reconnect.times {
                return failure;
            }
            self.line.exchange.watch.note(&failure);
            let failure = Arc::new(failure);
            // What is away for longer than a moment is not waited for: whoever calls is told.
            let state = match !self.opened && is_away(&failure) {
                true => State::Away(Arc::clone(&failure)),
                false => State::Opening,
            };
            self.line.state.send_replace(state);
            self.fail_waiting(&failure).await;
            tokio::time::sleep(reconnect.before(self.failed, self.asked.take())).await;
            self.failed += 1;
        }
    }

    /// One stream from its beginning to its end.
    async fn once(&mut self) -> Failure {
        self.began = Instant::now();
        self.opened = false;
        match self.listen().await {
            Ok(()) => Failure::Ended {
                address: shown(&self.line.exchange.home),
                detail: None,
            },
            Err(failure) => failure,
        }
    }

    async fn listen(&mut self) -> Result<(), Failure> {
        let mut fields = self.line.fields();
        fields.push(own("accept", EVENTS));
        if let Some(id) = &self.last_id {
            fields.push(own("last-event-id", id.as_str()));
        }
        let hint = |status| match status {
            400 | 404 | 405 | 406 => Hint::Streamable,
            _ => Hint::None,
        };
        let limit = self.line.exchange.rules.timeouts.endpoint;
        let exchange = self.line.exchange.clone();
        let announced = async {
            let (mut events, address) = exchange.open(&fields, false, hint).await?;
            let endpoint = self.announced(&mut events, &address).await?;
            Ok((events, address, endpoint))
        };
        let announced = timeout(limit, announced).await;
        let (mut events, address, endpoint) = announced.unwrap_or_else(|_| {
            let seconds = limit.as_secs_f64();
            Err(self.unusable(
                false,
                format!("names no endpoint for messages within {seconds} s"),
            ))
        })?;
        let goes_on = self.last_id.is_some() && self.endpoint.as_ref() == Some(&endpoint);
        if self.endpoint.is_some() && !goes_on {
            self.begin_anew(&mut events, &endpoint).await?;
        }
        self.ready(endpoint);
        while let Some(event) = events.next().await? {
            self.note(&event);
            if event.kind == "endpoint" {
                let endpoint = self.judge(&event, &address)?;
                self.ready(endpoint);
            } else if event.is_message() {
                self.failed = 0;
                for text in self.texts(&event.data) {
                    self.deliver(text).await?;
                }
            }
        }
        Ok(())
    }

    fn ready(&mut self, endpoint: Url) {
        self.opened = true;
        self.endpoint = Some(endpoint.clone());
        self.line.state.send_replace(State::Ready(endpoint));
    }

    fn note(&mut self, event: &Event) {
        if event.id.is_some() {
            self.last_id.clone_from(&event.id);
        }
        self.asked = event.retry.or(self.asked);
    }

    fn unusable(&self, announced: bool, detail: String) -> Failure {
        Failure::Endpoint {
            address: shown(&self.line.exchange.home),
            detail,
            announced,
        }
    }

    /// The endpoint that the stream begins with.
    async fn announced(&mut self, events: &mut Events, address: &Url) -> Result<Url, Failure> {
        while let Some(event) = events.next().await? {
            self.note(&event);
            if event.kind == "endpoint" {
                return self.judge(&event, address);
            }
        }
        Err(self.unusable(
            false,
            "ends its stream without naming an endpoint for messages".to_owned(),
        ))
    }

    /// The endpoint of an event, which stays with the origin of its stream (§7.2.1).
    fn judge(&self, event: &Event, address: &Url) -> Result<Url, Failure> {
        let mut endpoint = address
            .join(event.data.trim())
            .map_err(|_| self.unusable(true, "names an endpoint that is no address".to_owned()))?;
        if !same_origin(address, &endpoint) {
            return Err(self.unusable(true, format!(
                "names an endpoint of another origin, {}; messages and configured headers are not sent there",
                shown(&endpoint)
            )));
        }
        let _ = endpoint.set_username("");
        let _ = endpoint.set_password(None);
        endpoint.set_fragment(None);
        Ok(endpoint)
    }

    /// A new stream is a new session: it begins as the first one did.
    async fn begin_anew(&mut self, events: &mut Events, endpoint: &Url) -> Result<(), Failure> {
        self.last_id = None;
        let (initialize, initialized) = {
            let talk = self.line.talk();
            (talk.initialize.clone(), talk.initialized.clone())
        };
        let Some((id, body)) = initialize else {
            return Ok(());
        };
        self.line.post(endpoint, &body).await?;
        let limit = self.line.exchange.rules.timeouts.answer;
        let answered = timeout(limit, self.answered(events, &id)).await;
        answered.unwrap_or_else(|_| {
            Err(self
                .line
                .closed("it does not answer the request that begins a session"))
        })?;
        match initialized {
            Some(body) => self.line.post(endpoint, &body).await,
            None => Ok(()),
        }
    }

    /// Waits for the answer that the session's user has had from the first stream.
    async fn answered(&mut self, events: &mut Events, id: &Value) -> Result<(), Failure> {
        while let Some(event) = events.next().await? {
            self.note(&event);
            if !event.is_message() {
                continue;
            }
            let mut begins = None;
            for text in self.texts(&event.data) {
                let answer: Option<Value> = serde_json::from_str(text).ok();
                let answer = answer.filter(|answer| answer.get("method").is_none());
                match answer.filter(|answer| answers(&answer.get("id").cloned(), id)) {
                    Some(answer) => begins = Some(answer.get("result").is_some()),
                    None => self.deliver(text).await?,
                }
            }
            match begins {
                Some(true) => return Ok(()),
                Some(false) => return Err(self.line.closed("it does not begin another session")),
                None => {}
            }
        }
        Err(Failure::Ended {
            address: shown(&self.line.exchange.home),
            detail: None,
        })
    }

    /// The texts of the messages of an event.
    fn texts<'d>(&self, data: &'d str) -> Vec<&'d str> {
        let texts = wire::texts(data).map(Texts::all).unwrap_or_default();
        if texts.is_empty() {
            self.line.exchange.pass_over(data);
        }
        texts
    }

    /// Hands a message on.
    async fn deliver(&self, data: &str) -> Result<(), Failure> {
        let message: Option<Value> = serde_json::from_str(data).ok();
        let id = message
            .as_ref()
            .filter(|message| message.get("method").is_none())
            .and_then(|message| message.get("id").cloned());
        let request = {
            let mut talk = self.line.talk();
            let at = talk
                .waiting
                .iter()
                .position(|request| answers(&id, request));
            let request = at.map(|at| talk.waiting.swap_remove(at));
            let begins = talk.initialize.as_ref().map(|(begins, _)| begins);
            if request.is_some() && request.as_ref() == begins {
                talk.version = message.as_ref().and_then(version);
            }
            request
        };
        let results = self.line.exchange.rules.results;
        let message = match results.message(data) {
            Ok(message) => message,
            Err(error) => {
                let Some(request) = request else {
                    // Nobody waits for it.
                    self.line.exchange.pass_over(data);
                    return Ok(());
                };
                let failure = unreadable(&self.line.exchange, &error);
                return self.answer_with(&request, &failure).await;
            }
        };
        self.hand_on(message).await
    }

    async fn hand_on(&self, message: RxJsonRpcMessage<RoleClient>) -> Result<(), Failure> {
        let handed = self.inbox.send(message).await;
        handed.map_err(|_| self.line.closed("nobody listens any more"))
    }

    async fn answer_with(&self, request: &Value, failure: &Failure) -> Result<(), Failure> {
        match self
            .line
            .exchange
            .rules
            .results
            .message(&instead(request, failure))
        {
            Ok(message) => self.hand_on(message).await,
            // What was written here can be read here.
            Err(_) => Ok(()),
        }
    }

    /// What was asked on the stream that broke is answered by nobody.
    async fn fail_waiting(&self, failure: &Failure) {
        let waiting = std::mem::take(&mut self.line.talk().waiting);
        for request in waiting {
            if self.answer_with(&request, failure).await.is_err() {
                return;
            }
        }
    }
}

/// Whether a failure to open the stream says that no server is there now.
fn is_away(failure: &Failure) -> bool {
    match failure {
        Failure::Net(_) => true,
        Failure::Status { status, .. } => *status >= 500,
        _ => false,
    }
}

/// The protocol version of the answer that begins a session.
fn version(message: &Value) -> Option<String> {
    let version = message.pointer("/result/protocolVersion")?.as_str()?;
    let fine = version.len() <= 32 && version.bytes().all(|byte| byte.is_ascii_graphic());
    fine.then(|| version.to_owned())
}
