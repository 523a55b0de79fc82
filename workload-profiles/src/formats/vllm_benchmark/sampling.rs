//! Sampling: how the server generates answers.

use crds::benchmark_run::Api;
use serde_json::{Value, json};

use super::original::Original;
use crate::{
    formats::common::request_fields::{add_fields, add_request_fields},
    reader::Section,
    workload::Sampling,
};

/// Maximum number of answers from which the server chooses the best, and of log probabilities per token.
const MAX_OF_A_TOKEN: u64 = 1_000;
/// Maximum value of a sampling flag. Servers have their own limits.
const MOST: f64 = 1e9;

/// Reads the flags. `ignore_eos` states whether the tool turns `ignore_eos` on for this data set.
pub(super) fn read(root: &Section, original: Original, api: Api, ignore_eos: bool) -> Sampling {
    let asked = root.bool("ignore-eos");
    if ignore_eos && asked.is_none() {
        root.notice(
            "ignore-eos",
            "is on, as vllm bench serve 0.32 sets it for this dataset-name; older versions leave it off",
        );
    }
    let mut sampling = Sampling { ignore_eos: ignore_eos || asked == Some(true), ..Sampling::default() };
    let mut add = |flag: &str, value: Value| {
        add_fields(root, flag, [(flag.replace('-', "_"), value)], &mut sampling);
    };
    match (original, api) {
        (Original::InferenceMax, _) => add("temperature", json!(0.0)),
        (Original::VllmBenchServe, Api::Completions) => add("repetition-penalty", json!(1.0)),
        (Original::VllmBenchServe, Api::Responses) => add("store", json!(false)),
        (Original::VllmBenchServe, Api::Chat | Api::Messages) => {}
    }
    for flag in ["temperature", "top-p", "min-p", "frequency-penalty", "presence-penalty", "repetition-penalty"] {
        if let Some(value) = root.number(flag, -MOST..=MOST) {
            add(flag, json!(value));
        }
    }
    // -1 means all tokens.
    if let Some(value) = root.number("top-k", -1.0..=MOST) {
        if value.fract() == 0.0 {
            add("top-k", json!(value as i64));
        } else {
            root.problem("top-k", format!("is {value}; write a whole number"));
        }
    }
    for flag in ["logprobs", "best-of"] {
        let Some(value) = root.count(flag, 0..=MAX_OF_A_TOKEN) else { continue };
        if api == Api::Completions {
            add(flag, json!(value));
        } else {
            root.notice(flag, format!("is not sent: {} sends it only with completions", original.name()));
        }
    }
    // The tool adds these fields last, so they take precedence.
    add_request_fields(root, "extra-body", &mut sampling);
    sampling
}
