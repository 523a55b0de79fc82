//! What the engine measured.

use std::time::Duration;

use jiff::Timestamp;
use measurement::{
    histogram::TimeHistogram,
    load_result::{LoadResult, StageResult},
    phase::StopReason,
    recorder::Recorder,
    rows_used::RowsUsed,
    vitals::{Vitals, worker::WorkerVitals},
};

use crate::Distribution;

/// What the engine measured.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// The outcome of each request.
    pub recorder: &'a Recorder,
    /// Time zero of the run, on the machine's monotonic clock.
    pub zero: Duration,
    /// The wall-clock time at time zero of the run.
    pub started: Timestamp,
    /// How the rows of a data set were used; `None` for another source of prompts.
    pub rows: Option<RowsUsed>,
    /// What happened to each stage while the load ran.
    pub stages: &'a [StageResult],
    /// The reason why the load ended early; `None` if it did not.
    pub stopped: Option<StopReason>,
    /// CPU time of the threads that issued the load, user and system.
    pub own_cpu: Duration,
    /// How long the load ran, from time zero to the end of the last request.
    pub wall: Duration,
    /// Number of threads that issued the load.
    pub threads: usize,
    /// CPU use of each of these threads, per stage.
    pub workers: &'a [WorkerVitals],
    /// How the machine disturbed the process.
    pub vitals: &'a Vitals,
}

impl<'a> From<&'a LoadResult> for Measured<'a> {
    fn from(load: &'a LoadResult) -> Measured<'a> {
        Measured {
            recorder: &load.recorder,
            zero: load.zero,
            started: load.started,
            rows: load.rows,
            stages: &load.stages,
            stopped: load.stopped,
            own_cpu: load.own_cpu,
            wall: load.wall,
            threads: load.workers.len(),
            workers: &load.workers,
            vitals: &load.vitals,
        }
    }
}

impl Measured<'_> {
    /// The receive delays of a stage, or of the whole run if `stage` is `None`.
    pub(crate) fn receive_delay(&self, stage: Option<usize>) -> Option<Distribution<Duration>> {
        let mut all = TimeHistogram::default();
        let stages = self.workers.iter().flat_map(|worker| worker.stages.iter().enumerate());
        let wanted = stages.filter(|(index, _)| stage.is_none_or(|it| it == *index));
        wanted.filter_map(|(_, it)| it.receive_delay.as_ref()).for_each(|it| all.add(it));
        Distribution::of_times(&all)
    }
}
