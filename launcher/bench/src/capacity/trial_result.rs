//! What a trial came to, from which the answer follows. Pure.

use std::time::Duration;

use crds::resolve::ValidityBounds;

use super::demand::Demand;
use crate::server::Pace;

/// What a trial came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TrialResult {
    /// What the whole load asks.
    pub(super) demand: Demand,
    /// The server that was assumed.
    pub(super) pace: Pace,
    /// Requests of the trial that succeeded: one at least, where none failed.
    pub(super) requests: u64,
    /// Requests that failed.
    pub(super) failed: u64,
    /// CPU time of the launcher's process alone.
    pub(super) cpu: Duration,
    /// The largest resident set of that process.
    pub(super) memory_bytes: u64,
    /// Cores that the launcher may use, by its threads and by the limit of its pod.
    pub(super) cores: f64,
    /// Cores that the server used beside it: in a run there is none.
    pub(super) server_cores: f64,
    /// Cores that other processes used meanwhile, and those of the machine; absent: not known.
    pub(super) others: Option<(f64, f64)>,
    /// 99th percentile of sent - scheduled, less the wait for room.
    pub(super) lag: Duration,
    /// The share of the time in which the busiest thread could not have done more; absent: the trial was too short to tell.
    pub(super) busiest: Option<f64>,
    /// 99th percentile of how long bytes may have lain before they were read; absent: nothing is known.
    pub(super) receive_delay: Option<Duration>,
    /// The bounds of the run, of which those on the three above are looked at.
    pub(super) bounds: ValidityBounds,
    /// Share of the asked load that arrived in time; absent where answers decide how many arrive.
    pub(super) achieved: Option<f64>,
}
