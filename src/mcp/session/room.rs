//! How much may wait for whoever reads what servers say.

use std::sync::Arc;

use tokio::sync::watch;

/// How many bytes may wait before servers are not read any more.
const MOST: usize = 16 << 20;

/// What waits to be read. While it is more than fits, servers with a call on their
/// way are not read, and it is they who wait. Cheap to clone; a room of its own that
/// nothing is put into never is full.
#[derive(Debug, Clone, Default)]
pub struct Room(Arc<watch::Sender<usize>>);

impl Room {
    /// Puts so many bytes into it, until what is returned is dropped.
    pub(crate) fn put(&self, bytes: usize) -> Waiting {
        self.0.send_modify(|used| *used += bytes);
        let room = self.clone();
        Waiting { room, bytes }
    }

    /// Waits until something fits.
    pub(crate) async fn free(&self) {
        // It fails only without a sender, which is here.
        let _ = self.0.subscribe().wait_for(|used| *used < MOST).await;
    }
}

/// A part of a [`Room`] that is taken.
#[derive(Debug)]
pub(crate) struct Waiting {
    room: Room,
    bytes: usize,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let bytes = self.bytes;
        self.room.0.send_modify(|used| *used -= bytes);
    }
}
