//! What is on its way to the server's standard input.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::service::TxJsonRpcMessage;
use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::Limits;
use super::error::SendError;
use crate::mcp::wire;

/// How long messages that wait already are still written when the input is to end.
const FLUSH: Duration = Duration::from_millis(500);

/// A line to write, and whom to tell.
type Waiting = (Vec<u8>, oneshot::Sender<Result<(), SendError>>);

/// Messages in the order they were given, written by a task of their own.
#[derive(Debug)]
pub(super) struct Queue {
    sender: Option<UnboundedSender<Waiting>>,
    writer: JoinHandle<()>,
    /// Bytes that are not written yet.
    unsent: Arc<AtomicUsize>,
    most: usize,
    patience: Duration,
}

impl Queue {
    pub(super) fn new(stdin: ChildStdin, limits: &Limits) -> Self {
        // Bounded by the count of bytes below.
        let (sender, receiver) = unbounded_channel();
        let unsent = Arc::new(AtomicUsize::new(0));
        Self {
            sender: Some(sender),
            writer: tokio::spawn(write(stdin, receiver, Arc::clone(&unsent))),
            unsent,
            most: limits.unsent,
            patience: limits.send,
        }
    }

    /// Puts a message at the end. The future says when it is written, or why not.
    pub(super) fn push(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SendError>> + Send + use<> {
        let written = self.enqueue(&message);
        let patience = self.patience;
        async move {
            match tokio::time::timeout(patience, written?).await {
                Ok(told) => told.unwrap_or(Err(SendError::Closed)),
                Err(_) => Err(SendError::NotRead),
            }
        }
    }

    fn enqueue(
        &self,
        message: &TxJsonRpcMessage<RoleClient>,
    ) -> Result<oneshot::Receiver<Result<(), SendError>>, SendError> {
        let sender = self.sender.as_ref().ok_or(SendError::Closed)?;
        let mut line = wire::text(message).map_err(SendError::Json)?;
        line.push(b'\n');
        let length = line.len();
        let before = self.unsent.fetch_add(length, Ordering::Relaxed);
        if before > 0 && before + length > self.most {
            self.unsent.fetch_sub(length, Ordering::Relaxed);
            return Err(SendError::NotRead);
        }
        let (tell, told) = oneshot::channel();
        sender.send((line, tell)).map_err(|_| SendError::Closed)?;
        Ok(told)
    }

    /// Ends the server's standard input, after what waits already if the server
    /// reads that soon.
    pub(super) async fn close(&mut self) {
        self.sender = None;
        if tokio::time::timeout(FLUSH, &mut self.writer).await.is_err() {
            self.writer.abort();
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.writer.abort();
    }
}

async fn write(
    mut stdin: ChildStdin,
    mut waiting: UnboundedReceiver<Waiting>,
    unsent: Arc<AtomicUsize>,
) {
    while let Some((line, tell)) = waiting.recv().await {
        // What nobody waits for any more was given up before it began.
        if !tell.is_closed() {
            let result = stdin.write_all(&line).await;
            let broken = result.is_err();
            let _ = tell.send(result.map_err(SendError::Write));
            if broken {
                return;
            }
        }
        unsent.fetch_sub(line.len(), Ordering::Relaxed);
    }
}
