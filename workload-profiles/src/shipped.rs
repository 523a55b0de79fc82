//! The profiles that ship, compiled in: no file is read at run time.

use crds::benchmark_run::Harness;

use crate::problem::{ProfileError, quoted, suggestion};

macro_rules! profile {
    ($folder:literal, $name:literal) => {
        ($name, include_str!(concat!("../", $folder, "/", $name, ".yaml.in")))
    };
}

/// The name and the text of each profile. A test compares the list with the folder.
const BENCHWRIGHT: [(&str, &str); 18] = [
    profile!("benchwright", "burst"),
    profile!("benchwright", "bursty_gamma"),
    profile!("benchwright", "code_completion"),
    profile!("benchwright", "code_generation"),
    profile!("benchwright", "concurrency_ramp"),
    profile!("benchwright", "diurnal"),
    profile!("benchwright", "image_classification"),
    profile!("benchwright", "interactive_chat"),
    profile!("benchwright", "poisson_sweep"),
    profile!("benchwright", "ramp"),
    profile!("benchwright", "sanity_constant"),
    profile!("benchwright", "sanity_random"),
    profile!("benchwright", "spike"),
    profile!("benchwright", "summarization"),
    profile!("benchwright", "text_classification"),
    profile!("benchwright", "text_generation"),
    profile!("benchwright", "trace_replay"),
    profile!("benchwright", "translation"),
];

const INFERENCE_PERF: [(&str, &str); 29] = [
    profile!("inference-perf", "agent_llm_traces_v2"),
    profile!("inference-perf", "agentic_code_generation"),
    profile!("inference-perf", "chatbot_sharegpt"),
    profile!("inference-perf", "chatbot_synthetic"),
    profile!("inference-perf", "code_completion_synthetic"),
    profile!("inference-perf", "guide_kimi-k3-h100_1"),
    profile!("inference-perf", "guide_multimodal-serving_1"),
    profile!("inference-perf", "guide_optimized-baseline_1"),
    profile!("inference-perf", "guide_optimized-baseline_2"),
    profile!("inference-perf", "guide_p2p-kv-cache-sharing_1"),
    profile!("inference-perf", "guide_pd-disaggregation_1"),
    profile!("inference-perf", "guide_pd-disaggregation_2"),
    profile!("inference-perf", "guide_precise-prefix-cache-routing_1"),
    profile!("inference-perf", "guide_precise-prefix-cache-routing_2"),
    profile!("inference-perf", "guide_predicted-latency-routing_1"),
    profile!("inference-perf", "guide_tiered-prefix-cache_1"),
    profile!("inference-perf", "guide_wide-ep-lws_1"),
    profile!("inference-perf", "interactive-chat"),
    profile!("inference-perf", "otel_traces"),
    profile!("inference-perf", "random_concurrent"),
    profile!("inference-perf", "sanity_random"),
    profile!("inference-perf", "sanity_random_concurrent"),
    profile!("inference-perf", "shared_prefix_multi_turn_chat"),
    profile!("inference-perf", "shared_prefix_synthetic"),
    profile!("inference-perf", "shared_prefix_synthetic_aggressive"),
    profile!("inference-perf", "shared_prefix_synthetic_heavy"),
    profile!("inference-perf", "shared_prefix_synthetic_short"),
    profile!("inference-perf", "summarization_synthetic"),
    profile!("inference-perf", "weka_traces"),
];

const LOADGEN: [(&str, &str); 9] = [
    profile!("loadgen", "llama2-70b-interactive"),
    profile!("loadgen", "llama2-70b-offline"),
    profile!("loadgen", "llama2-70b-server"),
    profile!("loadgen", "llama3.1-8b-edge-offline"),
    profile!("loadgen", "llama3.1-8b-edge-singlestream"),
    profile!("loadgen", "llama3.1-8b-interactive"),
    profile!("loadgen", "llama3.1-8b-offline"),
    profile!("loadgen", "llama3.1-8b-server"),
    profile!("loadgen", "sanity"),
];

const GUIDELLM: [(&str, &str); 8] = [
    profile!("guidellm", "concurrent-1k-1k"),
    profile!("guidellm", "concurrent-heavy-heterogeneous"),
    profile!("guidellm", "multi-turn"),
    profile!("guidellm", "random_concurrent"),
    profile!("guidellm", "sanity_concurrent"),
    profile!("guidellm", "sanity_random"),
    profile!("guidellm", "shared_prefix_synthetic"),
    profile!("guidellm", "summarization_synthetic"),
];

const VLLM_BENCHMARK: [(&str, &str); 9] = [
    profile!("vllm-benchmark", "fixed_dataset"),
    profile!("vllm-benchmark", "random_100_concurrent_100-1_ISL-OSL"),
    profile!("vllm-benchmark", "random_1k_concurrent_10-1_ISL-OSL"),
    profile!("vllm-benchmark", "random_1k_concurrent_20-1_ISL-OSL"),
    profile!("vllm-benchmark", "random_300_concurrent_100-1_ISL-OSL"),
    profile!("vllm-benchmark", "random_concurrent"),
    profile!("vllm-benchmark", "sanity_random"),
    profile!("vllm-benchmark", "sharegpt"),
    profile!("vllm-benchmark", "sonnet_concurrent"),
];

const INFERENCEMAX: [(&str, &str); 1] = [profile!("inferencemax", "random_concurrent")];

const FMPERF: [(&str, &str); 6] = [
    profile!("fmperf", "large_model_long_input"),
    profile!("fmperf", "medium_model_long_input"),
    profile!("fmperf", "sanity_long-input"),
    profile!("fmperf", "sanity_sharegpt"),
    profile!("fmperf", "sanity_short-input"),
    profile!("fmperf", "small_model_long_input"),
];

const AIPERF: [(&str, &str); 2] = [profile!("aiperf", "dataset"), profile!("aiperf", "synthetic")];

const PRIORITY_MIX: [(&str, &str); 1] = [profile!("priority-mix", "priority_mix")];

const MMLU: [(&str, &str); 2] = [profile!("mmlu", "chat"), profile!("mmlu", "mmlu")];

const NOP: [(&str, &str); 1] = [profile!("nop", "nop")];

fn all(harness: Harness) -> &'static [(&'static str, &'static str)] {
    match harness {
        Harness::Benchwright => &BENCHWRIGHT,
        Harness::InferencePerf => &INFERENCE_PERF,
        Harness::Loadgen => &LOADGEN,
        Harness::Guidellm => &GUIDELLM,
        Harness::VllmBenchmark => &VLLM_BENCHMARK,
        Harness::Inferencemax => &INFERENCEMAX,
        Harness::Fmperf => &FMPERF,
        Harness::Aiperf => &AIPERF,
        Harness::PriorityMix => &PRIORITY_MIX,
        Harness::Mmlu => &MMLU,
        Harness::Nop => &NOP,
    }
}

/// The names of the profiles that ship for a harness, sorted.
pub fn shipped_names(harness: Harness) -> Vec<&'static str> {
    all(harness).iter().map(|(name, _)| *name).collect()
}

/// The template of a profile that ships. Its name may end with `.yaml` or `.yaml.in`.
///
/// # Errors
/// An unknown name; the message has the nearest known one.
pub fn shipped(harness: Harness, name: &str) -> Result<&'static str, ProfileError> {
    let plain = name.trim_end_matches(".in").trim_end_matches(".yaml");
    let found = all(harness).iter().find(|(known, _)| *known == plain).map(|(_, text)| *text);
    found.ok_or_else(|| {
        let remedy = suggestion(plain, shipped_names(harness));
        ProfileError::one(
            "profile.name",
            format!("{} is not a shipped profile of {}; {remedy}", quoted(name), harness.name()),
        )
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{fs, path::Path};

    use super::*;

    /// The variables that a profile cannot do without: where its data are.
    pub(crate) fn required(name: &str) -> &'static [&'static str] {
        match name {
            "chatbot_sharegpt" => &["dataset_file=/data/sharegpt.json"],
            "otel_traces" | "agent_llm_traces_v2" | "weka_traces" => &["dataset_dir=/data/traces"],
            _ => &[],
        }
    }

    #[test]
    fn the_table_holds_every_file_of_the_folder() {
        for harness in Harness::ALL {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(harness.name());
            let mut files: Vec<String> = fs::read_dir(folder)
                .into_iter()
                .flatten()
                .map(|it| it.unwrap().file_name().into_string().unwrap())
                .collect();
            files.sort();
            let table: Vec<String> = shipped_names(harness).iter().map(|it| format!("{it}.yaml.in")).collect();
            assert_eq!(table, files);
        }
    }

    #[test]
    fn a_name_finds_its_profile_or_the_nearest_one() {
        let names = ["llama3.1-8b-offline.yaml", "llama3.1-8b-offline.yaml.in", "llama3.1-8b-offline"];
        assert!(names.iter().all(|it| shipped(Harness::Loadgen, it) == shipped(Harness::Loadgen, names[0])));
        assert!(shipped(Harness::Loadgen, names[0]).is_ok());
        let harness = Harness::InferencePerf;
        assert_eq!(shipped(harness, "sanity_random.yaml.in"), shipped(harness, "sanity_random"));
        assert_eq!(
            shipped(harness, "sanity_randon").unwrap_err().to_string(),
            "profile.name: \"sanity_randon\" is not a shipped profile of inference-perf; did you mean sanity_random?"
        );
    }
}
