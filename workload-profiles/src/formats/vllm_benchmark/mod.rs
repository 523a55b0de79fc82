//! The flags of `vllm bench serve` (version 0.32), and the flags of InferenceMAX's `benchmark_serving.py`, an older form of the same tool with some
//! different rules. "The tool" in comments is the one that the profile's flags belong to. Flags are written as a flat mapping or as a command line.
//!
//! llm-d-benchmark writes the flags as a mapping, and runs the tool with the time of day as `--seed`. So texts and times differ in every run. A
//! command line has the tool's default seed, so every run sends the same texts.

mod data_sets;
mod flags;
mod load;
mod original;
mod sampling;
mod server;

use std::{sync::LazyLock, time::Duration};

use crds::{benchmark_run::Api, units::Span};
use serde_json::Value;

use super::{
    common::{flags as common_flags, stage_length, tokenizer::tokenizer},
    format::{Format, profile},
    target::Target,
};
use crate::{
    problem::Findings,
    reader::{Section, ValueType},
    workload::{LengthField, Load, PromptReuse, Rate, RequestSource, Timeouts, Workload},
};

use original::Original;

/// The tool's request timeout.
const REQUEST_TIMEOUT: Span = Span(Duration::from_secs(6 * 3600));

/// Commands that run the tool.
const COMMANDS: [&[&str]; 4] = [
    &["vllm", "bench", "serve"],
    &["python", "benchmark_serving.py"],
    &["python3", "benchmark_serving.py"],
    &["benchmark_serving.py"],
];

/// The flags that an override can add.
pub(super) fn root_keys() -> &'static [&'static str] {
    static KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(|| flags::VLLM.read_names().collect());
    &KEYS
}

/// Whether the tool has this flag. `name` is written with hyphens.
pub(super) fn has_flag(name: &str) -> bool {
    flags::VLLM.has_flag(name)
}

/// The names of the keys that determine the length of the load, for error messages.
pub(super) const STAGE_LENGTH: stage_length::Keys = stage_length::Keys {
    count: |_| "num-prompts",
    rate: |stage| match stage.load {
        Load::Open { rate: Rate::Varying(_), .. } => "ramp-up-start-rps",
        _ => "request-rate",
    },
    ramp_up: "max-concurrency",
};

/// The profiles of `vllm bench serve`.
pub(super) const FORMAT: Format = Format {
    parse: |profile, target, findings| parse(Original::VllmBenchServe, profile, target, findings),
    root_keys,
    stage_length: Some(STAGE_LENGTH),
    shipped: &[
        profile!("vllm-benchmark", "fixed_dataset"),
        profile!("vllm-benchmark", "random_100_concurrent_100-1_ISL-OSL"),
        profile!("vllm-benchmark", "random_1k_concurrent_10-1_ISL-OSL"),
        profile!("vllm-benchmark", "random_1k_concurrent_20-1_ISL-OSL"),
        profile!("vllm-benchmark", "random_300_concurrent_100-1_ISL-OSL"),
        profile!("vllm-benchmark", "random_concurrent"),
        profile!("vllm-benchmark", "sanity_random"),
        profile!("vllm-benchmark", "sharegpt"),
        profile!("vllm-benchmark", "sonnet_concurrent"),
    ],
};

/// The profiles of InferenceMAX.
pub(super) const INFERENCEMAX: Format = Format {
    parse: |profile, target, findings| parse(Original::InferenceMax, profile, target, findings),
    root_keys,
    stage_length: Some(STAGE_LENGTH),
    shipped: &[profile!("inferencemax", "random_concurrent")],
};

/// Reads a profile. `None` means that the findings contain at least one problem.
fn parse(original: Original, profile: &Value, target: Target, findings: &Findings) -> Option<Workload> {
    let flags = match profile {
        Value::String(text) => common_flags::from_command_line(text, &COMMANDS, original.tool(), findings),
        mapping => common_flags::from_mapping(mapping, original.tool(), findings),
    };
    let flags = flags?;
    note_tool(profile, original, findings);
    let root = Section::root(&flags, &[], findings)?;
    let api = server::api(&root);
    // If the backend is wrong, the API is unknown. The other flags are then checked as if it were completions.
    let assumed = api.unwrap_or(Api::Completions);
    server::address(&root, assumed, target);
    let data = data_sets::read(&root, original, assumed);
    let stages = load::read(&root, original, data.as_ref());
    note_results(&root, original == Original::VllmBenchServe && !profile.is_string());
    let (api, data, stages) = (api?, data?, stages?);
    let needs_tokenizer = data.needs_tokenizer();
    // For a trace, the tool generates new texts in each run, whatever the seed is.
    let has_seeded_texts = data.is_synthetic && !matches!(data.requests, RequestSource::TraceBlocks { .. });
    let mut workload = Workload::new(api, data.requests, stages);
    server::fill(&root, target, &mut workload);
    workload.tokenizer = tokenizer(&root, original.name(), needs_tokenizer);
    workload.sampling = sampling::read(&root, original, api, data.ignore_eos);
    if api == Api::Chat {
        let message = "calls chats: vllm bench serve takes the first event for the first token, which in a chat has only the role; \
                       here TTFT ends with the first event with content";
        root.notice("backend", message);
        workload.sampling.length_field = LengthField::MaxCompletionTokens;
    }
    workload.images = data.images;
    workload.corpus = data.corpus;
    workload.prompts = prompt_reuse(&root, original, profile.is_string(), has_seeded_texts);
    workload.goodput = load::goodput(&root);
    workload.probes = load::probes(&root);
    workload.timeouts = Timeouts { request: Some(REQUEST_TIMEOUT), ..Timeouts::default() };
    for flag in root.unread() {
        root.notice(flag, "is not used: it belongs to another dataset-name");
    }
    Some(workload)
}

/// Adds a notice if the program's name fits both tools.
fn note_tool(profile: &Value, original: Original, findings: &Findings) {
    let Some(program) = profile.as_str().and_then(|it| it.split_whitespace().next()) else { return };
    if program.ends_with("benchmark_serving.py") {
        let (this, other) = match original {
            Original::VllmBenchServe => ("vLLM", "InferenceMAX is --harness inferencemax"),
            Original::InferenceMax => ("InferenceMAX", "vLLM is --harness vllm-benchmark"),
        };
        findings.notice(
            "profile",
            format!("is read as the command line of {this}'s benchmark_serving.py; the option for {other}"),
        );
    }
}

/// Returns whether runs with the same seed send the same texts.
fn prompt_reuse(root: &Section, original: Original, is_command_line: bool, has_seeded_texts: bool) -> PromptReuse {
    let by_llm_d_benchmark = !is_command_line;
    if root.ignored("seed", ValueType::Number) {
        let more = if by_llm_d_benchmark { "; llm-d-benchmark replaces it by the time of day" } else { "" };
        root.notice("seed", format!("is not used: the seed of the run decides every draw{more}"));
    }
    if by_llm_d_benchmark || !has_seeded_texts {
        return PromptReuse::Fresh;
    }
    let message = format!(
        "texts are the same in every run with the same seed of the run, as with {}: a server that ran before may have them in its prefix cache",
        original.name()
    );
    root.notice("seed", message);
    // Texts differ between stages, so that the warm-up does not fill the prefix cache with the measured prompts.
    PromptReuse::PerStage
}

/// Adds notices about the tool's result files. `converts`: adds the notice that llm-d-benchmark converts only some of these results to its own
/// report.
fn note_results(root: &Section, converts: bool) {
    let word = |key| common_flags::word(root, key);
    word("percentile-metrics");
    if word("metric-percentiles").is_some() {
        root.notice(
            "metric-percentiles",
            "is not used: the report has a fixed set of percentiles, and covers all requests",
        );
    }
    let (label, backend) = (word("label"), word("backend"));
    let (key, name) = match (&label, &backend) {
        (Some(label), _) => ("label", label),
        (None, Some(backend)) => ("backend", backend),
        (None, None) => return,
    };
    if converts && !name.starts_with("openai") {
        root.notice(
            key,
            "has no effect on reports; llm-d-benchmark makes a report only of results whose name begins with openai",
        );
    }
}

#[cfg(test)]
mod tests;
