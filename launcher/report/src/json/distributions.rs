//! The distribution of each latency, as points that a chart can draw: `distributions` of `report.json`.

use serde::{Deserialize, Serialize};

use super::time_series::Column;

/// The distributions of a stage, or of a run. `None`: no value was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DistributionsDocument {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft_ms: Option<DistributionDocument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub itl_ms: Option<DistributionDocument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpot_ms: Option<DistributionDocument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<DistributionDocument>,
}

/// Points of a distribution function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DistributionDocument {
    /// Number of values.
    pub count: u64,
    /// Number of independent values that are worth as much; `None` where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_values: Option<f64>,
    /// The share of values at or below the entry of `ms`, rising.
    pub share: Column<f64>,
    /// Strictly rising.
    pub ms: Column<f64>,
}
