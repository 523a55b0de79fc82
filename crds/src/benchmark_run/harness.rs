//! The harnesses that define profile formats.

use serde::{Deserialize, Serialize};

/// The harnesses that define profile formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Harness {
    /// Benchwright's own format, which supports all features of the engine.
    Benchwright,
    /// The format of inference-perf.
    InferencePerf,
    /// MLPerf LoadGen's scenarios and settings.
    Loadgen,
    /// The formats of GuideLLM: the scenarios up to version 0.6, and those from 0.7.
    Guidellm,
    /// The flags of `vllm bench serve`.
    VllmBenchmark,
    /// The flags of InferenceMAX's `benchmark_serving.py`, which are older flags of vLLM.
    Inferencemax,
    /// The workloads of fmperf and LMBenchmark.
    Fmperf,
    /// The flags of AIPerf.
    Aiperf,
    /// The traffic classes of llm-d-benchmark's priority-mix.
    PriorityMix,
    /// The questions of MMLU, with scored answers.
    Mmlu,
    /// No load: llm-d-benchmark's nop, which measures how a server starts.
    Nop,
}

impl Harness {
    /// Every harness.
    pub const ALL: [Harness; 11] = [
        Harness::Benchwright,
        Harness::InferencePerf,
        Harness::Loadgen,
        Harness::Guidellm,
        Harness::VllmBenchmark,
        Harness::Inferencemax,
        Harness::Fmperf,
        Harness::Aiperf,
        Harness::PriorityMix,
        Harness::Mmlu,
        Harness::Nop,
    ];

    /// The name, and the shipped profile of a run without a profile.
    fn row(self) -> (&'static str, &'static str) {
        match self {
            Harness::Benchwright => ("benchwright", "sanity_random"),
            Harness::InferencePerf => ("inference-perf", "sanity_random"),
            Harness::Loadgen => ("loadgen", "sanity"),
            Harness::Guidellm => ("guidellm", "sanity_random"),
            Harness::VllmBenchmark => ("vllm-benchmark", "sanity_random"),
            Harness::Inferencemax => ("inferencemax", "random_concurrent"),
            Harness::Fmperf => ("fmperf", "sanity_short-input"),
            Harness::Aiperf => ("aiperf", "synthetic"),
            Harness::PriorityMix => ("priority-mix", "priority_mix"),
            Harness::Mmlu => ("mmlu", "mmlu"),
            Harness::Nop => ("nop", "nop"),
        }
    }

    /// The name as users write it; also the folder of its shipped profiles.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// The shipped profile of a run without a profile.
    pub fn default_profile(self) -> &'static str {
        self.row().1
    }
}
