//! Profiles that are cut, changed and mistyped.

use proptest::prelude::*;

use super::*;
use crate::formats::hostile::{self, VALUES, changed, cut};

const PROFILES: [&str; 4] = [
    "executable: benchmark_serving.py\nmodel: m\nbase-url: http://x\ndataset-name: random\nrandom-range-ratio: '{\"input\": 0.3, \"output\": 0.5}'\n\
     num-prompts: 32\nmax-concurrency: 4\nrequest-rate: inf\nignore-eos: none\ngoodput: 'ttft:500 tpot:50'\nmetric-percentiles: '0.1,99'\n",
    "backend: openai-chat\nendpoint: /v1/chat/completions\ndataset-name: random-mm\nrandom-mm-bucket-config: '{(256, 256, 1): 0.5, (72, 128, 1): 0.5}'\n\
     random-mm-limit-mm-per-prompt: '{\"image\": 3}'\nextra-body: {stop: [x]}\nheader: a=b\n",
    "vllm bench serve --dataset-name timed_trace --dataset-path t.jsonl --timed-trace-sec-multiplier 0.001 --num-prompts 5 --burstiness inf",
    "dataset-name: sharegpt\ndataset-path: s.json\nramp-up-strategy: linear\nramp-up-start-rps: 1\nramp-up-end-rps: 5\nnum-warmups: 3\n\
     lora-modules: [a, b]\nprobe-request-rate: 1\nseed: 1\n",
];

#[test]
fn the_profiles_are_right_as_they_are() {
    for profile in PROFILES {
        hostile::check_round_trip(&workload(profile));
    }
}

proptest! {
    #[test]
    fn a_cut_profile_never_panics(which in 0..PROFILES.len(), share in 0.0..1.0) {
        let text = cut(PROFILES[which], share);
        for harness in [Harness::VllmBenchmark, Harness::Inferencemax] {
            hostile::check(harness, text);
        }
    }

    #[test]
    fn a_changed_letter_never_panics(which in 0..PROFILES.len(), share in 0.0..1.0, letter in "[ -~\n]") {
        let text = changed(PROFILES[which], share, &letter);
        for harness in [Harness::VllmBenchmark, Harness::Inferencemax] {
            hostile::check(harness, &text);
        }
    }

    #[test]
    fn any_flag_with_any_value_never_panics(which in 0..PROFILES.len(), flag in prop::sample::select(root_keys()), value in prop::sample::select(&VALUES)) {
        let flags: Vec<&str> = PROFILES[which].lines().filter(|it| !it.starts_with(&format!("{flag}:"))).collect();
        let text = format!("{}\n{flag}: {value}", flags.join("\n"));
        for harness in [Harness::VllmBenchmark, Harness::Inferencemax] {
            hostile::check(harness, &text);
        }
    }
}
