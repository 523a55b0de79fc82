//! RunSummary: the figures that the launcher reports and the status shows.
//!
//! The same values stand in `report.json`, in the termination message and in the status, so that they can be compared
//! letter by letter. Kubernetes objects hold no floating-point numbers: times are [`Span`]s, rates are decimal text.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::units::Span;

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Outcome {
    /// The figures count.
    Passed,
    /// There are figures, but they do not count: see the reason.
    Invalid,
    /// There are no figures.
    Error,
    /// Ended early because somebody asked.
    Cancelled,
}

impl Outcome {
    /// The word that a status, a report and a log use.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Passed => "Passed",
            Outcome::Invalid => "Invalid",
            Outcome::Error => "Error",
            Outcome::Cancelled => "Cancelled",
        }
    }
}

/// The headline figures of a run. Latencies are of the requests that succeeded, all stages together. What was not measured
/// is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct RunSummary {
    /// Requests that were due, whatever became of them.
    pub requests: u64,
    /// Requests that failed or were cancelled at the end.
    pub errors: u64,
    /// From the first scheduled request to the end of the last one.
    pub duration: Span,
    /// How late requests left after their scheduled time, 99th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_lag_p99: Option<Span>,
    /// How long bytes may have lain before the launcher read them, 99th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_delay_p99: Option<Span>,
    /// Share of the time in which the busiest load thread needed a CPU, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(max = 24)))]
    pub cpu_share: Option<String>,
    /// Time to the first token, from the scheduled time for open-loop load, from sending for closed-loop load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft: Option<Quantiles>,
    /// Gaps between the content events of a request, pooled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub itl: Option<Quantiles>,
    /// (last token - first token) / (OSL - 1), one per request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpot: Option<Quantiles>,
    /// Time to the last token, from the same start as TTFT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e2e: Option<Quantiles>,
    /// Requests that succeeded per second of the duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(max = 24)))]
    pub requests_per_second: Option<String>,
    /// Output tokens of requests that succeeded per second of the duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(max = 24)))]
    pub output_tokens_per_second: Option<String>,
    /// Prompt and output tokens of requests that succeeded per second of the duration; absent where the server did not tell
    /// the length of every prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(max = 24)))]
    pub total_tokens_per_second: Option<String>,
}

impl Default for Span {
    fn default() -> Self {
        Span(std::time::Duration::ZERO)
    }
}

/// The percentiles that a status shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Quantiles {
    /// The median.
    pub p50: Span,
    /// The 90th percentile.
    pub p90: Span,
    /// The 99th percentile.
    pub p99: Span,
}

/// One row per stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct StageSummary {
    /// Its name: `r10` for 10 requests per second, `c8` for 8 at once.
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub name: String,
    /// Requests that were due.
    pub requests: u64,
    /// Requests that failed or were cancelled at the end.
    pub errors: u64,
    /// 99th percentile of TTFT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft_p99: Option<Span>,
    /// 99th percentile of ITL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub itl_p99: Option<Span>,
    /// Output tokens per second of the stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(length(max = 24)))]
    pub output_tokens_per_second: Option<String>,
}

/// A rate as text: four significant digits, no exponent.
pub fn rate_text(rate: f64) -> String {
    if !rate.is_finite() || rate <= 0.0 {
        return "0".into();
    }
    let digits = rate.log10().floor() as i32;
    let decimals = usize::try_from((3 - digits).clamp(0, 9)).unwrap_or(0);
    let text = format!("{rate:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_keeps_four_digits_and_no_exponent() {
        for (rate, text) in
            [(10_233.4, "10233"), (503.649, "503.6"), (1.0, "1"), (0.012_345, "0.01235"), (0.0, "0"), (f64::NAN, "0")]
        {
            assert_eq!(rate_text(rate), text);
        }
    }
}
