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

/// The progress of the load. The counters are not read at one instant: they may differ by a request.
#[derive(Debug, Default)]
pub struct Progress {
    /// Requests of the stages with a known number of requests, see [`Progress::planned_requests`].
    pub planned: AtomicU64,
    /// Stages with an unknown number of requests: it depends on answers, on time, or on stages that have not run yet.
    pub undecided_stages: AtomicU64,
    pub issued: AtomicU64,
    /// Requests that have ended, failed ones included.
    pub ended: AtomicU64,
    /// Requests that failed or were cancelled.
    pub failed: AtomicU64,
    /// Requests that ended without success, by outcome.
    pub not_ok: OutcomeCounts,
    /// Events with output, over all requests that have ended.
    pub output_events: AtomicU64,
    /// Index of the stage that runs. A reader that loads it with `Acquire` finds in `began` the start time of that stage, or of a later
    /// stage.
    pub stage: AtomicU64,
    /// When this stage began, in nanoseconds on the clock of the timeline.
    pub began: AtomicU64,
    /// Requests that had ended when this stage began.
    pub ended_before: AtomicU64,
    /// When the pause after this stage ends, in nanoseconds on the same clock. Before `began` if the pause has not
    /// begun.
    pub pause_until: AtomicU64,
    /// Number of stages in which all requests have ended. The last stage is not counted, because the load ends with it.
    pub stages_over: AtomicU64,
    /// Delays the next stage.
    pub hold: Hold,
    /// The bits of the rate that earlier stages determined for this stage; 0 if its rate was known before the run.
    pub measured_rate: AtomicU64,
    /// Times to the first token, counted from the scheduled time.
    pub ttft: RecentTimes,
    /// The plan of the load; empty before the load begins.
    pub timeline: OnceLock<Timeline>,
}

impl Progress {
    /// Reduces the number of planned requests.
    pub(super) fn leave_out(&self, requests: u64) {
        // 0 means an unknown number.
        let less = |planned: u64| planned.checked_sub(requests).filter(|it| *it > 0);
        let _ = self.planned.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Requests of all stages; `None` if the number for any stage is unknown.
    pub fn planned_requests(&self) -> Option<u64> {
        let planned = self.planned.load(Ordering::Relaxed);
        (self.undecided_stages.load(Ordering::Relaxed) == 0 && planned > 0).then_some(planned)
    }

    /// Requests that were issued and have not ended.
    pub fn under_way(&self) -> u64 {
        let ended = self.ended.load(Ordering::Relaxed);
        self.issued.load(Ordering::Relaxed).saturating_sub(ended)
    }
}
