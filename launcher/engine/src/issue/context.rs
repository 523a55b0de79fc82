//! The state of a worker that its requests need.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::shared::Shared;
use crate::client::Client;
use measurement::recorder::Recorder;

/// State that all requests of one worker share.
pub(super) struct RequestContext {
    pub(super) shared: Arc<Shared>,
    pub(super) client: Client,
    /// Locked once per request, always by the same thread.
    pub(super) recorder: Mutex<Recorder>,
    /// Held by the one slot that waits for its next attempt during an outage. The slot releases it before the attempt, which can take long.
    pub(super) back_off_turn: tokio::sync::Mutex<()>,
}

impl RequestContext {
    pub(super) fn recorder(&self) -> MutexGuard<'_, Recorder> {
        // A poisoned lock is fine: the counts are valid even after a panic.
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
