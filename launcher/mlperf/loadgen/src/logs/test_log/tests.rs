use workload_profiles::loadgen::{Mode, Scenario};

use super::*;
use crate::{
    logs::{detail, summary},
    peak::Trial,
};

/// Returns a Server test with one VALID performance phase.
fn valid() -> TestLog {
    let settings = Settings { scenario: Scenario::Server, min_duration_ms: 1_000, ..Settings::default() };
    let qsl = Qsl { name: "QSL".into(), total_sample_count: 10, performance_sample_count: 10 };
    let measured = PhaseResult {
        sample_latencies_ns: vec![1_000; 500],
        queries_issued: 500,
        final_query_scheduled_time_s: 1.0,
        final_query_issued_time_s: 1.0,
        final_query_all_samples_done_time_s: 2.0,
        ..PhaseResult::default()
    };
    TestLog {
        build: Build::own(),
        started: Timestamp::UNIX_EPOCH,
        pid: 1,
        sut_name: "a \"SUT\"".into(),
        get_sut_name: Duration::from_millis(2),
        effective: Effective::new(&settings, &qsl),
        qsl,
        settings,
        audited: false,
        messages: Messages::default(),
        phases: vec![phase(Some(measured))],
    }
}

fn phase(result: Option<PhaseResult>) -> PhaseLog {
    PhaseLog {
        phase: Phase::Performance,
        tried: None,
        loaded: vec![1, 0],
        generated: Generated::default(),
        messages: Messages::default(),
        loaded_at: Duration::from_millis(3),
        generated_at: Duration::from_millis(4),
        ended_at: Duration::from_millis(1_500),
        power_begin: Timestamp::UNIX_EPOCH,
        lasted: Duration::from_millis(1_234),
        result,
        failed: BTreeMap::new(),
        stopped_early: None,
    }
}

fn summary_of(log: &TestLog) -> String {
    let mut written = Vec::new();
    summary::write(log, &mut written).unwrap();
    String::from_utf8(written).unwrap()
}

fn detail_of(log: &TestLog) -> Vec<serde_json::Value> {
    let mut written = Vec::new();
    detail::write(log, &mut written).unwrap();
    let text = String::from_utf8(written).unwrap();
    text.lines().map(|it| serde_json::from_str(it.strip_prefix(":::MLLOG ").unwrap()).unwrap()).collect()
}

fn value(log: &TestLog, key: &str) -> serde_json::Value {
    let lines = detail_of(log);
    lines.iter().find(|it| it["key"] == key).unwrap_or_else(|| panic!("no {key}"))["value"].clone()
}

/// Returns the values of the lines that are marked as errors.
fn errors(log: &TestLog) -> Vec<String> {
    let lines = detail_of(log).into_iter().filter(|it| it["metadata"]["is_error"] == true);
    lines.map(|it| it["value"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn failed_samples_make_a_run_invalid_with_the_reason_in_both_logs() {
    let mut log = valid();
    assert!(summary_of(&log).contains("Result is : VALID\n"));
    log.phases[0].failed = BTreeMap::from([("timeout".into(), 2), ("refused".into(), 10)]);
    let fault = "12 samples failed (refused: 10, timeout: 2); a run with failed samples is never VALID.";
    let summary = summary_of(&log);
    assert!(summary.contains("Result is : INVALID\n"), "{summary}");
    assert!(summary.contains(&format!("Recommendations:\n * {fault}\nEarly Stopping Result:\n")), "{summary}");
    assert!(summary.ends_with("\n2 ERRORS encountered. See detailed log.\n"), "{summary}");
    assert_eq!(value(&log, "result_validity"), "INVALID");
    assert_eq!(value(&log, "result_invalid_reason"), fault);
    assert_eq!(value(&log, "num_errors"), 2);
    assert_eq!(errors(&log), ["10 samples failed: refused", "2 samples failed: timeout"]);
}

#[test]
fn a_run_that_was_cut_short_is_invalid_behind_loadgens_own_reasons() {
    let mut log = valid();
    log.phases[0].stopped_early = Some("the deadline was reached".into());
    log.phases[0].result.as_mut().unwrap().queries_issued = 99;
    let reason = "The test exited early, before enough queries were issued. The run was ended before its time: the \
                  deadline was reached.";
    assert_eq!(value(&log, "result_invalid_reason"), reason);
    assert_eq!(errors(&log), ["Ending early: the deadline was reached"]);
    assert!(summary_of(&log).contains(" * The run was ended before its time: the deadline was reached.\n"));
}

#[test]
fn reasons_without_number_are_told_as_one() {
    let mut log = valid();
    log.phases[0].failed = (0..500).map(|it| (format!("reason {it}"), 1)).collect();
    let errors = errors(&log);
    assert_eq!((errors.len(), log.errors()), (21, 21));
    assert_eq!(errors.last().unwrap(), "480 samples failed: other reasons");
    assert!(value(&log, "result_invalid_reason").as_str().unwrap().len() < 1_000);
}

#[test]
fn errors_of_loadgens_own_do_not_touch_the_verdict() {
    let mut log = valid();
    log.phases[0].messages.push(Duration::ZERO, Event::OneToken);
    assert!(log.judged(|_, validity| validity.valid()).unwrap());
    assert_eq!((log.errors(), value(&log, "num_errors")), (1, 1.into()));
}

#[test]
fn a_flood_of_messages_is_counted_in_full() {
    let mut log = valid();
    (0..10_000).for_each(|_| log.phases[0].messages.push(Duration::ZERO, Event::OneToken));
    let errors = errors(&log);
    assert!(errors.len() < 3_000 && errors.last().unwrap().starts_with("8000 further errors"), "{:?}", errors.last());
    assert_eq!(value(&log, "num_errors"), 10_001);
}

#[test]
fn every_line_is_json_and_time_never_goes_back() {
    let mut log = valid();
    log.phases[0].messages.push(Duration::from_millis(5), Event::Warning("a \"quoted\"\nwarning".into()));
    let lines = detail_of(&log);
    assert!(lines.is_sorted_by_key(|it| it["time_ms"].as_f64().unwrap()));
    assert_eq!(lines.last().unwrap()["time_ms"], 1_500.0);
    assert_eq!(value(&log, "sut_name"), "a \"SUT\"");
    assert_eq!(value(&log, "power_begin"), "01-01-1970 00:00:00.000");
    assert_eq!(value(&log, "power_end"), "01-01-1970 00:00:01.234");
}

#[test]
fn the_logs_do_not_claim_to_be_an_official_build() {
    let version = value(&valid(), "loadgen_version");
    assert!(version.as_str().unwrap().starts_with("6.0.17-compatible (benchwright "), "{version}");
    assert_eq!(value(&valid(), "loadgen_file_sha1"), serde_json::json!({}));
}

#[test]
fn a_search_reports_its_last_trial_that_met_the_limits_at_its_rate() {
    let mut log = valid();
    let measured = log.phases.remove(0).result;
    log.settings.mode = Mode::FindPeakPerformance;
    let trials = [
        (Trial::Base { rate: 1.0 }, true),
        (Trial::Boundary { lower: 1.0, upper: 2.0 }, false),
        (Trial::Middle { lower: 1.0, upper: 2.0 }, true),
    ];
    for (trial, met) in trials {
        log.phases.push(PhaseLog { tried: Some(Tried { trial, met }), ..phase(measured.clone()) });
    }
    assert_eq!(log.judged(|results, _| results.effective.target_qps), Some(1.5));
    assert!(summary_of(&log).contains("\ntarget_qps : 1.5\n"));
    log.phases.truncate(1);
    log.phases[0].tried = Some(Tried { trial: Trial::Base { rate: 1.0 }, met: false });
    let expected = "FindPeakPerformance: Initial lower bound does not satisfy performance constraints, msg: ";
    assert_eq!((errors(&log), log.errors()), (vec![expected.to_owned()], 1));
}

#[test]
fn what_failed_in_another_phase_counts_and_in_another_trial_does_not() {
    let mut log = valid();
    log.phases.insert(0, PhaseLog { phase: Phase::Accuracy { set: 0 }, ..phase(None) });
    log.phases[0].failed = BTreeMap::from([("timeout".into(), 1)]);
    assert_eq!(value(&log, "result_validity"), "INVALID");
    let mut log = valid();
    log.settings.mode = Mode::FindPeakPerformance;
    log.phases[0].tried = Some(Tried { trial: Trial::Base { rate: 1.0 }, met: true });
    let trial = Some(Tried { trial: Trial::Boundary { lower: 1.0, upper: 2.0 }, met: false });
    log.phases.push(PhaseLog { tried: trial, failed: BTreeMap::from([("timeout".into(), 1)]), ..phase(None) });
    assert_eq!(value(&log, "result_validity"), "VALID");
    log.phases[1].stopped_early = Some("a user stopped it".into());
    assert_eq!(value(&log, "result_validity"), "INVALID");
}

#[test]
fn a_test_without_a_performance_phase_has_the_closing_lines_only() {
    let mut log = valid();
    log.phases[0].phase = Phase::Accuracy { set: 0 };
    log.phases[0].result = None;
    let closing = "\nNo warnings encountered during test.\n\nNo errors encountered during test.\n";
    assert_eq!(summary_of(&log), closing);
    log.audited = true;
    assert!(summary_of(&log).starts_with("\n1 warning encountered. See detailed log.\n"));
}

#[test]
fn what_ended_all_phases_is_told_once() {
    let mut log = valid();
    log.phases[0].stopped_early = Some("it was stopped on request".into());
    log.phases[0].failed = BTreeMap::from([("timeout".into(), 1)]);
    log.phases.insert(0, PhaseLog { phase: Phase::Accuracy { set: 0 }, result: None, ..log.phases[0].clone() });
    log.phases.insert(0, log.phases[0].clone());
    let failed = "1 sample failed (timeout: 1); a run with failed samples is never VALID.";
    let ended = "The run was ended before its time: it was stopped on request.";
    // Failed samples are reported for each phase, but the early end is reported once.
    assert_eq!(value(&log, "result_invalid_reason"), [failed, failed, failed, ended].join(" "));
    log.phases.pop();
    log.settings.mode = Mode::AccuracyOnly;
    assert_eq!(log.faults(), [failed, failed, ended]);
}
