//! Rates of a stage over time, and their uncertainty.

use std::time::Duration;

use statistics::{
    Estimate, batch_means,
    bins::{self, RateBins},
};

use super::input::{Input, Series, Span};
use crate::rates::{RateWindow, Spans};

/// The average number of answers per bin of an estimate, and the fewest and the most bins.
const ANSWERS_A_BIN: u64 = 4;
const FEWEST_BINS: u64 = 8;
const MOST_BINS: u64 = 512;

/// What a rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    Requests,
    OutputTokens,
}

/// The uncertainty of the rates of a stage, per second. `None` if no time passed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Requests that succeeded.
    pub requests: Option<Estimate>,
    /// Each token counts evenly between the first and the last token of its request.
    pub output_tokens: Option<Estimate>,
}

impl Rates {
    /// From requests and output tokens over time.
    pub(super) fn new(over_time: &[Series; 2]) -> Rates {
        let estimate = |series: &Series| {
            let rates: Vec<f64> = series.iter().map(|it| it.value).collect();
            batch_means::mean_with_interval(&rates)
        };
        let [requests, output_tokens] = over_time.each_ref().map(estimate);
        Rates { requests, output_tokens }
    }
}

/// Bins for an estimate from this number of answers.
pub(super) fn fine(span: Span, answers: u64) -> Option<RateBins> {
    // At most 512.
    let bins = (answers / ANSWERS_A_BIN).clamp(FEWEST_BINS.min(answers), MOST_BINS);
    RateBins::new(span.open, span.close, bins as usize)
}

/// Bins for the values over time; `None` if there are too few answers.
pub(super) fn coarse(span: Span, answers: u64) -> Option<RateBins> {
    RateBins::new(span.open, span.close, bins::number(usize::try_from(answers).ok()?)?)
}

/// Successful requests and output tokens over time, per stage; empty if the stage has no bins. A stage with a window counts like the headline
/// rates: each request is spread evenly from its start to its end. The other stages count a request when it ends.
pub(super) fn over_time(
    input: &Input<'_>,
    bins: &[Option<RateBins>],
    windows: &[Option<RateWindow>],
) -> Vec<[Series; 2]> {
    let mut stages: Vec<_> = bins.iter().map(|it| [it.clone(), it.clone()]).collect();
    for (record, used) in input.records.with_figures() {
        let stage = record.stage as usize;
        let (Some([Some(requests), Some(tokens)]), Some(tally), Some(origin)) =
            (stages.get_mut(stage), input.tallies.get(stage), input.origins.get(stage))
        else {
            continue;
        };
        if windows.get(stage).is_some_and(Option::is_some) {
            if record.outcome.is_success() {
                let spans = Spans::new(record, *origin);
                let scale = input.scales[stage];
                spread(requests, spans.request, scale);
                spread(tokens, spans.output, f64::from(record.osl()) * scale);
            }
            continue;
        }
        if used.answer {
            requests.add(record.ended.as_secs_f64(), 1.0);
        }
        // A cut window contains the tokens that arrived within it, including tokens of requests that ended later.
        let of_cut = tally.window_bounds.is_some() && (record.outcome.is_success() || !record.outcome.is_decided());
        if let Some(last) = record.last_token.filter(|_| used.answer || of_cut) {
            spread(tokens, (record.first_token.unwrap_or(last), last), f64::from(record.osl()));
        }
    }
    let series = |bins: Option<RateBins>| bins.map_or_else(Vec::new, |it| it.rates());
    stages.into_iter().map(|it| it.map(series)).collect()
}

/// Adds an amount that arrives evenly between two times.
pub(super) fn spread(bins: &mut RateBins, (from, to): (Duration, Duration), amount: f64) {
    bins.spread(from.as_secs_f64(), to.as_secs_f64(), amount);
}
