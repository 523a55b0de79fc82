//! The progress of a load, for readers on other threads.

use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering},
};

use super::{
    outcome_counts::OutcomeCounts,
    timeline::{RecentTimes, Timeline},
};
use crate::hold::Hold;

/// The progress of the load. The counters are not read at the same instant, so they can differ by one request.
#[derive(Debug, Default)]
pub struct Progress {
    /// Number of requests in the stages whose number is known, see [`Progress::planned_requests`].
    pub planned: AtomicU64,
    /// Number of stages whose number of requests is unknown, because it depends on answers, on time, or on stages that have not run yet.
    pub undecided_stages: AtomicU64,
    pub issued: AtomicU64,
    /// Number of requests that have ended, including failed ones.
    pub ended: AtomicU64,
    /// Number of requests that failed or were cancelled.
    pub failed: AtomicU64,
    /// Numbers of requests that ended without success, by outcome.
    pub not_ok: OutcomeCounts,
    /// Number of events with output, over all ended requests.
    pub output_events: AtomicU64,
    /// Index of the current stage. After loading it with `Acquire`, `began` contains the start time of that stage or of a later one.
    pub stage: AtomicU64,
    /// When the current stage began, in nanoseconds on the timeline's clock.
    pub began: AtomicU64,
    /// Number of requests that had ended when the current stage began.
    pub ended_before: AtomicU64,
    /// When the pause after the current stage ends, in nanoseconds on the timeline's clock. It is less than `began` if the pause has not
    /// begun.
    pub pause_until: AtomicU64,
    /// Number of stages whose requests have all ended. The last stage is never counted, because the load ends with it.
    pub stages_over: AtomicU64,
    /// Delays the next stage.
    pub hold: Hold,
    /// The rate that earlier stages determined for the current stage, as the bits of an `f64`; 0 if the rate was known before the run.
    pub measured_rate: AtomicU64,
    /// Recent times to first token, counted from the scheduled time.
    pub ttft: RecentTimes,
    /// The planned times; empty before the load begins.
    pub timeline: OnceLock<Timeline>,
}

impl Progress {
    /// Reduces the number of planned requests by `requests`.
    pub(super) fn leave_out(&self, requests: u64) {
        // The result is never 0, because 0 means an unknown number.
        let less = |planned: u64| planned.checked_sub(requests).filter(|it| *it > 0);
        let _ = self.planned.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Returns the number of requests in all stages; `None` if the number of any stage is unknown.
    pub fn planned_requests(&self) -> Option<u64> {
        let planned = self.planned.load(Ordering::Relaxed);
        (self.undecided_stages.load(Ordering::Relaxed) == 0 && planned > 0).then_some(planned)
    }

    /// Returns the number of requests in flight.
    pub fn under_way(&self) -> u64 {
        let ended = self.ended.load(Ordering::Relaxed);
        self.issued.load(Ordering::Relaxed).saturating_sub(ended)
    }
}
