//! Whether the target answers, judged by the status of its responses.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set when a response with a status of 2xx begins. All workers share one.
#[derive(Debug, Default)]
pub(crate) struct ResponseSeen(AtomicBool);

impl ResponseSeen {
    /// Notes the status of a response that has begun.
    pub(crate) fn note(&self, status: u16) {
        // Read before writing: a write would take the cache line from the other workers.
        if (200..300).contains(&status) && !self.0.load(Ordering::Relaxed) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a response has begun since the last call.
    pub(crate) fn take(&self) -> bool {
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed)
    }
}
