//! The verdict on a test, for the verdict on the run and for its reports: its logs in a few values. Pure.

use serde::Serialize;
use serde_json::{Map, Value};
use workload_profiles::loadgen::{Mode, Scenario};

use super::outcome::TestOutcome;
use loadgen::{
    logs::{detail, messages::Level},
    results::{honest::Honest, stopping::Stopping},
};

/// A trial before the tests, to find their rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TrialVerdict {
    /// Queries per second; Offline: what came of it, in samples per second.
    pub rate: f64,
    /// It had the full length of the test.
    pub full: bool,
    /// The limits of the scenario were met, and no sample failed; in the launcher's own search also to the end of the trial, and at
    /// full length as early stopping asks.
    pub met: bool,
}

/// What a test came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestVerdict {
    /// The folder of its logs.
    pub folder: &'static str,
    /// How its queries were issued.
    pub scenario: Scenario,
    /// Which phases it had.
    pub mode: Mode,
    /// It is the run of a compliance test, which has too few queries to be VALID: its answers are what is judged.
    pub audited: bool,
    /// VALID or INVALID; complete or incomplete where LoadGen says neither.
    pub result: &'static str,
    /// LoadGen's VALID or INVALID; absent: the test measured no performance, or did not come to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid: Option<bool>,
    /// Why it does not count; empty: it does.
    pub reasons: Vec<String>,
    /// Errors in its detail log. LoadGen's verdict does not ask for them.
    pub errors: u64,
    /// Warnings in its detail log.
    pub warnings: u64,
    /// The first of them that tells more than that the test is an audit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_warning: Option<String>,
    /// The results of its detail log, under LoadGen's names.
    pub figures: Map<String, Value>,
    /// What these say without LoadGen's quirks; absent as `valid` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_quirks: Option<WithoutQuirks>,
}

/// Figures that LoadGen gives another meaning than their names say.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WithoutQuirks {
    /// Until the latest completion, not until that of the query that was issued last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples_per_second: Option<f64>,
    /// Likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_second: Option<f64>,
    /// Early stopping on first tokens, whatever became of that on times per output token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_early_stopping_met: Option<bool>,
    /// Early stopping on times per output token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpot_early_stopping_met: Option<bool>,
    /// The early-stopping estimate of the target percentile of latencies, in nanoseconds, where LoadGen logs one of first tokens
    /// under that name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_stopping_latency_ns: Option<i64>,
    /// Samples with fewer than two tokens, whose time per output token is negative in the logs.
    pub too_few_tokens: u64,
}

impl WithoutQuirks {
    fn of(honest: &Honest) -> WithoutQuirks {
        let met = |it: &Option<Stopping>| it.as_ref().map(|it| it.met);
        WithoutQuirks {
            samples_per_second: honest.samples_per_second,
            tokens_per_second: honest.tokens_per_second,
            ttft_early_stopping_met: met(&honest.ttft),
            tpot_early_stopping_met: met(&honest.tpot),
            early_stopping_latency_ns: honest.latency.as_ref().and_then(|it| it.estimate),
            too_few_tokens: honest.too_few_tokens,
        }
    }
}

impl TestVerdict {
    /// The verdict that the logs of a test hold.
    pub fn of(outcome: &TestOutcome) -> TestVerdict {
        let log = &outcome.log;
        let entries = detail::entries(log);
        // What is no finite number stands in the logs as no JSON.
        let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
        let results = entries.iter().filter(|it| it.key.starts_with("result_") || it.key.starts_with("early_stopping"));
        let mut figures: Map<String, Value> = results.map(|it| (it.key.to_string(), value(&it.value))).collect();
        let valid = figures.remove("result_validity").map(|it| it == "VALID");
        let reason = figures.remove("result_invalid_reason");
        let reason = reason.as_ref().and_then(Value::as_str).map(|it| it.trim().to_owned());
        let mut reasons: Vec<String> = match valid {
            Some(true) => Vec::new(),
            // An audit is to measure nothing; what counts is that every answer came.
            Some(false) if log.audited => log.faults(),
            // Early stopping is the one bound that gives no reason.
            Some(false) => vec![reason.filter(|it| !it.is_empty()).unwrap_or_else(|| early_stopping(&figures))],
            None => log.faults(),
        };
        if log.settings.mode != Mode::AccuracyOnly && valid.is_none() {
            reasons.push("the performance phase did not begin".into());
        }
        let lasted = log.reported().map(|it| it.lasted.as_secs_f64()).unwrap_or_default();
        let without_quirks = log.judged(|results, _| WithoutQuirks::of(&Honest::of(results, lasted)));
        let errors = log.errors();
        if errors > 0 && reasons.is_empty() {
            let first = entries.iter().find(|it| it.level == Level::Error);
            let first = first.map(|it| value(&it.value)).and_then(|it| it.as_str().map(str::to_owned));
            reasons.push(format!("{errors} errors in the detail log, the first: {}", first.unwrap_or_default()));
        }
        let counts = reasons.is_empty();
        let warned = entries.iter().filter(|it| it.level == Level::Warning);
        let mut warned = warned.map(|it| value(&it.value)).filter_map(|it| it.as_str().map(str::to_owned));
        TestVerdict {
            audited: log.audited,
            result: match (valid, counts) {
                (Some(true), _) => "VALID",
                (Some(false), _) => "INVALID",
                (None, true) => "complete",
                (None, false) => "incomplete",
            },
            first_warning: warned.nth(usize::from(log.audited)),
            folder: outcome.folder,
            scenario: log.settings.scenario,
            mode: log.settings.mode,
            valid,
            reasons,
            errors,
            warnings: log.warnings(),
            figures,
            without_quirks,
        }
    }

    /// Whether the test counts: VALID where that is said, and nothing went wrong.
    pub fn counts(&self) -> bool {
        self.reasons.is_empty()
    }
}

fn early_stopping(figures: &Map<String, Value>) -> String {
    let texts = ["early_stopping_result", "early_stopping_ttft_result", "early_stopping_tpot_result"];
    let texts = texts.iter().filter_map(|key| figures.get(*key)?.as_str()).map(str::trim).filter(|it| !it.is_empty());
    format!("early stopping was not met: {}", texts.collect::<Vec<_>>().join(" "))
}
