//! What [`crate::analyse`] judges: the measurement, and everything that is known about the run beside it.

use std::{sync::Arc, time::Duration};

use crds::resolve::ResolvedRun;
use jiff::Timestamp;
use measurement::{
    histogram::TimeHistogram,
    load_result::{LoadResult, StageResult},
    phase::StopReason,
    recorder::Recorder,
    rows_used::RowsUsed,
    vitals::{Vitals, worker::WorkerVitals},
};
use server_metrics::scraped::Scraped;
use workload_profiles::Workload;

use crate::{Accuracy, Distribution, Profiling, loadgen::judged::LoadGenTests, objectives::Source};

/// All that a run produced. [`crate::analyse`] needs nothing else, and nothing completes its result afterwards.
#[derive(Clone)]
pub struct Evidence<'a> {
    /// What the engine measured.
    pub measured: Measured<'a>,
    /// The load as it was issued.
    pub workload: &'a Workload,
    /// The spec of the run, with its bounds and objectives.
    pub run: &'a ResolvedRun,
    /// The model that the server answered for.
    pub model: &'a str,
    /// Doubts that the launcher found outside of the measurement, one sentence each.
    pub doubts: Vec<String>,
    /// Why the target stopped answering, without words of a server; `None`: it did not, or the reason is unknown.
    pub lost_target: Option<String>,
    /// The LoadGen tests of the run; `None`: it has another load.
    pub loadgen: Option<&'a LoadGenTests>,
    /// The scores of the answers; `None`: they were not scored.
    pub accuracy: Option<Accuracy>,
    /// What a profiler recorded; `None`: the run asked for no profile.
    pub profiling: Option<Profiling>,
    /// Prompt tokens that the servers found in their prefix caches, and those that they looked up there, where the metrics themselves are
    /// not at hand.
    pub cache_counts: Option<(f64, f64)>,
    /// The metrics that the servers reported during the load; `None`: none were read.
    pub scraped: Option<Arc<Scraped>>,
    /// The earlier run that objectives are compared with; `None`: there is none.
    pub baseline: Option<&'a dyn Source>,
}

impl<'a> Evidence<'a> {
    /// The evidence of a run of which nothing but its measurement is known.
    pub fn new(measured: Measured<'a>, workload: &'a Workload, run: &'a ResolvedRun, model: &'a str) -> Evidence<'a> {
        Evidence {
            measured,
            workload,
            run,
            model,
            doubts: Vec::new(),
            lost_target: None,
            loadgen: None,
            accuracy: None,
            profiling: None,
            cache_counts: None,
            scraped: None,
            baseline: None,
        }
    }
}

/// What the engine measured.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// What became of each request.
    pub recorder: &'a Recorder,
    /// Time zero of all times of the run, on the machine's monotonic clock.
    pub zero: Duration,
    /// The wall clock at time zero of the records.
    pub started: Timestamp,
    /// How the rows of a data set were used; `None` for another source.
    pub rows: Option<RowsUsed>,
    /// What was decided on each stage while the load ran.
    pub stages: &'a [StageResult],
    /// Why the load ended early, if it did.
    pub stopped: Option<StopReason>,
    /// CPU time of the threads that issued the load, user and system.
    pub own_cpu: Duration,
    /// How long the load ran, from time zero to the end of the last request.
    pub wall: Duration,
    /// Threads that issued it.
    pub threads: usize,
    /// What each of these took, stage by stage.
    pub workers: &'a [WorkerVitals],
    /// What the machine did to the process.
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
    /// The receive delays of a stage, or of the whole run.
    pub(crate) fn receive_delay(&self, stage: Option<usize>) -> Option<Distribution<Duration>> {
        let mut all = TimeHistogram::default();
        let stages = self.workers.iter().flat_map(|worker| worker.stages.iter().enumerate());
        let wanted = stages.filter(|(index, _)| stage.is_none_or(|it| it == *index));
        wanted.filter_map(|(_, it)| it.receive_delay.as_ref()).for_each(|it| all.add(it));
        Distribution::of_times(&all)
    }
}
