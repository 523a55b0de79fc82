//! The figures of a stage that repeats are compared by.

use std::time::Duration;

use statistics::{Estimate, student::NORMAL_95};

use crate::{
    distribution::Distribution,
    figures::{Figures, Throughput},
    stage::StageAnalysis,
    uncertainty::{Latencies, Uncertainty},
};

/// What a figure is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Milliseconds,
    Seconds,
    PerSecond,
    /// From 0 to 1.
    Share,
}

/// A figure of a stage.
pub struct RepeatFigure {
    /// The name that files use, after the keys of `report.json`.
    pub name: &'static str,
    /// The name that a person reads.
    pub label: &'static str,
    pub unit: Unit,
    /// Whether a short table has it.
    pub is_headline: bool,
    read: fn(&StageAnalysis) -> Option<Found>,
}

/// A figure as one run has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    pub value: f64,
    /// Of a percentile: its permille, and the number of values that it is of.
    pub percentile: Option<(u64, u64)>,
    /// Half of the width of its 95 % interval / 1.96, where the run has one: that allows for requests that depend on each other.
    pub standard_error: Option<f64>,
    /// Of a mean: standard deviation / sqrt(number of values), as if these did not depend on each other.
    pub independent_standard_error: Option<f64>,
}

impl RepeatFigure {
    /// The figure of a stage; `None` where it was not measured.
    pub fn of(&self, stage: &StageAnalysis) -> Option<Found> {
        (self.read)(stage)
    }
}

/// Every figure that repeats are compared by.
pub const FIGURES: [RepeatFigure; 20] = [
    rate("requestsPerSecond", "requests/s", |it| of_throughput(it, |it| Some(it.requests), |it| it.rates.requests)),
    rate("outputTokensPerSecond", "output tokens/s", |it| {
        of_throughput(it, |it| Some(it.output_tokens), |it| it.rates.output_tokens)
    }),
    other("totalTokensPerSecond", "total tokens/s", Unit::PerSecond, |it| {
        of_throughput(it, |it| it.total_tokens, |_| None)
    }),
    other("goodRequestsPerSecond", "goodput, requests/s", Unit::PerSecond, |it| plain(it.figures.goodput?.per_second?)),
    other("goodShare", "good share", Unit::Share, |it| plain(it.figures.goodput?.share?)),
    time("ttftMs.mean", "TTFT mean", |it| mean(it, |it| it.ttft, |it| it.ttft)),
    headline("ttftMs.p50", "TTFT p50", |it| percentile(it, |it| it.ttft, |it| it.ttft, P50)),
    time("ttftMs.p90", "TTFT p90", |it| percentile(it, |it| it.ttft, |it| it.ttft, P90)),
    headline("ttftMs.p99", "TTFT p99", |it| percentile(it, |it| it.ttft, |it| it.ttft, P99)),
    time("tpotMs.mean", "TPOT mean", |it| mean(it, |it| it.tpot, |it| it.tpot)),
    headline("tpotMs.p50", "TPOT p50", |it| percentile(it, |it| it.tpot, |it| it.tpot, P50)),
    time("tpotMs.p90", "TPOT p90", |it| percentile(it, |it| it.tpot, |it| it.tpot, P90)),
    time("tpotMs.p99", "TPOT p99", |it| percentile(it, |it| it.tpot, |it| it.tpot, P99)),
    time("itlMs.mean", "ITL mean", |it| mean(it, |it| it.itl, |_| None)),
    time("itlMs.p50", "ITL p50", |it| percentile(it, |it| it.itl, |_| None, P50)),
    headline("itlMs.p99", "ITL p99", |it| percentile(it, |it| it.itl, |_| None, P99)),
    time("latencyMs.mean", "latency mean", |it| mean(it, |it| it.latency, |it| it.latency)),
    headline("latencyMs.p50", "latency p50", |it| percentile(it, |it| it.latency, |it| it.latency, P50)),
    time("latencyMs.p90", "latency p90", |it| percentile(it, |it| it.latency, |it| it.latency, P90)),
    headline("latencyMs.p99", "latency p99", |it| percentile(it, |it| it.latency, |it| it.latency, P99)),
];

type Read = fn(&StageAnalysis) -> Option<Found>;

const fn other(name: &'static str, label: &'static str, unit: Unit, read: Read) -> RepeatFigure {
    RepeatFigure { name, label, unit, is_headline: false, read }
}

const fn time(name: &'static str, label: &'static str, read: Read) -> RepeatFigure {
    other(name, label, Unit::Milliseconds, read)
}

const fn headline(name: &'static str, label: &'static str, read: Read) -> RepeatFigure {
    RepeatFigure { name, label, unit: Unit::Milliseconds, is_headline: true, read }
}

const fn rate(name: &'static str, label: &'static str, read: Read) -> RepeatFigure {
    RepeatFigure { name, label, unit: Unit::PerSecond, is_headline: true, read }
}

/// A percentile: its permille, its value of a distribution, and its place among [`crate::uncertainty::PERCENTILES`].
type Percentile = (u64, fn(&Distribution<Duration>) -> Duration, usize);

const P50: Percentile = (500, |it| it.p50, 0);
const P90: Percentile = (900, |it| it.p90, 1);
const P99: Percentile = (990, |it| it.p99, 2);

fn plain(value: f64) -> Option<Found> {
    Some(Found { value, percentile: None, standard_error: None, independent_standard_error: None })
}

fn of_throughput(
    stage: &StageAnalysis,
    value: fn(Throughput) -> Option<f64>,
    estimate: fn(&Uncertainty) -> Option<Estimate>,
) -> Option<Found> {
    let found = plain(value(stage.figures.throughput?)?)?;
    let estimate = stage.uncertainty.as_ref().ok().and_then(estimate);
    Some(Found { standard_error: estimate.and_then(standard_error), ..found })
}

fn mean(
    stage: &StageAnalysis,
    of: fn(&Figures) -> Option<Distribution<Duration>>,
    latencies: fn(&Uncertainty) -> Option<Latencies>,
) -> Option<Found> {
    let of = of(&stage.figures)?;
    let estimate = stage.uncertainty.as_ref().ok().and_then(latencies).map(|it| it.mean);
    Some(Found {
        standard_error: estimate.and_then(standard_error),
        independent_standard_error: Some(millis(of.stddev) / (of.count as f64).sqrt()),
        ..plain(millis(of.mean))?
    })
}

fn percentile(
    stage: &StageAnalysis,
    of: fn(&Figures) -> Option<Distribution<Duration>>,
    latencies: fn(&Uncertainty) -> Option<Latencies>,
    (permille, value, place): Percentile,
) -> Option<Found> {
    let of = of(&stage.figures)?;
    let estimate = stage.uncertainty.as_ref().ok().and_then(latencies).map(|it| it.percentiles[place]);
    Some(Found {
        percentile: Some((permille, of.count)),
        standard_error: estimate.and_then(standard_error),
        ..plain(millis(value(&of)))?
    })
}

fn standard_error(estimate: Estimate) -> Option<f64> {
    estimate.interval.map(|it| (it.high - it.low) / (2.0 * NORMAL_95))
}

fn millis(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}
