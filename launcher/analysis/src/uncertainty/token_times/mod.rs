//! The uncertainty of ITL, from its counts over time.
//!
//! A run keeps no time of each token, but each bin of its time series counts ITLs in buckets. The gaps of one bin depend on each other, so the bin is
//! the unit of the estimate: the share of gaps up to a percentile varies between bins, and this variation gives the ranks of the percentile's
//! interval (Woodruff, Confidence intervals for medians and other position measures, 1952).

use std::time::Duration;

use measurement::recorder::{
    StageTally, TimeSeries,
    series::{Bucket, QuantileSketch},
};
use statistics::{Estimate, Interval, enough, ratio::ratio_with_interval};

use super::latencies::{Latencies, PERCENTILES};
use crate::figures;

/// Estimates of the ITL of a stage; `None` without values. Bins that lie partly outside the measurement window are ignored. The ends of an interval
/// are edges of buckets, which are at most 3.2 % wide.
pub(super) fn estimates(tally: &StageTally, series: &TimeSeries) -> Option<Latencies> {
    let (itl, window) = (figures::itl(tally)?, tally.span()?);
    // A few gaps may all come from one request.
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

/// The estimate of a percentile. The interval is extended to the value, because the distribution has finer buckets than the series.
fn percentile(found: Option<Estimate>, value: f64, has_value: bool) -> Estimate {
    let interval = found.and_then(|it| it.interval).filter(|_| has_value);
    Estimate {
        effective_values: found.map_or(1.0, |it| it.effective_values),
        value: has_value.then_some(value),
        interval: interval.map(|it| Interval { low: it.low.min(value), high: it.high.max(value) }),
    }
}

/// The ITLs of each bin that lies within the window.
fn within(series: &TimeSeries, (open, close): (Duration, Duration)) -> Vec<&QuantileSketch> {
    let (start, width) = (series.start(), series.bin_width());
    let begins = (0_u32..).map(|bin| start.saturating_add(width.saturating_mul(bin)));
    let bins = series.bins().zip(begins);
    bins.filter(|(_, begin)| *begin >= open && *begin + width <= close).map(|((bin, _), _)| &bin.itl).collect()
}

/// The mean, with an interval from the variation between bins.
fn mean(bins: &[&QuantileSketch], value: f64) -> Estimate {
    let sums: Vec<(f64, f64)> = bins
        .iter()
        .map(|bin| {
            bin.counts().fold((0.0, 0.0), |(sum, count), (nanos, it)| (sum + nanos * it as f64, count + it as f64))
        })
        .collect();
    let found = ratio_with_interval(&sums);
    let shifted = |it: &Estimate| {
        // The middle of a bucket replaces each value, so only the width is used.
        let half = (it.interval?.high - it.value?) * 1e-6;
        Some(Interval { low: (value - half).max(0.0), high: value + half })
    };
    Estimate {
        effective_values: found.map_or(1.0, |it| it.effective_values),
        value: Some(value),
        interval: found.as_ref().and_then(shifted),
    }
}

/// The interval of a quantile in milliseconds. `buckets`: the sums over all bins.
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

/// The bucket of a quantile.
struct Split {
    bucket: Bucket,
    /// The share of the bucket's count that belongs below the quantile.
    part: f64,
}

impl Split {
    /// `None` if the quantile is not within (0, 1), or without counts.
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

    /// The number of ITLs of a bin below the quantile, and the number of all its ITLs.
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
