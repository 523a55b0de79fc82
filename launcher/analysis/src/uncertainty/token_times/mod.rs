//! Estimates the uncertainty of ITL from ITL counts over time.
//!
//! A run does not keep the time of each token. Instead, each bin of the time series counts ITLs in buckets. The gaps in one bin depend on each other,
//! so the unit of the estimate is the bin. The share of gaps below a percentile varies between bins, and this variation gives the ranks of the
//! percentile's interval (Woodruff, Confidence intervals for medians and other position measures, 1952).

use std::time::Duration;

use measurement::recorder::{
    StageTally, TimeSeries,
    series::{Bucket, QuantileSketch},
};
use statistics::{Estimate, Interval, enough, ratio::ratio_with_interval};

use super::latencies::{Latencies, PERCENTILES};
use crate::figures;

/// Estimates the ITL of a stage; `None` if there are no values. Bins that are partly outside the measurement window are ignored. The ends of an
/// interval are bucket edges; a bucket is at most 3.2 % wide.
pub(super) fn estimates(tally: &StageTally, series: &TimeSeries) -> Option<Latencies> {
    let (itl, window) = (figures::itl(tally)?, tally.span()?);
    // Requires a minimum number of gaps, because a few gaps may all belong to one request.
    let enough = itl.count as f64 >= enough::FOR_AN_INTERVAL;
    let bins = if enough { within(series, window) } else { Vec::new() };
    let mut all = QuantileSketch::default();
    bins.iter().for_each(|it| all.add(it));
    let buckets: Vec<Bucket> = all.buckets().collect();
    let values = [itl.p50, itl.p90, itl.p99];
    let percentile = |place: usize| {
        let (_, p) = PERCENTILES[place];
        percentile(quantile(&bins, &buckets, p), millis(values[place]), itl.count as f64 >= enough::for_quantile(p))
    };
    let percentiles = [percentile(0), percentile(1), percentile(2)];
    Some(Latencies { count: itl.count, mean: mean(&bins, millis(itl.mean)), percentiles })
}

/// Combines the value of a percentile with its interval. The value comes from a histogram with finer buckets than the series behind the interval. If
/// it lies outside the interval, the interval is widened to contain it.
fn percentile(found: Option<Estimate>, value: f64, has_value: bool) -> Estimate {
    let interval = found.and_then(|it| it.interval).filter(|_| has_value);
    Estimate {
        effective_values: found.map_or(1.0, |it| it.effective_values),
        value: has_value.then_some(value),
        interval: interval.map(|it| Interval { low: it.low.min(value), high: it.high.max(value) }),
    }
}

/// The ITLs of each bin that is completely within the window.
fn within(series: &TimeSeries, (open, close): (Duration, Duration)) -> Vec<&QuantileSketch> {
    let (start, width) = (series.start(), series.bin_width());
    let begins = (0_u32..).map(|bin| start.saturating_add(width.saturating_mul(bin)));
    let bins = series.bins().zip(begins);
    bins.filter(|(_, begin)| *begin >= open && *begin + width <= close).map(|((bin, _), _)| &bin.itl).collect()
}

/// The mean with an interval that comes from the variation between bins.
fn mean(bins: &[&QuantileSketch], value: f64) -> Estimate {
    let sums: Vec<(f64, f64)> = bins
        .iter()
        .map(|bin| {
            bin.counts().fold((0.0, 0.0), |(sum, count), (nanos, it)| (sum + nanos * it as f64, count + it as f64))
        })
        .collect();
    let found = ratio_with_interval(&sums);
    let shifted = |it: &Estimate| {
        // `found` was computed from bucket middles instead of the values. So only the width of its interval is used, around the exact value.
        let half = (it.interval?.high - it.value?) * 1e-6;
        Some(Interval { low: (value - half).max(0.0), high: value + half })
    };
    Estimate {
        effective_values: found.map_or(1.0, |it| it.effective_values),
        value: Some(value),
        interval: found.as_ref().and_then(shifted),
    }
}

/// The interval of a quantile, in milliseconds. `buckets` are the counts of all bins together.
fn quantile(bins: &[&QuantileSketch], buckets: &[Bucket], p: f64) -> Option<Estimate> {
    let split = Split::at(buckets, p)?;
    let shares: Vec<(f64, f64)> = bins.iter().map(|it| split.of(it)).collect();
    let share = ratio_with_interval(&shares)?;
    let interval = share.interval.and_then(|it| {
        let half = it.high - p;
        let (low, high) = (Split::at(buckets, p - half)?, Split::at(buckets, p + half)?);
        Some(Interval { low: low.bucket.low * 1e-6, high: high.bucket.high * 1e-6 })
    });
    Some(Estimate { interval, ..share })
}

/// The bucket that contains a quantile.
struct Split {
    bucket: Bucket,
    /// The share of the bucket's count that lies below the quantile.
    part: f64,
}

impl Split {
    /// Finds the bucket that contains the quantile `p`. `None` if `p` is not between 0 and 1, or if there are no counts.
    fn at(buckets: &[Bucket], p: f64) -> Option<Split> {
        let rank = p * buckets.iter().map(|it| it.count as f64).sum::<f64>();
        let mut below = 0.0;
        for bucket in buckets.iter().filter(|_| 0.0 < p && p < 1.0) {
            let count = bucket.count as f64;
            if below + count >= rank {
                return Some(Split { bucket: *bucket, part: (rank - below) / count });
            }
            below += count;
        }
        None
    }

    /// Returns (number of the bin's ITLs below the quantile, number of all its ITLs).
    fn of(&self, bin: &QuantileSketch) -> (f64, f64) {
        bin.buckets().fold((0.0, 0.0), |(below, all), it| {
            let part = match it.low.total_cmp(&self.bucket.low) {
                std::cmp::Ordering::Less => 1.0,
                std::cmp::Ordering::Equal => self.part,
                std::cmp::Ordering::Greater => 0.0,
            };
            let count = it.count as f64;
            (below + part * count, all + count)
        })
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests;
