//! The interval of a mean of correlated values, by non-overlapping batch means.
//!
//! The values are divided into batches of equal size. The means of long batches are nearly independent and normally distributed, so Student's t gives
//! an interval for their mean (Law and Kelton, Simulation Modeling and Analysis, 5th edition, section 9.5.3).
//! More than 10 to 30 batches hardly improve the interval (Schmeiser, Batch size effects in the analysis of simulation output, 1982), and fewer,
//! longer batches depend less on each other. So there are 30 batches if each is worth at least ten independent values; if values depend more on each
//! other, there are fewer. If all values together are worth less than 30 independent values, there are 2 to 9 batches. In this case the effective
//! number itself is uncertain, which affects long batches least, and Student's t makes the interval sufficiently wide.

use crate::{
    Estimate, Interval,
    effective_sample_size::{self, effective_sample_size},
    enough, mean,
    student::t_95,
};

/// Maximum number of batches.
const MOST_BATCHES: usize = 30;
/// Minimum number of batches, if there are enough values.
const FEWEST_BATCHES: usize = 10;
/// Number of independent values that a batch should be worth, if there are enough values.
const EFFECTIVE_PER_BATCH: f64 = 10.0;
/// Number of independent values per batch, if there are few values.
const FEW_PER_BATCH: f64 = 3.0;
/// Minimum number of batches, if there are few values.
const FEWEST_OF_FEW: usize = 2;

/// Returns the mean with its interval; `None` if there are no values. Values at the end that do not fill a batch affect only the mean, not the width
/// of the interval. There are fewer of them than batches. The time is proportional to the number of values.
pub fn mean_with_interval(values: &[f64]) -> Option<Estimate> {
    let effective_values = effective_sample_size(values);
    let value = mean(values);
    let interval = (values.len() >= enough::VALUES_FOR_A_MEAN).then(|| interval(values, value, effective_values));
    (!values.is_empty()).then_some(Estimate { effective_values, value: Some(value), interval })
}

/// The number of batches for values that are worth `effective` independent values. The interval has one degree of freedom less.
pub fn batches(effective: f64) -> usize {
    // The casts round down.
    match effective >= enough::FOR_AN_INTERVAL {
        true => ((effective / EFFECTIVE_PER_BATCH) as usize).clamp(FEWEST_BATCHES, MOST_BATCHES),
        false => ((effective / FEW_PER_BATCH) as usize).max(FEWEST_OF_FEW),
    }
}

fn interval(values: &[f64], value: f64, effective: f64) -> Interval {
    let half = half_width(&effective_sample_size::batch_means(values, values.len() / batches(effective)));
    // If no value is negative, the mean is not negative either.
    let floor = if values.iter().all(|it| *it >= 0.0) { 0.0 } else { f64::NEG_INFINITY };
    Interval { low: (value - half).max(floor), high: value + half }
}

/// Half the width of the interval for the mean of independent figures, by Student's t.
pub(crate) fn half_width(figures: &[f64]) -> f64 {
    let count = figures.len() as f64;
    let middle = mean(figures);
    let variance = figures.iter().map(|it| (it - middle).powi(2)).sum::<f64>() / (count - 1.0);
    t_95(figures.len().saturating_sub(1)) * (variance / count).sqrt()
}
