//! Types for values that several parts of `report.json` use.

use std::{collections::BTreeMap, time::Duration};

use analysis::Distribution;
use crds::benchmark_run::Stat;
use measurement::record::RequestOutcome;
use serde::{Deserialize, Serialize};

/// A distribution. The name of the field that contains it includes the unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    pub count: u64,
    pub mean: f64,
    pub stddev: f64,
    pub min: f64,
    pub p0p1: f64,
    pub p1: f64,
    pub p5: f64,
    pub p10: f64,
    pub p25: f64,
    pub p50: f64,
    pub p75: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p99p9: f64,
    pub max: f64,
}

impl Statistics {
    /// The value of a statistic.
    pub fn get(&self, stat: Stat) -> f64 {
        match stat {
            Stat::Mean => self.mean,
            Stat::P50 => self.p50,
            Stat::P90 => self.p90,
            Stat::P95 => self.p95,
            Stat::P99 => self.p99,
            Stat::P99P9 => self.p99p9,
            Stat::Max => self.max,
        }
    }
}

impl From<Distribution<f64>> for Statistics {
    fn from(it: Distribution<f64>) -> Self {
        let Distribution { count, mean, stddev, min, p0p1, p1, p5, p10, p25, p50, p75, p90, p95, p99, p99p9, max } = it;
        Statistics { count, mean, stddev, min, p0p1, p1, p5, p10, p25, p50, p75, p90, p95, p99, p99p9, max }
    }
}

pub(super) fn times(distribution: &Option<Distribution<Duration>>) -> Option<Statistics> {
    distribution.map(|it| it.map(millis).into())
}

pub(super) fn lengths(distribution: &Option<Distribution<f64>>) -> Option<Statistics> {
    distribution.map(Into::into)
}

pub(super) fn counts(outcomes: &BTreeMap<RequestOutcome, u64>) -> BTreeMap<String, u64> {
    outcomes.iter().map(|(outcome, count)| (outcome.name(), *count)).collect()
}

/// Converts from whole nanoseconds, so that 81.234567 ms is written exactly.
pub(super) fn millis(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

/// Rounds to a number of significant digits. Negative numbers become zero.
pub(super) fn significant(value: f64, digits: i32) -> f64 {
    if value > 0.0 { round(value, digits - 1 - value.log10().floor() as i32) } else { 0.0 }
}

/// Rounds to a number of decimals.
pub(super) fn round(value: f64, digits: i32) -> f64 {
    // Powers of ten up to 10^22 are exact, so the result is the floating-point number that is nearest to the decimal number.
    let power = 10_f64.powi(digits.abs());
    if digits < 0 { (value / power).round() * power } else { (value * power).round() / power }
}
