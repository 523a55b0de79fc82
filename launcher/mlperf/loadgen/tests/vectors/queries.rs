//! Compares generated queries: normalised settings, sample sets, schedules and orders of issue.

use loadgen::queries::{PhaseQueries, QueryGenerator};
use serde_json::{Value, json};
use workload_profiles::{
    loadgen::{Effective, Qsl, Settings},
    workload::LoadGenTest,
};

use crate::{digest, integers};

/// Compares all phases of a test.
pub fn assert_case(case: &Value) {
    let name = case["name"].as_str().unwrap();
    let qsl: Qsl = serde_json::from_value(case["qsl"].clone()).unwrap();
    let settings = settings(&case["settings"]);
    let expected: Effective = serde_json::from_value(case["expect"]["effective"].clone()).unwrap();
    let mut generator = QueryGenerator::new(&settings, &qsl).unwrap();
    assert_eq!(*generator.effective(), expected, "{name}");
    let phases = LoadGenTest { settings, audited: false, trials_before: Vec::new() }.phases(&qsl);
    let sets = case["expect"]["sets"].as_array().unwrap();
    assert_eq!(phases.len(), sets.len(), "{name}: sets");
    for (phase, set) in phases.into_iter().zip(sets) {
        check_set(&format!("{name}, {phase:?}"), &generator.phase(phase).unwrap(), set);
    }
}

/// Reads settings. The recordings contain flags as 0 and 1.
pub fn settings(given: &Value) -> Settings {
    let switches = serde_json::to_value(Settings::default()).unwrap();
    let mut given = given.clone();
    for (key, value) in given.as_object_mut().unwrap() {
        if switches[key].is_boolean() && value.is_number() {
            *value = json!(*value != 0);
        }
    }
    serde_json::from_value(given).unwrap()
}

fn check_set(name: &str, phase: &PhaseQueries, expected: &Value) {
    let loaded: Vec<u64> = phase.set.indices.iter().map(|it| u64::from(*it)).collect();
    assert!(loaded.starts_with(&integers(&expected["loaded_set"])), "{name}: loaded set");
    assert_eq!(loaded.len(), expected["loaded_set_count"], "{name}: loaded set");
    assert_eq!(digest(loaded), expected["loaded_set_fnv"], "{name}: loaded set");
    assert_eq!(phase.set.end, expected["sample_distribution_end"], "{name}");
    assert_eq!(phase.len(), expected["query_count"], "{name}: queries");
    assert_eq!(phase.sample_count(), expected["sample_count"], "{name}: samples");
    let due = |query: usize| u64::try_from(phase.due(query).as_nanos()).unwrap();
    let samples = |query: usize| phase.samples(query).iter().map(|it| u64::from(*it));
    assert_eq!(digest((0..phase.len()).map(due)), expected["schedule_fnv"], "{name}: schedule");
    assert_eq!(digest((0..phase.len()).flat_map(samples)), expected["samples_fnv"], "{name}: samples");
    let shown = |key: &str| expected.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let first = shown("first");
    assert!(!first.is_empty(), "{name}: no queries are shown");
    for query in first.into_iter().chain(shown("last")) {
        let place = usize::try_from(query["seq"].as_u64().unwrap() - phase.first_query).unwrap();
        assert_eq!(due(place), query["t_ns"], "{name}: query {place}");
        let all: Vec<u64> = samples(place).collect();
        assert!(all.starts_with(&integers(&query["samples"])), "{name}: query {place}");
        let count = query.get("n_samples").unwrap_or(&json!(integers(&query["samples"]).len())).clone();
        assert_eq!(all.len(), count, "{name}: query {place}");
    }
}
