//! The analysis of a run.

use crds::summary::{RunSummary, StageSummary};
use jiff::Timestamp;
use measurement::recorder::RequestSample;

use crate::{
    accuracy::Accuracy,
    class::ClassAnalysis,
    contamination::Contamination,
    distribution_function::DistributionFunctions,
    figures::Figures,
    judgement::SelfJudgement,
    labels::Labels,
    objectives::Objectives,
    profiling::Profiling,
    servers::ServerAnalysis,
    sessions::SessionFigures,
    stage::StageAnalysis,
    summary,
    time_series::SeriesFigures,
    validity::{self, Verdict},
};

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
