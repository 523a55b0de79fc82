//! The form of the versions up to 0.6.

use std::time::Duration;

use crds::{benchmark_run::Api, units::Span};

use super::*;
use crate::workload::{LengthDistribution, Load, Margin, RequestSource, Stage};

const OLD: &str = "profile: has the format of GuideLLM up to 0.6, and is read with the meaning of those versions";

/// A flat profile, with a bound and data where a test writes none.
fn flat(keys: &str) -> String {
    let mut text = keys.to_owned();
    for (key, default) in [
        ("target", "target: 'http://server:8000'"),
        ("data", "data: prompt_tokens=64,output_tokens=16"),
        ("max_", "max_seconds: 30"),
        ("profile", "profile: synchronous"),
    ] {
        if !text.lines().any(|it| it.starts_with(key) || key == "profile" && it.starts_with("rate")) {
            text.push_str(&format!("\n{default}"));
        }
    }
    text
}

fn stages(keys: &str) -> Vec<Stage> {
    read(&flat(keys)).unwrap_or_else(|error| panic!("{keys}\n{error}")).0.stages
}

fn names(keys: &str) -> Vec<String> {
    stages(keys).into_iter().map(|it| it.name).collect()
}

fn check_flat_error(keys: &str, expected: &str) {
    assert_eq!(read(&flat(keys)).map(|it| it.1).unwrap_err().to_string(), expected, "{keys}");
}

#[test]
fn the_profile_decides_what_the_rate_is() {
    assert_eq!(names("profile: constant\nrate: [2, 4]"), ["r2", "r4"]);
    assert_eq!(names("rate_type: poisson\nrate: '2,4'"), ["r2", "r4"]);
    assert_eq!(names("profile: concurrent\nrate: [2, 4]"), ["c2", "c4"]);
    assert_eq!(names("profile: sweep\nrate: 4"), ["c1", "c10240", "sweep1", "sweep2"]);
    assert_eq!(names("rate-type: throughput\nrate: [7]"), ["c7"]);
    check_flat_error(
        "profile: synchronous\nrate: 4",
        "rate: is written, and the profile is synchronous, which has none; take it out",
    );
    check_flat_error("profile: concurrent\nrate: [2, 0.5]", "rate[1]: is 0.5; write a whole number from 1 to 10240");
    check_flat_error("profile: constant", "rate: is missing; write the requests per second, such as 5 or [1, 2, 4]");
}

#[test]
fn the_other_keys_have_their_places() {
    let keys = "profile: constant\nrate: 5\nmax_requests: 40\nmax_error_rate: 0.5\nwarmup: 0.1\ncooldown_percent: 0.2\nmodel: m\n\
                request_type: text_completions\nrandom_seed: 42\nprocessor: /m/tokenizer.json\nrampup: 4\noutputs: [json]\n\
                backend_kwargs: {timeout: 9, verify: false, api_key: x}";
    let (workload, notices) = read(&flat(keys)).unwrap();
    assert_eq!((workload.api, workload.model.as_deref()), (Api::Completions, Some("m")));
    let stage = &workload.stages[0];
    assert_eq!((stage.warm_up, stage.cool_down), (Some(Margin::Count(4)), Some(Margin::Count(8))));
    assert_eq!(workload.timeouts.token_gap, Some(Span(Duration::from_secs(9))));
    assert_eq!(workload.stop_rules.len(), 1);
    assert_eq!(
        notices,
        [
            OLD,
            "backend_kwargs.api_key: is not sent; put the token into a Secret, and name the Secret in target.auth",
            "random_seed: is not used: the seed of the run decides every draw",
        ]
    );
    // Those versions wait for a minute.
    let silence = read(&flat("")).unwrap().0.timeouts.first_token;
    assert_eq!(silence, Some(Span(Duration::from_secs(60))));
}

#[test]
fn data_is_a_text_a_mapping_or_a_file() {
    let input = |data: &str| match read(&flat(&format!("data: {data}"))).unwrap().0.requests {
        RequestSource::Random { input, .. } => input,
        other => panic!("{other:?}"),
    };
    for data in [
        "prompt_tokens=64,output_tokens=16",
        "['prompt_tokens=64,output_tokens=16']",
        "'{\"prompt_tokens\": 64, \"output_tokens\": 16}'",
        "{prompt_tokens: 64, output_tokens: 16}",
        "[{type_: synthetic_text, prompt_tokens: 64, output_tokens: 16}]",
    ] {
        assert_eq!(input(data), LengthDistribution::fixed(64), "{data}");
    }
    let file = read(&flat(
        "data: /d/rows.jsonl\ndata_column_mapper: {text_column: q}\ndata_args: {split: train}\ndata_samples: 3",
    ))
    .unwrap()
    .0;
    assert!(matches!(file.requests, RequestSource::DataSet(set) if set.count == Some(3)));
    check_flat_error(
        "data: [prompt_tokens=x]",
        "data[0].prompt_tokens: is \"x\"; write a whole number from 1 to 2000000\ndata[0].output_tokens: is missing; write the length of answers, or set backend.max_tokens; without both the server decides, which this engine does not support for synthetic prompts",
    );
    let error = read(&flat("data: openai/gsm8k")).unwrap_err().to_string();
    assert!(error.starts_with("data.source: is \"openai/gsm8k\", a data set of the Hugging Face Hub"), "{error}");
}

#[test]
fn unknown_keys_are_ignored_there_and_named_here() {
    let (_, notices) = read(&flat("max_second: 5\nmax_seconds: 30")).unwrap();
    assert_eq!(
        notices,
        ["max_second: is no key of a scenario, and GuideLLM up to 0.6 ignores it; did you mean max_seconds?", OLD]
    );
    let error = read("{}").unwrap_err().to_string();
    assert!(error.starts_with("profile: has no key of a scenario of GuideLLM; write spec"), "{error}");
    check_flat_error("max_seconds: -5", "max_seconds: is -5; write a number of seconds above 0 and at most 604800");
    check_flat_error("profile: constant\nrate_type: sweep", "rate_type: means the same as profile; keep one of them");
    let enforced = read(&flat("over_saturation: {enabled: true}")).unwrap_err().to_string();
    assert!(enforced.starts_with("over_saturation.kind: is over_saturation with mode enforce"), "{enforced}");
    assert!(read(&flat("over_saturation: {enabled: false}")).is_ok());
}

#[test]
fn the_scenario_of_a_result_file_is_run_again() {
    let spec = nested(
        "profile: {kind: constant, rate: [2.0, 4.0], rampup_duration: 0.0, max_concurrency: null, warmup: {percent: null, value: null, mode: prefer_duration}}",
    );
    let inner: String = spec.lines().map(|it| format!("  {it}\n")).collect();
    let result =
        format!("metadata: {{version: 2}}\nbenchmarks: [{{metrics: {{}}}}]\nconfig:\n{inner}  benchmarks: [null]\n");
    let (workload, notices) = read(&result).unwrap();
    assert_eq!(workload.stages.len(), 2);
    assert!(notices[0].starts_with("config: is the scenario of a result file"), "{notices:?}");
    let error = read(&result.replace("rate: [2.0", "rate: [x")).unwrap_err().to_string();
    assert!(
        error.starts_with("config.spec.profile.rate[0]: is \"x\"; write a number of requests per second"),
        "{error}"
    );
    let old: String = flat("profile: constant\nrate: 2").lines().map(|it| format!("  {it}\n")).collect();
    let stages = read(&format!("benchmarks: []\nargs:\n{old}")).unwrap().0.stages;
    assert!(matches!(stages[0].load, Load::Open { .. }));
}
