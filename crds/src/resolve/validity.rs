//! The bounds of a valid measurement, in the form that the launcher receives.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Errors, effective};
use crate::{units::Span, wording::quoted};

/// Bounds of a valid measurement. A run that exceeds a bound is Invalid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ValidityBounds {
    /// Minimum number of successful requests.
    pub min_successful_requests: u64,
    /// Maximum share of requests that can fail, from 0 to 1.
    pub max_error_ratio: f64,
    /// Maximum 99th percentile of the send lag.
    pub max_send_lag_p99: Span,
    /// Maximum 99th percentile of the receive delay.
    pub max_receive_delay_p99: Span,
    /// Maximum share of time in which a load thread can use a CPU or wait for one. All shares range from 0 to 1.
    pub max_cpu_share: f64,
    /// Maximum share of periods in which the launcher can reach its CPU limit.
    pub max_throttled_share: f64,
    /// Maximum share of the machine's CPU time that the hypervisor can give to other machines.
    pub max_steal_share: f64,
    /// Maximum share of reads that are late and contain several tokens.
    pub max_coalesced_read_share: f64,
    /// Maximum share of time in which the launcher could not run.
    pub max_stalled_share: f64,
    /// Maximum step of the clock, and maximum time that the machine was asleep.
    pub max_clock_step: Span,
}

/// The default bounds.
impl Default for ValidityBounds {
    fn default() -> Self {
        bounds(&effective::validity(&Default::default()), &mut Errors::default())
    }
}

/// Parses the shares, and checks that a run can meet each bound.
pub(super) fn bounds(spec: &effective::Validity, errors: &mut Errors) -> ValidityBounds {
    for (field, milliseconds) in [
        ("maxSendLagP99Milliseconds", spec.max_send_lag_p99_milliseconds),
        ("maxReceiveDelayP99Milliseconds", spec.max_receive_delay_p99_milliseconds),
        ("maxClockStepMilliseconds", spec.max_clock_step_milliseconds),
    ] {
        if milliseconds == 0 {
            errors.add(&format!("spec.validity.{field}"), "is 0; give it at least 1");
        }
    }
    let mut share = |field: &str, text: &str| {
        let share = text.parse().unwrap_or(f64::NAN);
        if !(0.0..=1.0).contains(&share) {
            // The message shows a number as it was written, without quotes.
            let found = if share.is_nan() { quoted(text) } else { text.to_owned() };
            let problem = format!("is {found}; write a number from 0 to 1, such as 0.01");
            errors.add(&format!("spec.validity.{field}"), &problem);
        }
        share
    };
    let millis = |count: u32| Span(Duration::from_millis(u64::from(count)));
    ValidityBounds {
        min_successful_requests: spec.min_successful_requests,
        max_error_ratio: share("maxErrorRatio", &spec.max_error_ratio),
        max_send_lag_p99: millis(spec.max_send_lag_p99_milliseconds),
        max_receive_delay_p99: millis(spec.max_receive_delay_p99_milliseconds),
        max_cpu_share: share("maxCpuShare", &spec.max_cpu_share),
        max_throttled_share: share("maxThrottledShare", &spec.max_throttled_share),
        max_steal_share: share("maxStealShare", &spec.max_steal_share),
        max_coalesced_read_share: share("maxCoalescedReadShare", &spec.max_coalesced_read_share),
        max_stalled_share: share("maxStalledShare", &spec.max_stalled_share),
        max_clock_step: millis(spec.max_clock_step_milliseconds),
    }
}
