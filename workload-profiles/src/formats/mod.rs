//! The harnesses' profile formats, a folder each: a parsed profile in, a [`Workload`] out. `common` holds what several of them
//! need.

mod aiperf;
mod benchwright;
mod common;
#[cfg(test)]
mod example;
mod fmperf;
mod guidellm;
#[cfg(test)]
mod hostile;
mod inference_perf;
pub mod loadgen;
mod mmlu;
mod nop;
mod priority_mix;
mod recognise;
mod vllm_benchmark;

pub use self::recognise::{recognise, unrecognised};
use crds::{
    benchmark_run::Harness,
    resolve::{Endpoint, ResolvedRun},
};
use serde_json::Value;

use self::common::stage_length;
pub(crate) use self::common::{command_line::with_option, script};
use crate::{problem::Findings, workload::Workload};

/// The target of a run, to compare it with what the profile says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Target<'a> {
    /// The base URL; `None` for the simulator, and for a server that is started for the run.
    pub url: Option<&'a str>,
    /// The model, where the run names it.
    pub model: Option<&'a str>,
}

impl<'a> Target<'a> {
    pub(crate) fn from_run(run: &'a ResolvedRun) -> Target<'a> {
        let url = match &run.endpoint {
            Endpoint::Url(url) => Some(url.as_str()),
            Endpoint::Simulator(_) | Endpoint::Server(_) => None,
        };
        Target { url, model: run.model.as_deref() }
    }
}

/// The keys that an override may add at the root of a profile: those of our own formats, and the flags of a command line.
/// In another foreign format an override only changes what the profile has.
pub(crate) fn root_keys(harness: Harness) -> &'static [&'static str] {
    match harness {
        Harness::Benchwright => &benchwright::KEYS,
        Harness::Loadgen => &loadgen::profile::KEYS,
        Harness::Fmperf => &fmperf::KEYS,
        Harness::VllmBenchmark | Harness::Inferencemax => vllm_benchmark::root_keys(),
        Harness::Aiperf => aiperf::root_keys(),
        Harness::Mmlu => &mmlu::KEYS,
        Harness::InferencePerf => &inference_perf::SECTIONS,
        // Of its flat form; the nested form has the tokenizer in its `spec`.
        Harness::Guidellm => &["processor"],
        Harness::PriorityMix | Harness::Nop => &[],
    }
}

/// Reads a profile. `None` goes with at least one problem in the findings.
pub(crate) fn parse(harness: Harness, profile: &Value, target: Target, findings: &Findings) -> Option<Workload> {
    let workload = match harness {
        Harness::Benchwright => benchwright::parse(profile, target, findings),
        Harness::InferencePerf => inference_perf::parse(profile, target, findings),
        Harness::Loadgen => loadgen::profile::parse(profile, target, findings),
        Harness::Guidellm => guidellm::parse(profile, target, findings),
        Harness::VllmBenchmark | Harness::Inferencemax => vllm_benchmark::parse(harness, profile, target, findings),
        Harness::Fmperf => fmperf::parse(profile, target, findings),
        Harness::Aiperf => aiperf::parse(profile, target, findings),
        Harness::PriorityMix => priority_mix::parse(profile, target, findings),
        Harness::Mmlu => mmlu::parse(profile, target, findings),
        Harness::Nop => nop::parse(profile, findings),
    };
    if let (Some(workload), Some(keys)) = (&workload, stage_length_keys(harness)) {
        stage_length::check(&workload.stages, &keys, findings);
    }
    workload
}

/// The keys on which the length of a stage depends. `None` where the format checks each stage itself, with the key of that stage, or
/// has no load at a rate.
fn stage_length_keys(harness: Harness) -> Option<stage_length::Keys> {
    match harness {
        Harness::VllmBenchmark | Harness::Inferencemax => Some(vllm_benchmark::STAGE_LENGTH),
        Harness::Aiperf => Some(aiperf::STAGE_LENGTH),
        Harness::InferencePerf => {
            Some(stage_length::Keys { count: |_| "num_requests", rate: |_| "load.stages", ramp_up: "load.stages" })
        }
        Harness::Fmperf => {
            Some(stage_length::Keys { count: |_| "their number", rate: |_| "qps_values", ramp_up: "num_users_warmup" })
        }
        Harness::Benchwright
        | Harness::Guidellm
        | Harness::PriorityMix
        | Harness::Loadgen
        | Harness::Mmlu
        | Harness::Nop => None,
    }
}
