//! Computes how many independent values a series of correlated values is worth.
//!
//! The mean of n correlated values has the same variance as the mean of n / t independent values. t is the integrated autocorrelation time: 1 + 2 x
//! (sum of the autocorrelations). The sum is cut off by Geyer's rule (Practical Markov chain Monte Carlo, 1992, section 3.3). Autocovariances are
//! added in pairs as long as the sum of a pair is above zero, and no pair counts more than the previous one.

use crate::mean;

/// Maximum number of values for computing autocovariances. A longer series is first replaced by the means of successive values. This does not change
/// the variance of its mean, and limits the cost of a lag to 16,384 products.
const MOST_VALUES: usize = 16_384;

/// Maximum number of lags. If the sum needs more, successive values are averaged once more and the sum is computed again. One sum costs at most 512 x
/// 16,384 products. The sums for all shorter series together cost less than that.
const MOST_LAGS: usize = 512;

/// The effective number of values: as many independent values would have a mean with the same variance. At least 1 and at most the number of values;
/// 0 if there are no values. Negatively correlated values count as independent.
pub fn effective_sample_size(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    if values.is_empty() { 0.0 } else { count / autocorrelation_time(values) }
}

/// The integrated autocorrelation time, counted in values. At least 1 and at most the number of values. 1 if there are fewer than four values, or if
/// all are equal.
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

/// The means of successive batches. Values at the end that do not fill a batch are left out.
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

/// Variance of the mean x number of values; `None` if this needs more than [`MOST_LAGS`] lags.
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
    // Corrects a bias. Each autocovariance is too small by the variance of the mean, because it is computed around the sample mean instead of the
    // true one.
    let lost = lag as f64 * 2.0 / values.len() as f64;
    ended.then(|| (2.0 * sum - covariance(&values, 0)) / (1.0 - lost.min(0.5)))
}
