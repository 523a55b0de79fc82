//! Compares the summary, and the figures in the detail log, for latencies that were fed to LoadGen's library.

use std::time::Duration;

use jiff::Timestamp;
use loadgen::{
    logs::{
        detail,
        messages::Messages,
        summary,
        test_log::{Build, Generated, PhaseLog, TestLog},
    },
    results::PhaseResult,
};
use serde_json::Value;
use workload_profiles::{
    loadgen::{Effective, Qsl, Settings},
    workload::Phase,
};

use crate::queries;

pub fn assert_case(case: &Value) {
    let name = case["name"].as_str().unwrap();
    let mut log = empty(
        queries::settings(&case["settings"]),
        serde_json::from_value(case["qsl"].clone()).unwrap(),
        case["sut_name"].as_str().unwrap(),
    );
    let expected: Effective = serde_json::from_value(case["effective"].clone()).unwrap();
    assert_eq!(log.effective, expected, "{name}");
    let result: PhaseResult = serde_json::from_value(case["input"].clone()).unwrap();
    log.phases.push(PhaseLog { result: Some(result), ..phase(Phase::Performance) });
    assert_eq!(summary_of(&log), case["expect"]["summary"].as_str().unwrap(), "{name}");

    let expected: Vec<(String, String)> = serde_json::from_value(case["expect"]["detail"].clone()).unwrap();
    let entries = detail::entries(&log).into_iter().map(|it| (it.key.into_owned(), it.value));
    let found: Vec<_> = entries.skip_while(|(key, _)| key != "result_validity").collect();
    assert_eq!(found, expected, "{name}");
}

/// Returns a test without phases.
pub fn empty(settings: Settings, qsl: Qsl, sut_name: &str) -> TestLog {
    TestLog {
        build: Build::own(),
        started: Timestamp::UNIX_EPOCH,
        pid: 1,
        sut_name: sut_name.into(),
        get_sut_name: Duration::ZERO,
        effective: Effective::new(&settings, &qsl),
        qsl,
        settings,
        audited: false,
        messages: Messages::default(),
        phases: Vec::new(),
    }
}

/// Returns a phase without events.
pub fn phase(phase: Phase) -> PhaseLog {
    PhaseLog {
        phase,
        tried: None,
        loaded: Vec::new(),
        generated: Generated::default(),
        messages: Messages::default(),
        loaded_at: Duration::ZERO,
        generated_at: Duration::ZERO,
        ended_at: Duration::ZERO,
        power_begin: Timestamp::UNIX_EPOCH,
        lasted: Duration::ZERO,
        result: None,
        failed: std::collections::BTreeMap::new(),
        stopped_early: None,
    }
}

pub fn summary_of(log: &TestLog) -> String {
    let mut written = Vec::new();
    summary::write(log, &mut written).unwrap();
    String::from_utf8(written).unwrap()
}
