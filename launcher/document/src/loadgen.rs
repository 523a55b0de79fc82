//! `loadgen` in `report.json`: the results of the LoadGen tests of a run.

use std::{collections::BTreeMap, time::Duration};

use analysis::loadgen::verdict::{Headline, TestVerdict, TrialVerdict};
use crds::{figure::rate_text, units::Span};
use serde::{Deserialize, Serialize};
use workload_profiles::loadgen::{Mode, Scenario};

use crate::Parts;

/// Pairs (key of a rule in LoadGen's detail log, name of the rule in the report).
const RULES: [(&str, &str); 4] = [
    ("result_perf_constraints_met", "perfConstraintsMet"),
    ("result_min_duration_met", "minDurationMet"),
    ("result_min_queries_met", "minQueriesMet"),
    ("early_stopping_met", "earlyStoppingMet"),
];

/// The tests of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadGenDocument {
    pub benchmark: String,
    pub round: String,
    pub tests: Vec<LoadGenTestDocument>,
    /// The trials that were run before the tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<TrialDocument>,
}

/// The result of a test.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadGenTestDocument {
    /// The folder of its logs.
    pub folder: String,
    pub scenario: Scenario,
    pub mode: Mode,
    pub audited: bool,
    /// `VALID` or `INVALID`; `complete` or `incomplete` if LoadGen reports neither.
    pub result: String,
    /// Whether each rule was met. Rules that do not apply to the scenario are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rules: BTreeMap<String, bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    pub errors: u64,
    pub warnings: u64,
    pub first_warning: Option<String>,
    pub queries: Option<u64>,
    pub target_qps: Option<f64>,
    pub samples_per_second: Option<f64>,
    pub tokens_per_second: Option<f64>,
    pub ttft_p99_ms: Option<f64>,
    pub tpot_p99_ms: Option<f64>,
    /// Values that the logs lack, or that they have under another name. Absent in reports of earlier releases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A trial that was run before the tests, to find the rate at which they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrialDocument {
    pub queries_per_second: f64,
    /// Whether the trial was as long as the test.
    pub full: bool,
    pub met: bool,
}

impl LoadGenDocument {
    /// Converts the results of LoadGen tests. `None` for a run without such tests.
    pub(super) fn new(report: &Parts<'_>) -> Option<LoadGenDocument> {
        let (loadgen, tests) = (report.workload.loadgen.as_ref()?, report.loadgen?);
        Some(LoadGenDocument {
            benchmark: loadgen.benchmark.clone(),
            round: loadgen.round.clone(),
            tests: tests.verdicts().map(|it| LoadGenTestDocument::new(it, &tests.trials)).collect(),
            trials: tests.trials.iter().map(TrialDocument::new).collect(),
        })
    }
}

impl LoadGenTestDocument {
    fn new(it: &TestVerdict, trials: &[TrialVerdict]) -> LoadGenTestDocument {
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
            notes: notes(it, trials),
        }
    }
}

impl TrialDocument {
    fn new(it: &TrialVerdict) -> TrialDocument {
        TrialDocument { queries_per_second: it.rate, full: it.full, met: it.met }
    }
}

/// Notes on values that the logs of a test lack, or that they have under another name.
fn notes(test: &TestVerdict, trials: &[TrialVerdict]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |text: String| notes.push(text);
    if test.audited {
        note(
            "an audit, which has too few queries to be VALID; `benchwright submission test06` judges its answers"
                .into(),
        );
    }
    if let Some(warning) = &test.first_warning {
        note(format!("a warning in the detail log: {warning}"));
    }
    let peak = trials.iter().filter(|it| it.met).map(|it| it.rate).reduce(f64::max);
    if let Some(peak) = peak.filter(|_| test.mode == Mode::FindPeakPerformance) {
        note(format!("the highest rate that met the limits is {} queries/s", rate_text(peak)));
    }
    let Some(quirks) = &test.corrected else { return notes };
    if test.scenario == Scenario::Server
        && let (Some(logged), Some(rate)) =
            (test.headline.as_ref().and_then(|it| it.samples_per_second), quirks.samples_per_second)
        // Only a logged rate that is too high gets a note. It can be lower by one sample, because a schedule has one more sample than gaps.
        && logged / rate > 1.01
    {
        let (logged, rate) = (rate_text(logged), rate_text(rate));
        note(format!(
            "the log reports {logged} completed samples/s, because it counts only until the query issued last was complete; until the latest completion, the rate is {rate}"
        ));
    }
    if let Some(estimate) = quirks.early_stopping_latency_ns
        && quirks.ttft_early_stopping_met.is_some()
    {
        let estimate = Span(Duration::from_nanos(estimate.unsigned_abs())).rounded();
        note(format!(
            "early_stopping_latency in the log describes first tokens; for whole answers, the estimate is {estimate}"
        ));
    }
    if let (Some(ttft), Some(false)) = (quirks.ttft_early_stopping_met, quirks.tpot_early_stopping_met) {
        let met = if ttft { "is" } else { "is not" };
        note(format!("early stopping is not met for TPOT, so the log does not report it for TTFT, where it {met} met"));
    }
    if quirks.too_few_tokens > 0 {
        note(format!(
            "{} samples have fewer than two tokens; their TPOT is negative in the log",
            quirks.too_few_tokens
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use workload_profiles::{
        loadgen::{Qsl, Settings},
        workload::{LoadGen, LoadGenTest, Phase},
    };

    use super::*;
    use analysis::loadgen::{
        judged::LoadGenTests,
        outcome::{LogClock, TestOutcome, test_log},
    };
    use loadgen::{
        logs::{
            messages::Messages,
            test_log::{Generated, PhaseLog},
        },
        results::PhaseResult,
    };

    /// A test of 50 samples. The last query completes after `last_query` seconds, and the latest completion is after `latest` seconds.
    fn outcome(test: &LoadGenTest, last_query: f64, latest: u64) -> TestOutcome {
        let qsl = Qsl { name: "q".into(), total_sample_count: 9, performance_sample_count: 9 };
        let loadgen = LoadGen {
            benchmark: "b".into(),
            round: "v6.1".into(),
            sut_name: "s".into(),
            qsl,
            batch_size: None,
            max_concurrency: None,
            tests: Vec::new(),
            auto_qps: None,
            user_conf: String::new(),
        };
        let phase = PhaseLog {
            phase: Phase::Performance,
            tried: None,
            loaded: Vec::new(),
            generated: Generated::default(),
            messages: Messages::default(),
            loaded_at: Duration::ZERO,
            generated_at: Duration::ZERO,
            ended_at: Duration::ZERO,
            power_begin: Timestamp::UNIX_EPOCH,
            lasted: Duration::from_secs(latest),
            result: Some(PhaseResult {
                sample_latencies_ns: vec![1; 50],
                final_query_all_samples_done_time_s: last_query,
                ..PhaseResult::default()
            }),
            failed: Default::default(),
            stopped_early: None,
        };
        let clock = LogClock { zero: Duration::ZERO, started: Timestamp::UNIX_EPOCH };
        let log = test_log(&loadgen, test, vec![phase], &clock);
        TestOutcome { folder: "Performance", log, answers: Vec::new() }
    }

    fn server(target_qps: f64) -> LoadGenTest {
        let settings = Settings { scenario: Scenario::Server, server_target_qps: target_qps, ..Settings::default() };
        LoadGenTest { settings, audited: true, trials_before: Vec::new() }
    }

    fn document(test: &LoadGenTest, last_query: f64, latest: u64) -> LoadGenTestDocument {
        LoadGenTestDocument::new(&TestVerdict::from_outcome(&outcome(test, last_query, latest)), &[])
    }

    fn check(last_query: f64, latest: u64) -> Vec<String> {
        document(&LoadGenTest { audited: false, ..server(1.0) }, last_query, latest).notes
    }

    #[test]
    fn tests_of_several_loads_are_told_together() {
        let tests = [server(10.0), server(9.5)];
        let report = LoadGenTests::from_tests(tests.iter().map(|it| outcome(it, 1.0, 1)).collect(), Vec::new());
        assert_eq!(report.as_requested(), tests);
    }

    #[test]
    fn a_completed_rate_that_is_too_high_is_told_and_one_of_few_samples_is_not() {
        let told = check(8.0, 10);
        assert!(matches!(&told[..], [note] if note.contains("6.125") && note.contains("rate is 5")), "{told:?}");
        assert_eq!(check(10.0, 10), Vec::<String>::new());
    }

    #[test]
    fn an_audit_is_told_as_such_and_not_asked_to_be_valid() {
        let verdict = TestVerdict::from_outcome(&outcome(&server(1.0), 10.0, 10));
        assert_eq!((verdict.valid, verdict.counts(), &*verdict.result), (Some(false), true, "INVALID"));
        let document = document(&server(1.0), 10.0, 10);
        assert!(document.audited && document.notes[0].contains("submission test06"), "{:?}", document.notes);
    }
}
