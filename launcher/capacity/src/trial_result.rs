//! The values of a trial that the verdict is based on. Pure.

use std::time::Duration;

use crds::resolve::ValidityBounds;

use crate::demand::Demand;
use crate::server::Pace;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TrialResult {
    /// The demand of the whole load.
    pub(super) demand: Demand,
    /// The pace expected of the server.
    pub(super) pace: Pace,
    /// Number of successful requests. It is at least 1 if no request failed.
    pub(super) requests: u64,
    /// Number of failed requests.
    pub(super) failed: u64,
    /// CPU time of the launcher process.
    pub(super) cpu: Duration,
    /// Peak resident memory of the launcher process.
    pub(super) memory_bytes: u64,
    /// Number of cores that the launcher can use: its number of threads or the CPU limit of its pod, whichever is lower.
    pub(super) cores: f64,
    /// Number of cores that the server used. In a real run, the server is on another machine.
    pub(super) server_cores: f64,
    /// (cores that other processes used during the trial, cores of the machine); `None` if unknown.
    pub(super) others: Option<(f64, f64)>,
    /// 99th percentile of the send lag.
    pub(super) lag: Duration,
    /// The fraction of time in which the busiest thread needed a CPU; `None` if the trial was too short.
    pub(super) busiest: Option<f64>,
    /// 99th percentile of the receive delay; `None` if unknown.
    pub(super) receive_delay: Option<Duration>,
    /// The run's validity limits for send lag, busiest thread and receive delay.
    pub(super) bounds: ValidityBounds,
    /// The fraction of the requested load that arrived in time; `None` for closed loops.
    pub(super) achieved: Option<f64>,
}
