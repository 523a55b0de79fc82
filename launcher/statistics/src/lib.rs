//! Uncertainty of figures: intervals, effective sample sizes and steady states for values that depend on each other.
//!
//! The latencies of successive requests are correlated, because a full queue makes many of them slow. A formula for independent values would give
//! intervals that are too narrow. All functions take values in time order and are deterministic. Intervals are at 95 %. `docs/statistics.md` has the
//! formulas, their sources, and how often the intervals contain the true value.

pub mod batch_means;
pub mod binomial;
pub mod bins;
pub mod blocks;
pub mod difference;
pub mod effective_sample_size;
pub mod enough;
pub mod littles_law;
pub mod mser;
pub mod normal;
pub mod order_statistics;
pub mod ratio;
pub mod share;
pub mod steady_state;
pub mod student;
pub mod trend;

/// The confidence level: the nominal share of samples whose interval contains the true value.
pub const LEVEL: f64 = 0.95;

/// Two bounds, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// Whether a value lies between the bounds.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The mean of a figure over independent runs, with its interval by Student's t. `None` for fewer than two runs.
pub fn mean_of_runs(figures: &[f64]) -> Option<(f64, Interval)> {
    let value = mean(figures);
    let half = (figures.len() >= 2).then(|| batch_means::half_width(figures))?;
    Some((value, Interval { low: value - half, high: value + half }))
}

/// An estimate of one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Number of independent values that would estimate the figure equally well. At least 1, and at most the number of values.
    pub effective_values: f64,
    /// `None` if there are too few values for the figure itself.
    pub value: Option<f64>,
    /// `None` if there are too few values for an interval.
    pub interval: Option<Interval>,
}

/// The mean; 0 without values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The middle value, or the mean of the two middle values; `None` if there are no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let above = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 { Some(above) } else { Some((sorted[middle - 1] + above) / 2.0) }
}
