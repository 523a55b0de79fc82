//! Profiles that users bring from llm-d-benchmark and inference-perf.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use crds::{
    AnyValue,
    benchmark_run::BenchmarkRunSpec,
    resolve::{RunIdentity, Settings, resolve},
};
use workload_profiles::{Prepared, prepare, variables};

fn prepared(template: &str) -> Result<Prepared, String> {
    prepared_with(template, &[], &[])
}

fn prepared_with(template: &str, user: &[(&str, &str)], set: &[(&str, &str)]) -> Result<Prepared, String> {
    let spec: BenchmarkRunSpec =
        serde_saphyr::from_str("target: {url: 'http://gateway:80', model: facebook/opt-125m}").unwrap();
    let identity = RunIdentity { name: "chat".into(), namespace: "bench".into(), uid: "u".into(), attempt: 1 };
    let run = resolve(identity, &spec, &Settings::default()).unwrap();
    let user = user.iter().map(|(name, value)| ((*name).to_owned(), AnyValue((*value).into()))).collect();
    let overrides = set.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    prepare(&run, template, &variables(&run, &user).unwrap(), &overrides).map_err(|it| it.to_string())
}

fn check(template: &str, notice: &str) {
    check_ready(prepared(template), notice);
}

fn check_ready(ready: Result<Prepared, String>, notice: &str) {
    let ready = ready.unwrap_or_else(|error| panic!("{error}"));
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
        let notice = "tokenizer.pretrained_model_name_or_path: is \"facebook/opt-125m\", a name of Hugging Face, which is not downloaded";
        check(&llm_d(&format!("{name}.yaml.in")), notice);
    }
    check(&llm_d("guide_optimized-baseline_1.yaml.in"), "");
    check(&llm_d("shared_prefix_multi_turn_chat.yaml.in"), "");
    check(&llm_d("random_concurrent.yaml.in"), "data.input_distribution.std: is read as std_dev, 500");
    check(&llm_d("agentic_code_generation.yaml.in"), "tool_call_latency_sec: is in no latency");
    let nested = llm_d("guide_predicted-latency-routing_1.yaml");
    check_error(
        &nested,
        &["data: is missing; move tokenizer.data to the root", "conversation_replay.seed: holds ${CONCURRENCY}"],
    );
    check(
        &nested.replace("${CONCURRENCY}", "32"),
        "tokenizer.data: is indented too far, and is read as if it stood at the root",
    );
    let recorded = prepared_with(&llm_d("otel_traces.yaml.in"), &[("dataset_dir", "/data/traces")], &[]);
    check_ready(recorded, "load.base_seed: is not used");
    check(&read("inference-perf/examples/otel/configs/simple/two-sessions-sequential.yml"), "api.streaming: is off");
    let lora = read("inference-perf/examples/multilora/multilora_config.yml");
    for template in [llm_d("chatbot_sharegpt.yaml.in"), read("inference-perf/config.yml"), lora] {
        check_error(
            &template,
            &["data.path: is missing, and shareGPT is a file that the launcher does not have; download it by"],
        );
        check_ready(prepared_with(&template, &[], &[("data.path", "/data/sharegpt.json")]), "tokenizer");
    }
}
