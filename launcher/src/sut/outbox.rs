//! Output for the LoadGen program. Frames that are ready at the same time are written together.

use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// Maximum number of bytes that wait for the program to read them. Above it no request is sent, but answers in flight can still add bytes.
const MAX_WAITING: usize = 64 << 20;

/// Frames that wait to be written to the pipe, in order.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    state: Mutex<State>,
    filled: Notify,
    emptied: Notify,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    closed: bool,
}

impl Outbox {
    /// Adds frames.
    pub(super) fn add(&self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.state().bytes);
        self.filled.notify_one();
    }

    /// Closes the outbox. No frames are added after this.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.filled.notify_one();
    }

    pub(super) fn has_room(&self) -> bool {
        self.state().bytes.len() < MAX_WAITING
    }

    /// Waits until there is room for more frames.
    pub(super) async fn room(&self) {
        while !self.has_room() {
            self.emptied.notified().await;
        }
    }

    /// Waits for frames, and moves all of them to the empty `batch`. Returns `false` if the outbox is empty and closed.
    pub(super) async fn take(&self, batch: &mut Vec<u8>) -> bool {
        loop {
            {
                let mut state = self.state();
                if !state.bytes.is_empty() {
                    mem::swap(&mut state.bytes, batch);
                    self.emptied.notify_one();
                    return true;
                }
                if state.closed {
                    return false;
                }
            }
            self.filled.notified().await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A poisoned lock is no problem, because each frame is complete before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_waits_goes_out_in_one_piece_and_in_order() {
        let outbox = Outbox::default();
        outbox.add(|it| it.extend([1, 2]));
        outbox.add(|it| it.push(3));
        let mut batch = Vec::new();
        assert!(outbox.take(&mut batch).await);
        assert_eq!(batch, [1, 2, 3]);
        batch.clear();
        outbox.add(|it| it.push(4));
        outbox.close();
        assert!(outbox.take(&mut batch).await);
        assert_eq!(batch, [4]);
        batch.clear();
        assert!(!outbox.take(&mut batch).await);
    }

    #[tokio::test]
    async fn who_does_not_read_gets_no_more() {
        let outbox = Outbox::default();
        outbox.add(|it| it.resize(MAX_WAITING, 0));
        assert!(!outbox.has_room());
        let (waited, taken) = tokio::join!(outbox.room(), async { outbox.take(&mut Vec::new()).await });
        assert_eq!((waited, taken), ((), true));
        assert!(outbox.has_room());
    }
}
