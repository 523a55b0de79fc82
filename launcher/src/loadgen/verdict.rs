//! The verdict on a test, for the verdict on the run and for its reports: its logs in a few values. Pure.

use serde::Serialize;
use serde_json::{Map, Value};
use workload_profiles::loadgen::{Mode, Scenario};

use super::{detail, outcome::TestOutcome};

/// A trial before the tests, to find their rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TrialVerdict {
    /// Queries per second; Offline: what came of it, in samples per second.
    pub rate: f64,
    /// It had the full length of the test.
    pub full: bool,
    /// The limits of the scenario were met, and no sample failed.
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
    /// LoadGen's VALID or INVALID; absent: the test measured no performance, or did not come to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid: Option<bool>,
    /// Why it does not count; empty: it does.
    pub reasons: Vec<String>,
    /// Errors in its detail log. LoadGen's verdict does not ask for them.
    pub errors: u64,
    /// Warnings in its detail log.
    pub warnings: u64,
    /// The results of its detail log, under LoadGen's names.
    pub figures: Map<String, Value>,
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
            // Early stopping is the one bound that gives no reason.
            Some(false) => vec![reason.filter(|it| !it.is_empty()).unwrap_or_else(|| early_stopping(&figures))],
            None => log.phases.iter().flat_map(|it| it.faults()).collect(),
        };
        if log.settings.mode != Mode::AccuracyOnly && valid.is_none() {
            reasons.push("the performance phase did not begin".into());
        }
        let errors = log.errors();
        if errors > 0 && reasons.is_empty() {
            let first = entries.iter().find(|it| it.level == super::messages::Level::Error);
            let first = first.map(|it| value(&it.value)).and_then(|it| it.as_str().map(str::to_owned));
            reasons.push(format!("{errors} errors in the detail log, the first: {}", first.unwrap_or_default()));
        }
        TestVerdict {
            folder: outcome.folder,
            scenario: log.settings.scenario,
            mode: log.settings.mode,
            valid,
            reasons,
            errors,
            warnings: log.warnings(),
            figures,
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
