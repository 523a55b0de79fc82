//! `config.json` and `summary.json` of a run with LoadGen tests. The same types are written and read.

use analysis::loadgen::verdict::{TestVerdict, TrialVerdict};
use crds::summary::Outcome;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use workload_profiles::{
    loadgen::Effective,
    workload::{LoadGen, RequestSource, Sampling, Timeouts},
};

use super::LoadGenReport;
use crate::{Report, TOOL_VERSION};

/// `config.json`: what the tests were run with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadGenConfig {
    /// Name and release of the program that wrote the file.
    pub tool: String,
    pub target: String,
    pub model: String,
    pub loadgen: LoadGen,
    /// The settings in effect, one for each test.
    pub effective: Vec<Effective>,
    pub requests: RequestSource,
    pub sampling: Sampling,
    pub timeouts: Timeouts,
}

impl LoadGenConfig {
    pub(super) fn new(report: &Report<'_>, loadgen: &LoadGen, tests: &LoadGenReport) -> LoadGenConfig {
        LoadGenConfig {
            tool: tool(),
            target: report.run.endpoint.name().to_owned(),
            model: report.analysis.model.clone(),
            loadgen: LoadGen { tests: tests.as_requested(), ..loadgen.clone() },
            effective: tests.tests.iter().map(|(test, _)| test.log.effective.clone()).collect(),
            requests: report.workload.requests.clone(),
            sampling: report.workload.sampling.clone(),
            timeouts: report.workload.timeouts,
        }
    }
}

/// `summary.json`: what the tests came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadGenSummary {
    /// Name and release of the program that wrote the file.
    pub tool: String,
    pub target: String,
    pub model: String,
    pub benchmark: String,
    pub round: String,
    pub started: Timestamp,
    pub outcome: Outcome,
    /// Why the outcome is what it is, as sentences.
    pub reasons: Vec<String>,
    /// The trials before the tests.
    pub trials: Vec<TrialVerdict>,
    pub tests: Vec<TestVerdict>,
}

impl LoadGenSummary {
    pub(super) fn new(report: &Report<'_>, loadgen: &LoadGen, tests: &LoadGenReport) -> LoadGenSummary {
        let analysis = report.analysis;
        LoadGenSummary {
            tool: tool(),
            target: report.run.endpoint.name().to_owned(),
            model: analysis.model.clone(),
            benchmark: loadgen.benchmark.clone(),
            round: loadgen.round.clone(),
            started: analysis.started,
            outcome: analysis.verdict.outcome,
            reasons: analysis.verdict.reasons.iter().map(ToString::to_string).collect(),
            trials: tests.trials.clone(),
            tests: tests.verdicts().cloned().collect(),
        }
    }
}

fn tool() -> String {
    format!("benchwright {TOOL_VERSION}")
}
