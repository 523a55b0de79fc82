//! How many independent values correlated values are worth.
//!
//! The variance of a mean of n correlated values equals the variance of a mean of n / t independent ones. t is the integrated autocorrelation time
//! 1 + 2 x (sum of the autocorrelations). The sum ends by Geyer's rule (Practical Markov chain Monte Carlo, 1992, section 3.3): autocovariances are
//! added in pairs while the pair sums are above zero, and no pair counts more than the pair before it.

use crate::mean;

/// Autocovariances are computed from at most this many means of successive values. The variance of the mean stays the same, and a lag costs at most
/// 16,384 products.
const MOST_VALUES: usize = 16_384;

/// Number of lags that are tried before successive values are averaged once more: at most 512 x 16,384 products, and less than as many again for
/// all shorter series.
const MOST_LAGS: usize = 512;

/// The number of independent values with the same variance of the mean: at least 1, at most the number of values; 0 without values. Negatively
/// correlated values count as independent.
pub fn effective_sample_size(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    if values.is_empty() { 0.0 } else { count / autocorrelation_time(values) }
}

/// The integrated autocorrelation time in values: at least 1, at most the number of values. 1 for fewer than four values, and if all values are
/// equal.
pub fn autocorrelation_time(values: &[f64]) -> f64 {
    let count = values.len();
    let of_one = covariance(&deviations(values), 0);
    if count < 4 || of_one <= 0.0 {
        return 1.0;
    }
    let mut size = count.div_ceil(MOST_VALUES);
    let mut means = batch_means(values, size);
    loop {
        match long_run_variance(&means) {
            Some(of_means) => return (of_means * size as f64 / of_one).clamp(1.0, count as f64),
            None => {
                size *= 2;
                means = batch_means(&means, 2);
            }
        }
    }
}

/// The means of successive batches; values at the end that do not fill a batch are left out.
pub(crate) fn batch_means(values: &[f64], size: usize) -> Vec<f64> {
    values.chunks_exact(size.max(1)).map(mean).collect()
}

fn deviations(values: &[f64]) -> Vec<f64> {
    let mean = mean(values);
    values.iter().map(|it| it - mean).collect()
}

/// The autocovariance at a lag, for values with mean 0.
fn covariance(values: &[f64], lag: usize) -> f64 {
    let later = values.get(lag..).unwrap_or_default();
    values.iter().zip(later).map(|(one, other)| one * other).sum::<f64>() / values.len().max(1) as f64
}

/// Variance of the mean x number of values; `None` if it needs more lags than are tried.
fn long_run_variance(values: &[f64]) -> Option<f64> {
    let values = deviations(values);
    let last = (values.len() / 2).min(MOST_LAGS);
    let is_short = last < MOST_LAGS;
    let (mut sum, mut pair_before, mut lag) = (0.0, f64::INFINITY, 0);
    let ended = loop {
        if lag + 1 > last {
            break is_short;
        }
        let pair = covariance(&values, lag) + covariance(&values, lag + 1);
        if pair <= 0.0 {
            break true;
        }
        pair_before = pair.min(pair_before);
        sum += pair_before;
        lag += 2;
    };
    // Each autocovariance is too small by the variance of the mean, because it is computed around the sample mean.
    let lost = lag as f64 * 2.0 / values.len() as f64;
    ended.then(|| (2.0 * sum - covariance(&values, 0)) / (1.0 - lost.min(0.5)))
}
