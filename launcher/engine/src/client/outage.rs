//! Tracks, for one client, whether the target responds, and how long to wait before the next attempt.

use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    time::Duration,
};

use tokio::sync::{Notify, futures::Notified};

/// Wait before the second attempt. It doubles with each further attempt.
const FIRST: Duration = Duration::from_millis(10);
/// Maximum wait. A server that is back is noticed within this time.
const LONGEST: Duration = Duration::from_secs(1);

/// An outage begins when a request gets no response from the target, and lasts until another request gets a response.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    is_on: AtomicBool,
    /// Number of waits since the outage began.
    waits: AtomicU32,
    over: Notify,
}

impl Outage {
    /// Records that a response of the target has begun.
    pub(super) fn reached(&self) {
        self.waits.store(0, Ordering::Relaxed);
        if self.is_on.swap(false, Ordering::Relaxed) {
            self.over.notify_waiters();
        }
    }

    /// Records that a request ended without a response of the target.
    pub(crate) fn missed(&self) {
        self.is_on.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Completes when the next response begins, which ends the outage.
    pub(crate) fn over(&self) -> Notified<'_> {
        self.over.notified()
    }

    /// Returns how long to wait before the next attempt: 10 ms at first. During an outage it doubles each time, up to one second.
    pub(crate) fn next_wait(&self) -> Duration {
        if !self.is_on() {
            return FIRST;
        }
        let waits = self.waits.fetch_add(1, Ordering::Relaxed);
        FIRST.saturating_mul(2_u32.saturating_pow(waits)).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_second_and_begin_anew_when_the_target_is_back() {
        let outage = Outage::default();
        outage.missed();
        let waits: Vec<_> = (0..40).map(|_| outage.next_wait().as_millis()).collect();
        assert_eq!(waits[..9], [10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]);
        assert_eq!(waits[39], 1_000);
        outage.reached();
        assert!(!outage.is_on());
        assert_eq!(outage.next_wait(), FIRST);
    }

    #[test]
    fn waits_outside_of_an_outage_do_not_count() {
        let outage = Outage::default();
        assert!((0..40).all(|_| outage.next_wait() == FIRST));
        outage.missed();
        assert_eq!([(); 2].map(|()| outage.next_wait()), [FIRST, 2 * FIRST]);
    }
}
