//! Stores the times between the tokens of one answer in little memory, because there is one time per token of each request in flight. Pure.

use std::time::Duration;

use crate::wire::{Reader, Wire, WireError, Writer};

/// The unit of short times. Reading the clock takes about as long.
const TICK: Duration = Duration::from_nanos(10);
/// A bit that is set if the time is in milliseconds.
const LONG: u32 = 1 << 31;

/// Times in the order of arrival, four bytes each. They are exact to 10 ns below 21 seconds, and to one millisecond above that, up to 24
/// days.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterTokenTimes(Vec<u32>);

impl InterTokenTimes {
    pub fn push(&mut self, gap: Duration) {
        let ticks = gap.as_nanos() / TICK.as_nanos();
        let short = u32::try_from(ticks).ok().filter(|it| it & LONG == 0);
        let long = || u32::try_from(gap.as_millis()).map_or(u32::MAX, |it| it | LONG);
        self.0.push(short.unwrap_or_else(long));
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = Duration> + '_ {
        self.0.iter().map(|gap| match gap & LONG {
            0 => TICK * *gap,
            _ => Duration::from_millis(u64::from(gap & !LONG)),
        })
    }

    /// Returns the times in nanoseconds.
    pub fn nanos(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().map(|gap| match gap & LONG {
            0 => u64::from(*gap) * TICK.as_nanos() as u64,
            _ => u64::from(gap & !LONG) * 1_000_000,
        })
    }

    /// Returns the mean; `None` if there are no times.
    pub fn mean(&self) -> Option<Duration> {
        let count = u32::try_from(self.len()).ok().filter(|it| *it > 0)?;
        Some(self.iter().sum::<Duration>() / count)
    }
}

impl FromIterator<Duration> for InterTokenTimes {
    fn from_iter<T: IntoIterator<Item = Duration>>(all: T) -> InterTokenTimes {
        let mut gaps = InterTokenTimes::default();
        all.into_iter().for_each(|gap| gaps.push(gap));
        gaps
    }
}

impl Wire for InterTokenTimes {
    fn write(&self, to: &mut Writer) {
        self.0.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<InterTokenTimes, WireError> {
        Vec::read(from).map(InterTokenTimes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_mean_is_exact_where_its_gaps_are() {
        let gaps: InterTokenTimes = [10, 20, 60_000].map(Duration::from_millis).into_iter().collect();
        assert_eq!((gaps.len(), gaps.mean()), (3, Some(Duration::from_millis(20_010))));
        assert_eq!(InterTokenTimes::default().mean(), None);
        let for_ever: InterTokenTimes = [Duration::MAX].into_iter().collect();
        assert_eq!(for_ever.iter().next(), Some(Duration::from_millis(u64::from(u32::MAX >> 1))));
    }

    proptest! {
        #[test]
        fn a_gap_is_kept_to_its_unit(nanos in 0_u64..2_000_000_000_000) {
            let gap = Duration::from_nanos(nanos);
            let kept = [gap].into_iter().collect::<InterTokenTimes>().iter().next().unwrap();
            let unit = if gap < Duration::from_secs(21) { TICK } else { Duration::from_millis(1) };
            prop_assert!(kept <= gap && gap - kept < unit, "{kept:?} of {gap:?}");
        }

        #[test]
        fn nanoseconds_are_those_of_the_times(nanos in 0_u64..2_000_000_000_000) {
            let gaps: InterTokenTimes = [Duration::from_nanos(nanos), Duration::MAX].into_iter().collect();
            prop_assert!(gaps.nanos().map(Duration::from_nanos).eq(gaps.iter()));
        }
    }
}
