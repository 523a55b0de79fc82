//! Goals of a run: objectives for its figures, and a baseline run to compare with.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::AnyValue;

/// Maximum number of objectives per run. A status and a termination message have room for this many rows.
pub const MAX_OBJECTIVES: usize = 32;
/// Maximum length of an objective's name, in characters.
pub const MAX_OBJECTIVE_NAME: usize = 40;
/// The value of `stage` for an objective that every stage must meet.
pub const EVERY_STAGE: &str = "*";
/// Maximum value of `maxRegressionPercent`.
pub const MAX_REGRESSION_PERCENT: u32 = 1_000;

/// The goals of a run.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
#[cfg_attr(
    feature = "kube",
    x_kube(validation = Rule::new("!has(self.baseline) || (has(self.objectives) && self.objectives.size() > 0)")
        .message("baseline compares the figures of objectives; add an objective, or take baseline out"))
)]
pub struct Slo {
    /// The effect of a missed objective. Fail: the run fails, with the outcome SLOViolated, or Inconclusive if an objective cannot be decided.
    /// Report: only status and report show it. Default: Fail.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Enforcement"))]
    pub enforcement: Option<Enforcement>,

    /// Bounds on figures of the run or of its stages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    #[cfg_attr(feature = "kube", x_kube(merge_strategy = ListMerge::Map(vec!["name".to_string()])))]
    pub objectives: Vec<Objective>,

    /// An earlier run to compare the figure of each objective with. If absent, no comparison is made.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Baseline"))]
    pub baseline: Option<Baseline>,
}

/// The effect of a missed objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Enforcement {
    /// The run fails.
    Fail,
    /// Only status and report show it.
    Report,
}

/// One bound on one figure. Set exactly one of max and min.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
#[cfg_attr(
    feature = "kube",
    x_kube(
        validation = Rule::new("has(self.stat) == (self.metric in ['ttft', 'tpot', 'itl', 'ntpot', 'latency', 'sendLag'])")
            .message("a time (ttft, tpot, itl, ntpot, latency, sendLag) needs stat, such as p99; a rate or share has none")
    )
)]
pub struct Objective {
    /// The name in status and report, unique within the run.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 40), regex(pattern = r"^[-._a-zA-Z0-9]+$")))]
    pub name: String,

    /// The figure.
    pub metric: Metric,

    /// The statistic of the figure. Required for a time, not allowed otherwise.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Stat"))]
    pub stat: Option<Stat>,

    /// The name of a stage, such as r10, or "*": every stage must meet the objective. If absent, the objective applies to the run as a whole.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 64)))]
    pub stage: Option<String>,

    /// The largest value that meets the objective: for a time a duration such as 500ms, otherwise a number.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::limit"))]
    pub max: Option<AnyValue>,

    /// The smallest value that meets the objective. Replaces max.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::limit"))]
    pub min: Option<AnyValue>,
}

/// A figure that an objective bounds. docs/metrics.md has the formulas, under the names of report.json.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Metric {
    /// Time to the first token: `ttftMs`.
    Ttft,
    /// Time per output token after the first: `tpotMs`.
    Tpot,
    /// Time between two tokens: `itlMs`.
    Itl,
    /// Latency per output token: `ntpotMs`.
    Ntpot,
    /// Time to the last token: `latencyMs`.
    // The name of this metric in objects that were stored by versions before the first release.
    #[serde(alias = "e2e")]
    Latency,
    /// How late the launcher sent: `sendLagMs`.
    SendLag,
    /// Successful requests per second.
    RequestsPerSecond,
    /// Output tokens of successful requests per second.
    OutputTokensPerSecond,
    /// Prompt and output tokens of successful requests per second.
    TotalTokensPerSecond,
    /// Requests per second that met the goals of the profile: `goodputRequestsPerSecond`.
    GoodputRequestsPerSecond,
    /// The share of requests that met the goals of the profile, 0 to 1: `goodputShare`.
    GoodputShare,
    /// The share of requests that failed, 0 to 1.
    ErrorRatio,
}

impl Metric {
    /// Every metric.
    pub const ALL: [Metric; 12] = [
        Metric::Ttft,
        Metric::Tpot,
        Metric::Itl,
        Metric::Ntpot,
        Metric::Latency,
        Metric::SendLag,
        Metric::RequestsPerSecond,
        Metric::OutputTokensPerSecond,
        Metric::TotalTokensPerSecond,
        Metric::GoodputRequestsPerSecond,
        Metric::GoodputShare,
        Metric::ErrorRatio,
    ];

    /// The name as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Ttft => "ttft",
            Metric::Tpot => "tpot",
            Metric::Itl => "itl",
            Metric::Ntpot => "ntpot",
            Metric::Latency => "latency",
            Metric::SendLag => "sendLag",
            Metric::RequestsPerSecond => "requestsPerSecond",
            Metric::OutputTokensPerSecond => "outputTokensPerSecond",
            Metric::TotalTokensPerSecond => "totalTokensPerSecond",
            Metric::GoodputRequestsPerSecond => "goodputRequestsPerSecond",
            Metric::GoodputShare => "goodputShare",
            Metric::ErrorRatio => "errorRatio",
        }
    }

    /// The unit of the metric's values.
    pub fn unit(self) -> MetricUnit {
        match self {
            Metric::Ttft | Metric::Tpot | Metric::Itl | Metric::Ntpot | Metric::Latency | Metric::SendLag => {
                MetricUnit::Time
            }
            Metric::GoodputShare | Metric::ErrorRatio => MetricUnit::Share,
            Metric::RequestsPerSecond
            | Metric::OutputTokensPerSecond
            | Metric::TotalTokensPerSecond
            | Metric::GoodputRequestsPerSecond => MetricUnit::PerSecond,
        }
    }

    /// Whether the metric exists only for streamed responses.
    pub fn needs_streaming(self) -> bool {
        matches!(self, Metric::Ttft | Metric::Tpot | Metric::Itl)
    }
}

/// The unit of a metric's values. It decides how limits are written and whether a statistic is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricUnit {
    /// Times, one or several per request, so that a statistic is needed.
    Time,
    /// A rate.
    PerSecond,
    /// A share from 0 to 1.
    Share,
}

/// A statistic of a metric with many values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Stat {
    /// The mean.
    Mean,
    /// The median.
    P50,
    /// The 90th percentile.
    P90,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    #[serde(rename = "p99.9")]
    P99P9,
    /// The largest value.
    Max,
}

impl Stat {
    /// All statistics.
    pub const ALL: [Stat; 7] = [Stat::Mean, Stat::P50, Stat::P90, Stat::P95, Stat::P99, Stat::P99P9, Stat::Max];

    /// The name as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Stat::Mean => "mean",
            Stat::P50 => "p50",
            Stat::P90 => "p90",
            Stat::P95 => "p95",
            Stat::P99 => "p99",
            Stat::P99P9 => "p99.9",
            Stat::Max => "max",
        }
    }

    /// Minimum number of values from which a high percentile differs from the largest value. `None` for other statistics. With the nearest-rank
    /// method the p-th percentile of n values has rank ceil(n p), which is below n if n >= 1 / (1 - p).
    pub fn fewest_values(self) -> Option<u64> {
        match self {
            Stat::P90 => Some(10),
            Stat::P95 => Some(20),
            Stat::P99 => Some(100),
            Stat::P99P9 => Some(1_000),
            Stat::Mean | Stat::P50 | Stat::Max => None,
        }
    }
}

/// An earlier run to compare figures with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Baseline {
    /// The name of a finished BenchmarkRun in the run's namespace. The results of both runs must be on the same claim.
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 46), regex(pattern = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"))
    )]
    pub run_ref: String,

    /// Maximum regression of a figure, in percent of the earlier value. Default: 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(range(max = 1000)))]
    pub max_regression_percent: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_and_stats_are_read_by_the_names_that_they_print() {
        for metric in Metric::ALL {
            assert_eq!(serde_json::to_value(metric).unwrap(), metric.name());
        }
        for stat in Stat::ALL {
            assert_eq!(serde_json::to_value(stat).unwrap(), stat.name());
        }
    }
}
