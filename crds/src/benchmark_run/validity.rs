//! When figures count.

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
