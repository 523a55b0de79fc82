//! Detects clock steps by comparing readings of the clocks. Pure.

use std::time::Duration;

use clock::Offsets;
use measurement::vitals::clocks::ClockSteps;

/// Adds up the clock steps between readings.
#[derive(Debug, Default)]
pub(super) struct ClockWatch {
    last: Option<Offsets>,
    pub(super) steps: ClockSteps,
}

impl ClockWatch {
    /// Compares the clocks with their previous readings.
    pub(super) fn look(&mut self, now: Offsets) {
        let Some(last) = self.last.replace(now) else { return };
        let length = |from: i128, to: i128| Duration::from_nanos(u64::try_from(from.abs_diff(to)).unwrap_or(u64::MAX));
        self.steps.add(length(last.wall, now.wall), length(last.boot, now.boot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(offsets: &[(i128, i128)], count: u64, largest: u64, slept: u64) {
        let mut clocks = ClockWatch::default();
        for (wall, boot) in offsets {
            clocks.look(Offsets { wall: wall * 1_000_000, boot: boot * 1_000_000 });
        }
        let (steps, millis) = (clocks.steps, Duration::from_millis);
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
}
