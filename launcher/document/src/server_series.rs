//! `serverMetrics.timeSeries` in `report.json`: the servers' metrics over time.

use serde::{Deserialize, Serialize};
use server_metrics::series::{OverTime, Values};

use super::{
    time_series::Column,
    values::{millis, significant},
};

/// Significant digits of a value.
const DIGITS: i32 = 4;

/// The metrics of all servers together, in bins of equal width that begin at `start_ms`. A column is absent if no server has the metric. An entry is
/// null if no scrape has a value for the bin.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerSeriesDocument {
    pub bin_ms: f64,
    /// The start of the first bin, in milliseconds from the start of the run.
    pub start_ms: f64,
    pub running_requests: Option<Column<Option<f64>>>,
    pub waiting_requests: Option<Column<Option<f64>>>,
    pub kv_cache_usage: Option<Column<Option<f64>>>,
    pub prefix_cache_hit_share: Option<Column<Option<f64>>>,
    pub prompt_tokens_per_second: Option<Column<Option<f64>>>,
    pub cached_prompt_tokens_per_second: Option<Column<Option<f64>>>,
    pub generation_tokens_per_second: Option<Column<Option<f64>>>,
    pub preemptions_per_second: Option<Column<Option<f64>>>,
    pub gpu_utilization: Option<Column<Option<f64>>>,
    pub gpu_power_watts: Option<Column<Option<f64>>>,
    /// Number of failed scrapes that began in the bin, over all addresses.
    pub failed_scrapes: Column<u64>,
}

impl ServerSeriesDocument {
    pub(super) fn new(it: &OverTime) -> ServerSeriesDocument {
        ServerSeriesDocument {
            bin_ms: millis(it.bin_width),
            start_ms: 0.0,
            running_requests: column(&it.running),
            waiting_requests: column(&it.waiting),
            kv_cache_usage: column(&it.kv_cache_usage),
            prefix_cache_hit_share: column(&it.prefix_hit_share),
            prompt_tokens_per_second: column(&it.prompt_tokens),
            cached_prompt_tokens_per_second: column(&it.cached_prompt_tokens),
            generation_tokens_per_second: column(&it.generation_tokens),
            preemptions_per_second: column(&it.preemptions),
            gpu_utilization: column(&it.gpu_utilization),
            gpu_power_watts: column(&it.gpu_power),
            failed_scrapes: Column(it.failed_scrapes.clone()),
        }
    }
}

fn column(values: &Values) -> Option<Column<Option<f64>>> {
    let rounded = |it: &Option<f64>| it.map(|it| significant(it, DIGITS));
    values.as_ref().map(|it| Column(it.iter().map(rounded).collect()))
}
