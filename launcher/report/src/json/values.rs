//! Values that several parts of `report.json` share.

use std::{collections::BTreeMap, time::Duration};

use analysis::Distribution;
use engine::record::RequestOutcome;
use serde::{Deserialize, Serialize};

/// A distribution in the unit that the name of its field tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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

/// From whole nanoseconds, so that 81.234567 ms is written as that.
pub(super) fn millis(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}
