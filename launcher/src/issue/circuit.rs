//! When is a target lost? When every request has failed for so long that more of them tell nothing.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// How long every request must have failed.
const LONG_ENOUGH: Duration = Duration::from_secs(30);
/// How many of them.
const OFTEN_ENOUGH: u64 = 10;
/// No failure since the last success.
const NONE: u64 = u64::MAX;

/// The failures since the last success, of all lanes.
#[derive(Debug)]
pub(super) struct Circuit {
    failures: AtomicU64,
    /// When the first of them ended, in nanoseconds.
    since: AtomicU64,
}

impl Default for Circuit {
    fn default() -> Self {
        Circuit { failures: AtomicU64::new(0), since: AtomicU64::new(NONE) }
    }
}

impl Circuit {
    /// A request succeeded.
    pub(super) fn success(&self) {
        // Reading is cheap where writing would take the line from the other lanes.
        if self.failures.load(Ordering::Relaxed) > 0 {
            self.failures.store(0, Ordering::Relaxed);
            self.since.store(NONE, Ordering::Relaxed);
        }
    }

    /// A request failed; returns whether the target is lost.
    pub(super) fn failure(&self, ended: Duration) -> bool {
        let ended = u64::try_from(ended.as_nanos()).unwrap_or(NONE - 1);
        let since = self.since.fetch_min(ended, Ordering::Relaxed).min(ended);
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        failures >= OFTEN_ENOUGH && ended - since >= LONG_ENOUGH.as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Failures at these seconds after a success at 0; at which of them is the target lost?
    fn check(seconds: &[u64]) -> Option<u64> {
        let circuit = Circuit::default();
        circuit.success();
        seconds.iter().copied().find(|it| circuit.failure(Duration::from_secs(*it)))
    }

    #[test]
    fn it_takes_ten_failures_and_thirty_seconds() {
        assert_eq!(check(&[1; 100]), None);
        assert_eq!(check(&[1, 40, 50]), None);
        assert_eq!(check(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 30, 31, 32]), Some(31));
        assert_eq!(check(&[1, 2, 3, 4, 5, 6, 7, 40, 41, 42]), Some(42));
    }

    #[test]
    fn a_success_starts_it_anew() {
        let circuit = Circuit::default();
        (1..30).for_each(|second| assert!(!circuit.failure(Duration::from_secs(second))));
        circuit.success();
        (30..60).for_each(|second| assert!(!circuit.failure(Duration::from_secs(second))));
        assert!(circuit.failure(Duration::from_secs(60)));
    }
}
