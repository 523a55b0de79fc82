//! HDR histograms of times and lengths: bounded memory, lossless merging, three significant digits.

use std::time::Duration;

use hdrhistogram::Histogram;

/// A histogram of times in nanoseconds, to three significant digits, up to an hour.
#[derive(Clone, Debug)]
pub struct Times(Histogram<u64>);

impl Times {
    const MAX: u64 = 3_600_000_000_000;

    /// Counts one time; above an hour it counts as an hour.
    pub fn record(&mut self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(Self::MAX);
        self.0.saturating_record(nanos);
    }

    /// Adds the counts of another, losslessly.
    pub fn add(&mut self, other: &Times) {
        self.0.add(&other.0).expect("both have the same bounds");
    }

    /// The histogram, in nanoseconds.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }
}

impl Default for Times {
    fn default() -> Self {
        Times(Histogram::new_with_bounds(1, Self::MAX, 3).expect("the bounds are constants that fit"))
    }
}

/// A histogram of token counts, to three significant digits, up to 100 million.
#[derive(Clone, Debug)]
pub struct Lengths(Histogram<u64>);

impl Lengths {
    /// Counts one length.
    pub fn record(&mut self, tokens: u32) {
        self.0.saturating_record(u64::from(tokens));
    }

    /// Adds the counts of another, losslessly.
    pub fn add(&mut self, other: &Lengths) {
        self.0.add(&other.0).expect("both have the same bounds");
    }

    /// The histogram, in tokens.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }
}

impl Default for Lengths {
    fn default() -> Self {
        Lengths(Histogram::new_with_bounds(1, 100_000_000, 3).expect("the bounds are constants that fit"))
    }
}
