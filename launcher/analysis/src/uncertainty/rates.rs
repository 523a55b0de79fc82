//! Rates of a stage over time, and their uncertainty.

use std::time::Duration;

use statistics::{
    Estimate, batch_means,
    bins::{self, RateBins},
};

use super::input::{Input, Series, Span};
use crate::rates::{RateWindow, Spans};

/// Average number of answers per bin of an estimate.
const ANSWERS_A_BIN: u64 = 4;
/// Minimum number of bins, if there are that many answers.
const FEWEST_BINS: u64 = 8;
/// Maximum number of bins.
const MOST_BINS: u64 = 512;

/// What a rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    Requests,
    OutputTokens,
}

/// The uncertainty of a stage's rates, per second. A rate is `None` if no time passed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Successful requests per second.
    pub requests: Option<Estimate>,
    /// Output tokens per second. The tokens of a request are spread evenly between its first and its last token.
    pub output_tokens: Option<Estimate>,
}

impl Rates {
    /// Computes the estimates. `over_time` are the series of requests and of output tokens.
    pub(super) fn new(over_time: &[Series; 2]) -> Rates {
        let estimate = |series: &Series| {
            let rates: Vec<f64> = series.iter().map(|it| it.value).collect();
            batch_means::mean_with_interval(&rates)
        };
        let [requests, output_tokens] = over_time.each_ref().map(estimate);
        Rates { requests, output_tokens }
    }
}

/// Narrow bins for an estimate from `answers` answers.
pub(super) fn fine(span: Span, answers: u64) -> Option<RateBins> {
    // The maximum is 512 bins.
    let bins = (answers / ANSWERS_A_BIN).clamp(FEWEST_BINS.min(answers), MOST_BINS);
    RateBins::new(span.open, span.close, bins as usize)
}

/// Wide bins for a curve over time; `None` if there are too few answers.
pub(super) fn coarse(span: Span, answers: u64) -> Option<RateBins> {
    RateBins::new(span.open, span.close, bins::number(usize::try_from(answers).ok()?)?)
}

/// Successful requests and output tokens over time, per stage; empty for a stage without bins. In a stage with a rate window, each request is spread
/// evenly from its start to its end, as for the headline rates. In other stages, a request counts when it ends.
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
        // The figures of a cut window include all tokens that arrived within it, even those of requests that ended later.
        let of_cut = tally.window_bounds.is_some() && (record.outcome.is_success() || !record.outcome.is_decided());
        if let Some(last) = record.last_token.filter(|_| used.answer || of_cut) {
            spread(tokens, (record.first_token.unwrap_or(last), last), f64::from(record.osl()));
        }
    }
    let series = |bins: Option<RateBins>| bins.map_or_else(Vec::new, |it| it.rates());
    stages.into_iter().map(|it| it.map(series)).collect()
}

/// Adds an amount that is spread evenly between two times.
pub(super) fn spread(bins: &mut RateBins, (from, to): (Duration, Duration), amount: f64) {
    bins.spread(from.as_secs_f64(), to.as_secs_f64(), amount);
}
