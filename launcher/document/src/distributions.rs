//! `distributions` in `report.json`: the distribution of each latency, as points that a chart can draw.

use analysis::{DistributionFunction, DistributionFunctions};
use serde::{Deserialize, Serialize};

use super::{
    time_series::Column,
    values::{millis, round, significant},
};

/// Number of significant digits of a time. With this many, the times of two histogram bins always differ.
const TIME_DIGITS: i32 = 5;
/// Number of decimal places in a share.
const SHARE_DIGITS: i32 = 6;
/// Number of decimal places in an effective sample size.
const EFFECTIVE_DIGITS: i32 = 1;

/// The distributions of a stage or a run. A distribution is `None` if no value was measured.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DistributionsDocument {
    pub ttft_ms: Option<DistributionDocument>,
    pub itl_ms: Option<DistributionDocument>,
    pub tpot_ms: Option<DistributionDocument>,
    pub latency_ms: Option<DistributionDocument>,
}

impl DistributionsDocument {
    /// Converts distributions to points. `None` if there are no values.
    pub(super) fn new(it: &DistributionFunctions) -> Option<DistributionsDocument> {
        let document = |it: &Option<DistributionFunction>| it.as_ref().map(DistributionDocument::new);
        let found = DistributionsDocument {
            ttft_ms: document(&it.ttft),
            itl_ms: document(&it.itl),
            tpot_ms: document(&it.tpot),
            latency_ms: document(&it.latency),
        };
        (found != DistributionsDocument::default()).then_some(found)
    }
}

/// Points of a distribution function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DistributionDocument {
    /// Number of values.
    pub count: u64,
    /// Number of independent values that would carry as much information as these; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_values: Option<f64>,
    /// The share of values that are at or below the same entry of `ms`. Increasing.
    pub share: Column<f64>,
    /// Times in milliseconds, strictly increasing.
    pub ms: Column<f64>,
}

impl DistributionDocument {
    fn new(it: &DistributionFunction) -> DistributionDocument {
        DistributionDocument {
            count: it.count,
            effective_values: it.effective_values.map(|it| round(it, EFFECTIVE_DIGITS)),
            share: Column(it.points.iter().map(|(share, _)| round(*share, SHARE_DIGITS)).collect()),
            ms: Column(it.points.iter().map(|(_, time)| significant(millis(*time), TIME_DIGITS)).collect()),
        }
    }
}
