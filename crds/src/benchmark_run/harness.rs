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
    /// The scenario formats of GuideLLM: up to version 0.6, and from version 0.7.
    Guidellm,
    /// The flags of `vllm bench serve`.
    VllmBenchmark,
    /// The flags of InferenceMAX's `benchmark_serving.py`, which correspond to an older version of vLLM's flags.
    Inferencemax,
    /// The workloads of fmperf and LMBenchmark.
    Fmperf,
    /// The flags of AIPerf.
    Aiperf,
    /// The traffic classes of llm-d-benchmark's priority-mix.
    PriorityMix,
    /// The questions of MMLU, with scored answers.
    Mmlu,
    /// No load: llm-d-benchmark's harness nop, which measures how long a server takes to start.
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

    /// The harness's name, and the name of the shipped profile that a run without a profile uses.
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

    /// The name as users write it. The folder of the harness's shipped profiles has the same name.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// The name of the shipped profile that a run without a profile uses.
    pub fn default_profile(self) -> &'static str {
        self.row().1
    }
}
