//! HDR histograms of times and lengths: three significant digits, memory that grows with the largest value to a bound, and
//! merging without loss up to four billion counts in a bin.

use std::time::Duration;

use hdrhistogram::Histogram;

const DIGITS: u8 = 3;
const RESIZES: &str = "a histogram that resizes itself takes every number below its bound";

/// A histogram of times in nanoseconds, to three significant digits, up to an hour.
#[derive(Clone, Debug)]
pub struct Times(Histogram<u32>);

impl Times {
    const MAX: u64 = 3_600_000_000_000;

    /// Counts one time; above an hour it counts as an hour.
    pub fn record(&mut self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(Self::MAX).min(Self::MAX);
        self.0.record(nanos).expect(RESIZES);
    }

    /// Adds the counts of another, losslessly.
    pub fn add(&mut self, other: &Times) {
        self.0.add(&other.0).expect(RESIZES);
    }

    /// The histogram, in nanoseconds.
    pub fn histogram(&self) -> &Histogram<u32> {
        &self.0
    }
}

impl Default for Times {
    fn default() -> Self {
        Times(Histogram::new(DIGITS).expect("three digits are allowed"))
    }
}

/// A histogram of token counts, to three significant digits, up to 100 million.
#[derive(Clone, Debug)]
pub struct Lengths(Histogram<u32>);

impl Lengths {
    const MAX: u64 = 100_000_000;

    /// Counts one length.
    pub fn record(&mut self, tokens: u32) {
        self.0.record(u64::from(tokens).min(Self::MAX)).expect(RESIZES);
    }

    /// Adds the counts of another, losslessly.
    pub fn add(&mut self, other: &Lengths) {
        self.0.add(&other.0).expect(RESIZES);
    }

    /// The histogram, in tokens.
    pub fn histogram(&self) -> &Histogram<u32> {
        &self.0
    }
}

impl Default for Lengths {
    fn default() -> Self {
        Lengths(Histogram::new(DIGITS).expect("three digits are allowed"))
    }
}
