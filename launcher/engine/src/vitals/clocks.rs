//! Steps of the clocks: the time of day was set, or the machine slept. Pure.

use std::time::Duration;

use clock::Offsets;

/// Smaller differences come from the time that reading the clocks takes.
const STEP: Duration = Duration::from_millis(1);

/// How the clocks moved against each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockSteps {
    last: Option<Offsets>,
    /// Number of steps of the time of day.
    pub count: u64,
    /// The largest step of the time of day against the monotonic clock, forward or back.
    pub largest: Duration,
    /// How long the machine slept. The monotonic clock stands still meanwhile.
    pub slept: Duration,
}

impl ClockSteps {
    /// Compares the clocks with the last reading.
    pub fn look(&mut self, now: Offsets) {
        let Some(last) = self.last.replace(now) else { return };
        let length = |from: i128, to: i128| Duration::from_nanos(u64::try_from(from.abs_diff(to)).unwrap_or(u64::MAX));
        let (wall, boot) = (length(last.wall, now.wall), length(last.boot, now.boot));
        if wall >= STEP {
            self.count += 1;
            self.largest = self.largest.max(wall);
        }
        if boot >= STEP {
            self.slept += boot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(offsets: &[(i128, i128)], count: u64, largest: u64, slept: u64) {
        let mut steps = ClockSteps::default();
        for (wall, boot) in offsets {
            steps.look(Offsets { wall: wall * 1_000_000, boot: boot * 1_000_000 });
        }
        let millis = Duration::from_millis;
        assert_eq!((steps.count, steps.largest, steps.slept), (count, millis(largest), millis(slept)), "{offsets:?}");
    }

    #[test]
    fn a_clock_that_is_set_steps_forward_or_back() {
        check(&[(1_000, 0)], 0, 0, 0);
        check(&[(1_000, 0), (1_000, 0)], 0, 0, 0);
        check(&[(1_000, 0), (1_001, 0), (801, 0)], 2, 200, 0);
    }

    #[test]
    fn a_machine_that_sleeps_moves_both() {
        check(&[(1_000, 0), (4_000, 3_000), (4_000, 3_000)], 1, 3_000, 3_000);
    }

    #[test]
    fn less_than_a_millisecond_is_no_step() {
        let mut steps = ClockSteps::default();
        for wall in [0, 999_999, 0] {
            steps.look(Offsets { wall, boot: -wall });
        }
        assert_eq!((steps.count, steps.largest, steps.slept), (0, Duration::ZERO, Duration::ZERO));
    }
}
