//! RunSummary: the figures that the launcher reports and the status shows.
//!
//! `report.json`, the termination message and the status contain the same values, so that they can be compared exactly. Each value is an integer, and
//! the name of its field ends with the unit.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::figure::{Microseconds, Milli};

/// The headline figures of a run. Latencies cover the successful requests of all stages. A figure that was not measured is absent. With repeats each
/// figure is the mean over the repeats, and it is absent if one of them lacks it.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct RunSummary {
    /// Requests that were due, whatever their result.
    pub requests: u64,
    /// Of these, requests that failed; maxErrorRatio limits their share.
    pub failed: u64,
    /// Of these, requests that were in flight, or due and not yet sent, when the run was stopped.
    pub cancelled: u64,
    /// Time from the first scheduled request to the end of the last request.
    pub duration_microseconds: Microseconds,
    /// Delay between the scheduled time of a request and its sending, 99th percentile.
    pub send_lag_p99_microseconds: Option<Microseconds>,
    /// Upper bound of the time that bytes waited before the launcher read them, 99th percentile.
    pub receive_delay_p99_microseconds: Option<Microseconds>,
    /// Share of time in which the busiest load thread used a CPU or waited for one, in thousandths: 1000 is the whole time.
    pub cpu_share_milli: Option<Milli>,
    /// Time to the first token. For open-loop load it counts from the scheduled time, for closed-loop load from the time of sending.
    pub ttft: Option<Quantiles>,
    /// Time between two tokens of a request, over all requests: each gap between content events, divided by the number of tokens in the gap if the
    /// server reports more than one.
    pub itl: Option<Quantiles>,
    /// Time per output token after the first: (last token - first token) / (OSL - 1), one value per request.
    pub tpot: Option<Quantiles>,
    /// Time to the last token, counted like TTFT.
    pub latency: Option<Quantiles>,
    /// Successful requests per second of the duration, in thousandths.
    pub requests_per_second_milli: Option<Milli>,
    /// Output tokens of successful requests per second of the duration, in thousandths.
    pub output_tokens_per_second_milli: Option<Milli>,
    /// Prompt and output tokens of successful requests per second of the duration, in thousandths. Absent if the server did not report the length of
    /// every prompt.
    pub total_tokens_per_second_milli: Option<Milli>,
    /// With repeats: the number of repeats with valid figures. The figures are the mean over them. Absent if the load is run once.
    pub mean_of_runs: Option<u32>,
}

/// The percentiles that a status shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Quantiles {
    /// The median.
    pub p50_microseconds: Microseconds,
    /// The 90th percentile.
    pub p90_microseconds: Microseconds,
    /// The 99th percentile.
    pub p99_microseconds: Microseconds,
}

/// The figures of one stage.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct StageSummary {
    /// The name of the stage, unique within the run: `r10` for 10 requests per second, `c8` for concurrency 8.
    #[cfg_attr(feature = "kube", schemars(length(max = 64)))]
    pub name: String,
    /// Requests that were due.
    pub requests: u64,
    /// Of these, requests that failed.
    pub failed: u64,
    /// Of these, requests that were in flight, or due and not yet sent, when the run was stopped.
    pub cancelled: u64,
    /// 99th percentile of TTFT.
    pub ttft_p99_microseconds: Option<Microseconds>,
    /// 99th percentile of ITL.
    pub itl_p99_microseconds: Option<Microseconds>,
    /// Output tokens per second of the stage, in thousandths.
    pub output_tokens_per_second_milli: Option<Milli>,
}
