//! Computes the statistics of a whole stage that do not depend on its steady state.

use super::{
    input::{Input, Series, Span, span},
    latencies::{self, Figure, Latencies, OfFigure},
    outcomes::{self, Outcomes},
    rates::{self, Rates},
    token_times,
};

/// Statistics of a stage that do not depend on its steady state.
#[derive(Debug, Default)]
pub(super) struct Whole {
    /// One entry per latency in [`Figure::ALL`].
    pub(super) figures: [OfFigure; 4],
    pub(super) itl: Option<Latencies>,
    pub(super) rates: Rates,
    pub(super) outcomes: Outcomes,
    /// Requests and output tokens per second, from the first due request to the last one.
    pub(super) rates_over_time: [Series; 2],
    /// The span from the first due request to the last one.
    pub(super) due: Option<Span>,
}

impl Whole {
    pub(super) fn get(&self, figure: Figure) -> &OfFigure {
        &self.figures[figure as usize]
    }

    pub(super) fn answers(&self) -> u64 {
        self.get(Figure::Latency).estimates.map_or(0, |it| it.count)
    }
}

pub(super) fn of_stages(input: &Input<'_>) -> Vec<Whole> {
    let everything = vec![f64::NEG_INFINITY; input.tallies.len()];
    let due = input.tallies.iter().map(|it| span(it.first_scheduled.zip(it.last_scheduled)));
    let mut stages: Vec<Whole> = due.map(|due| Whole { due, ..Whole::default() }).collect();
    for figure in Figure::ALL {
        for (stage, values) in stages.iter_mut().zip(latencies::values(input, figure, &everything)) {
            stage.figures[figure as usize] = OfFigure::new(values);
        }
    }
    for ((stage, tally), series) in stages.iter_mut().zip(input.tallies).zip(input.series) {
        stage.itl = token_times::estimates(tally, series).filter(|_| input.streaming);
    }
    let spans = input.tallies.iter().zip(&input.windows).zip(&stages).map(|((tally, window), stage)| {
        let rated = window.map(|it| (it.from, it.to)).or_else(|| tally.span());
        rates::fine(span(rated)?, stage.answers())
    });
    let spans = spans.collect::<Vec<_>>();
    let fine = rates::over_time(input, &spans, &input.windows);
    let outcomes = outcomes::of_stages(input, &spans);
    let spans = stages.iter().map(|it| rates::coarse(it.due?, it.answers()));
    let coarse = rates::over_time(input, &spans.collect::<Vec<_>>(), &[]);
    for (((stage, fine), coarse), outcomes) in stages.iter_mut().zip(fine).zip(coarse).zip(outcomes) {
        stage.rates = Rates::new(&fine);
        stage.outcomes = outcomes;
        stage.rates_over_time = coarse;
    }
    stages
}
