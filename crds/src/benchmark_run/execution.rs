//! When figures count and how a run ends: validity, retries, deadlines, cancelling, what remains.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::defaults;
use crate::AnyValue;

/// Bounds past which the figures do not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Validity {
    /// Fewer requests that succeeded: Invalid.
    #[serde(default = "defaults::min_successful_requests")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 1_000_000_000)))]
    pub min_successful_requests: u64,
    /// A larger share of failed requests: Invalid. A number from 0 to 1.
    #[serde(default = "defaults::max_error_ratio")]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::share"))]
    pub max_error_ratio: AnyValue,
    /// Requests that leave later than this after their scheduled time, at the 99th percentile of the run or of a stage:
    /// Invalid, because the launcher did not offer the load that was asked. Milliseconds.
    #[serde(default = "defaults::max_send_lag")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 60_000)))]
    pub max_send_lag_p99_milliseconds: u32,
    /// Bytes that may have lain for longer than this before the launcher read them, at the 99th percentile of the run or
    /// of a stage: Invalid, because times are those of the launcher and not of the server. Milliseconds.
    #[serde(default = "defaults::max_receive_delay")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 60_000)))]
    pub max_receive_delay_p99_milliseconds: u32,
    /// A load thread that used, or waited for, a CPU for a larger share of a stage: Invalid, because the launcher was the
    /// limit. A number from 0 to 1; 1 allows it.
    #[serde(default = "defaults::max_cpu_share")]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::share"))]
    pub max_cpu_share: AnyValue,
    /// A larger share of periods in which the launcher had used up its CPU limit: Invalid. A number from 0 to 1.
    #[serde(default = "defaults::max_throttled_share")]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::share"))]
    pub max_throttled_share: AnyValue,
    /// A larger share of the machine's CPU time that its hypervisor gave to others: Invalid. A number from 0 to 1.
    #[serde(default = "defaults::max_steal_share")]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::share"))]
    pub max_steal_share: AnyValue,
    /// A larger share of reads that held several tokens and came late: Invalid, because gaps between tokens are lost. A
    /// number from 0 to 1.
    #[serde(default = "defaults::max_coalesced_read_share")]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::share"))]
    pub max_coalesced_read_share: AnyValue,
    /// A larger share of time in which the launcher could not run for 5 ms or more: Invalid. A number from 0 to 1.
    #[serde(default = "defaults::max_stalled_share")]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::share"))]
    pub max_stalled_share: AnyValue,
    /// A larger step of the clock, or a longer sleep of the machine: Invalid, because time passed that was not counted.
    /// Milliseconds.
    #[serde(default = "defaults::max_clock_step")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 86_400_000)))]
    pub max_clock_step_milliseconds: u32,
}

impl Default for Validity {
    fn default() -> Self {
        Validity {
            min_successful_requests: defaults::min_successful_requests(),
            max_error_ratio: defaults::max_error_ratio(),
            max_send_lag_p99_milliseconds: defaults::max_send_lag(),
            max_receive_delay_p99_milliseconds: defaults::max_receive_delay(),
            max_cpu_share: defaults::max_cpu_share(),
            max_throttled_share: defaults::max_throttled_share(),
            max_steal_share: defaults::max_steal_share(),
            max_coalesced_read_share: defaults::max_coalesced_read_share(),
            max_stalled_share: defaults::max_stalled_share(),
            max_clock_step_milliseconds: defaults::max_clock_step(),
        }
    }
}

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
