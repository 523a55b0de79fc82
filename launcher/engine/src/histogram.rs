//! HDR histograms of times and lengths: three significant digits, memory that grows with the largest value to a bound, and
//! merging without loss up to four billion counts in a bin.

use std::time::Duration;

use hdrhistogram::Histogram;

const DIGITS: u8 = 3;
const RESIZES: &str = "a histogram that resizes itself takes every number below its bound";

/// What is known of values beside their bins: no value is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// The smallest.
    pub min: u64,
    /// The largest.
    pub max: u64,
    /// All of them together. Nanoseconds of an hour each leave room for more values than there can be.
    pub sum: u128,
}

impl Totals {
    fn record(&mut self, value: u64) {
        self.add(&Totals { min: value, max: value, sum: value.into() });
    }

    fn add(&mut self, other: &Totals) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
    }
}

impl Default for Totals {
    fn default() -> Self {
        Totals { min: u64::MAX, max: 0, sum: 0 }
    }
}

/// A histogram of times in nanoseconds, to three significant digits, up to an hour.
#[derive(Clone, Debug)]
pub struct TimeHistogram {
    histogram: Histogram<u32>,
    beyond: u64,
    totals: Totals,
}

impl TimeHistogram {
    const MAX: u64 = 3_600_000_000_000;

    /// Counts one time; above an hour it counts as an hour.
    pub fn record(&mut self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.beyond += u64::from(nanos > Self::MAX);
        self.totals.record(nanos.min(Self::MAX));
        self.histogram.record(nanos.min(Self::MAX)).expect(RESIZES);
    }

    /// Adds the counts of another, losslessly.
    pub fn add(&mut self, other: &TimeHistogram) {
        self.histogram.add(&other.histogram).expect(RESIZES);
        self.totals.add(&other.totals);
        self.beyond += other.beyond;
    }

    /// Values that it could not keep as they were, see [`lost`].
    pub fn lost(&self) -> u64 {
        lost(&self.histogram, self.beyond)
    }

    /// What is known exactly, in nanoseconds.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The histogram, in nanoseconds.
    pub fn histogram(&self) -> &Histogram<u32> {
        &self.histogram
    }
}

impl Default for TimeHistogram {
    fn default() -> Self {
        let histogram = Histogram::new(DIGITS).expect("three digits are allowed");
        TimeHistogram { histogram, beyond: 0, totals: Totals::default() }
    }
}

/// A histogram of token counts, to three significant digits, up to 100 million.
#[derive(Clone, Debug)]
pub struct LengthHistogram {
    histogram: Histogram<u32>,
    beyond: u64,
    totals: Totals,
}

impl LengthHistogram {
    const MAX: u64 = 100_000_000;

    /// Counts one length.
    pub fn record(&mut self, tokens: u32) {
        let tokens = u64::from(tokens);
        self.beyond += u64::from(tokens > Self::MAX);
        self.totals.record(tokens);
        self.histogram.record(tokens.min(Self::MAX)).expect(RESIZES);
    }

    /// Adds the counts of another, losslessly.
    pub fn add(&mut self, other: &LengthHistogram) {
        self.histogram.add(&other.histogram).expect(RESIZES);
        self.totals.add(&other.totals);
        self.beyond += other.beyond;
    }

    /// Values that it could not keep as they were, see [`lost`].
    pub fn lost(&self) -> u64 {
        lost(&self.histogram, self.beyond)
    }

    /// What is known exactly, in tokens.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The histogram, in tokens.
    pub fn histogram(&self) -> &Histogram<u32> {
        &self.histogram
    }
}

impl Default for LengthHistogram {
    fn default() -> Self {
        let histogram = Histogram::new(DIGITS).expect("three digits are allowed");
        LengthHistogram { histogram, beyond: 0, totals: Totals::default() }
    }
}

/// Values that were beyond the largest, and bins that can count no further; each of these stands for one value at least.
fn lost(histogram: &Histogram<u32>, beyond: u64) -> u64 {
    let full = histogram.iter_recorded().filter(|it| it.count_at_value() == u32::MAX).count();
    beyond + full as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_largest_value_is_counted_as_lost() {
        let mut times = TimeHistogram::default();
        times.record(Duration::from_secs(3_600));
        assert_eq!(times.lost(), 0);
        times.record(Duration::from_secs(3_601));
        times.record(Duration::MAX);
        assert_eq!((times.lost(), times.histogram().len()), (2, 3));
        let mut sum = TimeHistogram::default();
        sum.add(&times);
        assert_eq!(sum.lost(), 2);
        let mut lengths = LengthHistogram::default();
        lengths.record(100_000_000);
        assert_eq!(lengths.lost(), 0);
        lengths.record(100_000_001);
        assert_eq!(lengths.lost(), 1);
    }

    #[test]
    fn a_bin_that_is_full_has_lost_something() {
        let mut times = TimeHistogram::default();
        times.histogram.record_n(1_000, u32::MAX - 1).unwrap();
        assert_eq!(times.lost(), 0);
        times.record(Duration::from_nanos(1_000));
        assert_eq!(times.lost(), 1);
    }
}
