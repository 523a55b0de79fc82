//! Distribution: count, mean, spread and percentiles of many values.
//!
//! A percentile is a nearest rank: the smallest value that at least p percent of the values do not exceed (numpy calls it `inverted_cdf`).
//! Percentiles of values in memory are exact. For many values, percentiles come from HDR histograms. These have a constant size and three significant
//! digits, but their count, mean, minimum and maximum are exact. All other times from them are the middle of a bin, at most 0.05 % from the true
//! value. Lengths are exact below 2,048 tokens. Longer ones are rounded down by less than 0.1 %.

use std::time::Duration;

use hdrhistogram::Histogram;

use measurement::histogram::{LengthHistogram, TimeHistogram, Totals};

/// The figures of many values of one kind: [`Duration`] for times, `f64` for lengths in tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distribution<T> {
    /// Number of values.
    pub count: u64,
    /// The sum of the values divided by their count.
    pub mean: T,
    /// The population standard deviation: the sum of squares is divided by the count, not by the count minus one.
    pub stddev: T,
    /// The smallest value.
    pub min: T,
    /// The 0.1st percentile.
    pub p0p1: T,
    /// The 1st percentile.
    pub p1: T,
    /// The 5th percentile.
    pub p5: T,
    /// The 10th percentile.
    pub p10: T,
    /// The 25th percentile.
    pub p25: T,
    /// The median.
    pub p50: T,
    /// The 75th percentile.
    pub p75: T,
    /// The 90th percentile.
    pub p90: T,
    /// The 95th percentile.
    pub p95: T,
    /// The 99th percentile.
    pub p99: T,
    /// The 99.9th percentile.
    pub p99p9: T,
    /// The largest value.
    pub max: T,
}

impl Distribution<Duration> {
    /// The distribution of the times in a histogram. `None` if there are no values.
    pub fn of_times(times: &TimeHistogram) -> Option<Self> {
        let histogram = times.histogram();
        let bins = bins(histogram, |value| histogram.median_equivalent(value));
        of_bins(&bins, times.totals()).map(Distribution::into_times)
    }
}

impl Distribution<f64> {
    /// The distribution of the lengths in a histogram. `None` if there are no values.
    pub fn of_lengths(lengths: &LengthHistogram) -> Option<Self> {
        let histogram = lengths.histogram();
        let bins = bins(histogram, |value| histogram.lowest_equivalent(value));
        of_bins(&bins, lengths.totals())
    }

    /// The distribution of sorted values; `None` if there are none. Exact for values below 2^53, which is 104 days in nanoseconds.
    pub(super) fn of_sorted(values: &[u64]) -> Option<Self> {
        let totals =
            Totals { min: *values.first()?, max: *values.last()?, sum: values.iter().map(|it| u128::from(*it)).sum() };
        let deviations = |mean: f64| values.iter().map(|it| (*it as f64 - mean).powi(2)).sum();
        let at_rank = |rank: u64| usize::try_from(rank - 1).ok().and_then(|it| values.get(it)).map(|it| *it as f64);
        Some(of_values(values.len() as u64, &totals, deviations, at_rank))
    }

    /// Converts nanoseconds to [`Duration`].
    pub(super) fn into_times(self) -> Distribution<Duration> {
        // The cast saturates only beyond 584 years.
        self.map(|nanos| Duration::from_nanos(nanos.round() as u64))
    }
}

impl<T: Copy> Distribution<T> {
    /// Returns these figures in another unit, or as text.
    pub fn map<U>(&self, convert: impl Fn(T) -> U) -> Distribution<U> {
        Distribution {
            count: self.count,
            mean: convert(self.mean),
            stddev: convert(self.stddev),
            min: convert(self.min),
            p0p1: convert(self.p0p1),
            p1: convert(self.p1),
            p5: convert(self.p5),
            p10: convert(self.p10),
            p25: convert(self.p25),
            p50: convert(self.p50),
            p75: convert(self.p75),
            p90: convert(self.p90),
            p95: convert(self.p95),
            p99: convert(self.p99),
            p99p9: convert(self.p99p9),
            max: convert(self.max),
        }
    }

    /// Every figure except the count, under the names that reports use.
    pub fn entries(&self) -> [(&'static str, T); 15] {
        [
            ("mean", self.mean),
            ("stddev", self.stddev),
            ("min", self.min),
            ("p0p1", self.p0p1),
            ("p1", self.p1),
            ("p5", self.p5),
            ("p10", self.p10),
            ("p25", self.p25),
            ("p50", self.p50),
            ("p75", self.p75),
            ("p90", self.p90),
            ("p95", self.p95),
            ("p99", self.p99),
            ("p99p9", self.p99p9),
            ("max", self.max),
        ]
    }
}

/// The representative value of a histogram bin, and the number of values in the bin.
pub(super) type Bin = (f64, u64);

pub(super) fn bins(histogram: &Histogram<u32>, stand_in: impl Fn(u64) -> u64) -> Vec<Bin> {
    histogram
        .iter_recorded()
        .map(|it| (stand_in(it.value_iterated_to()) as f64, u64::from(it.count_at_value())))
        .collect()
}

fn of_bins(bins: &[Bin], totals: &Totals) -> Option<Distribution<f64>> {
    let count: u64 = bins.iter().map(|(_, count)| count).sum();
    let deviations = |mean: f64| bins.iter().map(|(value, count)| (value - mean).powi(2) * *count as f64).sum();
    (count > 0).then(|| of_values(count, totals, deviations, |rank| at_rank(bins, rank)))
}

/// Computes a distribution. `deviations` returns the sum of squared differences from a mean. `at_rank` returns the value at a rank, counted from 1.
fn of_values(
    count: u64,
    totals: &Totals,
    deviations: impl FnOnce(f64) -> f64,
    at_rank: impl Fn(u64) -> Option<f64>,
) -> Distribution<f64> {
    let (min, max, mean) = (totals.min as f64, totals.max as f64, totals.sum as f64 / count as f64);
    // The middle of the last bin can be above the largest value.
    let percentile = |permille: u64| at_rank(rank(count, permille)).map_or(max, |it| it.clamp(min, max));
    Distribution {
        count,
        mean,
        stddev: (deviations(mean) / count as f64).sqrt(),
        min,
        p0p1: percentile(1),
        p1: percentile(10),
        p5: percentile(50),
        p10: percentile(100),
        p25: percentile(250),
        p50: percentile(500),
        p75: percentile(750),
        p90: percentile(900),
        p95: percentile(950),
        p99: percentile(990),
        p99p9: percentile(999),
        max,
    }
}

/// The nearest rank, counted from 1. Computed in integers, because 0.07 x 100 exceeds 7 in floating point.
pub(super) fn rank(count: u64, permille: u64) -> u64 {
    let rank = (u128::from(count) * u128::from(permille)).div_ceil(1_000);
    u64::try_from(rank).unwrap_or(count).max(1)
}

fn at_rank(bins: &[Bin], rank: u64) -> Option<f64> {
    let mut seen = 0;
    bins.iter().find_map(|(value, count)| {
        seen += count;
        (seen >= rank).then_some(*value)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn times(nanos: &[u64]) -> Option<Distribution<Duration>> {
        let mut times = TimeHistogram::default();
        for each in nanos {
            times.record(Duration::from_nanos(*each));
        }
        Distribution::of_times(&times)
    }

    fn lengths(tokens: &[u32]) -> Option<Distribution<f64>> {
        let mut lengths = LengthHistogram::default();
        for each in tokens {
            lengths.record(*each);
        }
        Distribution::of_lengths(&lengths)
    }

    #[test]
    fn nothing_measured_is_nothing_told() {
        assert_eq!(times(&[]), None);
        assert_eq!(lengths(&[]), None);
    }

    #[test]
    fn one_to_a_hundred_has_the_percentiles_that_their_names_say() {
        let all: Vec<u32> = (1..=100).collect();
        let found = lengths(&all).unwrap();
        assert_eq!((found.count, found.min, found.max, found.mean), (100, 1.0, 100.0, 50.5));
        assert_eq!((found.p0p1, found.p1, found.p5, found.p10, found.p25), (1.0, 1.0, 5.0, 10.0, 25.0));
        assert_eq!((found.p50, found.p75, found.p90, found.p95), (50.0, 75.0, 90.0, 95.0));
        assert_eq!((found.p99, found.p99p9), (99.0, 100.0));
        // The variance of 1..=n is (n^2 - 1) / 12.
        assert!((found.stddev - (9_999.0_f64 / 12.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn a_mean_length_is_exact_where_the_bins_are_not() {
        let found = lengths(&[100_001, 100_003]).unwrap();
        assert_eq!(found.mean, 100_002.0);
        assert_eq!((found.min, found.max), (100_001.0, 100_003.0));
        assert!((found.p50 - 100_001.0).abs() / 100_001.0 < 0.001);
        assert_eq!(lengths(&[4_096; 3]).unwrap().p50, 4_096.0);
    }

    #[test]
    fn times_above_an_hour_count_as_an_hour() {
        assert_eq!(times(&[u64::MAX]).unwrap().max, Duration::from_secs(3_600));
    }

    proptest! {
        #[test]
        fn figures_are_in_order_and_near_the_definition(mut nanos in prop::collection::vec(0_u64..3_600_000_000_000, 1..300)) {
            let found = times(&nanos).unwrap();
            nanos.sort_unstable();
            let all = Distribution::of_sorted(&nanos).unwrap().into_times();
            prop_assert_eq!((found.count, found.min, found.mean, found.max), (all.count, all.min, all.mean, all.max));
            let ordered = [
                found.min, found.p0p1, found.p1, found.p5, found.p10, found.p25, found.p50, found.p75, found.p90, found.p95,
                found.p99, found.p99p9, found.max,
            ];
            prop_assert!(ordered.is_sorted(), "{:?}", ordered);
            prop_assert!(found.min <= found.mean && found.mean <= found.max);
            for (permille, figure, all) in
                [(500, found.p50, all.p50), (900, found.p90, all.p90), (990, found.p99, all.p99), (999, found.p99p9, all.p99p9)]
            {
                let exact = nanos[(nanos.len() * permille).div_ceil(1_000) - 1];
                prop_assert_eq!(all, Duration::from_nanos(exact));
                let exact = exact as f64;
                let error = (figure.as_nanos() as f64 - exact).abs();
                prop_assert!(error <= exact * 0.000_5 + 1.0, "p{} is {:?} and not {}", permille, figure, exact);
            }
        }
    }
}
