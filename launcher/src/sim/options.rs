//! What a simulated server is: its name, limits, speed, seed and faults; and the arguments of `benchwright sim`.

use std::net::IpAddr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use crds::benchmark_run::SimulatorPreset;
use crds::units::{Seed, Span};

use super::SimError;
use super::faults::{Fault, FaultKind};
use super::latency::StepCosts;

/// A simulated server.
#[derive(Clone, Debug, PartialEq)]
pub struct SimOptions {
    /// The name under which the model is served.
    pub model: String,
    /// The costs of a step.
    pub costs: StepCosts,
    /// Sequences that may run at once; others wait.
    pub max_num_seqs: u32,
    /// Tokens that one step may compute, prompt tokens and new ones together.
    pub max_num_batched_tokens: u32,
    /// Tokens that prompt and answer may have together.
    pub max_model_len: u32,
    /// Tokens in a block of the KV cache.
    pub block_size: u32,
    /// Blocks in the KV cache, one of them reserved as in vLLM.
    pub num_gpu_blocks: u32,
    /// Whether the blocks of ended requests are kept for prompts that begin alike, as vLLM does by default.
    pub prefix_caching: bool,
    /// Whether the usage of an answer tells how much of its prompt came from the prefix cache.
    pub prompt_tokens_details: bool,
    /// The mean length of an answer that nothing but the model ends, in tokens. Lengths are geometric, as if each token
    /// had the same chance to be the last one.
    pub mean_output_tokens: u32,
    /// Where lengths, words, jitter and faults come from.
    pub seed: Seed,
    /// What goes wrong, if anything.
    pub fault: Option<Fault>,
}

impl Default for SimOptions {
    fn default() -> Self {
        SimOptions::preset(SimulatorPreset::default())
    }
}

impl SimOptions {
    /// The server of a preset, with seed 0.
    ///
    /// `gpu`: an 8B model on one data-centre GPU. 10 ms between tokens alone and 13 ms at 64 sequences of 500 tokens;
    /// 20,000 prompt tokens a second, so 35 ms to the first token of a 512-token prompt.
    ///
    /// `tiny`: vLLM with a tiny model on a CPU; the costs fit what was measured on one, 2.3 ms between tokens alone and
    /// 4.8 ms at 32 sequences.
    ///
    /// `instant`: every step takes no time, and nothing ever queues.
    pub fn preset(preset: SimulatorPreset) -> Self {
        let micros = Duration::from_micros;
        let gpu = SimOptions {
            model: "sim-8b".into(),
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

    /// The first option that makes no sense.
    pub(super) fn check(&self) -> Result<(), SimError> {
        let wrong = |option, found: String, wanted| Err(SimError::Option { option, found, wanted });
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

/// The preset as an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PresetArg {
    /// An 8B model on one data-centre GPU: 10 ms between tokens.
    #[default]
    Gpu,
    /// A tiny model on a CPU: 2.3 ms between tokens.
    Tiny,
    /// Answers at once.
    Instant,
}

/// The arguments of `benchwright sim`. What is left out comes from the preset.
#[derive(Args, Clone, Debug)]
pub struct SimArgs {
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    pub host: IpAddr,

    /// The port to listen on; 0 takes a free one, and the first line on stdout tells which.
    #[arg(long, default_value_t = 8000)]
    pub port: u16,

    /// Threads that serve connections; all share one engine.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,

    /// The server to play.
    #[arg(long, value_enum, default_value_t)]
    pub preset: PresetArg,

    /// The name under which the model is served.
    #[arg(long)]
    pub model: Option<String>,

    /// Where lengths, words, jitter and faults come from.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,

    /// Time to the first token of a request that is alone, whatever its prompt, such as 100ms. At least `--itl`.
    #[arg(long, value_name = "DURATION")]
    pub ttft: Option<Span>,

    /// Time between two tokens, whatever the batch, such as 10ms.
    #[arg(long, value_name = "DURATION")]
    pub itl: Option<Span>,

    /// Half the width of the random factor on each step, from 0 to less than 1.
    #[arg(long)]
    pub jitter: Option<f64>,

    /// Sequences that may run at once.
    #[arg(long)]
    pub max_num_seqs: Option<u32>,

    /// Tokens that one step may compute.
    #[arg(long)]
    pub max_num_batched_tokens: Option<u32>,

    /// Tokens that prompt and answer may have together.
    #[arg(long)]
    pub max_model_len: Option<u32>,

    /// Tokens in a block of the KV cache.
    #[arg(long)]
    pub block_size: Option<u32>,

    /// Blocks in the KV cache, one of which is reserved.
    #[arg(long, value_name = "BLOCKS")]
    pub num_gpu_blocks_override: Option<u32>,

    /// Keep the blocks of ended requests for prompts that begin alike; the default.
    #[arg(long, overrides_with = "no_enable_prefix_caching")]
    pub enable_prefix_caching: bool,

    /// Compute every prompt anew.
    #[arg(long, overrides_with = "enable_prefix_caching")]
    pub no_enable_prefix_caching: bool,

    /// Tell in the usage of each answer how much of its prompt came from the prefix cache.
    #[arg(long)]
    pub enable_prompt_tokens_details: bool,

    /// The mean length of answers that nothing else ends, in tokens.
    #[arg(long)]
    pub mean_output_tokens: Option<u32>,

    /// Fault: answer generation requests with this status.
    #[arg(long, value_name = "CODE", group = "fault", value_parser = clap::value_parser!(u16).range(400..=599))]
    pub fail_status: Option<u16>,

    /// Fault: cut the connection of a stream after this many tokens.
    #[arg(long, value_name = "TOKENS", group = "fault")]
    pub break_after_tokens: Option<u32>,

    /// Fault: send nothing more on a stream after this many tokens, and leave it open.
    #[arg(long, value_name = "TOKENS", group = "fault")]
    pub stall_after_tokens: Option<u32>,

    /// Fault: accept connections and never answer, on any path.
    #[arg(long, group = "fault")]
    pub hang: bool,

    /// The share of the requests that the fault hits, from 0 to 1.
    #[arg(long, default_value_t = 1.0, requires = "fault")]
    pub fail_ratio: f64,
}

impl SimArgs {
    /// The preset with what the arguments change.
    pub fn options(&self) -> Result<SimOptions, SimError> {
        let mut options = SimOptions::preset(match self.preset {
            PresetArg::Gpu => SimulatorPreset::Gpu,
            PresetArg::Tiny => SimulatorPreset::Tiny,
            PresetArg::Instant => SimulatorPreset::Instant,
        });
        let costs = &mut options.costs;
        if let Some(Span(itl)) = self.itl {
            costs.base = itl;
            costs.per_sequence = Duration::ZERO;
            costs.per_context_token = Duration::ZERO;
        }
        if let Some(ttft) = self.ttft {
            costs.per_prefill_token = Duration::ZERO;
            costs.per_prompt = ttft.0.checked_sub(costs.base + costs.per_sequence).ok_or_else(|| SimError::Option {
                option: "ttft",
                found: ttft.to_string(),
                wanted: "at least the time between tokens; lower --itl",
            })?;
        }
        let overrides = [
            (&mut options.max_num_seqs, self.max_num_seqs),
            (&mut options.max_num_batched_tokens, self.max_num_batched_tokens),
            (&mut options.max_model_len, self.max_model_len),
            (&mut options.mean_output_tokens, self.mean_output_tokens),
            (&mut options.block_size, self.block_size),
            (&mut options.num_gpu_blocks, self.num_gpu_blocks_override),
        ];
        for (option, value) in overrides {
            *option = value.unwrap_or(*option);
        }
        options.costs.jitter = self.jitter.unwrap_or(options.costs.jitter);
        options.model = self.model.clone().unwrap_or(options.model);
        options.seed = Seed(self.seed);
        options.prefix_caching = !self.no_enable_prefix_caching;
        options.prompt_tokens_details = self.enable_prompt_tokens_details;
        options.fault = self.fault();
        options.check()?;
        Ok(options)
    }

    fn fault(&self) -> Option<Fault> {
        let kind = (self.fail_status.map(FaultKind::Status))
            .or(self.break_after_tokens.map(FaultKind::BreakAfter))
            .or(self.stall_after_tokens.map(FaultKind::StallAfter))
            .or(self.hang.then_some(FaultKind::Hang))?;
        Some(Fault { kind, ratio: self.fail_ratio })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::sim::latency::{Latency, StepLoad};

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        sim: SimArgs,
    }

    fn parse(line: &str) -> Result<SimOptions, String> {
        let words = std::iter::once("sim").chain(line.split_whitespace());
        let cli = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
        cli.sim.options().map_err(|error| error.to_string())
    }

    #[test]
    fn without_arguments_it_is_the_gpu_preset() {
        assert_eq!(parse("").unwrap(), SimOptions::preset(SimulatorPreset::Gpu));
    }

    #[test]
    fn ttft_and_itl_are_what_a_lone_request_sees() {
        let options = parse("--preset gpu --ttft 120ms --itl 20ms --jitter 0 --model m --seed 3").unwrap();
        assert_eq!((options.model.as_str(), options.seed), ("m", Seed(3)));
        let mut latency = Latency::new(options.costs, options.seed);
        let first = StepLoad { prompts: 1, prefill_tokens: 999, sequences: 1, context_tokens: 0 };
        let later = StepLoad { prompts: 0, prefill_tokens: 0, sequences: 1, context_tokens: 999 };
        assert_eq!(latency.step(&first), Duration::from_millis(120));
        assert_eq!(latency.step(&later), Duration::from_millis(20));
    }

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
    fn the_prefix_cache_has_the_flags_of_vllm() {
        let caching = |line| parse(line).unwrap().prefix_caching;
        assert!(caching("") && caching("--enable-prefix-caching"));
        assert!(!caching("--no-enable-prefix-caching"));
        assert!(!caching("--enable-prefix-caching --no-enable-prefix-caching"));
        assert!(caching("--no-enable-prefix-caching --enable-prefix-caching"));
        let line = "--block-size 32 --num-gpu-blocks-override 2000 --enable-prompt-tokens-details";
        let options = parse(line).unwrap();
        assert_eq!((options.block_size, options.num_gpu_blocks, options.prompt_tokens_details), (32, 2_000, true));
    }

    #[test]
    fn faults_take_a_ratio_and_exclude_each_other() {
        let options = parse("--fail-status 503 --fail-ratio 0.25").unwrap();
        assert_eq!(options.fault, Some(Fault { kind: FaultKind::Status(503), ratio: 0.25 }));
        assert!(parse("--fail-status 503 --hang").unwrap_err().contains("cannot be used with"));
        assert!(parse("--fail-status 200").unwrap_err().contains("400..=599"));
        assert!(parse("--fail-ratio 0.5").unwrap_err().contains("required"));
        assert!(parse("--hang --fail-ratio 1.5").unwrap_err().contains("fail-ratio is 1.5"));
    }

    #[test]
    fn a_model_has_a_name_that_can_be_printed() {
        for model in ["", " ", "\n", "a\nb", "a\u{1b}[31m", &"a".repeat(257)] {
            let error = SimOptions { model: model.into(), ..SimOptions::default() }.check().unwrap_err().to_string();
            assert!(error.starts_with("model is ") && error.len() < 200 && !error.contains('\n'), "{error}");
        }
        SimOptions { model: "org/Größe 8B".into(), ..SimOptions::default() }.check().unwrap();
    }

    #[test]
    fn a_wrong_option_is_named() {
        for (line, expected) in [
            ("--ttft 5ms --itl 20ms", "ttft is 5ms"),
            ("--max-num-seqs 0", "max-num-seqs is 0"),
            ("--max-num-batched-tokens 100", "max-num-batched-tokens is 100"),
            ("--max-model-len 1", "max-model-len"),
            (
                "--num-gpu-blocks-override 20",
                "num-gpu-blocks-override is 20, of which one is reserved, with 16 tokens each",
            ),
            ("--block-size 0", "block-size is 0"),
            ("--threads 0", "0 is not in 1..=256"),
            ("--jitter 1", "jitter is 1"),
            ("--jitter NaN", "jitter is NaN"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
