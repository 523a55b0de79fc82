//! The options of a simulated server: its name, limits, speed, seed and faults.

use std::path::PathBuf;
use std::time::Duration;

use crds::benchmark_run::SimulatorPreset;
use crds::units::Seed;

use super::faults::Fault;
use super::latency::StepCosts;

/// An option that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{option} is {found}; it must be {wanted}")]
pub struct OptionError {
    /// The option's name on the command line.
    pub option: &'static str,
    pub found: String,
    /// The values that are allowed.
    pub wanted: &'static str,
}

/// A simulated server.
#[derive(Clone, Debug, PartialEq)]
pub struct SimOptions {
    /// The name under which the model is served.
    pub model: String,
    /// Names of LoRA adapters, which are served as additional models.
    pub lora_modules: Vec<String>,
    /// The costs of a step.
    pub costs: StepCosts,
    /// Maximum number of running sequences; other sequences wait.
    pub max_num_seqs: u32,
    /// Maximum number of tokens that one step computes, prompt tokens and new tokens together.
    pub max_num_batched_tokens: u32,
    /// Maximum number of tokens in a prompt and its answer together.
    pub max_model_len: u32,
    /// Tokens in a block of the KV cache.
    pub block_size: u32,
    /// Blocks in the KV cache, including one reserved block as in vLLM.
    pub num_gpu_blocks: u32,
    /// Whether the blocks of finished requests are kept for prompts with the same prefix, as vLLM does by default.
    pub prefix_caching: bool,
    /// Whether the usage of an answer reports how many prompt tokens came from the prefix cache.
    pub prompt_tokens_details: bool,
    /// The mean length in tokens of an answer that the model ends itself. Lengths are geometric: each token has the same chance to be the last one.
    pub mean_output_tokens: u32,
    /// The seed for lengths, words, jitter and faults.
    pub seed: Seed,
    /// What goes wrong, if anything.
    pub fault: Option<Fault>,
    /// The folder for the profiler's traces. A trace contains the number of requests, but no kernels. If absent, the server has no profiler.
    pub profiler_dir: Option<PathBuf>,
    /// The sleep mode. If absent, its endpoints do not exist.
    pub sleep_mode: Option<SleepMode>,
}

/// How long changes of the sleep mode take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SleepMode {
    /// Time to fall asleep.
    pub sleep: Duration,
    /// Time to wake up.
    pub wake_up: Duration,
    /// Time to reload the weights after a sleep of level 2.
    pub reload: Duration,
}

impl Default for SimOptions {
    fn default() -> Self {
        SimOptions::preset(SimulatorPreset::Gpu)
    }
}

impl SimOptions {
    /// Returns the server of a preset, with seed 0.
    ///
    /// `gpu` is an 8B model on one data-centre GPU. 10 ms between tokens for a single sequence, and 13 ms at 64 sequences of 500 tokens; 20,000
    /// prompt tokens per second, so 35 ms to the first token of a 512-token prompt.
    ///
    /// `tiny`: vLLM with a tiny model on a CPU. The costs fit measurements on one: 2.3 ms between tokens for a single sequence, and 4.8 ms at 32
    /// sequences.
    ///
    /// `instant`: every step takes no time, and no request ever waits.
    pub fn preset(preset: SimulatorPreset) -> Self {
        let micros = Duration::from_micros;
        let gpu = SimOptions {
            model: "sim-8b".into(),
            lora_modules: Vec::new(),
            costs: StepCosts {
                base: micros(9_500),
                per_prompt: Duration::ZERO,
                per_prefill_token: micros(50),
                per_sequence: micros(30),
                per_context_token: Duration::from_nanos(50),
                jitter: 0.03,
            },
            max_num_seqs: 256,
            max_num_batched_tokens: 2_048,
            max_model_len: 32_768,
            block_size: 16,
            num_gpu_blocks: 25_000,
            prefix_caching: true,
            prompt_tokens_details: false,
            mean_output_tokens: 256,
            seed: Seed(0),
            fault: None,
            profiler_dir: None,
            sleep_mode: None,
        };
        match preset {
            SimulatorPreset::Gpu => gpu,
            SimulatorPreset::Tiny => SimOptions {
                model: "sim-tiny".into(),
                costs: StepCosts {
                    base: micros(2_220),
                    per_prompt: Duration::ZERO,
                    per_prefill_token: micros(20),
                    per_sequence: micros(80),
                    per_context_token: Duration::ZERO,
                    jitter: 0.03,
                },
                max_num_seqs: 128,
                max_model_len: 2_048,
                block_size: 128,
                num_gpu_blocks: 8_192,
                ..gpu
            },
            SimulatorPreset::Instant => SimOptions {
                model: "sim-instant".into(),
                costs: StepCosts::default(),
                max_num_seqs: 65_536,
                max_num_batched_tokens: 1 << 30,
                num_gpu_blocks: 1 << 20,
                ..gpu
            },
        }
    }

    /// Checks that all options have valid values.
    ///
    /// # Errors
    /// The first option with an invalid value.
    pub fn check(&self) -> Result<(), OptionError> {
        let wrong = |option, found: String, wanted| Err(OptionError { option, found, wanted });
        let shown = self.model.chars().any(|it| !it.is_whitespace()) && !self.model.chars().any(char::is_control);
        if !shown || self.model.len() > 256 {
            let found: String = self.model.chars().take(80).collect();
            return wrong("model", format!("{found:?}"), "a name of 1 to 256 bytes that can be printed");
        }
        for (option, value) in [
            ("max-num-seqs", self.max_num_seqs),
            ("max-num-batched-tokens", self.max_num_batched_tokens),
            ("mean-output-tokens", self.mean_output_tokens),
            ("block-size", self.block_size),
        ] {
            if value == 0 {
                return wrong(option, "0".into(), "at least 1");
            }
        }
        if self.max_num_batched_tokens < self.max_num_seqs {
            return wrong("max-num-batched-tokens", self.max_num_batched_tokens.to_string(), "at least max-num-seqs");
        }
        if self.max_model_len < 2 || self.num_gpu_blocks < 2 {
            let smaller = self.max_model_len.min(self.num_gpu_blocks);
            return wrong("max-model-len or num-gpu-blocks-override", smaller.to_string(), "at least 2");
        }
        let room = u64::from(self.num_gpu_blocks - 1) * u64::from(self.block_size);
        if room < u64::from(self.max_model_len) {
            let found =
                format!("{}, of which one is reserved, with {} tokens each", self.num_gpu_blocks, self.block_size);
            return wrong(
                "num-gpu-blocks-override",
                found,
                "enough for one request of max-model-len; lower --max-model-len",
            );
        }
        if !(0.0..1.0).contains(&self.costs.jitter) {
            return wrong("jitter", self.costs.jitter.to_string(), "a number from 0 to less than 1");
        }
        if let Some(fault) = &self.fault
            && !(0.0..=1.0).contains(&fault.ratio)
        {
            return wrong("fail-ratio", fault.ratio.to_string(), "a number from 0 to 1");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::{Latency, StepLoad};

    #[test]
    fn presets_are_as_fast_as_they_say() {
        for (preset, load, micros) in [
            (SimulatorPreset::Gpu, StepLoad { sequences: 1, context_tokens: 500, ..StepLoad::default() }, 9_555),
            (SimulatorPreset::Gpu, StepLoad { sequences: 64, context_tokens: 32_000, ..StepLoad::default() }, 13_020),
            (SimulatorPreset::Tiny, StepLoad { sequences: 1, ..StepLoad::default() }, 2_300),
            (SimulatorPreset::Tiny, StepLoad { sequences: 32, ..StepLoad::default() }, 4_780),
            (SimulatorPreset::Instant, StepLoad { sequences: 32, ..StepLoad::default() }, 0),
        ] {
            let costs = StepCosts { jitter: 0.0, ..SimOptions::preset(preset).costs };
            assert_eq!(Latency::new(costs, Seed(0)).step(&load), Duration::from_micros(micros), "{preset:?}");
        }
    }

    #[test]
    fn a_model_has_a_name_that_can_be_printed() {
        for model in ["", " ", "\n", "a\nb", "a\u{1b}[31m", &"a".repeat(257)] {
            let error = SimOptions { model: model.into(), ..SimOptions::default() }.check().unwrap_err().to_string();
            assert!(error.starts_with("model is ") && error.len() < 200 && !error.contains('\n'), "{error}");
        }
        SimOptions { model: "org/Größe 8B".into(), ..SimOptions::default() }.check().unwrap();
    }
}
