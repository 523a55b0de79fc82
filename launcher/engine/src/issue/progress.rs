//! How far a load has come, for those who watch it from other threads.

use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering},
};

use super::{
    outcome_counts::OutcomeCounts,
    timeline::{RecentTimes, Timeline},
};
use crate::hold::Hold;

/// How far the load has come. The counters are not read at one instant: they may differ by a request.
#[derive(Debug, Default)]
pub struct Progress {
    /// Requests of the stages whose number is known, see [`Progress::planned_requests`].
    pub planned: AtomicU64,
    /// Stages whose number of requests is not known: answers or time decide it, or stages that have not run yet.
    pub undecided_stages: AtomicU64,
    pub issued: AtomicU64,
    /// Requests that have ended, failed ones included.
    pub ended: AtomicU64,
    /// Requests that failed or were cancelled.
    pub failed: AtomicU64,
    /// Requests that ended without success, by the way in which they ended.
    pub not_ok: OutcomeCounts,
    /// Events with output, of all requests that have ended.
    pub output_events: AtomicU64,
    /// Index of the stage that runs. Who reads it with `Acquire` finds in `began` when that stage began, or a later one.
    pub stage: AtomicU64,
    /// When this stage began, in nanoseconds on the clock of the timeline.
    pub began: AtomicU64,
    /// Requests that had ended when this stage began.
    pub ended_before: AtomicU64,
    /// When the pause after this stage ends, in nanoseconds on the same clock. Before `began` if the pause has not
    /// begun.
    pub pause_until: AtomicU64,
    /// How many stages are over: all of their requests have ended. It is not counted for the last one, with which the load ends.
    pub stages_over: AtomicU64,
    /// Keeps the next stage from beginning.
    pub hold: Hold,
    /// The bits of the rate that earlier stages gave to this stage; 0 if its rate was known before the run.
    pub measured_rate: AtomicU64,
    /// Times to the first token, counted from the scheduled time.
    pub ttft: RecentTimes,
    /// What is planned; empty before the load begins.
    pub timeline: OnceLock<Timeline>,
}

impl Progress {
    /// Fewer requests are sent than were planned.
    pub(super) fn leave_out(&self, requests: u64) {
        // 0 stands for a number that is not known.
        let less = |planned: u64| planned.checked_sub(requests).filter(|it| *it > 0);
        let _ = self.planned.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Requests of all stages; `None` where the number of a stage is not known.
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
