//! The limit on open-loop requests in flight, over all workers.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Permission for one request in flight. Dropping it releases the permit.
#[derive(Debug, Default)]
pub(super) struct Permit(#[expect(dead_code, reason = "held for its drop")] Option<OwnedSemaphorePermit>);

/// The permits of a stage. A released permit goes to the worker that has waited longest.
#[derive(Debug, Default)]
pub(super) struct ConcurrencyLimit(Option<Arc<Semaphore>>);

impl ConcurrencyLimit {
    /// Creates the limit; `None` means unlimited.
    pub(super) fn new(permits: Option<u32>) -> ConcurrencyLimit {
        ConcurrencyLimit(permits.map(|it| Arc::new(Semaphore::new(it as usize))))
    }

    pub(super) fn is_bounded(&self) -> bool {
        self.0.is_some()
    }

    /// Returns a permit if one is free and no worker is waiting for it.
    pub(super) fn try_acquire(&self) -> Option<Permit> {
        match &self.0 {
            Some(permits) => Arc::clone(permits).try_acquire_owned().ok().map(|it| Permit(Some(it))),
            None => Some(Permit(None)),
        }
    }

    /// Waits for a permit.
    pub(super) async fn acquire(&self) -> Permit {
        match &self.0 {
            // Acquiring cannot fail, because the semaphore is never closed.
            Some(permits) => Permit(Arc::clone(permits).acquire_owned().await.ok()),
            None => Permit(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn a_permit_is_free_when_the_one_before_it_was_dropped() {
        let limit = ConcurrencyLimit::new(Some(1));
        let first = limit.try_acquire();
        assert!(first.is_some() && limit.try_acquire().is_none() && limit.acquire().now_or_never().is_none());
        drop(first);
        assert!(limit.acquire().now_or_never().is_some());
        let open = ConcurrencyLimit::default();
        let permits: Vec<_> = (0..9).map(|_| open.try_acquire()).collect();
        assert!(permits.iter().all(Option::is_some) && !open.is_bounded());
    }
}
