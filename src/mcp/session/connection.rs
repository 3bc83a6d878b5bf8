//! One connection to a server: requests out, answers in, and what the server
//! says by itself. One task owns the transport; everything else talks to it.

mod carrier;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::transport::Transport;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::{Notify, mpsc, oneshot, watch};

use super::failure::{CallError, Failure, Step};
use super::room::Room;
use crate::mcp::credential::Secrets;
use crate::mcp::members::Members;
use carrier::Carrier;

/// How many log messages wait for whoever reads them; the next ones are dropped.
const LOGS: usize = 64;
/// How many reports of progress of one call wait; the next ones are dropped.
const PROGRESS: usize = 16;

/// What a server said or did besides its messages.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// Why it ended, if it did.
    pub(super) ending: Option<String>,
    /// Whether that lasts until somebody changes something.
    pub(super) lasting: bool,
    /// The last lines of standard error.
    pub(super) stderr: Vec<String>,
    /// What it sent or wrote to standard output that is no message.
    pub(super) stray: Option<String>,
}

/// What is known of a server besides its messages.
pub(super) struct Post {
    pub(super) words: Box<dyn Fn() -> Words + Send + Sync>,
    /// How long to wait for its end when a message cannot be sent: a process that
    /// ends closes its input first, and its end is the reason to tell.
    pub(super) dying: Duration,
    /// What no failure may show.
    pub(super) secrets: Secrets,
    /// Where what it says waits.
    pub(super) room: Room,
}

/// The result of a request: its text as the server wrote it.
pub type Answer = Result<Box<RawValue>, CallError>;

enum Command {
    Request {
        id: u64,
        method: &'static str,
        params: Box<RawValue>,
        waiting: Waiting,
    },
    /// Dropped when the notification is on its way or cannot be.
    Notify(&'static str, oneshot::Sender<()>),
    /// The request is not waited for any more; the server is told so.
    Cancel(u64, Option<String>),
    Close,
}

struct Waiting {
    /// Whether it is a call of a tool, whose answer goes to somebody else.
    is_call: bool,
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
    post: Arc<Post>,
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
        let carrier = Carrier::new(server, &changed, logs, Arc::clone(&post));
        tokio::spawn(carrier.carry(transport, orders, ended));
        let connection = Self {
            commands,
            next: Arc::new(AtomicU64::new(1)),
            server: server.into(),
            changed,
            ended: end,
            post,
        };
        (connection, read_logs)
    }

    /// What no failure may show.
    pub(super) fn secrets(&self) -> &Secrets {
        &self.post.secrets
    }

    /// Sends a request. With `progress`, the server is asked to report.
    pub(super) fn call(
        &self,
        method: &'static str,
        mut params: Box<RawValue>,
        progress: bool,
    ) -> Call {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        if progress {
            params = with_token(params, id);
        }
        let (answer, answered) = oneshot::channel();
        let (report, reports) = mpsc::channel(PROGRESS);
        let waiting = Waiting {
            is_call: method == "tools/call",
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

    /// Sends a request of our own.
    pub(super) fn ask(&self, method: &'static str, params: &Value) -> Call {
        // Whatever is a value can be written.
        let params = to_raw_value(params).unwrap_or_else(|_| RawValue::NULL.to_owned());
        self.call(method, params, false)
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

/// Parameters that ask for progress by this token.
fn with_token(params: Box<RawValue>, token: u64) -> Box<RawValue> {
    let Some(mut members) = Members::of(&params) else {
        return params;
    };
    let meta = match members.get("_meta") {
        Some(meta) => Members::of(meta),
        None => Some(Members::default()),
    };
    let Some(mut meta) = meta else {
        return params;
    };
    meta.set("progressToken", token.to_string());
    members.set("_meta", meta.text());
    members.raw()
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
