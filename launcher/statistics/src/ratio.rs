//! The interval of a ratio of two sums over successive time bins, such as the number of long gaps / the number of all gaps.
//!
//! Events in one bin depend on each other: a pause of the server delays the tokens of all its requests. So each bin counts as one value. The interval
//! is that of the mean of the residuals `over - ratio x under`, which also accounts for dependence between bins (Cochran, Sampling Techniques, 3rd
//! edition, section 6.4, for the residuals).

use crate::{Estimate, Interval, batch_means};

/// Returns the sum of all `over` divided by the sum of all `under`, with its interval. `None` if the sum of `under` is not positive. `bins`: pairs
/// (`over`, `under`) in time order. The result's `effective_values` is a number of bins. The time is proportional to the number of bins.
pub fn ratio_with_interval(bins: &[(f64, f64)]) -> Option<Estimate> {
    let (over, under) = bins.iter().fold((0.0, 0.0), |(over, under), it| (over + it.0, under + it.1));
    if under <= 0.0 {
        return None;
    }
    let (ratio, mean_under) = (over / under, under / bins.len() as f64);
    let residuals: Vec<f64> = bins.iter().map(|(over, under)| (over - ratio * under) / mean_under).collect();
    let of_residuals = batch_means::mean_with_interval(&residuals)?;
    let around = |it: Interval| Interval { low: ratio + it.low, high: ratio + it.high };
    Some(Estimate { value: Some(ratio), interval: of_residuals.interval.map(around), ..of_residuals })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_weighs_bins_by_their_denominator() {
        let bins: Vec<(f64, f64)> = (0..40).map(|it| (f64::from(it * it % 7), f64::from(1 + it % 2) * 10.0)).collect();
        let found = ratio_with_interval(&bins).unwrap();
        let (value, interval) = (found.value.unwrap(), found.interval.unwrap());
        assert!((value - 79.0 / 600.0).abs() < 1e-12, "{value}");
        assert!(interval.contains(value) && interval.low < value && interval.high > value, "{interval:?}");
        assert!(((interval.low + interval.high) / 2.0 - value).abs() < 1e-12, "{interval:?}");
    }

    #[test]
    fn equal_shares_of_bins_of_any_size_are_certain() {
        let bins: Vec<(f64, f64)> = (1..=20).map(|it| (0.25 * f64::from(it), f64::from(it))).collect();
        let found = ratio_with_interval(&bins).unwrap().interval.unwrap();
        assert!((found.low - 0.25).abs() < 1e-12 && (found.high - 0.25).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn few_bins_have_no_interval_and_none_no_ratio() {
        assert_eq!(ratio_with_interval(&[(1.0, 2.0); 7]).unwrap().interval, None);
        assert_eq!(ratio_with_interval(&[(0.0, 0.0)]), None);
        assert_eq!(ratio_with_interval(&[]), None);
    }
}
