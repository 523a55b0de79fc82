//! Conditions under which the figures of a run are valid.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::AnyValue;

/// Bounds of a valid measurement. Beyond a bound the figures do not count.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Validity {
    /// Minimum number of requests that must succeed; with fewer the run is Invalid. Default: 1.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 1_000_000_000)))]
    pub min_successful_requests: Option<u64>,
    /// Maximum share of requests that can fail; above it the run is Invalid. A number from 0 to 1. Default: 0.01.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::share"))]
    pub max_error_ratio: Option<AnyValue>,
    /// Maximum send lag, as 99th percentile of the run or of a stage: how late a request can be sent. Above it the run is Invalid, because the
    /// launcher did not offer the requested load. Milliseconds. Default: 10.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 60_000)))]
    pub max_send_lag_p99_milliseconds: Option<u32>,
    /// Maximum receive delay, as 99th percentile of the run or of a stage: how long bytes can wait before the launcher reads them. Above it the run
    /// is Invalid, because the times measure the launcher and not the server. Milliseconds. Default: 10.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 60_000)))]
    pub max_receive_delay_p99_milliseconds: Option<u32>,
    /// Maximum share of a stage in which a load thread can use a CPU or wait for one. Above it the run is Invalid, because the launcher was the
    /// limit. A number from 0 to 1; 1: no limit. Default: 0.9.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::share"))]
    pub max_cpu_share: Option<AnyValue>,
    /// Maximum share of periods in which the launcher can reach its CPU limit. Above it the run is Invalid. A number from 0 to 1. Default: 0.05.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::share"))]
    pub max_throttled_share: Option<AnyValue>,
    /// Maximum share of the machine's CPU time that the hypervisor can give to other machines. Above it the run is Invalid. A number from 0 to 1.
    /// Default: 0.1.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::share"))]
    pub max_steal_share: Option<AnyValue>,
    /// Maximum share of reads that are late and contain several tokens. Above it the run is Invalid, because gaps between tokens are lost. A number
    /// from 0 to 1. Default: 0.05.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::share"))]
    pub max_coalesced_read_share: Option<AnyValue>,
    /// Maximum share of time in stalls: the launcher could not run for 5 ms or more. Above it the run is Invalid. A number from 0 to 1. Default:
    /// 0.05.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::share"))]
    pub max_stalled_share: Option<AnyValue>,
    /// Maximum step of the clock, and maximum time that the machine was asleep. Above it the run is Invalid, because some time was not counted.
    /// Milliseconds. Default: 1000.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 86_400_000)))]
    pub max_clock_step_milliseconds: Option<u32>,
}
