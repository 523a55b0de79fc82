//! Stalls: times in which the process could not run, measured by how late its heartbeat is. Pure.

use std::time::Duration;

use crate::{histogram::TimeHistogram, wire::fields};

/// A beat that is at least this late counts as a stall. The value exceeds the time that a thread waits on a machine with a free CPU, and is
/// about the shortest time between two tokens.
const STALL: Duration = Duration::from_millis(5);

/// Maximum number of stalls whose times are kept. Even if the shortest possible stalls follow each other every 5 ms, it is reached only
/// after 80 s.
const MOST_TIMES: usize = 16_384;

/// A time in which the process could not run, on the run's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    pub from: Duration,
    pub to: Duration,
}

/// What the heartbeat measured.
#[derive(Clone, Debug, Default)]
pub struct Stalls {
    /// How late each beat was.
    pub lateness: TimeHistogram,
    /// Number of stalls.
    pub count: u64,
    /// Total duration of all stalls.
    pub stalled: Duration,
    pub longest: Duration,
    /// When the longest stall ended, from the start of the run.
    pub longest_ended: Duration,
    /// The first stalls, in order. These are all stalls, except in a run that could hardly run at all.
    pub times: Vec<Stall>,
}

impl Stalls {
    /// Counts a beat that came at `at`, which was `late` after it was due.
    pub fn beat(&mut self, at: Duration, late: Duration) {
        self.lateness.record(late);
        if late < STALL {
            return;
        }
        self.count += 1;
        self.stalled += late;
        if self.times.len() < MOST_TIMES {
            self.times.push(Stall { from: at.saturating_sub(late), to: at });
        }
        if late > self.longest {
            (self.longest, self.longest_ended) = (late, at);
        }
    }
}

fields!(Stall { from, to });
fields!(Stalls { lateness, count, stalled, longest, longest_ended, times });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_that_are_late_enough_are_stalls_and_add_up() {
        let millis = Duration::from_millis;
        let mut stalls = Stalls::default();
        for (at, late) in [(5, 0), (15, 4), (25, 5), (80, 50), (120, 30)] {
            stalls.beat(millis(at), millis(late));
        }
        assert_eq!((stalls.count, stalls.stalled), (3, millis(85)));
        assert_eq!((stalls.longest, stalls.longest_ended), (millis(50), millis(80)));
        let last = Stall { from: millis(90), to: millis(120) };
        assert_eq!((stalls.times.len(), stalls.times.last()), (3, Some(&last)));
        assert_eq!(stalls.lateness.histogram().len(), 5);
    }
}
