//! The interval of a mean of correlated values, by non-overlapping batch means.
//!
//! The values are cut into batches of equal size. The means of long batches are nearly independent and normal, so that their mean has an interval
//! by Student's t (Law and Kelton, Simulation Modeling and Analysis, 5th edition, section 9.5.3). Beyond 10 to 30 batches, more batches hardly
//! improve the interval (Schmeiser, Batch size effects in the analysis of simulation output, 1982), and fewer, longer batches depend less on each
//! other. So there are 30 batches if each is worth at least ten independent values, and fewer batches if the values depend more on each other.
//! Values that are worth less than 30 independent ones are cut into 2 to 9 batches: their number of independent values is itself unsure, and long
//! batches depend on it least. Student's t makes such an interval wide enough.

use crate::{
    Estimate, Interval,
    effective_sample_size::{self, effective_sample_size},
    enough, mean,
    student::t_95,
};

/// Maximum number of batches.
const MOST_BATCHES: usize = 30;
/// Minimum number of batches.
const FEWEST_BATCHES: usize = 10;
/// Number of independent values that a batch is worth, if there are enough.
const EFFECTIVE_PER_BATCH: f64 = 10.0;
/// The same number if there are few values, and the minimum number of batches then.
const FEW_PER_BATCH: f64 = 3.0;
const FEWEST_OF_FEW: usize = 2;

/// The mean with its interval; `None` without values. Values at the end that do not fill a batch, less than one per batch, count in the mean, but
/// not in the width of the interval. Takes time proportional to the number of values.
pub fn mean_with_interval(values: &[f64]) -> Option<Estimate> {
    let effective_values = effective_sample_size(values);
    let value = mean(values);
    let interval = (values.len() >= enough::VALUES_FOR_A_MEAN).then(|| interval(values, value, effective_values));
    (!values.is_empty()).then_some(Estimate { effective_values, value: Some(value), interval })
}

/// The number of batches for values that are worth `effective` independent ones. The interval has one degree of freedom less.
pub fn batches(effective: f64) -> usize {
    // The casts round down.
    match effective >= enough::FOR_AN_INTERVAL {
        true => ((effective / EFFECTIVE_PER_BATCH) as usize).clamp(FEWEST_BATCHES, MOST_BATCHES),
        false => ((effective / FEW_PER_BATCH) as usize).max(FEWEST_OF_FEW),
    }
}

fn interval(values: &[f64], value: f64, effective: f64) -> Interval {
    let half = half_width(&effective_sample_size::batch_means(values, values.len() / batches(effective)));
    // The mean of nonnegative values is not negative.
    let floor = if values.iter().all(|it| *it >= 0.0) { 0.0 } else { f64::NEG_INFINITY };
    Interval { low: (value - half).max(floor), high: value + half }
}

/// Half the width of the interval of the mean of independent figures, by Student's t.
pub(crate) fn half_width(figures: &[f64]) -> f64 {
    let count = figures.len() as f64;
    let middle = mean(figures);
    let variance = figures.iter().map(|it| (it - middle).powi(2)).sum::<f64>() / (count - 1.0);
    t_95(figures.len().saturating_sub(1)) * (variance / count).sqrt()
}
