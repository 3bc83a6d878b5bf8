//! The end of a server: its input ends, then it is asked to, then it is made to.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, timeout};

use crate::sys::child::{Child, Status};

use super::Limits;
use super::lines::Lines;
use super::queue::Queue;
use super::watch::{Shared, State, Watch};

/// How long what `SIGKILL` does not end is waited for.
const GIVE_UP: Duration = Duration::from_secs(5);
/// How long a server that may be ending already has to do so by itself then.
const BY_ITSELF: Duration = Duration::from_millis(100);
/// How long the guard of a server has to end it; then that is done without it, again and
/// again, since the server may stop it.
const GUARD: Duration = Duration::from_millis(300);
/// How long a server has between `SIGTERM` and `SIGKILL` when nobody closes its
/// transport in order.
const HURRY: Duration = Duration::from_secs(1);

/// What is asked of the task that owns the process.
#[derive(Debug, Clone, Copy)]
enum Order {
    Terminate,
    Kill,
}

/// Ends a server. The process itself belongs to a task that outlives the
/// transport, so that it is waited for in any case.
#[derive(Debug)]
pub(super) struct Closing {
    orders: Sender<Order>,
    watch: Watch,
    end_of_input: Duration,
    terminate: Duration,
}

impl Closing {
    pub(super) fn new(child: Child, limits: &Limits, shared: &Arc<Shared>) -> Self {
        let (orders, given) = channel(4);
        tokio::spawn(own(child, given, Arc::clone(shared)));
        Self {
            orders,
            watch: Watch::new(Arc::clone(shared)),
            end_of_input: limits.end_of_input,
            terminate: limits.terminate,
        }
    }

    /// Ends the server, in order and in bounded time.
    pub(super) async fn run(&self, queue: &mut Queue, lines: &mut Lines) {
        let steps = async {
            queue.close().await;
            if timeout(self.end_of_input, self.watch.exited())
                .await
                .is_err()
            {
                let _ = self.orders.try_send(Order::Terminate);
                if timeout(self.terminate, self.watch.exited()).await.is_err() {
                    let _ = self.orders.try_send(Order::Kill);
                }
            }
            let _ = timeout(GIVE_UP, self.watch.gone()).await;
        };
        let drain = async {
            lines.drain().await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = steps => {}
            () = drain => {}
        }
    }
}

/// Keeps the process until it has ended.
async fn own(mut child: Child, mut orders: Receiver<Order>, shared: Arc<Shared>) {
    let status = loop {
        tokio::select! {
            biased;
            status = child.exited() => break status,
            order = orders.recv() => match order {
                Some(Order::Terminate) => child.terminate(),
                Some(Order::Kill) => break killed(&mut child).await,
                // Nobody uses the server any more.
                None => {
                    if timeout(BY_ITSELF, child.exited()).await.is_err() {
                        child.terminate();
                    }
                    if timeout(HURRY, child.exited()).await.is_err() {
                        break killed(&mut child).await;
                    }
                    break child.exited().await;
                }
            },
        }
    };
    let now = Instant::now();
    shared.set(State::Ended(status, now));
    let _ = timeout(GIVE_UP, gone(&mut child)).await;
    shared.set(State::Gone(status, now));
}

/// Kills the server and waits for its end.
async fn killed(child: &mut Child) -> Status {
    child.kill();
    loop {
        if let Ok(status) = timeout(GUARD, child.exited()).await {
            return status;
        }
        child.kill_without_guard();
    }
}

/// Waits until nothing runs any more, also if something stops the guard. It may clear
/// away for longer than it is waited for here.
async fn gone(child: &mut Child) {
    while timeout(GUARD, child.gone()).await.is_err() {
        child.wake_guard();
    }
}
