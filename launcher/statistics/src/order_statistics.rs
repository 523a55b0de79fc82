//! Estimates a quantile of correlated values with its interval, by order statistics.
//!
//! The `p` quantile of n independent values lies between two of the sorted values. The binomial distribution gives their ranks, without any
//! assumption about the distribution of the values. If values are correlated, the share below the quantile varies as much as with fewer independent
//! values (Woodruff, Confidence intervals for medians and other position measures, 1952; Korn and Graubard, 1998, for small and large shares). This
//! smaller number is the effective sample size of a 0/1 series, which has for each value whether it is below the quantile. The ranks are computed for
//! this number, and then scaled to the number of all values.

use crate::{
    Estimate, Interval, batch_means, binomial::quantile_ranks, effective_sample_size::effective_sample_size, enough,
    mean,
};

/// The size of a batch, as a multiple of the minimum number of values for the quantile.
const BATCH_TAILS: f64 = 1.5;

/// Returns the `p` quantile (0 < p < 1) by nearest rank, with its interval. `None` if there are no values.
///
/// `sorted` contains `values` in ascending order; it is passed so that several quantiles need only one sort. `worth` is the effective sample size of
/// the values. It matters for an extreme quantile of a busy queue: such a quantile depends on one or two congestions, and its 0/1 series alone looks
/// more independent than it is.
/// The value is absent if there are so few values that it would be the largest (or smallest) one. The interval is absent if there are too few
/// effective values. The time is proportional to the number of values.
pub fn quantile(values: &[f64], sorted: &[f64], p: f64, worth: f64) -> Option<Estimate> {
    let count = sorted.len();
    let at_rank = *sorted.get(nearest_rank(count, p) - 1)?;
    let is_below: Vec<f64> = values.iter().map(|it| f64::from(u8::from(*it <= at_rank))).collect();
    let effective_values = effective_sample_size(&is_below);
    let has_value = count as f64 >= enough::for_quantile(p);
    let has_interval =
        has_value && worth >= enough::for_quantile_interval(p) && effective_values >= enough::for_ranks(p);
    let interval = match has_interval {
        true => interval(sorted, effective_values, p),
        // Other quantiles get no interval, because one or two congestions may determine the tail.
        false if has_value && p == 0.5 => interval_of_few(values, at_rank, p, worth),
        false => None,
    };
    Some(Estimate { effective_values, value: has_value.then_some(at_rank), interval })
}

/// The interval of the median for few effective values, from the medians of a few long batches by Student's t. `None` if the batches would be too
/// short for the quantile.
fn interval_of_few(values: &[f64], value: f64, p: f64, worth: f64) -> Option<Interval> {
    let batches = batch_means::batches(worth.min(enough::FOR_AN_INTERVAL - 1.0));
    let size = values.len() / batches;
    if (size as f64) < BATCH_TAILS * enough::for_quantile(p) {
        return None;
    }
    let of_batch = |batch: &[f64]| {
        let mut sorted = batch.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted[nearest_rank(sorted.len(), p) - 1]
    };
    let quantiles: Vec<f64> = values.chunks_exact(size).map(of_batch).collect();
    let half = batch_means::half_width(&quantiles);
    // The quantiles of short batches are not centred on the quantile of all values, so the interval is extended to include it.
    let middle = mean(&quantiles);
    let floor = if values.iter().all(|it| *it >= 0.0) { 0.0 } else { f64::NEG_INFINITY };
    Some(Interval { low: (middle - half).min(value).max(floor), high: (middle + half).max(value) })
}

/// The smallest rank, counted from 1, such that at least the share `p` of the values is at or below the value with this rank.
fn nearest_rank(count: usize, p: f64) -> usize {
    // In floating point, 0.07 x 100 is slightly more than 7.
    ((count as f64 * p - 1e-9).ceil() as usize).clamp(1, count.max(1))
}

fn interval(sorted: &[f64], effective: f64, p: f64) -> Option<Interval> {
    // The cast rounds down.
    let effective = effective as u64;
    let (low, high) = quantile_ranks(effective, p)?;
    // Each effective value represents this many values, and gets the rank in the middle of them.
    let each = sorted.len() as f64 / effective as f64;
    let low = ((low as f64 - 0.5) * each + 0.5).floor() as usize;
    let high = ((high as f64 - 0.5) * each + 0.5).ceil() as usize;
    let at = |rank: usize| sorted.get(rank.clamp(1, sorted.len()) - 1).copied();
    Some(Interval { low: at(low)?, high: at(high)? })
}
