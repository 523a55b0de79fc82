//! How long one step of the simulated engine takes: a pure, seeded model.
//!
//! A step computes some prompt tokens and one new token for each sequence that decodes, all in one forward pass:
//!
//! ```text
//! step = (base + new prompts x per_prompt + prompt tokens x per_prefill_token
//!              + sequences x per_sequence + context tokens x per_context_token) x jitter
//! ```
//!
//! TTFT therefore grows with the length of the prompt and with the queue. ITL grows with the batch and with the prompts of other requests. Jitter is
//! uniform in `1 - jitter ..= 1 + jitter`, with one draw per step.

use std::time::Duration;

use crds::units::Seed;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The costs of a step. All zero: a step takes no time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepCosts {
    /// Cost of every step.
    pub base: Duration,
    /// Cost per prompt that starts in the step.
    pub per_prompt: Duration,
    /// Cost per prompt token that the step computes.
    pub per_prefill_token: Duration,
    /// Cost per sequence in the step, whether it computes its prompt or a new token.
    pub per_sequence: Duration,
    /// Cost per token that the sequences of the step already hold in the KV cache.
    pub per_context_token: Duration,
    /// The half width of the random factor, from 0 (none) to less than 1.
    pub jitter: f64,
}

/// The work of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepLoad {
    /// Sequences that start their prompt in this step.
    pub prompts: u32,
    /// Number of prompt tokens that the step computes.
    pub prefill_tokens: u32,
    /// Number of sequences in the step.
    pub sequences: u32,
    /// Tokens that these sequences held in the KV cache before the step.
    pub context_tokens: u64,
}

/// The latency model: its costs, and the random numbers for jitter.
#[derive(Debug)]
pub struct Latency {
    costs: StepCosts,
    draws: ChaCha8Rng,
}

impl Latency {
    /// Creates the model. The same seed gives the same jitter in the same order.
    pub fn new(costs: StepCosts, seed: Seed) -> Self {
        Latency { costs, draws: ChaCha8Rng::seed_from_u64(seed.derive("simulator/latency").0) }
    }

    /// Returns how long the next step takes.
    pub fn step(&mut self, load: &StepLoad) -> Duration {
        let costs = &self.costs;
        let nanos = costs.base.as_nanos() as f64
            + costs.per_prompt.as_nanos() as f64 * f64::from(load.prompts)
            + costs.per_prefill_token.as_nanos() as f64 * f64::from(load.prefill_tokens)
            + costs.per_sequence.as_nanos() as f64 * f64::from(load.sequences)
            + costs.per_context_token.as_nanos() as f64 * load.context_tokens as f64;
        let factor = if costs.jitter > 0.0 { 1.0 + costs.jitter * self.draws.random_range(-1.0..=1.0) } else { 1.0 };
        Duration::from_nanos((nanos * factor).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(jitter: f64) -> StepCosts {
        StepCosts {
            base: Duration::from_micros(2_000),
            per_prompt: Duration::from_micros(500),
            per_prefill_token: Duration::from_micros(10),
            per_sequence: Duration::from_micros(100),
            per_context_token: Duration::from_nanos(200),
            jitter,
        }
    }

    #[test]
    fn a_step_is_the_sum_of_its_costs() {
        let mut latency = Latency::new(costs(0.0), Seed(1));
        let load = StepLoad { prompts: 1, prefill_tokens: 300, sequences: 4, context_tokens: 1_000 };
        // 2,000 + 500 + 300 x 10 + 4 x 100 + 1,000 x 0.2 microseconds.
        assert_eq!(latency.step(&load), Duration::from_micros(6_100));
        assert_eq!(Latency::new(StepCosts::default(), Seed(1)).step(&load), Duration::ZERO);
    }

    #[test]
    fn jitter_repeats_for_a_seed_and_stays_within_its_width() {
        let load = StepLoad { sequences: 1, ..StepLoad::default() };
        let steps = |seed| {
            let mut latency = Latency::new(costs(0.1), Seed(seed));
            (0..500).map(|_| latency.step(&load)).collect::<Vec<_>>()
        };
        assert_eq!(steps(7), steps(7));
        assert_ne!(steps(7), steps(8));
        let (low, high) = (Duration::from_micros(1_890), Duration::from_micros(2_310));
        assert!(steps(7).iter().all(|it| (low..=high).contains(it)));
        assert!(steps(7).iter().any(|it| *it < Duration::from_micros(1_950)));
        assert!(steps(7).iter().any(|it| *it > Duration::from_micros(2_250)));
    }
}
