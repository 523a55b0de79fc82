//! The planned times of the stages, and the times of the latest requests, for the progress display. Pure, except for counters.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use clock::Clock;

/// Number of request times kept: enough for a median, and few enough that a change shows soon.
const RECENT: usize = 100;

/// The planned stages, and the clock of the load.
#[derive(Clone, Debug)]
pub struct Timeline {
    pub clock: Clock,
    /// The stages in the order in which they run.
    pub stages: Vec<PlannedTime>,
}

/// The planned duration and size of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedTime {
    /// Time from the start of the stage until its last request is due; `None` if it depends on answers or on LoadGen's rules.
    pub length: Option<Duration>,
    /// Number of requests; `None` if it depends on the duration or on a rule.
    pub requests: Option<u64>,
    pub pause_after: Duration,
}

/// Times of the latest requests over all workers. They are not read at the same instant, so one can be newer than the others.
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
    /// Stores a time instead of the oldest one.
    pub fn add(&self, time: Duration) {
        let place = self.next.fetch_add(1, Relaxed) % RECENT as u64;
        self.nanos[place as usize].store(nanos(time).max(1), Relaxed);
    }

    /// Returns the median; `None` before the first time.
    pub fn median(&self) -> Option<Duration> {
        self.quantile(500)
    }

    /// Returns a quantile by nearest rank. `permille` is from 1 to 1000. `None` before the first time.
    pub fn quantile(&self, permille: usize) -> Option<Duration> {
        // 0 marks a place without a time.
        let mut times: Vec<u64> = self.nanos.iter().map(|it| it.load(Relaxed)).filter(|it| *it > 0).collect();
        times.sort_unstable();
        let rank = (times.len() * permille).div_ceil(1_000);
        times.get(rank.saturating_sub(1)).copied().map(Duration::from_nanos)
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

    #[test]
    fn a_quantile_is_the_value_of_its_rank() {
        let times = RecentTimes::default();
        (1..=10).for_each(|it| times.add(Duration::from_millis(it)));
        let quantile = |permille| times.quantile(permille).unwrap().as_millis();
        assert_eq!([1, 500, 900, 901, 1_000].map(quantile), [1, 5, 9, 10, 10]);
    }
}
