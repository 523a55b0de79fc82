//! What the recorder counted -> figures, and whether they count.
//!
//! Values in, values out: no clock, file or socket. Every formula stands in `docs/metrics.md` as well.

mod accuracy;
mod backlog;
mod catalogue;
mod class;
mod contamination;
mod cost;
pub mod distribution;
mod distribution_function;
mod evidence;
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
pub mod servers;
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

use std::sync::Arc;

use crds::summary::{RunSummary, StageSummary};
use jiff::Timestamp;

pub use accuracy::{Accuracy, AccuracyFigure, AccuracyLimit, NotComputed};
pub use class::ClassAnalysis;
pub use contamination::{Contamination, Exposure, WarmUp, WarmUpPrompts};
pub use cost::CostFigures;
pub use distribution::Distribution;
pub use distribution_function::{DistributionFunction, DistributionFunctions};
pub use evidence::{Evidence, Measured};
pub use figures::{
    CachedPrompts, Figures, GoodputFigures, LatencyOrigin, SEVERAL_TOKENS, StepTimes, Throughput, TokenCount,
};
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

use measurement::recorder::{RequestSample, StageTally, TimeSeries};
use rates::Plateaus;
use servers::ServerAnalysis;
use timings::Timings;

/// What a run came to.
#[derive(Clone, Debug)]
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
    /// The figures of the servers' metrics; `None` where none were read.
    pub servers: Option<ServerAnalysis>,
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

/// Turns counts and histograms into figures, and judges them. The same evidence gives the same analysis.
pub fn analyse(evidence: &Evidence<'_>) -> Analysis {
    let Evidence { workload, .. } = *evidence;
    let mut analysis = figures(evidence);
    analysis.judgement.remarks.extend(evidence.doubts.iter().cloned());
    if let Some(why) = &evidence.lost_target {
        analysis.verdict.explain_lost_target(why);
    }
    if let Some(tests) = evidence.loadgen {
        analysis.verdict.add_loadgen(tests.verdicts());
    }
    if let Some(accuracy) = &evidence.accuracy {
        accuracy.judge(&mut analysis.verdict);
        analysis.judgement.remarks.extend(accuracy.remarks());
    }
    if let Some(profiling) = &evidence.profiling {
        analysis.judgement.remarks.extend(profiling.remarks());
    }
    if let Some(scraped) = &evidence.scraped {
        let servers = ServerAnalysis::of_load(Arc::clone(scraped), &evidence.measured, workload, &analysis.stages);
        analysis.contamination.add_servers(&servers.run);
        analysis.servers = Some(servers);
    }
    if let Some((hits, looked_up)) = evidence.cache_counts {
        analysis.contamination.add_counts(hits, looked_up);
    }
    // The last step, because a measurement that is not valid decides no objective.
    if let Some(slo) = &evidence.run.slo {
        analysis.judge_objectives(slo, evidence.baseline);
    }
    analysis
}

/// The figures of the load, judged by what was measured alone.
fn figures(evidence: &Evidence<'_>) -> Analysis {
    let Evidence { ref measured, workload, run, model, .. } = *evidence;
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
    let findings = validity::Findings {
        stopped: measured.stopped,
        run,
        workload,
        all: &all,
        stages: &stages,
        judgement: &judgement,
    };
    let judged = validity::judge(&findings);
    judgement.remarks = remarks::remarks(&findings, &judged);
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
        accuracy: evidence.accuracy.clone(),
        contamination,
        profiling: evidence.profiling.clone(),
        servers: None,
    }
}
