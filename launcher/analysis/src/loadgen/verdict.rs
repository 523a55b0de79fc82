//! The verdict on a LoadGen test, which the run's verdict and reports use. Pure.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use workload_profiles::loadgen::{Mode, Scenario};

use super::outcome::TestOutcome;
use loadgen::{
    logs::{messages::Level, test_log::TestLog},
    results::{
        Results,
        corrected::CorrectedResults,
        early_stopping_outcome::EarlyStoppingOutcome,
        figures::{INVALID_REASON, VALIDITY, figures},
        validity::Validity,
    },
};

/// A trial that was run before the tests, to find the rate at which they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrialVerdict {
    /// The rate in queries per second; in Offline, the measured samples per second.
    pub rate: f64,
    /// Whether the trial was as long as the test.
    pub full: bool,
    /// Whether the limits of the scenario were met and no sample failed. In the launcher's own search, two more conditions apply: the limits must
    /// hold until the end of the trial, and a trial of full length must pass early stopping.
    pub met: bool,
}

/// The result of a test.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestVerdict {
    /// The folder of its logs.
    pub folder: Cow<'static, str>,
    /// The scenario in which its queries were issued.
    pub scenario: Scenario,
    /// The mode, which determines its phases.
    pub mode: Mode,
    /// Whether the test is the run of a compliance test. Such a run has too few queries for LoadGen's VALID, so only its answers are judged.
    pub audited: bool,
    /// LoadGen's VALID or INVALID. If LoadGen reports neither: complete or incomplete.
    pub result: Cow<'static, str>,
    /// LoadGen's VALID or INVALID; absent if the test measured no performance, or did not reach that phase.
    pub valid: Option<bool>,
    /// The reason why the test does not count; empty if it counts.
    pub reasons: Vec<String>,
    /// Errors in its detail log. LoadGen's verdict ignores them.
    pub errors: u64,
    /// Warnings in its detail log.
    pub warnings: u64,
    /// The first warning, except those that the audit itself causes.
    pub first_warning: Option<String>,
    /// The scheduled rate of its queries, in queries per second; present only in the scenario Server.
    pub target_qps: Option<f64>,
    /// The results of its detail log, under LoadGen's names.
    pub figures: Map<String, Value>,
    /// The performance figures for tables; absent when `valid` is absent.
    #[serde(skip)]
    pub headline: Option<Headline>,
    /// The headline figures with LoadGen's misleading values corrected; absent when `valid` is absent.
    #[serde(rename = "withoutQuirks")]
    pub corrected: Option<CorrectedFigures>,
}

/// The figures of a performance phase that tables show, as LoadGen computes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Headline {
    pub queries: u64,
    /// In Server, only completed samples count. Absent in SingleStream and MultiStream, and if no time passed.
    pub samples_per_second: Option<f64>,
    /// Present only with token latencies.
    pub tokens_per_second: Option<f64>,
    /// Present only with token latencies, and not in Offline.
    pub ttft_p99_ns: Option<i64>,
    /// Present only with token latencies, and not in Offline.
    pub tpot_p99_ns: Option<i64>,
}

impl Headline {
    fn new(results: &Results) -> Headline {
        let scenario = results.settings.scenario;
        let tokens = results.settings.use_token_latencies;
        let streams = tokens && scenario != Scenario::Offline;
        let samples_per_second = match scenario {
            Scenario::Server => Some(results.completed_per_second()),
            Scenario::Offline => Some(results.offline_per_second()),
            Scenario::SingleStream | Scenario::MultiStream => None,
        };
        let tokens_per_second =
            if streams { results.completed_tokens_per_second() } else { results.offline_tokens_per_second() };
        Headline {
            queries: results.measured.queries_issued,
            samples_per_second: samples_per_second.filter(|it| it.is_finite()),
            tokens_per_second: tokens.then_some(tokens_per_second).filter(|it| it.is_finite()),
            ttft_p99_ns: streams.then(|| results.first_tokens.percentile(0.99)),
            tpot_p99_ns: streams.then(|| results.per_token.percentile(0.99)),
        }
    }
}

/// Corrected values of figures that LoadGen reports under misleading names.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CorrectedFigures {
    /// Counts until the latest completion. LoadGen's own figure ends earlier: at the completion of the query that was issued last.
    pub samples_per_second: Option<f64>,
    pub tokens_per_second: Option<f64>,
    /// Whether early stopping on first tokens is met, independent of early stopping on times per output token.
    pub ttft_early_stopping_met: Option<bool>,
    /// Whether early stopping on times per output token is met.
    pub tpot_early_stopping_met: Option<bool>,
    /// The early-stopping estimate of the target percentile of latencies, in nanoseconds. Present if LoadGen logs the estimate for first tokens under
    /// the name of this estimate.
    pub early_stopping_latency_ns: Option<i64>,
    /// Number of samples with fewer than two tokens. Their time per output token is negative in the logs.
    pub too_few_tokens: u64,
}

impl CorrectedFigures {
    fn from_results(corrected: &CorrectedResults) -> CorrectedFigures {
        let met = |it: &Option<EarlyStoppingOutcome>| it.as_ref().map(|it| it.met);
        CorrectedFigures {
            samples_per_second: corrected.samples_per_second,
            tokens_per_second: corrected.tokens_per_second,
            ttft_early_stopping_met: met(&corrected.ttft),
            tpot_early_stopping_met: met(&corrected.tpot),
            early_stopping_latency_ns: corrected.latency.as_ref().and_then(|it| it.estimate),
            too_few_tokens: corrected.too_few_tokens,
        }
    }
}

/// The verdict on a performance phase that completed at least one sample.
struct Judged {
    valid: bool,
    /// The reason why the test is INVALID; empty if it is VALID.
    reason: String,
    figures: Map<String, Value>,
    headline: Headline,
    corrected: CorrectedFigures,
}

impl Judged {
    fn new(log: &TestLog) -> Option<Judged> {
        let lasted = log.reported()?.lasted.as_secs_f64();
        log.judged(|results, validity| Judged {
            valid: validity.valid(),
            reason: if validity.valid() { String::new() } else { invalid_reason(validity) },
            figures: named_figures(results, validity),
            headline: Headline::new(results),
            corrected: CorrectedFigures::from_results(&CorrectedResults::new(results, lasted)),
        })
    }
}

impl TestVerdict {
    /// The verdict on a test.
    pub fn from_outcome(outcome: &TestOutcome) -> TestVerdict {
        let log = &outcome.log;
        let judged = Judged::new(log);
        let valid = judged.as_ref().map(|it| it.valid);
        let errors = log.errors();
        let reasons = reasons(log, judged.as_ref(), errors);
        let mut warnings = texts(log, Level::Warning);
        let (figures, headline, corrected) = match judged {
            Some(it) => (it.figures, Some(it.headline), Some(it.corrected)),
            None => (Map::new(), None, None),
        };
        TestVerdict {
            audited: log.audited,
            result: match (valid, reasons.is_empty()) {
                (Some(true), _) => "VALID",
                (Some(false), _) => "INVALID",
                (None, true) => "complete",
                (None, false) => "incomplete",
            }
            .into(),
            first_warning: warnings.nth(usize::from(log.audited)),
            folder: outcome.folder.into(),
            scenario: log.settings.scenario,
            mode: log.settings.mode,
            valid,
            reasons,
            errors,
            warnings: log.warnings(),
            target_qps: Some(log.effective.target_qps).filter(|_| log.settings.scenario == Scenario::Server),
            figures,
            headline,
            corrected,
        }
    }

    /// Whether the test counts: LoadGen reports VALID (where it decides), and the log has no errors.
    pub fn counts(&self) -> bool {
        self.reasons.is_empty()
    }
}

/// The reason why a test does not count; empty if it counts.
fn reasons(log: &TestLog, judged: Option<&Judged>, errors: u64) -> Vec<String> {
    let mut reasons = match judged {
        Some(Judged { valid: true, .. }) => Vec::new(),
        // An audit does not have to measure performance. It counts if every answer arrived.
        Some(_) if log.audited => log.faults(),
        Some(judged) => vec![judged.reason.clone()],
        None => log.faults(),
    };
    if log.settings.mode != Mode::AccuracyOnly && judged.is_none() {
        reasons.push("the performance phase did not begin".into());
    }
    if errors > 0 && reasons.is_empty() {
        let first = texts(log, Level::Error).next().unwrap_or_default();
        reasons.push(format!("{errors} errors in the detail log, the first: {first}"));
    }
    reasons
}

/// The texts of the detail log's messages with this level, in order.
fn texts(log: &TestLog, level: Level) -> impl Iterator<Item = String> {
    log.events().filter(move |it| it.level() == level).map(|it| it.text())
}

/// The figures of the detail log, except the verdict and its reason, which are fields of [`TestVerdict`].
fn named_figures(results: &Results, validity: &Validity) -> Map<String, Value> {
    let named = figures(results, validity).into_iter().map(|it| (it.key.into_owned(), Value::from(&it.value)));
    let mut named: Map<String, Value> = named.collect();
    // `shift_remove` keeps the log's order of the other keys.
    named.shift_remove(VALIDITY);
    named.shift_remove(INVALID_REASON);
    named
}

/// Why LoadGen reports INVALID. LoadGen logs no reason for early stopping, so this adds one.
fn invalid_reason(validity: &Validity) -> String {
    let reason = validity.invalid_reason();
    let reason = reason.trim();
    if reason.is_empty() { early_stopping(validity) } else { reason.to_owned() }
}

fn early_stopping(validity: &Validity) -> String {
    let stops = &validity.early_stopping;
    let lines = [&stops.latency, &stops.ttft, &stops.tpot].into_iter().flatten().map(EarlyStoppingOutcome::line);
    let lines: Vec<String> = lines.map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect();
    format!("early stopping was not met: {}", lines.join(" "))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use workload_profiles::{
        loadgen::{Effective, Qsl, Settings},
        workload::Phase,
    };

    use super::*;
    use loadgen::{
        logs::{
            detail,
            messages::{Event, Messages},
            test_log::{Build, Generated, PhaseLog},
        },
        results::PhaseResult,
    };

    fn outcome(settings: Settings, audited: bool, result: PhaseResult) -> TestOutcome {
        let qsl = Qsl { name: "q".into(), total_sample_count: 9, performance_sample_count: 9 };
        let mut messages = Messages::default();
        messages.push(Duration::ZERO, Event::EndingNaturally);
        messages.push(Duration::ZERO, Event::OneToken);
        messages.push(Duration::ZERO, Event::Warning("a warning".into()));
        let phase = PhaseLog {
            phase: Phase::Performance,
            tried: None,
            loaded: Vec::new(),
            generated: Generated::default(),
            messages,
            loaded_at: Duration::ZERO,
            generated_at: Duration::ZERO,
            ended_at: Duration::ZERO,
            power_begin: Timestamp::UNIX_EPOCH,
            lasted: Duration::from_secs(10),
            result: Some(result),
            failed: Default::default(),
            stopped_early: None,
        };
        let log = TestLog {
            build: Build::own(),
            started: Timestamp::UNIX_EPOCH,
            pid: 1,
            sut_name: "s".into(),
            get_sut_name: Duration::ZERO,
            effective: Effective::new(&settings, &qsl),
            qsl,
            settings,
            audited,
            messages: Messages::default(),
            phases: vec![phase],
        };
        TestOutcome { folder: "Performance", log, answers: Vec::new() }
    }

    fn result(samples: i64) -> PhaseResult {
        PhaseResult {
            sample_latencies_ns: (1..=samples).map(|it| it * 1_000_003).collect(),
            query_latencies_ns: (1..=samples).map(|it| it * 2_000_003).collect(),
            first_token_latencies_ns: (1..=samples).map(|it| it * 500_003).collect(),
            time_per_output_token_ns: (1..=samples).map(|it| it * 50_003).collect(),
            tokens_per_sample: vec![7; usize::try_from(samples).unwrap()],
            queries_issued: samples.unsigned_abs(),
            max_latency_s: samples as f64 / 999.0,
            final_query_scheduled_time_s: samples as f64 / 30.0,
            final_query_issued_time_s: samples as f64 / 29.0,
            final_query_all_samples_done_time_s: samples as f64 / 28.0,
        }
    }

    /// The detail log as keys with values, the texts of its errors, and the texts of its warnings.
    fn lines(log: &TestLog) -> (Map<String, Value>, Vec<Value>, Vec<Value>) {
        let mut written = Vec::new();
        detail::write(log, &mut written).unwrap();
        let (mut figures, mut errors, mut warnings) = (Map::new(), Vec::new(), Vec::new());
        for line in String::from_utf8(written).unwrap().lines() {
            let line = line.strip_prefix(":::MLLOG ").unwrap();
            // The log can contain numbers that JSON does not allow.
            let line = ["NaN", "Infinity"].iter().fold(line.to_owned(), |line, word| {
                line.replace(&format!("\"value\": {word}"), &format!("\"value\": \"{word}\""))
            });
            let line: Value = serde_json::from_str(&line).unwrap();
            let key = line["key"].as_str().unwrap();
            if key.starts_with("result_") || key.starts_with("early_stopping") {
                figures.insert(key.to_owned(), line["value"].clone());
            }
            if line["metadata"]["is_error"] == true {
                errors.push(line["value"].clone());
            }
            if line["metadata"]["is_warning"] == true {
                warnings.push(line["value"].clone());
            }
        }
        (figures, errors, warnings)
    }

    fn check(settings: Settings, audited: bool, result: PhaseResult) {
        let outcome = outcome(settings, audited, result);
        let found = TestVerdict::from_outcome(&outcome);
        let (mut expected, errors, warnings) = lines(&outcome.log);
        let valid = expected.shift_remove("result_validity").map(|it| it == "VALID");
        let reason = expected.shift_remove("result_invalid_reason");
        assert_eq!(Value::from(found.figures.clone()).to_string(), Value::from(expected.clone()).to_string());
        assert_eq!((found.valid, found.errors), (valid, errors.len() as u64));
        assert_eq!(found.warnings, warnings.len() as u64);
        let first_warning = found.first_warning.as_deref();
        assert_eq!(first_warning, warnings.get(usize::from(audited)).and_then(Value::as_str));
        match reason.as_ref().and_then(Value::as_str).map(str::trim) {
            None => assert!(found.reasons[0].ends_with(errors[0].as_str().unwrap()), "{:?}", found.reasons),
            Some(_) if audited => assert!(found.reasons[0].starts_with("1 errors"), "{:?}", found.reasons),
            Some("") => assert!(found.reasons[0].starts_with("early stopping was not met: *"), "{:?}", found.reasons),
            Some(reason) => assert_eq!(found.reasons, [reason]),
        }
        check_headline(found.headline.as_ref().unwrap(), &expected);
    }

    /// The log prints a rate with six digits.
    fn check_headline(found: &Headline, logged: &Map<String, Value>) {
        let first = |keys: [&str; 2]| keys.iter().find_map(|it| logged.get(*it)?.as_f64());
        let near = |found: Option<f64>, keys| match (found, first(keys)) {
            (Some(found), Some(logged)) => assert!((found - logged).abs() <= 5e-6 * logged, "{found} is not {logged}"),
            (found, logged) => assert_eq!(found, logged),
        };
        assert_eq!(logged["result_query_count"], found.queries);
        near(found.samples_per_second, ["result_completed_samples_per_sec", "result_samples_per_second"]);
        near(found.tokens_per_second, ["result_completed_tokens_per_second", "result_tokens_per_second"]);
        let nanos = |key: &str| logged.get(key).and_then(Value::as_i64);
        assert_eq!(found.ttft_p99_ns, nanos("result_first_token_99.00_percentile_latency_ns"));
        assert_eq!(found.tpot_p99_ns, nanos("result_time_per_output_token_99.00_percentile_ns"));
    }

    #[test]
    fn a_verdict_says_what_the_detail_log_says() {
        for scenario in Scenario::ALL {
            for (use_token_latencies, audited, samples) in [
                (false, false, 700),
                (true, false, 700),
                (true, true, 700),
                (false, false, 20),
                (true, false, 20),
                (false, false, 0),
                (true, true, 0),
            ] {
                for limit in [0, u64::MAX] {
                    let settings = Settings {
                        scenario,
                        use_token_latencies,
                        infer_token_latencies: use_token_latencies,
                        min_query_count: 10,
                        server_target_latency_ns: limit,
                        server_ttft_latency: limit,
                        server_tpot_latency: limit,
                        ..Settings::default()
                    };
                    check(settings.clone(), audited, result(samples));
                    let short = PhaseResult { max_latency_s: 60.0, ..result(samples) };
                    check(Settings { test05: true, ..settings }, audited, short);
                }
            }
        }
    }
}
