//! Tracks whether the target responds successfully.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set when a response with a 2xx status begins. Shared by all workers.
#[derive(Debug, Default)]
pub(crate) struct ResponseSeen(AtomicBool);

impl ResponseSeen {
    /// Records the status of a response that has begun.
    pub(crate) fn note(&self, status: u16) {
        // Reads before it writes: a write would take the cache line from the other workers.
        if (200..300).contains(&status) && !self.0.load(Ordering::Relaxed) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether a successful response has begun since the last call.
    pub(crate) fn take(&self) -> bool {
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed)
    }
}
