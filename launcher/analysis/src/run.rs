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
    search::SearchResult,
    servers::ServerAnalysis,
    sessions::SessionFigures,
    stage::StageAnalysis,
    summary,
    time_series::SeriesFigures,
    validity::{self, Verdict},
};

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The model that was measured.
    pub model: String,
    /// The wall-clock time at time zero of the run.
    pub started: Timestamp,
    /// Whether the run was stopped before all its requests had ended.
    pub partial: bool,
    /// Whether the figures are valid, and why.
    pub verdict: Verdict,
    /// The figures of all stages together.
    pub all: Figures,
    /// The analysis of each stage, in order.
    pub stages: Vec<StageAnalysis>,
    /// The figures of each traffic class over all stages; empty without classes. Requests that were never sent are excluded.
    pub classes: Vec<ClassAnalysis>,
    /// The figures of the probes of all stages; `None` if the workload has no probes.
    pub probes: Option<Figures>,
    /// The sessions of all stages; `None` if requests form no sessions.
    pub sessions: Option<SessionFigures>,
    /// The time series of the run; `None` if no request was due.
    pub series: Option<SeriesFigures>,
    /// The latency distributions of all stages together.
    pub distributions: DistributionFunctions,
    /// A sample of the load's requests.
    pub sample: RequestSample,
    /// How far the measurement itself can be trusted.
    pub judgement: SelfJudgement,
    /// How the figures were computed.
    pub labels: Labels,
    /// The objectives; `None` if the run has none, or if they are not judged yet.
    pub objectives: Option<Objectives>,
    /// How good the answers were; `None` if they were not scored.
    pub accuracy: Option<Accuracy>,
    /// Whether the server could have had the prompts in its prefix cache.
    pub contamination: Contamination,
    /// What a profiler recorded; `None` if no profile was requested.
    pub profiling: Option<Profiling>,
    /// The figures of the servers' metrics; `None` if none were read.
    pub servers: Option<ServerAnalysis>,
    /// The result of the search; `None` if the run was none.
    pub search: Option<SearchResult>,
}

impl Analysis {
    /// The message of the verdict's first reason, for a status. Text from the server is removed, because it can contain anything.
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
