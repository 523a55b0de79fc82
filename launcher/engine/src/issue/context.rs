//! What a request needs from the worker that sends it.

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
    /// Held by the one slot that waits before it tries a target that does not answer. The slot releases it before the try, which may take
    /// long.
    pub(super) back_off_turn: tokio::sync::Mutex<()>,
}

impl RequestContext {
    pub(super) fn recorder(&self) -> MutexGuard<'_, Recorder> {
        // The counts are still valid after a panic.
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
