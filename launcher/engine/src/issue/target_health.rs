//! Decides when a target counts as lost: every request has failed for some time, and more failures would add no information. A target that
//! has begun a response is not lost, however long the response takes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::client::ResponseSeen;

/// Minimum time for which every request must have failed.
const LONG_ENOUGH: Duration = Duration::from_secs(30);
/// Minimum number of failed requests.
const OFTEN_ENOUGH: u64 = 10;
/// Value of `since` if there was no failure since the last response.
const NONE: u64 = u64::MAX;

/// Failures over all workers since the last response.
#[derive(Debug)]
pub(super) struct TargetHealth {
    /// Set by the clients of all workers when a response begins.
    pub(super) response_seen: Arc<ResponseSeen>,
    failures: AtomicU64,
    /// When the first failure since the last response ended, in nanoseconds on the run's clock.
    since: AtomicU64,
}

impl Default for TargetHealth {
    fn default() -> Self {
        TargetHealth { response_seen: Arc::default(), failures: AtomicU64::new(0), since: AtomicU64::new(NONE) }
    }
}

impl TargetHealth {
    /// Forgets all failures.
    pub(super) fn reset(&self) {
        self.failures.store(0, Ordering::Relaxed);
        self.since.store(NONE, Ordering::Relaxed);
    }

    /// Counts a failed request. Returns whether the target is lost.
    pub(super) fn failure(&self, ended: Duration) -> bool {
        if self.response_seen.take() {
            self.reset();
        }
        let ended = u64::try_from(ended.as_nanos()).unwrap_or(NONE - 1);
        let since = self.since.fetch_min(ended, Ordering::Relaxed).min(ended);
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        failures >= OFTEN_ENOUGH && ended - since >= LONG_ENOUGH.as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the second at which the target counts as lost, if it responds at 0 and then fails at these seconds.
    fn check(seconds: &[u64]) -> Option<u64> {
        let target_health = TargetHealth::default();
        target_health.response_seen.note(200);
        seconds.iter().copied().find(|it| target_health.failure(Duration::from_secs(*it)))
    }

    #[test]
    fn it_takes_ten_failures_and_thirty_seconds() {
        assert_eq!(check(&[1; 100]), None);
        assert_eq!(check(&[1, 40, 50]), None);
        assert_eq!(check(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 30, 31, 32]), Some(31));
        assert_eq!(check(&[1, 2, 3, 4, 5, 6, 7, 40, 41, 42]), Some(42));
    }

    /// Returns whether the target is lost if a request fails in every second up to 60, and `at_30` happens in between.
    fn check_middle(at_30: impl FnOnce(&TargetHealth)) -> bool {
        let target_health = TargetHealth::default();
        (1..30).for_each(|second| assert!(!target_health.failure(Duration::from_secs(second))));
        at_30(&target_health);
        let lost = (30..60).any(|second| target_health.failure(Duration::from_secs(second)));
        assert!(target_health.failure(Duration::from_secs(60)));
        lost
    }

    #[test]
    fn an_answer_that_begins_starts_it_anew() {
        assert!(!check_middle(|target_health| target_health.response_seen.note(200)));
        assert!(!check_middle(TargetHealth::reset));
    }

    #[test]
    fn an_error_is_no_answer() {
        for status in [301, 404, 503] {
            assert!(check_middle(|target_health| target_health.response_seen.note(status)), "{status}");
        }
    }
}
