//! The uncertainty of a stage's figures: confidence intervals, whether the stage was in a steady state, and Little's law.
//!
//! The input is the records of the requests, sorted by due time. Only single stages have an uncertainty, because several different loads together
//! have no steady state. The crate `statistics` implements the methods, and `docs/statistics.md` explains them.

mod concurrency;
mod input;
mod latencies;
mod outcomes;
mod rates;
mod steady_state;
#[cfg(test)]
mod tests;
mod token_times;
mod whole;

use measurement::recorder::Recorder;
use statistics::littles_law::LittlesLaw;
use workload_profiles::Workload;

use crate::{figures::LatencyOrigin, rates::Plateaus};

pub use latencies::{Figure, Latencies, PERCENTILES};
pub use outcomes::Outcomes;
pub use rates::{Rate, Rates};
pub use statistics::{
    Estimate, Interval, LEVEL, enough,
    steady_state::{State, Verdict as SteadyVerdict},
};
pub use steady_state::{JudgedFigure, Measure, Status, SteadyState, Window};

use input::Input;
use whole::Whole;

/// The reason why a stage has no intervals and no steady state.
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

/// The uncertainty of a stage's figures. Latencies count from the same origin as the headline figures of the stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Uncertainty {
    pub ttft: Option<Latencies>,
    pub tpot: Option<Latencies>,
    pub ntpot: Option<Latencies>,
    pub latency: Option<Latencies>,
    /// Estimated from the bins of the time series, because a record has no times of its tokens.
    pub itl: Option<Latencies>,
    pub rates: Rates,
    pub outcomes: Outcomes,
    /// Little's law in the window of the steady state or, without such a window, from the first due request to the last.
    pub littles_law: Option<LittlesLaw>,
    pub steady_state: SteadyState,
}

/// The uncertainty of each stage. The computation passes several times over the records, sorts each figure twice, and needs up to 24 bytes of memory
/// per record.
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
    uncertainties(&Input {
        records,
        tallies: &recorder.stages,
        series: &recorder.series,
        windows,
        scales: &plateaus.scales,
        origins,
        streaming: workload.streaming,
        has_goals,
    })
}

fn uncertainties(input: &Input<'_>) -> Vec<Result<Uncertainty, Absent>> {
    let stages = whole::of_stages(input);
    let found: Vec<steady_state::Found> = stages.iter().map(steady_state::find).collect();
    let within = steady_state::within(input, &stages, &found);
    let or_due: Vec<_> = found.iter().zip(&stages).map(|(found, stage)| found.window.or(stage.due)).collect();
    let laws = concurrency::littles_law(input, &or_due);
    let stages = stages.into_iter().zip(found).zip(within).zip(laws);
    stages.map(|(((whole, found), within), law)| uncertainty(whole, found, within, law)).collect()
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
    let Whole { itl, rates, outcomes, .. } = whole;
    Ok(Uncertainty { ttft, tpot, ntpot, latency, itl, rates, outcomes, littles_law, steady_state })
}
