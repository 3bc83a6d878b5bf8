//! Being asked to end while servers run.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for the signals that ask the program to end.
#[cfg(unix)]
pub(super) struct Stop([Signal; 3]);

#[cfg(unix)]
impl Stop {
    /// From now on the signals do not end the process. Needs a runtime of tokio.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self([
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
            signal(SignalKind::hangup())?,
        ]))
    }

    /// Ready when the program is asked to end, each time anew.
    pub(super) async fn asked(&mut self) {
        let [terminate, interrupt, hangup] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

/// Listens for Ctrl-C.
#[cfg(not(unix))]
pub(super) struct Stop;

#[cfg(not(unix))]
impl Stop {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) async fn asked(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
