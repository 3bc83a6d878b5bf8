//! The task that owns a transport.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::{Command, Post, Waiting};
use crate::mcp::members::object;
use crate::mcp::session::failure::{CallError, Failure, Step};
use crate::mcp::session::room::Room;
use crate::mcp::wire::{self, Incoming};

/// How many answers to a server's own requests may be on their way. A server
/// that asks faster than it reads gets no more of them.
const ANSWERS: usize = 64;
/// A log message that is longer, in bytes, is dropped if others wait.
const LOG_BYTES: usize = 64 << 10;
/// How long telling a server that a request is cancelled may hold up the end.
const PARTING: Duration = Duration::from_secs(1);
/// How long a transport may take to end.
const CLOSING: Duration = Duration::from_secs(10);

/// What a message is, for when it is sent or cannot be.
enum Purpose {
    Request(u64),
    /// A request that could not be sent a moment ago.
    Unsent(u64),
    /// The server is told that a request is not waited for.
    Cancel,
    /// Somebody waits until it is sent.
    Notice(#[expect(dead_code, reason = "its end is what is waited for")] oneshot::Sender<()>),
    Other,
}

/// What the task that owns the transport knows.
pub(super) struct Carrier {
    server: Arc<str>,
    waiting: HashMap<u64, Waiting>,
    /// Messages on their way.
    sends: JoinSet<(Purpose, Result<(), String>)>,
    /// How many of them cancel a request.
    cancelling: usize,
    changed: Arc<Notify>,
    logs: mpsc::Sender<Box<RawValue>>,
    post: Arc<Post>,
}

impl Carrier {
    pub(super) fn new(
        server: &str,
        changed: &Arc<Notify>,
        logs: mpsc::Sender<Box<RawValue>>,
        post: Arc<Post>,
    ) -> Self {
        Self {
            server: server.into(),
            waiting: HashMap::new(),
            sends: JoinSet::new(),
            cancelling: 0,
            changed: Arc::clone(changed),
            logs,
            post,
        }
    }

    pub(super) async fn carry<T: Transport<RoleClient> + 'static>(
        mut self,
        mut transport: T,
        mut orders: mpsc::UnboundedReceiver<Command>,
        ended: watch::Sender<Option<Failure>>,
    ) {
        let closed = loop {
            // Only calls are kept waiting so: a server that is being opened has a
            // time limit.
            let is_called = self.waiting.values().any(|waiting| waiting.is_call);
            let room = is_called.then(|| self.post.room.clone());
            tokio::select! {
                order = orders.recv() => match order {
                    None | Some(Command::Close) => break true,
                    Some(order) => self.order(&mut transport, order).await,
                },
                message = receive(&mut transport, room) => match message {
                    None => break false,
                    Some(message) => self.hear(&mut transport, message.into()).await,
                },
                Some(sent) = self.sends.join_next() => {
                    if let Ok((purpose, result)) = sent {
                        self.sent(purpose, result);
                    }
                }
            }
        };
        // A server that is not told goes on with what nobody waits for.
        if closed {
            let _ = tokio::time::timeout(PARTING, self.parted()).await;
        }
        // What is on its way may hold what the transport needs to end.
        self.sends.abort_all();
        let _ = tokio::time::timeout(CLOSING, transport.close()).await;
        drop(transport);
        let mut words = (self.post.words)();
        let cause = match words.ending.take() {
            Some(cause) => cause,
            None if closed => "the connection was closed".to_owned(),
            None => "the server ended the connection".to_owned(),
        };
        let failure = self.failure(&cause).words(words);
        // Before the answers' senders are dropped: whoever waits looks here then.
        ended.send_replace(Some(failure));
    }

    async fn order<T: Transport<RoleClient>>(&mut self, transport: &mut T, order: Command) {
        match order {
            Command::Request {
                id,
                method,
                params,
                waiting,
            } => {
                self.waiting.insert(id, waiting);
                let message = wire::request(number(id), method, &params);
                self.send(transport, Purpose::Request(id), message).await;
            }
            Command::Notify(method, sent) => {
                if let Some(message) = wire::notification(method, Value::Null) {
                    self.send(transport, Purpose::Notice(sent), message).await;
                }
            }
            Command::Cancel(id, reason) => {
                // Answered in the meantime: there is nothing to cancel.
                if self.waiting.remove(&id).is_none() {
                    return;
                }
                let mut params = json!({"requestId": id});
                if let (Some(reason), Some(params)) = (reason, params.as_object_mut()) {
                    params.insert("reason".to_owned(), Value::String(reason));
                }
                if let Some(message) = wire::notification("notifications/cancelled", params) {
                    self.cancelling += 1;
                    self.send(transport, Purpose::Cancel, message).await;
                }
            }
            Command::Close => {}
        }
    }

    async fn hear<T: Transport<RoleClient>>(&mut self, transport: &mut T, message: Incoming) {
        match message {
            Incoming::Answer(id, result) => {
                // Nobody waits for it any more, or it answers nothing.
                let Some(waiting) = own(&id).and_then(|id| self.waiting.remove(&id)) else {
                    return;
                };
                let answer = result.map_err(|error| match wire::is_lost(&error) {
                    true => CallError::Failed(self.failure(&error.message)),
                    false => CallError::Answered(error),
                });
                let _ = waiting.answer.send(answer);
            }
            Incoming::Request(id, method) => {
                if self.sends.len() >= ANSWERS {
                    return;
                }
                let result = match method.as_str() {
                    "ping" => Ok(json!({})),
                    method => Err(ErrorData::new(
                        ErrorCode::METHOD_NOT_FOUND,
                        format!("apkit does not offer {method}"),
                        None,
                    )),
                };
                if let Some(message) = wire::answer(id, result) {
                    self.send(transport, Purpose::Other, message).await;
                }
            }
            Incoming::Notification(method, params) => match method.as_str() {
                "notifications/tools/list_changed" => self.changed.notify_one(),
                "notifications/message" => {
                    let is_alone = self.logs.capacity() == self.logs.max_capacity();
                    if let Some(params) = params
                        && (is_alone || params.get().len() <= LOG_BYTES)
                    {
                        let _ = self.logs.try_send(params);
                    }
                }
                "notifications/progress" => {
                    if let Some(params) = params
                        && let Ok(Token { progress_token }) = object(params.get())
                        && let Some(waiting) =
                            own(&progress_token).and_then(|id| self.waiting.get(&id))
                    {
                        let _ = waiting.progress.try_send(params);
                    }
                }
                _ => {}
            },
            Incoming::Stray => {}
        }
    }

    /// Hands a message to the transport. The first poll is made here, so that
    /// messages take their places in the order in which they were given; the
    /// rest goes on beside whatever else happens.
    async fn send<T: Transport<RoleClient>>(
        &mut self,
        transport: &mut T,
        purpose: Purpose,
        message: ClientJsonRpcMessage,
    ) {
        let sending = transport.send(message);
        let mut sending: Pin<Box<dyn Future<Output = Result<(), String>> + Send>> =
            Box::pin(async move { sending.await.map_err(|error| chain(&error)) });
        let first = poll_fn(|context| Poll::Ready(sending.as_mut().poll(context))).await;
        match first {
            Poll::Pending => {
                self.sends.spawn(async move { (purpose, sending.await) });
            }
            Poll::Ready(result) => self.sent(purpose, result),
        }
    }

    fn sent(&mut self, purpose: Purpose, result: Result<(), String>) {
        if let Purpose::Cancel = purpose {
            self.cancelling -= 1;
        }
        let Err(cause) = result else { return };
        match purpose {
            Purpose::Request(id) if !self.post.dying.is_zero() => {
                let dying = self.post.dying;
                self.sends.spawn(async move {
                    tokio::time::sleep(dying).await;
                    (Purpose::Unsent(id), Err(cause))
                });
            }
            Purpose::Request(id) | Purpose::Unsent(id) => self.fail(id, &cause),
            Purpose::Cancel | Purpose::Notice(_) | Purpose::Other => {}
        }
    }

    /// Waits until the server knows what is cancelled.
    async fn parted(&mut self) {
        while self.cancelling > 0 {
            let Some(sent) = self.sends.join_next().await else {
                return;
            };
            if let Ok((purpose, result)) = sent {
                self.sent(purpose, result);
            }
        }
    }

    fn fail(&mut self, id: u64, cause: &str) {
        if let Some(waiting) = self.waiting.remove(&id) {
            let failure = self.failure(cause);
            let _ = waiting.answer.send(Err(CallError::Failed(failure)));
        }
    }

    fn failure(&self, cause: &str) -> Failure {
        let failure = Failure::new(&self.server, Step::Serve, self.post.secrets.masked(cause));
        // The transport's errors are texts here; what it noted of its last one is of this
        // one if the text is.
        let words = (self.post.words)();
        let is_it = words.ending.is_some_and(|ending| cause.contains(&ending));
        Failure {
            lasting: is_it && words.lasting,
            ..failure
        }
    }
}

/// The next message; none while `room` is full.
async fn receive<T: Transport<RoleClient>>(
    transport: &mut T,
    room: Option<Room>,
) -> Option<ServerJsonRpcMessage> {
    if let Some(room) = room {
        room.free().await;
    }
    transport.receive().await
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Token {
    progress_token: RequestId,
}

fn number(id: u64) -> RequestId {
    RequestId::Number(i64::try_from(id).unwrap_or(i64::MAX))
}

/// One of our identifiers, as a server gave it back.
fn own(id: &RequestId) -> Option<u64> {
    match id {
        RequestId::Number(number) => u64::try_from(*number).ok(),
        RequestId::String(text) => text.parse().ok(),
    }
}

/// An error with what is behind it, each said once.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        source = error.source();
    }
    text
}
