//! How a run is executed and ends: retries, deadlines, cancelling, what is cleaned up.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::defaults;

/// Retries, deadlines and the time to drain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Execution {
    /// When an attempt that failed is made again.
    #[serde(default)]
    pub retry: Retry,
    /// How long each part of an attempt may take.
    #[serde(default)]
    pub deadlines: Deadlines,
    /// How long the launcher has to drain and to write its report after it was asked to stop, in seconds.
    #[serde(default = "defaults::grace_period")]
    #[cfg_attr(feature = "kube", schemars(range(min = 5, max = 3600)))]
    pub grace_period_seconds: u32,
}

impl Default for Execution {
    fn default() -> Self {
        Execution {
            retry: Retry::default(),
            deadlines: Deadlines::default(),
            grace_period_seconds: defaults::grace_period(),
        }
    }
}

/// When an attempt that failed is made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Retry {
    /// How many times at most; a status remembers five attempts.
    #[serde(default = "defaults::retry_limit")]
    #[cfg_attr(feature = "kube", schemars(range(max = 4)))]
    pub limit: u32,
    /// After which failures.
    #[serde(default = "defaults::retry_reasons")]
    #[cfg_attr(feature = "kube", schemars(length(max = 3)))]
    pub reasons: Vec<RetryCause>,
}

impl Default for Retry {
    fn default() -> Self {
        Retry { limit: defaults::retry_limit(), reasons: defaults::retry_reasons() }
    }
}

/// A failure that another attempt may get past.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum RetryCause {
    /// The pod was evicted, preempted or lost with its node.
    Disrupted,
    /// The target did not become ready in time.
    TargetUnavailable,
    /// The launcher did not start measuring in time.
    StartTimeout,
}

/// How long each part of an attempt may take, in seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Deadlines {
    /// Until ConfigMap and volume exist.
    #[serde(default = "defaults::prepare_seconds")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 86400)))]
    pub prepare_seconds: u32,
    /// From the creation of the Job until the launcher measures: scheduling, volume, image, readiness of the target.
    #[serde(default = "defaults::start_seconds")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 86400)))]
    pub start_seconds: u32,
    /// From there until the launcher ends.
    #[serde(default = "defaults::run_seconds")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 604_800)))]
    pub run_seconds: u32,
    /// From there until the result is read.
    #[serde(default = "defaults::collect_seconds")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 86400)))]
    pub collect_seconds: u32,
}

impl Default for Deadlines {
    fn default() -> Self {
        Deadlines {
            prepare_seconds: defaults::prepare_seconds(),
            start_seconds: defaults::start_seconds(),
            run_seconds: defaults::run_seconds(),
            collect_seconds: defaults::collect_seconds(),
        }
    }
}

/// How a run is ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Cancel {
    /// Stop issuing, drain, keep the partial result.
    Graceful,
    /// End the pod at once.
    Immediate,
}

/// What is deleted of a finished run, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Cleanup {
    /// Deletes the BenchmarkRun itself, and with it its Jobs, pods and ConfigMaps. The results on the volume stay. Absent: the
    /// run stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunCleanup>,
}

/// How long a finished BenchmarkRun stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct RunCleanup {
    /// Seconds from the completion of a run that succeeded to its deletion.
    #[serde(default = "defaults::after_success")]
    #[cfg_attr(feature = "kube", schemars(range(max = 2_147_483_647)))]
    pub after_success_seconds: u32,
    /// Seconds from the completion of a run that failed or was cancelled to its deletion.
    #[serde(default = "defaults::after_failure")]
    #[cfg_attr(feature = "kube", schemars(range(max = 2_147_483_647)))]
    pub after_failure_seconds: u32,
}
