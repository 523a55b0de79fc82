//! What the recorder counted -> figures, and whether they count.
//!
//! Values in, values out: no clock, file or socket. Every formula stands in `docs/metrics.md` as well.

mod accuracy;
mod backlog;
mod class;
mod contamination;
mod cost;
pub mod distribution;
mod distribution_function;
pub mod figures;
mod identity;
mod interactivity;
mod itl_heat;
pub mod judgement;
pub mod labels;
pub mod loadgen;
pub mod objectives;
mod profiling;
mod rates;
mod remarks;
pub mod repeats;
pub mod sessions;
pub mod stage;
mod stalls;
mod summary;
#[cfg(test)]
mod tests;
pub mod time_series;
mod timings;
pub mod uncertainty;
pub mod validity;

use std::time::Duration;

use crds::{
    resolve::ResolvedRun,
    summary::{RunSummary, StageSummary},
};
use jiff::Timestamp;
use workload_profiles::Workload;

pub use accuracy::{Accuracy, AccuracyFigure, AccuracyLimit, NotComputed};
pub use class::ClassAnalysis;
pub use contamination::{Contamination, Exposure, WarmUp, WarmUpPrompts};
pub use cost::CostFigures;
pub use distribution::Distribution;
pub use distribution_function::{DistributionFunction, DistributionFunctions};
pub use figures::{CachedPrompts, Figures, GoodputFigures, LatencyOrigin, StepTimes, Throughput, TokenCount};
pub use identity::TargetIdentity;
pub use interactivity::Interactivity;
pub use itl_heat::ItlHeat;
pub use judgement::{Busiest, SelfJudgement, StallFigures};
pub use labels::Labels;
pub use objectives::{ObjectiveResult, Objectives};
pub use profiling::{ProfiledWindow, Profiling, TraceFile};
pub use rates::RateWindow;
pub use remarks::BUSY_SHARE;
pub use sessions::{SessionFigures, TurnFigures};
pub use stage::{EndedBy, StageAnalysis};
pub use stalls::StallEffect;
pub use time_series::{BinFigures, BinTimes, SeriesFigures};
pub use uncertainty::Uncertainty;
pub use validity::{Reason, Verdict};

use rates::Plateaus;
use timings::Timings;

use measurement::{
    histogram::TimeHistogram,
    load_result::{LoadResult, StageResult},
    phase::StopReason,
    recorder::{Recorder, RequestSample, StageTally, TimeSeries},
    rows_used::RowsUsed,
    vitals::{Vitals, worker::WorkerVitals},
};

/// What the engine measured.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// What became of each request.
    pub recorder: &'a Recorder,
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
    fn receive_delay(&self, stage: Option<usize>) -> Option<Distribution<Duration>> {
        let mut all = TimeHistogram::default();
        let stages = self.workers.iter().flat_map(|worker| worker.stages.iter().enumerate());
        let wanted = stages.filter(|(index, _)| stage.is_none_or(|it| it == *index));
        wanted.filter_map(|(_, it)| it.receive_delay.as_ref()).for_each(|it| all.add(it));
        Distribution::of_times(&all)
    }
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// The model that was measured.
    pub model: String,
    /// The wall clock at time zero of the records.
    pub started: Timestamp,
    /// The run was stopped before all its requests had ended.
    pub partial: bool,
    /// Whether the figures count.
    pub verdict: Verdict,
    /// All stages together.
    pub all: Figures,
    /// Stage by stage.
    pub stages: Vec<StageAnalysis>,
    /// The figures of each traffic class over all stages, without requests that were never sent; empty if there are none.
    pub classes: Vec<ClassAnalysis>,
    /// The probes beside all stages; `None` where the workload has none.
    pub probes: Option<Figures>,
    /// The sessions of all stages; `None` where requests form none.
    pub sessions: Option<SessionFigures>,
    /// The course of the run over time; `None` if no request was due.
    pub series: Option<SeriesFigures>,
    /// The distributions of the latencies of all stages together.
    pub distributions: DistributionFunctions,
    /// Some requests of the load.
    pub sample: RequestSample,
    /// How far the measurement itself can be trusted.
    pub judgement: SelfJudgement,
    /// How the figures came about.
    pub labels: Labels,
    /// The objectives; `None` where the run has none, or they are not judged yet.
    pub objectives: Option<Objectives>,
    /// How good the answers were; `None` where they were not scored.
    pub accuracy: Option<Accuracy>,
    /// Whether the server could have had the prompts in its cache.
    pub contamination: Contamination,
    /// What a profiler recorded; `None` where none was asked for.
    pub profiling: Option<Profiling>,
}

impl Analysis {
    /// The message of the verdict's headline without words of the server, which may be anything: for a status.
    pub fn status_message(&self) -> String {
        validity::without_words(&self.verdict.headline().message, &self.all)
    }

    /// The headline figures of the run.
    pub fn summary(&self) -> RunSummary {
        summary::of_run(self)
    }

    /// The headline figures of each stage.
    pub fn stage_summaries(&self) -> Vec<StageSummary> {
        self.stages.iter().map(summary::of_stage).collect()
    }
}

/// Turns counts and histograms into figures, and judges them.
pub fn analyse(measured: &Measured<'_>, workload: &Workload, run: &ResolvedRun, model: &str) -> Analysis {
    let tallies = &measured.recorder.stages;
    let (probes, sessions, series) =
        (&measured.recorder.probes, &measured.recorder.sessions, &measured.recorder.series);
    let (timings, of_all) = Timings::of_run(measured.recorder, workload);
    let plateaus = Plateaus::new(measured.recorder, workload);
    let all = Figures::of_run(workload, tallies, &of_all, plateaus.of_run(tallies).as_ref());
    let of_run = labels::OfRun::new(workload, run, all.cached);
    let of_stage = |(index, (((stage, tally), timings), uncertainty))| {
        let delay = measured.receive_delay(Some(index));
        let result = measured.stages.get(index);
        let course = series.get(index).and_then(|it| SeriesFigures::new(it, workload.streaming));
        let queue = course.as_ref().and_then(|it| backlog::of_stage(stage, it));
        // The course of a run of one stage is that of the stage.
        let beside = (probes.get(index), sessions.get(index), course.filter(|_| tallies.len() > 1), queue);
        let plateau = plateaus.stages.get(index).and_then(Option::as_ref);
        StageAnalysis::new(stage, result, tally, (timings, plateau), uncertainty, delay, beside, workload, of_run)
    };
    let uncertainties = uncertainty::of_stages(measured.recorder, workload, &plateaus);
    let stages = workload.stages.iter().zip(tallies).zip(&timings).zip(uncertainties).enumerate();
    let mut stages: Vec<StageAnalysis> = stages.map(of_stage).collect();
    let mut judgement = SelfJudgement::new(measured, &all, &stages);
    let course = SeriesFigures::new(&TimeSeries::sum(series), workload.streaming);
    let evidence = validity::Evidence {
        stopped: measured.stopped,
        run,
        workload,
        all: &all,
        stages: &stages,
        judgement: &judgement,
    };
    let judged = validity::judge(&evidence);
    judgement.remarks = remarks::remarks(&evidence, &judged);
    let validity::Judged { verdict, stages: invalid } = judged;
    for (stage, invalid) in stages.iter_mut().zip(invalid) {
        stage.invalid = invalid;
    }
    judgement.remarks.extend(measured.recorder.records.as_ref().and_then(remarks::records));
    let origins: Vec<LatencyOrigin> = stages.iter().map(|it| it.latency_origin).collect();
    let distributions = match &stages[..] {
        // The distributions of the run are those of its only stage.
        [only] => only.distributions.clone(),
        _ => {
            let with_origins = tallies.iter().zip(origins.iter().copied());
            DistributionFunctions::new(with_origins, workload.streaming, None)
        }
    };
    let classes = class::classes(&measured.recorder.classes, &plateaus.classes, workload, &origins);
    let labels = Labels::of_run(&stages, of_run, &all);
    let contamination = Contamination::new(&all, workload, run, measured.rows);
    let sessions = SessionFigures::of_run(sessions, all.duration, workload.streaming);
    Analysis {
        model: model.to_owned(),
        started: measured.started,
        partial: measured.stopped.is_some() && all.is_cut_off(),
        verdict,
        all,
        stages,
        classes,
        probes: (!probes.is_empty()).then(|| Figures::of_probes(&StageTally::sum(probes), workload)),
        sessions,
        series: course,
        distributions,
        sample: measured.recorder.sample.clone(),
        judgement,
        labels,
        objectives: None,
        accuracy: None,
        contamination,
        profiling: None,
    }
}
