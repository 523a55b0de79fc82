//! The trend of a short series. It is robust against outliers.
//!
//! The slope is the median of the slopes between all pairs of points (Theil, 1950; Sen, Estimates of the regression coefficient based on Kendall's
//! tau, 1968). The bounds of its interval are two of these slopes, whose ranks come from Kendall's S. If points depend on each other, the variance of
//! S is multiplied by the autocorrelation time of the residuals (after Hamed and Rao, A modified Mann-Kendall trend test for autocorrelated data,
//! 1998).

use crate::{
    Interval,
    bins::Point,
    effective_sample_size::autocorrelation_time,
    median,
    student::{NORMAL_95, NORMAL_99},
};

/// The change of a series from its first to its last point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// The change per unit of time.
    pub slope: f64,
    /// Slope x (time of the last point - time of the first point) / median of the values.
    pub change: f64,
    /// The 95 % interval of `change`; `None` if there are too few points.
    pub interval: Option<Interval>,
    /// The 99 % interval of `change`. Used if several figures are tested and decide together.
    pub wide_interval: Option<Interval>,
}

/// Returns the trend. `None` for fewer than two points, if no time passes between them, and if the median is 0. Time and memory grow with the square
/// of the number of points, so pass at most [`crate::bins::MOST`] points.
pub fn trend(points: &[Point]) -> Option<Trend> {
    let mut slopes = Vec::with_capacity(points.len() * points.len().saturating_sub(1) / 2);
    for (place, one) in points.iter().enumerate() {
        let later = points[place + 1..].iter().filter(|it| it.time > one.time);
        slopes.extend(later.map(|it| (it.value - one.value) / (it.time - one.time)));
    }
    let slope = median(&slopes)?;
    let values: Vec<f64> = points.iter().map(|it| it.value).collect();
    let level = median(&values).filter(|it| *it != 0.0)?;
    let scale = (points.last()?.time - points.first()?.time) / level.abs();
    slopes.sort_unstable_by(f64::total_cmp);
    let left: Vec<f64> = points.iter().map(|it| it.value - slope * it.time).collect();
    let time = autocorrelation_time(&left);
    let interval = |normal: f64| {
        let slopes = slopes_between(&slopes, points.len(), normal * time.sqrt())?;
        Some(Interval { low: slopes.low * scale, high: slopes.high * scale })
    };
    Some(Trend { slope, change: slope * scale, interval: interval(NORMAL_95), wide_interval: interval(NORMAL_99) })
}

/// The two slopes whose ranks are this many standard deviations of Kendall's S below and above the middle; `None` if there are none.
fn slopes_between(sorted: &[f64], points: usize, deviations: f64) -> Option<Interval> {
    let n = points as f64;
    let variance = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0;
    let (pairs, spread) = (sorted.len() as f64, deviations * variance.sqrt());
    let low = ((pairs - spread) / 2.0).floor();
    let high = ((pairs + spread) / 2.0).ceil() + 1.0;
    let at = |rank: f64| (rank >= 1.0).then(|| sorted.get(rank as usize - 1).copied()).flatten();
    Some(Interval { low: at(low)?, high: at(high)? })
}
