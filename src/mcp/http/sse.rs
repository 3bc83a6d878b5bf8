//! The deprecated HTTP+SSE (MCP 2024-11-05, transports), which rmcp does not speak:
//! one stream for all that the server says, and an endpoint, announced on it, for
//! the client's messages.

mod listen;

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ClientRequest};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use url::Url;

use super::Watch;
use super::exchange::{EVENTS, Exchange, JSON, own};
use super::failure::{Failure, Hint};
use super::headers::Field;
use crate::mcp::wire;
use crate::net::{Method, shown};

/// How many messages of the server wait to be taken.
const INBOX: usize = 16;

/// A connection over the deprecated HTTP+SSE.
pub struct Sse {
    line: Arc<Line>,
    inbox: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
    listener: JoinHandle<()>,
}

impl Sse {
    pub(super) fn start(exchange: Exchange) -> Self {
        let (state, _) = watch::channel(State::Opening);
        let line = Arc::new(Line {
            exchange,
            state,
            talk: Mutex::default(),
        });
        let (deliver, inbox) = mpsc::channel(INBOX);
        let listener = tokio::spawn(listen::run(Arc::clone(&line), deliver));
        Self {
            line,
            inbox,
            listener,
        }
    }

    /// What went wrong last; also when rmcp has taken the transport.
    pub fn watch(&self) -> Watch {
        self.line.exchange.watch.clone()
    }
}

impl Drop for Sse {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Transport<RoleClient> for Sse {
    type Error = Failure;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Failure>> + Send + 'static {
        let line = Arc::clone(&self.line);
        async move {
            let sent = line.say(item).await;
            sent.inspect_err(|failure| line.exchange.watch.note(failure))
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.inbox.recv().await
    }

    async fn close(&mut self) -> Result<(), Failure> {
        self.listener.abort();
        let failure = self.line.closed("it was ended here");
        self.line.state.send_replace(State::Over(Arc::new(failure)));
        Ok(())
    }
}

/// How things stand with the stream.
#[derive(Clone)]
enum State {
    /// It is being opened, for the first time or anew.
    Opening,
    /// It could not be opened anew, and is tried again.
    Away(Arc<Failure>),
    /// It is open, and messages go there.
    Ready(Url),
    /// It is given up.
    Over(Arc<Failure>),
}

/// What has been said so far.
#[derive(Default)]
struct Talk {
    /// The requests without an answer.
    waiting: Vec<Value>,
    /// The messages that a session begins with, for when it has to begin anew.
    initialize: Option<(Value, Vec<u8>)>,
    initialized: Option<Vec<u8>>,
    /// The protocol version that the server chose.
    version: Option<String>,
}

/// What the sending and the listening side share.
struct Line {
    exchange: Exchange,
    state: watch::Sender<State>,
    talk: Mutex<Talk>,
}

impl Line {
    fn talk(&self) -> MutexGuard<'_, Talk> {
        self.talk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn closed(&self, detail: &str) -> Failure {
        Failure::Closed {
            address: shown(&self.exchange.home),
            detail: detail.to_owned(),
        }
    }

    /// Sends a message once there is an endpoint for it.
    async fn say(&self, message: ClientJsonRpcMessage) -> Result<(), Failure> {
        let bad = |error: serde_json::Error| Failure::Message {
            address: shown(&self.exchange.home),
            detail: error.to_string(),
        };
        let body = wire::text(&message).map_err(bad)?;
        let (id, begins) = match &message {
            ClientJsonRpcMessage::Request(asked) => (
                Some(serde_json::to_value(&asked.id).map_err(bad)?),
                matches!(asked.request, ClientRequest::InitializeRequest(_)),
            ),
            ClientJsonRpcMessage::Notification(note) => (
                None,
                matches!(
                    note.notification,
                    ClientNotification::InitializedNotification(_)
                ),
            ),
            _ => (None, false),
        };
        let endpoint = self.enlist(id.as_ref()).await?;
        match &id {
            Some(id) if begins => self.talk().initialize = Some((id.clone(), body.clone())),
            None if begins => self.talk().initialized = Some(body.clone()),
            _ => {}
        }
        let sent = self.post(&endpoint, &body).await;
        if let (Err(_), Some(id)) = (&sent, &id) {
            self.withdraw(id);
        }
        sent
    }

    /// Waits for an endpoint and puts a request among those that wait for an answer
    /// on its stream. Whoever breaks the stream off first says so and then looks who
    /// waits; so a request is either seen there or sees it here.
    async fn enlist(&self, id: Option<&Value>) -> Result<Url, Failure> {
        loop {
            let endpoint = self.endpoint().await?;
            let Some(id) = id else { return Ok(endpoint) };
            self.talk().waiting.push(id.clone());
            if matches!(&*self.state.borrow(), State::Ready(now) if *now == endpoint) {
                return Ok(endpoint);
            }
            self.withdraw(id);
        }
    }

    fn withdraw(&self, id: &Value) {
        self.talk().waiting.retain(|other| other != id);
    }

    /// Where messages go, once that is known.
    async fn endpoint(&self) -> Result<Url, Failure> {
        let mut state = self.state.subscribe();
        let known = state.wait_for(|state| !matches!(state, State::Opening));
        let known = match timeout(self.exchange.rules.timeouts.answer, known).await {
            Ok(Ok(known)) => known.clone(),
            Ok(Err(_)) | Err(_) => State::Opening,
        };
        match known {
            State::Ready(endpoint) => Ok(endpoint),
            State::Away(failure) | State::Over(failure) => Err(Failure::Lost(failure)),
            State::Opening => Err(self.closed("its stream could not be opened in time")),
        }
    }

    async fn post(&self, endpoint: &Url, body: &[u8]) -> Result<(), Failure> {
        let mut fields = self.fields();
        fields.push(own("accept", format!("{JSON}, {EVENTS}")));
        fields.push(own("content-type", JSON));
        let exchange = &self.exchange;
        let response = exchange
            .ask(Method::Post, endpoint, &fields, Some(body))
            .await?;
        match response.status {
            // The answer comes on the stream.
            200..300 => Ok(()),
            _ => Err(exchange.refused(Method::Post, response, Hint::None).await),
        }
    }

    /// The headers of the client's own that every request carries.
    fn fields(&self) -> Vec<Field> {
        let version = self.talk().version.clone();
        version
            .map(|version| own("mcp-protocol-version", version))
            .into_iter()
            .collect()
    }
}
