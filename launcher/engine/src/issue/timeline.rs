//! How long the stages of a load should take, and how the last requests went: for people who watch. Pure, but for counters.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use clock::Clock;

/// So many requests are the last ones: enough for a median, and a terminal shows news.
const RECENT: usize = 100;

/// What is planned, and the clock on which it is.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// The clock of the load.
    pub clock: Clock,
    /// The stages, in the order in which they run.
    pub stages: Vec<PlannedTime>,
}

/// How long a stage should take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedTime {
    /// Until its last request is due; `None` where the answers, or the rules of a test, decide.
    pub length: Option<Duration>,
    /// How many requests it has; `None` where its time or a rule decides.
    pub requests: Option<u64>,
    /// How long nothing is sent after it.
    pub pause_after: Duration,
}

/// Times of the last requests, whichever thread sent them. They are not read together: one may be newer than the others.
#[derive(Debug)]
pub struct RecentTimes {
    next: AtomicU64,
    nanos: [AtomicU64; RECENT],
}

impl Default for RecentTimes {
    fn default() -> Self {
        RecentTimes { next: AtomicU64::new(0), nanos: [const { AtomicU64::new(0) }; RECENT] }
    }
}

impl RecentTimes {
    /// Adds one, in place of the oldest.
    pub fn add(&self, time: Duration) {
        let place = self.next.fetch_add(1, Relaxed) % RECENT as u64;
        self.nanos[place as usize].store(nanos(time).max(1), Relaxed);
    }

    /// Their median; `None` before the first.
    pub fn median(&self) -> Option<Duration> {
        // 0 stands where none has come yet.
        let mut times: Vec<u64> = self.nanos.iter().map(|it| it.load(Relaxed)).filter(|it| *it > 0).collect();
        times.sort_unstable();
        times.get(times.len().saturating_sub(1) / 2).copied().map(Duration::from_nanos)
    }
}

pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_of_the_last_requests_alone() {
        let times = RecentTimes::default();
        assert_eq!(times.median(), None);
        (1..=3).for_each(|it| times.add(Duration::from_millis(it)));
        assert_eq!(times.median(), Some(Duration::from_millis(2)));
        (0..RECENT).for_each(|_| times.add(Duration::from_secs(1)));
        assert_eq!(times.median(), Some(Duration::from_secs(1)));
    }
}
