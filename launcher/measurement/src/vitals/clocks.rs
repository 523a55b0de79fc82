//! Steps of the clocks, which occur if the wall-clock time is set, or if the machine sleeps. Pure.

use std::time::Duration;

use crate::wire::fields;

/// Minimum size of a step. Smaller differences are caused by the time that reading the clocks takes.
const STEP: Duration = Duration::from_millis(1);

/// How the clocks moved relative to each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockSteps {
    /// Number of steps in the wall clock.
    pub count: u64,
    /// The largest step of the wall clock relative to the monotonic clock, forward or backward.
    pub largest: Duration,
    /// How long the machine slept. The monotonic clock stops during sleep.
    pub slept: Duration,
}

impl ClockSteps {
    /// Adds how far two clocks moved relative to the monotonic clock between two readings: the wall clock, and the clock that continues
    /// during sleep.
    pub fn add(&mut self, wall: Duration, boot: Duration) {
        if wall >= STEP {
            self.count += 1;
            self.largest = self.largest.max(wall);
        }
        if boot >= STEP {
            self.slept += boot;
        }
    }
}

fields!(ClockSteps { count, largest, slept });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_a_millisecond_is_no_step() {
        let mut steps = ClockSteps::default();
        for nanos in [0, 999_999, 999_999] {
            steps.add(Duration::from_nanos(nanos), Duration::from_nanos(nanos));
        }
        assert_eq!(steps, ClockSteps::default());
    }
}
