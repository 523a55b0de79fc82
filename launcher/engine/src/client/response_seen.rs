//! Whether the target answers, as far as the heads of its answers tell.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set when an answer with a status of 2xx begins; all the workers share one.
#[derive(Debug, Default)]
pub struct ResponseSeen(AtomicBool);

impl ResponseSeen {
    /// An answer of this status has begun.
    pub fn note(&self, status: u16) {
        // Reading is cheap where writing would take the line from the other workers.
        if (200..300).contains(&status) && !self.0.load(Ordering::Relaxed) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Whether one has begun since the last call.
    pub fn take(&self) -> bool {
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed)
    }
}
