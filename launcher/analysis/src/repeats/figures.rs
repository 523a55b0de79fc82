//! The figures of a stage that a comparison of repeats uses.

use std::time::Duration;

use ::figures::{Figure, Value};
use crds::benchmark_run::Stat;
use statistics::{Estimate, student::NORMAL_95};

use crate::{distribution::Distribution, stage::StageAnalysis};

/// A figure of a stage in a comparison of repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepeatFigure {
    /// The figure and statistic in the catalogue.
    pub value: Value,
    /// Whether short tables include it.
    pub is_headline: bool,
}

/// The value of a figure in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    pub value: f64,
    /// For a percentile: the permille of the percentile, and the number of values in the distribution.
    pub percentile: Option<(u64, u64)>,
    /// Half the width of the run's 95 % interval / 1.96; `None` if the run has no interval. The interval accounts for the dependence between
    /// requests.
    pub standard_error: Option<f64>,
    /// For a mean: standard deviation / sqrt(number of values). This assumes independent values.
    pub independent_standard_error: Option<f64>,
}

impl RepeatFigure {
    /// Reads the figure from a stage; `None` if it was not measured.
    pub fn read(&self, stage: &StageAnalysis) -> Option<Found> {
        match self.value.stat {
            Some(stat) => time(stage, self.value.figure, stat),
            None => number(stage, self.value.figure),
        }
    }
}

/// Every figure that a comparison of repeats uses.
pub const FIGURES: [RepeatFigure; 20] = [
    headline(Value::plain(Figure::RequestsPerSecond)),
    headline(Value::plain(Figure::OutputTokensPerSecond)),
    other(Value::plain(Figure::TotalTokensPerSecond)),
    other(Value::plain(Figure::GoodputRequestsPerSecond)),
    other(Value::plain(Figure::GoodputShare)),
    other(Value::stat(Figure::Ttft, Stat::Mean)),
    headline(Value::stat(Figure::Ttft, Stat::P50)),
    other(Value::stat(Figure::Ttft, Stat::P90)),
    headline(Value::stat(Figure::Ttft, Stat::P99)),
    other(Value::stat(Figure::Tpot, Stat::Mean)),
    headline(Value::stat(Figure::Tpot, Stat::P50)),
    other(Value::stat(Figure::Tpot, Stat::P90)),
    other(Value::stat(Figure::Tpot, Stat::P99)),
    other(Value::stat(Figure::Itl, Stat::Mean)),
    other(Value::stat(Figure::Itl, Stat::P50)),
    headline(Value::stat(Figure::Itl, Stat::P99)),
    other(Value::stat(Figure::Latency, Stat::Mean)),
    headline(Value::stat(Figure::Latency, Stat::P50)),
    other(Value::stat(Figure::Latency, Stat::P90)),
    headline(Value::stat(Figure::Latency, Stat::P99)),
];

const fn other(value: Value) -> RepeatFigure {
    RepeatFigure { value, is_headline: false }
}

const fn headline(value: Value) -> RepeatFigure {
    RepeatFigure { value, is_headline: true }
}

/// A percentile as (permille, getter from a distribution, index in [`crate::uncertainty::PERCENTILES`]).
type Percentile = (u64, fn(&Distribution<Duration>) -> Duration, usize);

const P50: Percentile = (500, |it| it.p50, 0);
const P90: Percentile = (900, |it| it.p90, 1);
const P99: Percentile = (990, |it| it.p99, 2);

fn plain(value: f64) -> Found {
    Found { value, percentile: None, standard_error: None, independent_standard_error: None }
}

fn number(stage: &StageAnalysis, figure: Figure) -> Option<Found> {
    let found = plain(stage.figures.number(figure)?);
    let estimate = stage.uncertainty.as_ref().ok().and_then(|it| it.rate(figure));
    Some(Found { standard_error: estimate.and_then(standard_error), ..found })
}

fn time(stage: &StageAnalysis, figure: Figure, stat: Stat) -> Option<Found> {
    let of = stage.figures.times(figure)?;
    let latencies = stage.uncertainty.as_ref().ok().and_then(|it| it.latencies(figure));
    let (permille, value, place) = match stat {
        Stat::P50 => P50,
        Stat::P90 => P90,
        Stat::P99 => P99,
        Stat::Mean | Stat::P95 | Stat::P99P9 | Stat::Max => {
            return Some(Found {
                standard_error: latencies.map(|it| it.mean).and_then(standard_error),
                independent_standard_error: Some(millis(of.stddev) / (of.count as f64).sqrt()),
                ..plain(millis(of.mean))
            });
        }
    };
    Some(Found {
        percentile: Some((permille, of.count)),
        standard_error: latencies.map(|it| it.percentiles[place]).and_then(standard_error),
        ..plain(millis(value(&of)))
    })
}

fn standard_error(estimate: Estimate) -> Option<f64> {
    estimate.interval.map(|it| (it.high - it.low) / (2.0 * NORMAL_95))
}

fn millis(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}
