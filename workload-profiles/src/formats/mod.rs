//! The harnesses' profile formats, one folder per harness: a parsed profile in, a [`Workload`] out. `common` contains the code that several
//! formats share.

mod aiperf;
mod benchwright;
mod common;
#[cfg(test)]
mod example;
mod fmperf;
mod format;
mod guidellm;
#[cfg(test)]
mod hostile;
mod inference_perf;
pub mod loadgen;
mod mmlu;
mod nop;
mod priority_mix;
mod recognise;
mod target;
mod vllm_benchmark;

pub use self::recognise::{recognise, unrecognised};
use crds::benchmark_run::Harness;
use serde_json::Value;

use self::{common::stage_length, format::Format};
pub(crate) use self::{
    common::{command_line::with_option, script},
    target::Target,
};
use crate::{problem::Findings, workload::Workload};

/// The format of a harness.
pub(crate) fn format(harness: Harness) -> &'static Format {
    match harness {
        Harness::Benchwright => &benchwright::FORMAT,
        Harness::InferencePerf => &inference_perf::FORMAT,
        Harness::Loadgen => &loadgen::profile::FORMAT,
        Harness::Guidellm => &guidellm::FORMAT,
        Harness::VllmBenchmark => &vllm_benchmark::FORMAT,
        Harness::Inferencemax => &vllm_benchmark::INFERENCEMAX,
        Harness::Fmperf => &fmperf::FORMAT,
        Harness::Aiperf => &aiperf::FORMAT,
        Harness::PriorityMix => &priority_mix::FORMAT,
        Harness::Mmlu => &mmlu::FORMAT,
        Harness::Nop => &nop::FORMAT,
    }
}

/// Reads a profile. `None` means that the findings contain at least one problem.
pub(crate) fn parse(harness: Harness, profile: &Value, target: Target, findings: &Findings) -> Option<Workload> {
    let format = format(harness);
    let workload = (format.parse)(profile, target, findings);
    if let (Some(workload), Some(keys)) = (&workload, &format.stage_length) {
        stage_length::check(&workload.stages, keys, findings);
    }
    workload
}
