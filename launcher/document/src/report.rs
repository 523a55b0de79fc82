//! `report.json` as a whole, and all its parts except the figures.

use std::{
    fmt::{self, Display, Formatter},
    io,
};

use analysis::{Accuracy, ClassAnalysis, EndedBy, Labels, Profiling, StageAnalysis, search::SearchResult};
use crds::{
    outcome::Outcome,
    resolve::{ResolvedRun, RunIdentity},
    summary::RunSummary,
    units::{Seed, Span},
};
use files::file_digest::FileDigest;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workload_profiles::{
    Notice,
    workload::{Load, Margin},
};

use super::{
    contamination::ContaminationDocument,
    distributions::DistributionsDocument,
    figures::FiguresDocument,
    hardware::HardwareDocument,
    judgement::JudgementDocument,
    loadgen::LoadGenDocument,
    managed_server::ManagedServerDocument,
    objectives::{self, ObjectiveDocument},
    request_sample::RequestSampleDocument,
    server::ServerDocument,
    server_replicas::ServerReplicasDocument,
    servers::ServerMetricsDocument,
    sessions::SessionsDocument,
    time_series::TimeSeriesDocument,
    uncertainty::UncertaintyDocument,
    values::{Statistics, millis, times},
};
use crate::{Parts, ServerStart, redact::redact};

/// The version of this format. Until the first release, its content can change without a new version. Afterwards, every change to which readers must
/// adapt gets a new version.
pub const FORMAT: &str = "benchwright.dev/report/v1";

/// The name of this tool, as written in files in the formats of other tools.
pub const TOOL: &str = "benchwright";

/// The release that writes the report.
pub const TOOL_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The content of `report.json`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportDocument {
    pub format: String,
    pub tool_version: String,
    pub tool_commit: String,
    pub run: RunIdentity,
    pub model: String,
    pub server: Option<ServerDocument>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub startups: Vec<ServerStart>,
    pub managed_server: Option<ManagedServerDocument>,
    pub server_replicas: Option<ServerReplicasDocument>,
    pub started: Timestamp,
    pub outcome: Outcome,
    pub reasons: Vec<ReasonDocument>,
    pub partial: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<ObjectiveDocument>,
    pub summary: RunSummary,
    pub figures: FiguresDocument,
    pub probes: Option<FiguresDocument>,
    pub sessions: Option<SessionsDocument>,
    pub time_series: Option<TimeSeriesDocument>,
    pub distributions: Option<DistributionsDocument>,
    pub request_sample: Option<RequestSampleDocument>,
    pub stages: Vec<StageDocument>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassDocument>,
    pub hardware: Option<HardwareDocument>,
    pub loadgen: Option<LoadGenDocument>,
    pub search: Option<SearchResult>,
    pub accuracy: Option<Accuracy>,
    pub profiling: Option<Profiling>,
    pub contamination: ContaminationDocument,
    pub self_judgement: JudgementDocument,
    pub server_metrics: Option<ServerMetricsDocument>,
    pub labels: LabelsDocument,
    pub notices: Vec<Notice>,
    pub seeds: SeedsDocument,
    pub inputs: InputsDocument,
    pub resolved_run: ResolvedRun,
    /// The workload as issued, with its credentials blacked out. Stored as a tree of JSON values, because the replacement of a credential can have a
    /// type or length that the workload does not allow.
    pub workload: Value,
}

impl Parts<'_> {
    /// Creates the content of `report.json`.
    ///
    /// # Errors
    /// The workload cannot be written as JSON.
    pub fn document(&self) -> io::Result<ReportDocument> {
        let (report, analysis) = (self, self.analysis);
        let mut workload = serde_json::to_value(report.workload)?;
        // Headers of the workload can contain credentials.
        redact(&mut workload);
        let reason =
            |it: &analysis::Reason| ReasonDocument { reason: it.name.to_string(), message: it.message.clone() };
        Ok(ReportDocument {
            format: FORMAT.to_owned(),
            tool_version: TOOL_VERSION.to_owned(),
            tool_commit: report.commit.to_owned(),
            run: report.run.run.clone(),
            model: analysis.model.clone(),
            server: report.server.map(ServerDocument::new),
            startups: report.startups.to_vec(),
            managed_server: report.managed_server.cloned(),
            server_replicas: report.server_replicas.cloned(),
            started: analysis.started,
            outcome: analysis.verdict.outcome,
            reasons: analysis.verdict.reasons.iter().map(reason).collect(),
            partial: analysis.partial,
            objectives: objectives::documents(analysis.objectives.as_ref()),
            summary: analysis.summary(),
            figures: FiguresDocument::new(&analysis.all),
            probes: analysis.probes.as_ref().map(FiguresDocument::new),
            sessions: analysis.sessions.as_ref().map(SessionsDocument::new),
            time_series: analysis.series.as_ref().map(TimeSeriesDocument::new),
            distributions: DistributionsDocument::new(&analysis.distributions),
            request_sample: RequestSampleDocument::new(&analysis.sample),
            stages: analysis.stages.iter().map(|it| StageDocument::new(it, is_profiled(analysis, it))).collect(),
            classes: analysis.classes.iter().map(ClassDocument::new).collect(),
            hardware: report.run.hardware.as_ref().map(|it| HardwareDocument::new(it, analysis)),
            loadgen: LoadGenDocument::new(report),
            search: analysis.search.clone(),
            accuracy: analysis.accuracy.clone(),
            profiling: analysis.profiling.clone(),
            contamination: ContaminationDocument::new(&analysis.contamination),
            self_judgement: JudgementDocument::new(&analysis.judgement),
            server_metrics: analysis.servers.as_ref().map(|it| ServerMetricsDocument::new(it, analysis)),
            labels: LabelsDocument::new(&analysis.labels),
            notices: report.notices.to_vec(),
            seeds: SeedsDocument { run: report.run.seed, prompt_salt: report.run.prompt_salt.clone() },
            inputs: InputsDocument { profile_sha256: report.profile_sha256(), files: report.files.to_vec() },
            resolved_run: report.run.clone(),
            workload,
        })
    }
}

/// Whether a profiler affects the figures of a stage.
fn is_profiled(analysis: &analysis::Analysis, stage: &StageAnalysis) -> bool {
    analysis.profiling.as_ref().is_some_and(|it| it.touches(&stage.stage.name))
}

/// A reason of the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasonDocument {
    pub reason: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl Display for ReasonDocument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let colon = if self.message.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{}", self.reason, self.message)
    }
}

/// The seeds of random draws. Each kind of draw has its own seed, which is derived from the run's seed. The seeds of texts that are new in each run
/// also depend on the salt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeedsDocument {
    pub run: Seed,
    pub prompt_salt: String,
}

/// The inputs of the load. Equal digests mean equal inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InputsDocument {
    pub profile_sha256: String,
    pub files: Vec<FileDigest>,
}

/// One stage.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StageDocument {
    pub name: String,
    pub load: Load,
    pub pause_after: Span,
    pub warm_up: Option<Margin>,
    pub cool_down: Option<Margin>,
    pub grace: Option<Span>,
    pub clock: String,
    pub not_run: Option<String>,
    /// Whether a profiler affects the figures of this stage.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub profiled: bool,
    /// The reason why this stage is invalid; empty if it is valid. Other stages can be valid nevertheless.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<String>,
    pub ended_by: Option<EndedByDocument>,
    /// Whether the server did not keep up with an open load. `None` if the load is not open, or if an earlier release wrote the report.
    pub overloaded: Option<bool>,
    pub asked_requests_per_second: Option<f64>,
    pub achieved_requests_per_second: Option<f64>,
    pub receive_delay_ms: Option<Statistics>,
    pub labels: LabelsDocument,
    pub figures: FiguresDocument,
    #[serde(default)]
    pub uncertainty: UncertaintyDocument,
    pub probes: Option<FiguresDocument>,
    pub sessions: Option<SessionsDocument>,
    pub time_series: Option<TimeSeriesDocument>,
    pub distributions: Option<DistributionsDocument>,
}

impl StageDocument {
    fn new(stage: &StageAnalysis, profiled: bool) -> Self {
        StageDocument {
            name: stage.stage.name.clone(),
            load: stage.stage.load.clone(),
            pause_after: stage.stage.pause_after,
            warm_up: stage.stage.warm_up,
            cool_down: stage.stage.cool_down,
            grace: stage.stage.grace,
            clock: stage.latency_origin.name().to_owned(),
            not_run: stage.not_run.as_ref().map(ToString::to_string),
            profiled,
            invalid: stage.invalid.iter().map(ToString::to_string).collect(),
            ended_by: stage.ended_by.as_ref().map(EndedByDocument::new),
            overloaded: stage.is_overloaded(),
            asked_requests_per_second: stage.asked_rate,
            achieved_requests_per_second: stage.achieved_rate,
            receive_delay_ms: times(&stage.receive_delay),
            labels: LabelsDocument::new(&Labels::of_stage(stage)),
            figures: FiguresDocument::new(&stage.figures),
            uncertainty: UncertaintyDocument::new(&stage.uncertainty),
            probes: stage.probes.as_ref().map(FiguresDocument::new),
            sessions: stage.sessions.as_ref().map(SessionsDocument::new),
            time_series: stage.series.as_ref().map(TimeSeriesDocument::new),
            distributions: DistributionsDocument::new(&stage.distributions),
        }
    }
}

/// The requests of one traffic class, over all stages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClassDocument {
    pub name: String,
    pub clock: String,
    pub figures: FiguresDocument,
}

impl ClassDocument {
    fn new(class: &ClassAnalysis) -> Self {
        let clock = class.latency_origin.name().to_owned();
        ClassDocument { name: class.name.clone(), clock, figures: FiguresDocument::new(&class.figures) }
    }
}

/// The stop rule that ended a stage, and the time of the stop from the start of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndedByDocument {
    pub rule: String,
    pub at_ms: f64,
}

impl EndedByDocument {
    fn new(end: &EndedBy) -> Self {
        EndedByDocument { rule: end.rule.clone(), at_ms: millis(end.at) }
    }
}

/// The comparability labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelsDocument {
    pub arrivals: String,
    pub clock: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tokens: String,
    pub itl: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub events: String,
    pub tpot: String,
    pub ntpot: String,
    pub percentiles: String,
    pub window: String,
    pub prompts: String,
    pub cache: String,
    pub failures: String,
}

impl LabelsDocument {
    /// All labels as `name=value`.
    pub fn pairs(&self) -> Vec<String> {
        self.named().map(|(name, value)| format!("{name}={value}")).collect()
    }

    /// The names and values of all labels that are not empty.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [
            ("arrivals", &self.arrivals),
            ("clock", &self.clock),
            ("tokens", &self.tokens),
            ("itl", &self.itl),
            ("events", &self.events),
            ("tpot", &self.tpot),
            ("ntpot", &self.ntpot),
            ("percentiles", &self.percentiles),
            ("window", &self.window),
            ("prompts", &self.prompts),
            ("cache", &self.cache),
            ("failures", &self.failures),
        ]
        .into_iter()
        .map(|(name, value)| (name, value.as_str()))
        .filter(|(_, value)| !value.is_empty())
    }

    /// The labels of a run or a stage.
    pub fn new(labels: &Labels) -> LabelsDocument {
        LabelsDocument {
            arrivals: labels.arrivals.clone(),
            clock: labels.clock.clone(),
            tokens: labels.tokens.clone(),
            itl: labels.itl.to_owned(),
            events: labels.events.to_owned(),
            tpot: labels.tpot.to_owned(),
            ntpot: labels.ntpot.to_owned(),
            percentiles: labels.percentiles.to_owned(),
            window: labels.window.clone(),
            prompts: labels.prompts.to_owned(),
            cache: labels.cache.to_owned(),
            failures: labels.failures.to_owned(),
        }
    }
}
