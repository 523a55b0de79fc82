//! Whether values suffice for a figure and for its interval.

/// Minimum number of values for the interval of a mean.
pub const VALUES_FOR_A_MEAN: usize = 8;

/// Number of independent values that a series must be worth for the interval of a percentile by order statistics, and for batches of full worth.
/// Below, the estimate of that worth is itself unsure: of busy-queue series worth 10 to 20 values, half appear to be worth more than 20. A mean and
/// a median then have an interval from few batches.
pub const FOR_AN_INTERVAL: f64 = 30.0;

/// The number of values that a quantile needs: below 1 / (1 - p) values, its nearest rank is the largest value. 2 for the median, 10 for p90, 100
/// for p99.
pub fn for_quantile(p: f64) -> f64 {
    // 1 / (1 - 0.99) is a little more than 100.
    (1.0 / tail(p) - 1e-9).ceil()
}

/// The number of independent values that a series must be worth for the interval of a quantile: two of them lie beyond the quantile. 30 for the
/// median and p90, 200 for p99.
pub fn for_quantile_interval(p: f64) -> f64 {
    (2.0 * for_quantile(p)).max(FOR_AN_INTERVAL)
}

/// The number of effective values that the interval of the quantile needs. With this many, all of them lie on one side of the quantile with at most
/// 2.5 %: ln 0.025 / ln max(p, 1 - p). 6 for the median, 36 for p90, 368 for p99.
pub fn for_ranks(p: f64) -> f64 {
    (0.025_f64.ln() / (1.0 - tail(p)).ln()).ceil()
}

/// The share beyond the quantile, on the smaller side.
fn tail(p: f64) -> f64 {
    p.min(1.0 - p)
}
