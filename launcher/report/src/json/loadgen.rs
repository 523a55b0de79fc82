//! What became of the LoadGen tests of a run, as `report.json` has it: `loadgen`.

use std::collections::BTreeMap;

use analysis::loadgen::verdict::{Headline, TestVerdict, TrialVerdict};
use serde::{Deserialize, Serialize};
use workload_profiles::loadgen::{Mode, Scenario};

use crate::Report;

/// LoadGen's rules in its detail log, and their names here.
const RULES: [(&str, &str); 4] = [
    ("result_perf_constraints_met", "perfConstraintsMet"),
    ("result_min_duration_met", "minDurationMet"),
    ("result_min_queries_met", "minQueriesMet"),
    ("early_stopping_met", "earlyStoppingMet"),
];

/// The tests of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LoadGenDocument {
    pub benchmark: String,
    pub round: String,
    pub tests: Vec<LoadGenTestDocument>,
    /// The trials before the tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<TrialDocument>,
}

/// What a test came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LoadGenTestDocument {
    /// The folder of its logs.
    pub folder: String,
    pub scenario: Scenario,
    pub mode: Mode,
    pub audited: bool,
    /// `VALID` or `INVALID`; `complete` or `incomplete` where LoadGen says neither.
    pub result: String,
    /// Whether each rule held; without those that the scenario does not have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rules: BTreeMap<String, bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    pub errors: u64,
    pub warnings: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_warning: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queries: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_qps: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples_per_second: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_second: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft_p99_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpot_p99_ms: Option<f64>,
}

/// A trial before the tests, to find their rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrialDocument {
    pub queries_per_second: f64,
    /// It had the full length of the test.
    pub full: bool,
    pub met: bool,
}

impl LoadGenDocument {
    /// `None` for a run without such tests.
    pub(super) fn new(report: &Report<'_>) -> Option<LoadGenDocument> {
        let (loadgen, tests) = (report.workload.loadgen.as_ref()?, report.loadgen?);
        Some(LoadGenDocument {
            benchmark: loadgen.benchmark.clone(),
            round: loadgen.round.clone(),
            tests: tests.verdicts().map(LoadGenTestDocument::new).collect(),
            trials: tests.trials.iter().map(TrialDocument::new).collect(),
        })
    }
}

impl LoadGenTestDocument {
    fn new(it: &TestVerdict) -> LoadGenTestDocument {
        let headline = it.headline.as_ref();
        let corrected = it.corrected.as_ref();
        let millis = |of: fn(&Headline) -> Option<i64>| headline.and_then(of).map(|it| it as f64 / 1e6);
        let rule = |(key, name): &(&str, &str)| Some(((*name).to_owned(), it.figures.get(*key)?.as_bool()?));
        LoadGenTestDocument {
            folder: it.folder.clone().into_owned(),
            scenario: it.scenario,
            mode: it.mode,
            audited: it.audited,
            result: it.result.clone().into_owned(),
            rules: RULES.iter().filter_map(rule).collect(),
            reasons: it.reasons.clone(),
            errors: it.errors,
            warnings: it.warnings,
            first_warning: it.first_warning.clone(),
            queries: headline.map(|it| it.queries),
            target_qps: it.target_qps,
            samples_per_second: headline
                .and_then(|it| it.samples_per_second)
                .or_else(|| corrected.and_then(|it| it.samples_per_second)),
            tokens_per_second: headline
                .and_then(|it| it.tokens_per_second)
                .or_else(|| corrected.and_then(|it| it.tokens_per_second)),
            ttft_p99_ms: millis(|it| it.ttft_p99_ns),
            tpot_p99_ms: millis(|it| it.tpot_p99_ns),
        }
    }
}

impl TrialDocument {
    fn new(it: &TrialVerdict) -> TrialDocument {
        TrialDocument { queries_per_second: it.rate, full: it.full, met: it.met }
    }
}
