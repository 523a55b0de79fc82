//! Several runs of the same load: the mean of each figure, and its spread between runs. The spread within one run is reported separately.
//!
//! Requests of one run share a queue and a cache. So a figure often differs more between runs than the spread within one run suggests. Only repeated
//! runs show how much. `docs/metrics.md` has the formulas.

mod figures;
mod summary;
#[cfg(test)]
mod tests;
mod verdict;

use statistics::student::t_95;

pub use figures::{FIGURES, Found, RepeatFigure};
pub use summary::{mean_of_stages, mean_of_summaries};
pub use verdict::{counts, deciding, worst_objectives};

/// How much a figure differs between runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Sample standard deviation between runs: the sum of squares is divided by the number of runs minus one.
    pub stddev: f64,
    /// Bounds of the 95 % interval of the mean: mean -+ t(0.975, runs - 1) x stddev / sqrt(runs). Assumes that runs are independent and normally
    /// distributed.
    pub interval: [f64; 2],
}

impl Spread {
    /// Computes the spread of values, one per run. `None` for fewer than two values, and if a value is not finite.
    pub fn new(values: &[f64]) -> Option<Spread> {
        let mean = mean(values)?;
        let free = values.len().checked_sub(1).filter(|it| *it > 0)?;
        let squares: f64 = values.iter().map(|it| (it - mean).powi(2)).sum();
        let stddev = (squares / free as f64).sqrt();
        let half = t_95(free) * stddev / (values.len() as f64).sqrt();
        Some(Spread { stddev, interval: [mean - half, mean + half] })
    }
}

/// The mean; `None` if there are no values, or if a value is not finite.
pub fn mean(values: &[f64]) -> Option<f64> {
    let is_usable = !values.is_empty() && values.iter().all(|it| it.is_finite());
    is_usable.then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The typical standard error of a single run: the square root of the mean of the squared errors. `None` if there are no errors.
pub fn pooled_standard_error(errors: &[f64]) -> Option<f64> {
    let squares: Vec<f64> = errors.iter().map(|it| it * it).collect();
    mean(&squares).map(f64::sqrt)
}
