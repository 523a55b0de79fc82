//! How sure the figures of a stage are: their intervals, whether the stage was in a steady state, and Little's law.
//!
//! They come from the records of the requests, in the order in which these were due. Only stages have them: different loads together
//! have no steady state. The methods are those of the crate `statistics`, and `docs/statistics.md` explains them.

mod concurrency;
mod latencies;
mod outcomes;
mod rates;
mod steady_state;
#[cfg(test)]
mod tests;

use std::time::Duration;

use statistics::littles_law::LittlesLaw;
use workload_profiles::Workload;

use super::{
    figures::LatencyOrigin,
    rates::{Plateaus, RateWindow},
};
use measurement::{
    record::RequestRecord,
    recorder::{Recorder, Records, StageTally},
};

pub use latencies::{Figure, Latencies, PERCENTILES};
pub use outcomes::Outcomes;
pub use rates::{Rate, Rates};
pub use statistics::{
    Estimate, LEVEL, enough,
    steady_state::{State, Verdict as SteadyVerdict},
};
pub use steady_state::{JudgedFigure, Measure, Status, SteadyState, Window};

use latencies::OfFigure;
use statistics::bins::Point;

/// Why a stage has no intervals and no steady state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    NoRecords,
    RecordsLeftOut,
    NoAnswers,
}

impl Absent {
    /// The reason in words.
    pub fn reason(self) -> &'static str {
        match self {
            Absent::NoRecords => "the launcher kept no record of each request",
            Absent::RecordsLeftOut => "memory had no room for the records of all requests",
            Absent::NoAnswers => "no request of the stage succeeded within its window",
        }
    }
}

/// How sure the figures of a stage are. Latencies count as the headline figures of the stage do.
#[derive(Clone, Debug, PartialEq)]
pub struct Uncertainty {
    pub ttft: Option<Latencies>,
    pub tpot: Option<Latencies>,
    pub ntpot: Option<Latencies>,
    pub latency: Option<Latencies>,
    pub rates: Rates,
    pub outcomes: Outcomes,
    /// Within the window of the steady state, or where there is none from the first due request to the last one.
    pub littles_law: Option<LittlesLaw>,
    pub steady_state: SteadyState,
}

/// How sure the figures of each stage are. Some passes over the records, and two sorts of each figure; at most 24 bytes a record
/// are in use at once.
pub(super) fn of_stages(
    recorder: &Recorder,
    workload: &Workload,
    plateaus: &Plateaus,
) -> Vec<Result<Uncertainty, Absent>> {
    let Some(records) = recorder.every_record() else {
        let why = if recorder.records.is_some() { Absent::RecordsLeftOut } else { Absent::NoRecords };
        return vec![Err(why); recorder.stages.len()];
    };
    let origins = workload.stages.iter().map(|it| LatencyOrigin::from_load(&it.load)).collect();
    let has_goals = !workload.goodput.is_empty();
    let windows = plateaus.stages.iter().map(|it| it.as_ref().and_then(|it| it.window)).collect();
    Input {
        records,
        tallies: &recorder.stages,
        windows,
        scales: &plateaus.scales,
        origins,
        streaming: workload.streaming,
        has_goals,
    }
    .uncertainties()
}

/// A figure over time.
type Series = Vec<Point>;

/// A part of a stage, in seconds from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    open: f64,
    close: f64,
}

/// What is known of a stage before its steady state is.
#[derive(Debug, Default)]
struct Whole {
    /// One for each of [`Figure::ALL`].
    figures: [OfFigure; 4],
    rates: Rates,
    outcomes: Outcomes,
    /// Requests and output tokens per second, from the first due request to the last one.
    rates_over_time: [Series; 2],
    /// From the first due request to the last one.
    due: Option<Span>,
}

impl Whole {
    fn get(&self, figure: Figure) -> &OfFigure {
        &self.figures[figure as usize]
    }

    fn answers(&self) -> u64 {
        self.get(Figure::Latency).estimates.map_or(0, |it| it.count)
    }
}

/// What the records are read with.
struct Input<'a> {
    records: &'a Records,
    tallies: &'a [StageTally],
    /// The window between fill and drain of each stage; `None`: its rates cover the whole stage.
    windows: Vec<Option<RateWindow>>,
    /// The factor of the work in each stage.
    scales: &'a [f64],
    origins: Vec<LatencyOrigin>,
    streaming: bool,
    /// Whether the workload sets goals that a request has to meet.
    has_goals: bool,
}

impl Input<'_> {
    fn uncertainties(&self) -> Vec<Result<Uncertainty, Absent>> {
        let stages = self.whole_stages();
        let found: Vec<steady_state::Found> = stages.iter().map(steady_state::find).collect();
        let within = steady_state::within(self, &stages, &found);
        let or_due: Vec<_> = found.iter().zip(&stages).map(|(found, stage)| found.window.or(stage.due)).collect();
        let laws = concurrency::littles_law(self, &or_due);
        let stages = stages.into_iter().zip(found).zip(within).zip(laws);
        stages.map(|(((whole, found), within), law)| uncertainty(whole, found, within, law)).collect()
    }

    fn whole_stages(&self) -> Vec<Whole> {
        let everything = vec![f64::NEG_INFINITY; self.tallies.len()];
        let due = self.tallies.iter().map(|it| span(it.first_scheduled.zip(it.last_scheduled)));
        let mut stages: Vec<Whole> = due.map(|due| Whole { due, ..Whole::default() }).collect();
        for figure in Figure::ALL {
            for (stage, values) in stages.iter_mut().zip(latencies::values(self, figure, &everything)) {
                stage.figures[figure as usize] = OfFigure::new(values);
            }
        }
        let spans = self.tallies.iter().zip(&self.windows).zip(&stages).map(|((tally, window), stage)| {
            let rated = window.map(|it| (it.from, it.to)).or_else(|| tally.span());
            rates::fine(span(rated)?, stage.answers())
        });
        let spans = spans.collect::<Vec<_>>();
        let fine = rates::over_time(self, &spans, &self.windows);
        let outcomes = outcomes::of_stages(self, &spans);
        let spans = stages.iter().map(|it| rates::coarse(it.due?, it.answers()));
        let coarse = rates::over_time(self, &spans.collect::<Vec<_>>(), &[]);
        for (((stage, fine), coarse), outcomes) in stages.iter_mut().zip(fine).zip(coarse).zip(outcomes) {
            stage.rates = Rates::new(&fine);
            stage.outcomes = outcomes;
            stage.rates_over_time = coarse;
        }
        stages
    }

    /// When a request was due by the clock of its stage, in seconds; `None` of an unknown stage.
    fn due(&self, record: &RequestRecord) -> Option<f64> {
        let origin = self.origins.get(record.stage as usize)?;
        Some(record.start(*origin).as_secs_f64())
    }
}

fn span(of: Option<(Duration, Duration)>) -> Option<Span> {
    of.map(|(open, close)| Span { open: open.as_secs_f64(), close: close.as_secs_f64() })
}

fn uncertainty(
    whole: Whole,
    found: steady_state::Found,
    window: Option<Window>,
    littles_law: Option<LittlesLaw>,
) -> Result<Uncertainty, Absent> {
    if whole.answers() == 0 {
        return Err(Absent::NoAnswers);
    }
    let [ttft, tpot, ntpot, latency] = whole.figures.map(|it| it.estimates);
    let steady_state = SteadyState { status: found.status, verdict: found.verdict, judged: found.judged, window };
    let Whole { rates, outcomes, .. } = whole;
    Ok(Uncertainty { ttft, tpot, ntpot, latency, rates, outcomes, littles_law, steady_state })
}
