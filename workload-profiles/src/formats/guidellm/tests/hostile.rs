//! Inputs that are cut, changed or of the wrong type.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    formats::hostile::{self, changed, cut},
    yaml,
};

/// Profiles of every kind. Each profile contains most keys of its kind.
fn whole() -> Vec<String> {
    let data = "data: [{kind: synthetic_text, prompt_tokens: 64, prompt_tokens_stdev: 9, output_tokens: 16, turns: 2, delay: 1, \
                prefix_buckets: [{prefix_tokens: 5}]}]";
    let spec = |profile: &str, more: &str| {
        nested(&format!("profile: {{{profile}, warmup: 0.1, cooldown: {{value: 1}}, rampup_duration: 1}}\n{more}"))
    };
    vec![
        spec("kind: constant, rate: [1, 2], max_concurrency: 5", data),
        spec("kind: sweep, sweep_size: 4", "metrics: {slo: {ttft_ms: 5}}\nseed: {kind: static, value: 1}"),
        spec("kind: throughput, max_concurrency: 5", "data: [{kind: json_file, path: a.jsonl}]\ntokenizer: {model: /a.json}"),
        spec("kind: replay, time_scale: 2", "data: [{kind: mooncake, source: {kind: json_file, path: a.jsonl}}]"),
        spec("kind: concurrent, streams: 3", "data: [{kind: synthetic_image, width: 8, height: 8, output_tokens: 4}]\nbackend: {timeout: 5, extras: {body: {a: 1}}}"),
        format!("{}benchmarks: [{{profile.streams: 3}}, {{profile.streams: 4, 'constraints[0].seconds': 9}}]\n", nested("profile: {kind: concurrent}")),
        "target: x\nprofile: concurrent\nrate: [1, 2]\ndata: 'prompt_tokens=5,output_tokens=5'\nmax_seconds: 9\nwarmup: 0.1".to_owned(),
        "guidellm run --profile kind=concurrent,streams=5 --data kind=synthetic_text,prompt_tokens=5,output_tokens=5 --override profile.streams 1,2".to_owned(),
        "guidellm benchmark --target x --rate-type constant --rate 1,2 --data prompt_tokens=5,output_tokens=5 --max-seconds 9".to_owned(),
    ]
}

#[test]
fn the_profiles_of_this_test_are_right() {
    for text in whole() {
        let read = read(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        hostile::check_round_trip(&read.0);
    }
}

fn survive(text: &str) {
    hostile::check(Harness::Guidellm, text);
}

fn odd_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<f64>().prop_map(|it| json!(it)),
        any::<i64>().prop_map(|it| json!(it)),
        prop::sample::select(vec![
            json!(null),
            json!(true),
            json!(""),
            json!("x"),
            json!([]),
            json!({}),
            json!([[]]),
            json!([null]),
            json!(1e308),
            json!(4.9e-324),
            json!(u64::MAX),
            json!("1,2"),
            json!("[1"),
            json!("{a"),
            json!({"kind": "sweep"}),
            json!([{"kind": "hf"}]),
            json!("guidellm run"),
            json!({"a-b": 1, "a_b": 2}),
            json!([1, "x", {}]),
            json!("kind=a,b[63].c=1"),
            json!(0.5),
            json!(-1),
        ]),
    ]
}

/// Replaces the value at place `place` of a tree, counted in the order in which the tree is walked.
fn replace(tree: &mut Value, place: &mut usize, new: &Value) -> bool {
    if *place == 0 {
        *tree = new.clone();
        return true;
    }
    *place -= 1;
    match tree {
        Value::Object(entries) => entries.iter_mut().any(|(_, it)| replace(it, place, new)),
        Value::Array(items) => items.iter_mut().any(|it| replace(it, place, new)),
        _ => false,
    }
}

proptest! {
    #[test]
    fn a_cut_profile_is_no_panic(index in 0_usize..9, share in 0.0_f64..1.0) {
        survive(cut(&whole().swap_remove(index), share));
    }

    #[test]
    fn a_changed_letter_is_no_panic(index in 0_usize..9, share in 0.0_f64..1.0, letter in "[-a-z0-9=,.:\\[\\]{}'\"&* \n\\\\\\PC]") {
        survive(&changed(&whole().swap_remove(index), share, &letter));
    }

    #[test]
    fn a_value_of_another_type_is_no_panic(index in 0_usize..7, place in 0_usize..60, value in odd_value()) {
        let mut tree = yaml::read(&whole().swap_remove(index)).unwrap();
        replace(&mut tree, &mut place.clone(), &value);
        survive(&yaml::write(&tree));
    }

    #[test]
    fn no_arguments_are_a_panic(text in "[-a-z0-9=,.\\[\\]{}:'\" ]{0,60}") {
        survive(&format!("guidellm run --profile kind=concurrent,{text} --data {text} --override {text} 1,2"));
        survive(&format!("guidellm benchmark {text} --rate {text}"));
    }
}

#[test]
fn deep_and_long_inputs_are_refused() {
    survive(&format!("spec: {}{}", "{a: ".repeat(3_000), "}".repeat(3_000)));
    survive(&format!("guidellm run --profile {}=1", vec!["a"; 60_000].join(".")));
    survive(&format!("guidellm run --override profile.streams {}", vec!["1"; 50_000].join(",")));
    survive(&format!(
        "guidellm run --data {}",
        (0..30_000).map(|it| format!("k{it}[63]=1")).collect::<Vec<_>>().join(",")
    ));
    let many = format!(
        "{}benchmarks: [{}]",
        nested("profile: {kind: concurrent}"),
        vec!["{profile.streams: [1,1,1,1,1,1,1,1,1,1]}"; 900].join(",")
    );
    assert!(read(&many).unwrap_err().to_string().starts_with("benchmarks: ask for 9000 strategies"));
}

/// A benchmark that does not set a path has the values of `spec`.
#[test]
fn values_that_every_benchmark_has_are_bounded() {
    let check = |streams: &str, expected: &str| {
        let spec = nested(&format!("profile: {{kind: concurrent, streams: {streams}}}"));
        let text = format!("{spec}benchmarks: [{}]", vec!["{'constraints[0].seconds': 5}"; 1_000].join(","));
        let error = read(&text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    let many = vec!["1"; 46_000].join(",");
    check(&format!("[{many}]"), "benchmarks: ask for 46000000 strategies; write at most 1000");
    check(&format!("[[{many}]]"), "benchmarks[0]: has the value a list of length 46000; write a number");
    check(&format!("{{a: [{many}]}}"), "benchmarks[0]: has the value a mapping");
    check(&format!("'{many}'"), "benchmarks[0]: has the value \"1,1,1");
}
