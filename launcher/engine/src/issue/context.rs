//! What a request needs of the thread that sends it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::shared::Shared;
use crate::{client::Client, recorder::Recorder};

/// What the requests of a worker need.
pub(super) struct Core {
    pub(super) shared: Arc<Shared>,
    pub(super) client: Client,
    /// Locked for each request once, by one thread.
    pub(super) recorder: Mutex<Recorder>,
}

impl Core {
    pub(super) fn recorder(&self) -> MutexGuard<'_, Recorder> {
        // A recorder that a panic left is still one whose counts hold.
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
