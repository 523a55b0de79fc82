//! The formats of fmperf: the scenarios of LMBenchmark, which llm-d-benchmark runs through fmperf, and fmperf's own workload classes.
//!
//! The keys of a profile determine its class. A notice reports each key that LMBenchmark or fmperf ignores.

mod classes;
mod guidellm;
mod lmbenchmark;
mod place;
mod scenario;
mod sharegpt;
mod users;

use serde_json::Value;

use super::{
    common::stage_length,
    format::{Format, profile},
    target::Target,
};
use crate::{problem::Findings, reader::Section, workload::Workload};

/// The keys that an override can add: LMBenchmark's keys, and our own keys for values that these profiles cannot contain. Our own keys are
/// `dataset_file` of the scenario sharegpt, and `duration` and `grace_period` of fmperf's classes.
pub(super) const KEYS: [&str; 21] = [
    "answer_len",
    "base_url",
    "chat_history",
    "chat_template",
    "dataset_file",
    "duration",
    "grace_period",
    "image",
    "init_user_id",
    "model_name",
    "num_rounds",
    "num_users",
    "num_users_warmup",
    "overwrite",
    "pvc_name",
    "qps_values",
    "scenarios",
    "service_account",
    "system_prompt",
    "test_duration",
    "use_chat_completions",
];
/// Keys that only the class Homogeneous has. One of them in a profile identifies the class.
const HOMOGENEOUS: [&str; 3] = ["input_tokens", "output_tokens", "greedy"];
/// Keys that only the class Heterogeneous has. One of them in a profile identifies the class.
const HETEROGENEOUS: [&str; 5] =
    ["min_input_tokens", "max_input_tokens", "min_output_tokens", "max_output_tokens", "frac_greedy"];

/// The names of the keys that determine a stage's length, for error messages.
const STAGE_LENGTH: stage_length::Keys =
    stage_length::Keys { count: |_| "their number", rate: |_| "qps_values", ramp_up: "num_users_warmup" };

/// The profiles of fmperf.
pub(super) const FORMAT: Format = Format {
    parse,
    root_keys: || &KEYS,
    stage_length: Some(STAGE_LENGTH),
    shipped: &[
        profile!("fmperf", "large_model_long_input"),
        profile!("fmperf", "medium_model_long_input"),
        profile!("fmperf", "sanity_long-input"),
        profile!("fmperf", "sanity_sharegpt"),
        profile!("fmperf", "sanity_short-input"),
        profile!("fmperf", "small_model_long_input"),
    ],
};

/// Reads a profile. `None` means that the findings contain at least one problem.
fn parse(profile: &Value, target: Target, findings: &Findings) -> Option<Workload> {
    let root = Section::root(profile, &KEYS, findings)?;
    let has = |keys: &[&'static str]| keys.iter().any(|it| root.value(it).is_some());
    if root.value("scenarios").is_some() || root.value("qps_values").is_some() {
        lmbenchmark::read(root, target)
    } else if has(&guidellm::KEYS) {
        guidellm::read(root, target, findings)
    } else if has(&HETEROGENEOUS) {
        classes::heterogeneous(root, target)
    } else if has(&HOMOGENEOUS) {
        classes::homogeneous(root, target)
    } else if root.value("sample_size").is_some() {
        refuse(
            &root,
            "is of fmperf's class Realistic, whose requests are drawn from a model of recorded requests that only fmperf has; write a trace, or min_input_tokens, max_input_tokens, min_output_tokens and max_output_tokens",
        )
    } else {
        // A profile without keys is valid, because every key of LMBenchmark has a default.
        lmbenchmark::read(root, target)
    }
}

fn refuse(root: &Section, message: &str) -> Option<Workload> {
    root.problem("profile", message);
    None
}

#[cfg(test)]
mod tests;
