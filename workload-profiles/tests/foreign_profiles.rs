//! Profiles that users bring from llm-d-benchmark and inference-perf.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crds::{
    benchmark_run::BenchmarkRunSpec,
    resolve::{RunIdentity, Settings, resolve},
};
use workload_profiles::{Prepared, prepare, variables};

fn prepared(template: &str) -> Result<Prepared, String> {
    let spec: BenchmarkRunSpec =
        serde_saphyr::from_str("target: {url: 'http://gateway:80', model: facebook/opt-125m}").unwrap();
    let identity = RunIdentity { name: "chat".into(), namespace: "bench".into(), uid: "u".into(), attempt: 1 };
    let run = resolve(identity, &spec, &Settings::default()).unwrap();
    let variables = variables(&run, &BTreeMap::new()).unwrap();
    prepare(&run, template, &variables, &BTreeMap::new()).map_err(|it| it.to_string())
}

fn check(template: &str, notice: &str) {
    let ready = prepared(template).unwrap_or_else(|error| panic!("{error}"));
    let found = ready.notices.iter().any(|it| it.to_string().contains(notice));
    assert!(found || notice.is_empty(), "{:?} lacks {notice}", ready.notices);
}

fn check_error(template: &str, expected: &[&str]) {
    let error = prepared(template).unwrap_err();
    for part in expected {
        assert!(error.contains(part), "{error}\nlacks {part}");
    }
}

#[test]
fn a_profile_with_old_names_and_a_misspelt_spread_runs_with_a_notice() {
    let template = include_str!("fixtures/std_for_std_dev.yaml.in");
    let ready = prepared(template).unwrap();
    assert_eq!(ready.workload.model.as_deref(), Some("facebook/opt-125m"));
    assert_eq!(ready.workload.stages[0].load.count(), Some(64));
    check(template, "data.input_distribution.std: is read as std_dev, 5; inference-perf ignores it and uses 200");
}

#[test]
fn a_data_section_in_the_wrong_place_is_diagnosed() {
    check_error(
        include_str!("fixtures/nested_data.yaml"),
        &[
            "data: is missing; move tokenizer.data to the root",
            "tokenizer.data: is not a key of tokenizer",
            "tokenizer.data.shared_prefix.num_groups: holds ${GROUPS}",
        ],
    );
}

/// A folder that a developer may have beside the project, with the files of the other projects as they are.
fn foreign_folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/peer-data");
    folder.is_dir().then_some(folder)
}

#[test]
fn the_profiles_of_the_other_projects_are_accepted_or_refused_for_a_reason() {
    let Some(folder) = foreign_folder() else {
        println!("skipped: no folder ../shared/peer-data beside the project");
        return;
    };
    let read = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
    let llm_d = |name: &str| read(&format!("llm-d-benchmark/workload/profiles/inference-perf/{name}"));
    for name in ["sanity_random", "chatbot_synthetic", "code_completion_synthetic", "shared_prefix_synthetic"] {
        check(&llm_d(&format!("{name}.yaml.in")), "tokenizer.pretrained_model_name_or_path: is not loaded");
    }
    check(&llm_d("guide_optimized-baseline_1.yaml.in"), "");
    check(&llm_d("random_concurrent.yaml.in"), "data.input_distribution.std: is read as std_dev, 500");
    check_error(
        &llm_d("guide_predicted-latency-routing_1.yaml"),
        &["data: is missing; move tokenizer.data to the root", "conversation_replay.seed: holds ${CONCURRENCY}"],
    );
    let refused = "which inference-perf supports and this engine does not yet";
    check_error(&llm_d("chatbot_sharegpt.yaml.in"), &["data.type: is shareGPT", refused]);
    check_error(&llm_d("agentic_code_generation.yaml.in"), &["data.type: is conversation_replay", refused]);
    check_error(
        &llm_d("otel_traces.yaml.in"),
        &["data.type: is otel_trace_replay", "load.type: is trace_session_replay"],
    );
    check_error(&llm_d("shared_prefix_multi_turn_chat.yaml.in"), &["enable_multi_turn_chat: is true"]);
    check_error(&read("inference-perf/config.yml"), &["data.type: is shareGPT"]);
    let lora = read("inference-perf/examples/multilora/multilora_config.yml");
    check_error(&lora, &["data.type: is shareGPT", "load.lora_traffic_split: is not supported yet"]);
    let otel = read("inference-perf/examples/otel/configs/simple/two-sessions-sequential.yml");
    check_error(&otel, &["data.type: is otel_trace_replay", "load.type: is trace_session_replay"]);
}
