//! Compares the settings that result from a configuration file.

use serde_json::{Map, Value, json};
use workload_profiles::loadgen::{ConfFile, Mode, Round, Scenario, Settings, apply_config};

/// The modes, in the order of their numbers in configuration files.
const MODES: [Mode; 4] = [Mode::SubmissionRun, Mode::AccuracyOnly, Mode::PerformanceOnly, Mode::FindPeakPerformance];

pub fn assert_case(case: &Value) {
    let text = |key: &str| case[key].as_str().unwrap();
    let (name, model) = (text("name"), text("model"));
    let scenario = Scenario::ALL.into_iter().find(|it| it.name() == text("scenario")).unwrap();
    let mut settings = Settings::default();
    let mut code = 0;
    let mut apply = |file: ConfFile, text: Option<&str>| {
        if let Err(error) = apply_config(file, text, model, scenario, &mut settings) {
            code = error.return_code();
        }
    };
    let kind = case["conf_type"].as_u64().unwrap();
    if kind < 2 {
        apply(ConfFile::MlperfConf, Some(&Round::default().mlperf_conf()));
    }
    match kind {
        0 => assert_eq!(case["file"], "", "{name}: the file is the library's own"),
        1 => apply(ConfFile::UserConf, case["file"].as_str()),
        2 => apply(ConfFile::AuditConfig, case["file"].as_str()),
        other => panic!("{name}: no conf_type is {other}"),
    }
    assert_eq!(Value::from(code), case["return_code"], "{name}: return code");
    let expected = case["settings"].as_object().unwrap();
    let found = fields(&settings, expected);
    assert!(expected.len() >= 30, "{name} has too few settings");
    assert_eq!(Value::Object(found), Value::Object(expected.clone()), "{name}");
}

/// Converts the settings to the format of the recordings: flags and the mode as numbers, infinite values as text.
fn fields(settings: &Settings, expected: &Map<String, Value>) -> Map<String, Value> {
    let all = serde_json::to_value(settings).unwrap();
    let mode = MODES.iter().position(|it| *it == settings.mode).unwrap();
    let reals = [
        ("single_stream_expected_latency_ns", settings.single_stream_expected_latency_ns),
        ("single_stream_target_latency_percentile", settings.single_stream_target_latency_percentile),
        ("multi_stream_expected_latency_ns", settings.multi_stream_expected_latency_ns),
        ("multi_stream_target_latency_percentile", settings.multi_stream_target_latency_percentile),
        ("server_target_qps", settings.server_target_qps),
        ("server_target_latency_percentile", settings.server_target_latency_percentile),
        ("offline_expected_qps", settings.offline_expected_qps),
        ("accuracy_log_probability", settings.accuracy_log_probability),
    ];
    let of = |name: &String, wanted: &Value| match reals.iter().find(|(known, _)| known == name) {
        Some((_, value)) if value.is_infinite() => json!(value.to_string()),
        // The recordings contain 1 instead of 1.0.
        Some((_, value)) if wanted.as_f64() == Some(*value) => wanted.clone(),
        Some((_, value)) => json!(value),
        None if name == "mode" => json!(mode),
        None => match &all[name] {
            Value::Bool(flag) => json!(u8::from(*flag)),
            other => other.clone(),
        },
    };
    expected.iter().map(|(name, wanted)| (name.clone(), of(name, wanted))).collect()
}
