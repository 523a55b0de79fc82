//! The interval of a share of correlated events.
//!
//! The score interval (Wilson, Probable inference, the law of succession, and statistical inference, JASA 22, 1927) is also correct for shares near 0
//! and 1, and has a positive width even if no event occurred. Failures occur in clusters, so it is computed for the effective number of values (Korn
//! and Graubard, 1998).

use crate::{Estimate, Interval, effective_sample_size::effective_sample_size, mean, student::NORMAL_95};

/// Returns the share of `true` with its interval. `None` if there are no values. The time is proportional to the number of values.
pub fn share_with_interval(values: &[bool]) -> Option<Estimate> {
    let series: Vec<f64> = values.iter().map(|it| f64::from(u8::from(*it))).collect();
    let (effective_values, share) = (effective_sample_size(&series), mean(&series));
    let interval = (effective_values >= 1.0).then(|| wilson(share, effective_values, NORMAL_95));
    (!values.is_empty()).then_some(Estimate { effective_values, value: Some(share), interval })
}

/// The score interval for a share of `count` independent values, at `z` standard deviations.
pub fn wilson(share: f64, count: f64, z: f64) -> Interval {
    let squared = z * z;
    let middle = (share + squared / (2.0 * count)) / (1.0 + squared / count);
    let half = z / (1.0 + squared / count) * (share * (1.0 - share) / count + squared / (4.0 * count * count)).sqrt();
    // For a share of 0 or 1, one bound equals the share, but rounding errors can move it.
    Interval { low: (middle - half).clamp(0.0, share), high: (middle + half).clamp(share, 1.0) }
}
