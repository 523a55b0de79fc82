//! The interval of a share of correlated events.
//!
//! The score interval (Wilson, Probable inference, the law of succession, and statistical inference, JASA 22, 1927) also holds for shares near 0
//! and 1, and has a width even if none of the values is an event. It uses the effective number of values instead of their number (Korn and
//! Graubard, 1998), because failures cluster.

use crate::{Estimate, Interval, effective_sample_size::effective_sample_size, mean, student::NORMAL_95};

/// The share of `true` with its interval; `None` without values. Takes time proportional to the number of values.
pub fn share_with_interval(values: &[bool]) -> Option<Estimate> {
    let series: Vec<f64> = values.iter().map(|it| f64::from(u8::from(*it))).collect();
    let (effective_values, share) = (effective_sample_size(&series), mean(&series));
    let interval = (effective_values >= 1.0).then(|| wilson(share, effective_values, NORMAL_95));
    (!values.is_empty()).then_some(Estimate { effective_values, value: Some(share), interval })
}

/// The score interval of a share of `count` independent values, at `z` standard deviations.
pub fn wilson(share: f64, count: f64, z: f64) -> Interval {
    let squared = z * z;
    let middle = (share + squared / (2.0 * count)) / (1.0 + squared / count);
    let half = z / (1.0 + squared / count) * (share * (1.0 - share) / count + squared / (4.0 * count * count)).sqrt();
    // At a share of 0 or 1, the bound equals the share, except for rounding.
    Interval { low: (middle - half).clamp(0.0, share), high: (middle + half).clamp(share, 1.0) }
}
