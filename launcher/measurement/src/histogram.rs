//! HDR histograms of times and lengths, with three significant digits. Their memory grows with the largest value, up to a limit. They can
//! be merged without loss as long as a bin has at most four billion counts.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::wire::{Reader, Wire, WireError, Writer, fields};

const DIGITS: u8 = 3;
const RESIZES: &str = "a histogram that resizes itself takes every number below its bound";

/// Exact minimum, maximum and sum of all values, in addition to the bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    pub min: u64,
    pub max: u64,
    /// The sum cannot overflow: even if every value is an hour in nanoseconds, it has room for more values than a run can have.
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

/// A histogram of times in nanoseconds, with three significant digits, up to one hour.
#[derive(Clone, Debug)]
pub struct TimeHistogram {
    histogram: Histogram<u32>,
    beyond: u64,
    totals: Totals,
}

impl TimeHistogram {
    const MAX: u64 = 3_600_000_000_000;

    /// Records a time. A time above one hour is recorded as one hour.
    pub fn record(&mut self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.beyond += u64::from(nanos > Self::MAX);
        self.totals.record(nanos.min(Self::MAX));
        self.histogram.record(nanos.min(Self::MAX)).expect(RESIZES);
    }

    /// Adds the counts of another histogram, without loss.
    pub fn add(&mut self, other: &TimeHistogram) {
        self.histogram.add(&other.histogram).expect(RESIZES);
        self.totals.add(&other.totals);
        self.beyond += other.beyond;
    }

    /// Returns the number of values that could not be kept exactly, see [`lost`].
    pub fn lost(&self) -> u64 {
        lost(&self.histogram, self.beyond)
    }

    /// Exact minimum, maximum and sum, in nanoseconds.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

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

/// A histogram of token counts, with three significant digits, up to 100 million.
#[derive(Clone, Debug)]
pub struct LengthHistogram {
    histogram: Histogram<u32>,
    beyond: u64,
    totals: Totals,
}

impl LengthHistogram {
    const MAX: u64 = 100_000_000;

    pub fn record(&mut self, tokens: u32) {
        let tokens = u64::from(tokens);
        self.beyond += u64::from(tokens > Self::MAX);
        self.totals.record(tokens);
        self.histogram.record(tokens.min(Self::MAX)).expect(RESIZES);
    }

    /// Adds the counts of another histogram, without loss.
    pub fn add(&mut self, other: &LengthHistogram) {
        self.histogram.add(&other.histogram).expect(RESIZES);
        self.totals.add(&other.totals);
        self.beyond += other.beyond;
    }

    /// Returns the number of values that could not be kept exactly, see [`lost`].
    pub fn lost(&self) -> u64 {
        lost(&self.histogram, self.beyond)
    }

    /// Exact minimum, maximum and sum, in tokens.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

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

/// Returns the number of values above the maximum, plus one for each full bin, because a full bin has lost at least one value.
fn lost(histogram: &Histogram<u32>, beyond: u64) -> u64 {
    let full = histogram.iter_recorded().filter(|it| it.count_at_value() == u32::MAX).count();
    beyond + full as u64
}

fields!(Totals { min, max, sum });

impl Wire for TimeHistogram {
    fn write(&self, to: &mut Writer) {
        let TimeHistogram { histogram, beyond, totals } = self;
        write_bins(histogram, to);
        (*beyond, *totals).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<TimeHistogram, WireError> {
        let histogram = read_bins(from, Self::MAX)?;
        let (beyond, totals) = Wire::read(from)?;
        check(&histogram, beyond, &totals)?;
        Ok(TimeHistogram { histogram, beyond, totals })
    }
}

impl Wire for LengthHistogram {
    fn write(&self, to: &mut Writer) {
        let LengthHistogram { histogram, beyond, totals } = self;
        write_bins(histogram, to);
        (*beyond, *totals).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<LengthHistogram, WireError> {
        let histogram = read_bins(from, Self::MAX)?;
        let (beyond, totals) = Wire::read(from)?;
        check(&histogram, beyond, &totals)?;
        Ok(LengthHistogram { histogram, beyond, totals })
    }
}

const INVALID: WireError = WireError::Value { what: "histogram" };
/// Maximum number of counts that full bins might have lost, in units of four billion.
const MOST_LOST: u64 = 1 << 16;

/// Writes the non-empty bins. For each bin: its lowest value minus the first value above the previous bin, and its count. At the end
/// follows the number of counts that full bins have lost.
fn write_bins(histogram: &Histogram<u32>, to: &mut Writer) {
    histogram.iter_recorded().count().write(to);
    let (mut next, mut lost) = (0, histogram.len());
    for bin in histogram.iter_recorded() {
        let value = histogram.lowest_equivalent(bin.value_iterated_to());
        (value - next).write(to);
        bin.count_at_value().write(to);
        next = histogram.next_non_equivalent(value);
        lost = lost.saturating_sub(bin.count_at_value().into());
    }
    lost.write(to);
}

fn read_bins(from: &mut Reader<'_>, most: u64) -> Result<Histogram<u32>, WireError> {
    let mut size = bytes(0);
    from.allocate(size)?;
    let mut histogram = Histogram::new(DIGITS).expect("three digits are allowed");
    let (mut next, mut full) = (0_u64, None);
    for _ in 0..from.count()? {
        let (above, count) = <(u64, u32)>::read(from)?;
        let value = next.checked_add(above).filter(|it| *it <= most).ok_or(INVALID)?;
        if count == 0 || histogram.lowest_equivalent(value) != value {
            return Err(INVALID);
        }
        let larger = bytes(value);
        from.allocate(larger.saturating_sub(size))?;
        size = size.max(larger);
        histogram.record_n(value, count).map_err(|_| INVALID)?;
        next = histogram.next_non_equivalent(value);
        full = full.or((count == u32::MAX).then_some(value));
    }
    let mut lost = u64::read(from)?;
    if lost > 0 {
        let full = full.filter(|_| lost / u64::from(u32::MAX) < MOST_LOST).ok_or(INVALID)?;
        while lost > 0 {
            let count = u32::try_from(lost).unwrap_or(u32::MAX);
            histogram.record_n(full, count).map_err(|_| INVALID)?;
            lost -= u64::from(count);
        }
    }
    Ok(histogram)
}

/// Returns the memory of a histogram with this largest value, in bytes: 1,024 counts per power of two above 1,024.
fn bytes(value: u64) -> usize {
    let octaves = (u64::BITS - value.leading_zeros()).saturating_sub(11) as usize;
    (octaves + 2) * 1_024 * size_of::<u32>()
}

/// Checks that the number of values, their totals and the number of values beyond the maximum are consistent.
fn check(histogram: &Histogram<u32>, beyond: u64, totals: &Totals) -> Result<(), WireError> {
    let is_valid = match histogram.len() {
        0 => beyond == 0 && *totals == Totals::default(),
        count => {
            let most = u128::from(totals.max).saturating_mul(count.into());
            beyond <= count && totals.min <= totals.max && totals.sum <= most
        }
    };
    if is_valid { Ok(()) } else { Err(INVALID) }
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
