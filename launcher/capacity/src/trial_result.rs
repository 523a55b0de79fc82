//! The result of a trial, on which the verdict is based. Pure.

use std::time::Duration;

use crds::resolve::ValidityBounds;

use crate::demand::Demand;
use crate::server::Pace;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TrialResult {
    /// The demand of the whole load.
    pub(super) demand: Demand,
    /// The assumed pace of the server.
    pub(super) pace: Pace,
    /// Number of successful requests. At least one, if none failed.
    pub(super) requests: u64,
    /// Number of requests that failed.
    pub(super) failed: u64,
    /// CPU time of the launcher's process.
    pub(super) cpu: Duration,
    /// The largest resident set of that process.
    pub(super) memory_bytes: u64,
    /// Number of cores that the launcher may use: the smaller of its threads and the CPU limit of its pod.
    pub(super) cores: f64,
    /// Number of cores that the server used. In a real run the server is on another machine.
    pub(super) server_cores: f64,
    /// Cores that other processes used during the trial, and cores of the machine. `None`: unknown.
    pub(super) others: Option<(f64, f64)>,
    /// 99th percentile of the send lag.
    pub(super) lag: Duration,
    /// The fraction of time in which the busiest thread needed a CPU. `None`: the trial was too short.
    pub(super) busiest: Option<f64>,
    /// 99th percentile of the receive delay. `None`: unknown.
    pub(super) receive_delay: Option<Duration>,
    /// The validity bounds of the run. The three values above are checked against them.
    pub(super) bounds: ValidityBounds,
    /// Fraction of the requested load that arrived in time. `None` for closed loads.
    pub(super) achieved: Option<f64>,
}
