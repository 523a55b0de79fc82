//! The minimum numbers of values for a figure and for its interval.

/// Minimum number of values for the interval of a mean.
pub const VALUES_FOR_A_MEAN: usize = 8;

/// Minimum number of independent values that a series must be worth for the interval of a percentile by order statistics, and for the normal number
/// of batches. Below this number, the estimate of the worth is itself uncertain: of series from a busy queue that are worth 10 to 20 values, half
/// appear to be worth more than 20. A mean and a median then get an interval from few batches.
pub const FOR_AN_INTERVAL: f64 = 30.0;

/// Minimum number of values for a quantile: 1 / (1 - p), which is 2 for the median, 10 for p90 and 100 for p99. With fewer values, the nearest rank
/// would be the largest value.
pub fn for_quantile(p: f64) -> f64 {
    // In floating point, 1 / (1 - 0.99) is slightly more than 100.
    (1.0 / tail(p) - 1e-9).ceil()
}

/// Minimum number of independent values that a series must be worth for the interval of a quantile: so many that two lie beyond the quantile, but at
/// least [`FOR_AN_INTERVAL`]. This is 30 for the median and p90, and 200 for p99.
pub fn for_quantile_interval(p: f64) -> f64 {
    (2.0 * for_quantile(p)).max(FOR_AN_INTERVAL)
}

/// Minimum number of effective values for the ranks of an interval: ln 0.025 / ln max(p, 1 - p), which is 6 for the median, 36 for p90 and 368 for
/// p99. With this many, the probability that all of them lie on one side of the quantile is at most 2.5 %.
pub fn for_ranks(p: f64) -> f64 {
    (0.025_f64.ln() / (1.0 - tail(p)).ln()).ceil()
}

/// The share of values above the quantile or below it, whichever is smaller.
fn tail(p: f64) -> f64 {
    p.min(1.0 - p)
}
