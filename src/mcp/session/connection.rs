//! One connection to a server: requests out, answers in, and what the server
//! says by itself. One task owns the transport; everything else talks to it.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::failure::{CallError, Failure, Step};
use crate::mcp::wire::{self, Incoming};

/// How many answers to a server's own requests may be on their way. A server
/// that asks faster than it reads gets no more of them.
const ANSWERS: usize = 64;
/// How many log messages wait for whoever reads them; the next ones are dropped.
const LOGS: usize = 64;
/// How many reports of progress of one call wait; the next ones are dropped.
const PROGRESS: usize = 16;
/// How long a transport may take to end.
const CLOSING: Duration = Duration::from_secs(10);

/// What is known of a server besides its messages.
pub(super) struct Post {
    /// Why it ended, if it did, and the last lines of standard error.
    pub(super) words: Box<dyn Fn() -> (Option<String>, Vec<String>) + Send + Sync>,
    /// How long to wait for its end when a message cannot be sent: a process that
    /// ends closes its input first, and its end is the reason to tell.
    pub(super) dying: Duration,
}

/// The result of a request: its text as the server wrote it.
pub type Answer = Result<Box<RawValue>, CallError>;

enum Command {
    Request {
        id: u64,
        method: &'static str,
        params: Value,
        waiting: Waiting,
    },
    /// Dropped when the notification is on its way or cannot be.
    Notify(&'static str, oneshot::Sender<()>),
    /// The request is not waited for any more; the server is told so.
    Cancel(u64, Option<String>),
    Close,
}

/// What a message is, for when it is sent or cannot be.
enum Purpose {
    Request(u64),
    /// A request that could not be sent a moment ago.
    Unsent(u64),
    /// Somebody waits until it is sent.
    Notice(#[expect(dead_code, reason = "its end is what is waited for")] oneshot::Sender<()>),
    Other,
}

struct Waiting {
    answer: oneshot::Sender<Answer>,
    progress: mpsc::Sender<Box<RawValue>>,
}

/// A handle on the connection; cheap to clone. The connection ends with the
/// last of them, or with [`Self::close`].
#[derive(Clone)]
pub(super) struct Connection {
    commands: mpsc::UnboundedSender<Command>,
    next: Arc<AtomicU64>,
    server: Arc<str>,
    /// Its tools are others now.
    pub(super) changed: Arc<Notify>,
    ended: watch::Receiver<Option<Failure>>,
}

impl Connection {
    /// Lets a task carry `transport`. `post` tells of its end.
    pub(super) fn over<T>(
        server: &str,
        transport: T,
        post: Arc<Post>,
    ) -> (Self, mpsc::Receiver<Box<RawValue>>)
    where
        T: Transport<RoleClient> + 'static,
    {
        let (commands, orders) = mpsc::unbounded_channel();
        let (ended, end) = watch::channel(None);
        let (logs, read_logs) = mpsc::channel(LOGS);
        let changed = Arc::new(Notify::new());
        let carrier = Carrier {
            server: server.into(),
            waiting: HashMap::new(),
            sends: JoinSet::new(),
            changed: Arc::clone(&changed),
            logs,
            post,
        };
        tokio::spawn(carrier.carry(transport, orders, ended));
        let connection = Self {
            commands,
            next: Arc::new(AtomicU64::new(1)),
            server: server.into(),
            changed,
            ended: end,
        };
        (connection, read_logs)
    }

    /// Sends a request. With `progress`, the server is asked to report.
    pub(super) fn call(&self, method: &'static str, mut params: Value, progress: bool) -> Call {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        if progress && let Some(params) = params.as_object_mut() {
            let meta = params.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                meta.insert("progressToken".to_owned(), json!(id));
            }
        }
        let (answer, answered) = oneshot::channel();
        let (report, reports) = mpsc::channel(PROGRESS);
        let waiting = Waiting {
            answer,
            progress: report,
        };
        // If the connection has ended, the answer's sender is dropped with this.
        let _ = self.commands.send(Command::Request {
            id,
            method,
            params,
            waiting,
        });
        Call {
            id,
            answered,
            reports: Some(reports),
            connection: self.clone(),
            open: true,
        }
    }

    /// Sends a notification, and waits until it is sent: over HTTP, what follows
    /// could overtake it.
    pub(super) async fn notify(&self, method: &'static str) {
        let (sent, is_sent) = oneshot::channel();
        let _ = self.commands.send(Command::Notify(method, sent));
        let _ = is_sent.await;
    }

    /// Why the connection ended; waits until it does.
    pub(super) async fn ended(&self) -> Failure {
        let mut ended = self.ended.clone();
        let failure = match ended.wait_for(Option::is_some).await {
            Ok(failure) => failure.clone(),
            Err(_) => None,
        };
        failure
            .unwrap_or_else(|| Failure::new(&self.server, Step::Serve, "the connection was closed"))
    }

    /// Ends the connection and waits until the server is gone.
    pub(super) async fn close(&self) {
        let _ = self.commands.send(Command::Close);
        self.ended().await;
    }
}

/// A request on its way. Dropped before its end, it is cancelled.
pub struct Call {
    id: u64,
    answered: oneshot::Receiver<Answer>,
    reports: Option<mpsc::Receiver<Box<RawValue>>>,
    connection: Connection,
    open: bool,
}

/// What is heard of a request.
pub enum Heard {
    /// The parameters of `notifications/progress`, with our own token in them.
    Progress(Box<RawValue>),
    /// Its end.
    End(Answer),
}

impl Call {
    /// The next thing heard of the request. After its end there is nothing more
    /// to ask for.
    pub async fn next(&mut self) -> Heard {
        loop {
            let report = async {
                match &mut self.reports {
                    Some(reports) => reports.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                report = report => match report {
                    Some(report) => return Heard::Progress(report),
                    None => self.reports = None,
                },
                answer = &mut self.answered => {
                    self.open = false;
                    return Heard::End(match answer {
                        Ok(answer) => answer,
                        Err(_) => Err(CallError::Failed(self.connection.ended().await)),
                    });
                }
            }
        }
    }

    /// Waits for the end, at most for `limit` without a sign of progress.
    pub async fn end(mut self, limit: Option<Duration>) -> Answer {
        loop {
            let heard = match limit {
                None => self.next().await,
                Some(limit) => match tokio::time::timeout(limit, self.next()).await {
                    Ok(heard) => heard,
                    Err(_) => {
                        let cause = format!("no answer within {} s", limit.as_secs_f32());
                        let failure = Failure::new(&self.connection.server, Step::Serve, &cause);
                        self.cancel(Some(cause));
                        return Err(CallError::Failed(
                            failure.help("--timeout gives it more time"),
                        ));
                    }
                },
            };
            if let Heard::End(answer) = heard {
                return answer;
            }
        }
    }

    /// Gives the request up and tells the server why.
    pub fn cancel(mut self, reason: Option<String>) {
        self.open = false;
        let _ = self
            .connection
            .commands
            .send(Command::Cancel(self.id, reason));
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.open {
            let _ = self
                .connection
                .commands
                .send(Command::Cancel(self.id, None));
        }
    }
}

/// What the task that owns the transport knows.
struct Carrier {
    server: Arc<str>,
    waiting: HashMap<u64, Waiting>,
    /// Messages on their way.
    sends: JoinSet<(Purpose, Result<(), String>)>,
    changed: Arc<Notify>,
    logs: mpsc::Sender<Box<RawValue>>,
    post: Arc<Post>,
}

impl Carrier {
    async fn carry<T: Transport<RoleClient> + 'static>(
        mut self,
        mut transport: T,
        mut orders: mpsc::UnboundedReceiver<Command>,
        ended: watch::Sender<Option<Failure>>,
    ) {
        let closed = loop {
            tokio::select! {
                order = orders.recv() => match order {
                    None | Some(Command::Close) => break true,
                    Some(order) => self.order(&mut transport, order).await,
                },
                message = transport.receive() => match message {
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
        // What is on its way may hold what the transport needs to end.
        self.sends.abort_all();
        let _ = tokio::time::timeout(CLOSING, transport.close()).await;
        drop(transport);
        let (cause, stderr) = (self.post.words)();
        let cause = match cause {
            Some(cause) => cause,
            None if closed => "the connection was closed".to_owned(),
            None => "the server ended the connection".to_owned(),
        };
        let failure = Failure::new(&self.server, Step::Serve, cause).stderr(stderr);
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
                let message = wire::request(number(id), method, params);
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
                    self.send(transport, Purpose::Other, message).await;
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
                let _ = waiting.answer.send(result.map_err(CallError::Answered));
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
                    if let Some(params) = params {
                        let _ = self.logs.try_send(params);
                    }
                }
                "notifications/progress" => {
                    if let Some(params) = params
                        && let Ok(Token { progress_token }) = serde_json::from_str(params.get())
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
            Purpose::Notice(_) | Purpose::Other => {}
        }
    }

    fn fail(&mut self, id: u64, cause: &str) {
        if let Some(waiting) = self.waiting.remove(&id) {
            let failure = Failure::new(&self.server, Step::Serve, cause);
            let _ = waiting.answer.send(Err(CallError::Failed(failure)));
        }
    }
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
