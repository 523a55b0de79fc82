//! The limit on the rate at which a closed loop starts requests, over all workers.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use crds::units::RequestRate;

use super::timeline::nanos;

/// Assigns start times in the order in which slots become free. They are at least 1 / rate apart.
#[derive(Debug, Default)]
pub(super) struct StartRate {
    /// Minimum time between two starts, in nanoseconds; 0: no limit.
    gap: u64,
    /// The earliest time of the next start, in nanoseconds.
    next: AtomicU64,
}

impl StartRate {
    /// `rate` is the maximum starts per second; `None` means no limit.
    pub(super) fn new(rate: Option<RequestRate>) -> StartRate {
        // Rounded up, so that no second has more starts than the rate allows.
        let gap = rate.map_or(0, |it| (1e9 / it.per_second()).ceil() as u64);
        StartRate { gap, next: AtomicU64::new(0) }
    }

    /// Returns when a slot that is free at `free` can start its request.
    pub(super) fn take(&self, free: Duration) -> Duration {
        if self.gap == 0 {
            return free;
        }
        let free = nanos(free);
        let later = |next: u64| Some(next.max(free).saturating_add(self.gap));
        // Relaxed, because no other data depends on this value. The closure always returns a value, so the update never fails.
        let (Ok(next) | Err(next)) = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
        Duration::from_nanos(next.max(free))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rate: Option<f64>, free: &[u64], expected: &[u64]) {
        let rate = StartRate::new(rate.map(|it| RequestRate::try_from(it).unwrap()));
        let starts: Vec<u128> = free.iter().map(|it| rate.take(Duration::from_millis(*it)).as_millis()).collect();
        assert_eq!(starts, expected.iter().map(|it| u128::from(*it)).collect::<Vec<_>>());
    }

    #[test]
    fn starts_keep_their_distance_and_time_that_was_not_used_is_lost() {
        check(Some(10.0), &[0, 0, 0, 150, 900, 900], &[0, 100, 200, 300, 900, 1_000]);
        check(None, &[0, 0, 7], &[0, 0, 7]);
    }
}
