//! What a server cost: rates per accelerator and money per token. Everything is derived from `spec.target.hardware`, which the user provides;
//! nothing is guessed.

use crds::resolve::Hardware;

use super::{Figures, TokenCount};

const SECONDS_PER_HOUR: f64 = 3_600.0;
const MILLION: f64 = 1e6;

/// Figures per accelerator, for a stage or the run. A figure is absent if its inputs are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CostFigures {
    /// Output tokens per second / accelerators.
    pub output_tokens_per_second_per_accelerator: Option<f64>,
    /// Prompt and output tokens per second / accelerators.
    pub total_tokens_per_second_per_accelerator: Option<f64>,
    /// price x accelerators / (output tokens per hour) x 1,000,000, in the currency of the price.
    pub cost_per_million_output_tokens: Option<f64>,
    /// price x accelerators / (prompt and output tokens per hour) x 1,000,000.
    pub cost_per_million_total_tokens: Option<f64>,
}

impl CostFigures {
    pub fn new(figures: &Figures, hardware: &Hardware) -> CostFigures {
        // A total that mixes the server's token counts with the launcher's counts is not comparable, so it gives no figures.
        let rates = figures.throughput.filter(|_| figures.token_count != Some(TokenCount::Mixed));
        let (output, total) = (rates.map(|it| it.output_tokens), rates.and_then(|it| it.total_tokens));
        let accelerators = f64::from(hardware.accelerators);
        let per_accelerator = |rate: Option<f64>| rate.map(|it| it / accelerators);
        let price = hardware.price.as_ref().map(|it| it.per_accelerator_hour * accelerators);
        let cost = |rate: Option<f64>| {
            let per_hour = rate.filter(|it| *it > 0.0)? * SECONDS_PER_HOUR;
            Some(price? / per_hour * MILLION)
        };
        CostFigures {
            output_tokens_per_second_per_accelerator: per_accelerator(output),
            total_tokens_per_second_per_accelerator: per_accelerator(total),
            cost_per_million_output_tokens: cost(output),
            cost_per_million_total_tokens: cost(total),
        }
    }
}
