//! A quantile of correlated values and its interval, by order statistics.
//!
//! The `p` quantile of n independent values lies between two of the sorted values, whose ranks the binomial distribution gives: no
//! shape of the distribution is assumed. Of correlated values the share below the quantile varies as much as that of fewer
//! independent values (Woodruff, Confidence intervals for medians and other position measures, 1952; Korn and Graubard, 1998, for
//! small and large shares). Their number is the effective sample size of the series that says of each value whether it is below
//! the quantile. The ranks are those of that number, spread over all values.

use crate::{Estimate, Interval, binomial::quantile_ranks, effective_sample_size::effective_sample_size, enough};

/// The `p` quantile, 0 < p < 1, by nearest rank, with its interval; `None` without values.
///
/// `sorted` are `values` in ascending order, so that several quantiles need one sort. `worth` is the effective sample size of the values:
/// where an extreme quantile of a busy queue rests on one or two congestions, the series of the quantile alone looks more independent than it is. The value is absent where it would be the
/// largest (or smallest) value alone, by the number of values; the interval is absent where the effective values are too few.
/// Time grows with the number of values.
pub fn quantile(values: &[f64], sorted: &[f64], p: f64, worth: f64) -> Option<Estimate> {
    let count = sorted.len();
    let at_rank = *sorted.get(nearest_rank(count, p) - 1)?;
    let is_below: Vec<f64> = values.iter().map(|it| f64::from(u8::from(*it <= at_rank))).collect();
    let effective_values = effective_sample_size(&is_below);
    let has_value = count as f64 >= enough::for_quantile(p);
    let has_interval =
        has_value && worth >= enough::for_quantile_interval(p) && effective_values >= enough::for_ranks(p);
    let interval = has_interval.then(|| interval(sorted, effective_values, p)).flatten();
    Some(Estimate { effective_values, value: has_value.then_some(at_rank), interval })
}

/// The smallest rank, from 1, whose value at least the share `p` of the values does not exceed.
fn nearest_rank(count: usize, p: f64) -> usize {
    // 0.07 x 100 is a little more than 7.
    ((count as f64 * p - 1e-9).ceil() as usize).clamp(1, count.max(1))
}

fn interval(sorted: &[f64], effective: f64, p: f64) -> Option<Interval> {
    // The cast rounds down.
    let effective = effective as u64;
    let (low, high) = quantile_ranks(effective, p)?;
    // Each effective value stands for this many values, and its rank for the middle of theirs.
    let each = sorted.len() as f64 / effective as f64;
    let low = ((low as f64 - 0.5) * each + 0.5).floor() as usize;
    let high = ((high as f64 - 0.5) * each + 0.5).ceil() as usize;
    let at = |rank: usize| sorted.get(rank.clamp(1, sorted.len()) - 1).copied();
    Some(Interval { low: at(low)?, high: at(high)? })
}
