//! What the servers said of themselves over time, as `report.json` has it: `serverMetrics.timeSeries`.

use serde::{Deserialize, Serialize};

use super::time_series::Column;

/// All servers together, in bins of one width from `start_ms`. A column is absent where no server has the metric, and an
/// entry is null where no scrape gives a value for its bin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServerSeriesDocument {
    pub bin_ms: f64,
    /// From the start of the run.
    pub start_ms: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_requests: Option<Column<Option<f64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_requests: Option<Column<Option<f64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kv_cache_usage: Option<Column<Option<f64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix_cache_hit_share: Option<Column<Option<f64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens_per_second: Option<Column<Option<f64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_prompt_tokens_per_second: Option<Column<Option<f64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation_tokens_per_second: Option<Column<Option<f64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemptions_per_second: Option<Column<Option<f64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_utilization: Option<Column<Option<f64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_power_watts: Option<Column<Option<f64>>>,
    /// Scrapes that began in the bin and failed, of all addresses.
    pub failed_scrapes: Column<u64>,
}
