//! Lets objectives read the figures of a run.

use std::time::Duration;

use ::figures::Figure;
use crds::{
    benchmark_run::{Metric, Stat},
    objective::FigureValue,
    units::Span,
};

use super::{
    certainty::{Certainty, Drift},
    reading::{Reading, Source, basis},
};
use crate::{
    Analysis,
    distribution::Distribution,
    figures::Figures,
    labels::Labels,
    stage::StageAnalysis,
    uncertainty::{Estimate, Interval, Latencies, SteadyVerdict, Uncertainty},
};

impl Source for Analysis {
    fn reading(&self, stage: Option<&str>, metric: Metric, stat: Option<Stat>) -> Option<Reading> {
        let Some(name) = stage else { return reading(&self.all, &self.labels, metric, stat) };
        let stage = self.stages.iter().find(|it| it.stage.name == name)?;
        reading(&stage.figures, &Labels::of_stage(stage), metric, stat)
    }

    fn profiled(&self) -> &[String] {
        self.profiling.as_ref().map_or(&[], |it| &it.stages)
    }

    fn invalid(&self) -> Vec<(&str, String)> {
        let reason = |it: &StageAnalysis| Some(it.invalid.first()?.name.to_string());
        self.stages.iter().filter_map(|it| Some((it.stage.name.as_str(), reason(it)?))).collect()
    }

    /// The certainty is known for a stage and for a run of one stage. Several stages together have no interval.
    fn certainty(&self, stage: Option<&str>, metric: Metric, stat: Option<Stat>) -> Certainty {
        let stage = match (stage, &self.stages[..]) {
            (None, [only]) => Some(only),
            (None, _) => None,
            (Some(name), stages) => stages.iter().find(|it| it.stage.name == name),
        };
        let known = |it: &StageAnalysis| it.uncertainty.as_ref().ok().map(|it| of_stage(it, metric, stat));
        stage.and_then(known).unwrap_or_default()
    }
}

fn reading(figures: &Figures, labels: &Labels, metric: Metric, stat: Option<Stat>) -> Option<Reading> {
    let figure = Figure::from_metric(metric);
    let (value, count) = match figure.row().unit.has_statistics() {
        true => time(figures.times(figure), stat),
        false => number(figures, figure),
    }?;
    let basis = basis(metric, &labels.clock, labels.itl, &labels.tokens).to_owned();
    Some(Reading { value, count, basis })
}

fn time(distribution: Option<Distribution<Duration>>, stat: Option<Stat>) -> Option<(FigureValue, u64)> {
    let it = distribution.filter(|it| it.count > 0)?;
    let time = match stat? {
        Stat::Mean => it.mean,
        Stat::P50 => it.p50,
        Stat::P90 => it.p90,
        Stat::P95 => it.p95,
        Stat::P99 => it.p99,
        Stat::P99P9 => it.p99p9,
        Stat::Max => it.max,
    };
    Some((FigureValue::Time(Span(time)), it.count))
}

/// A rate or a share. `None` for a load without requests, which would otherwise have a rate of 0.
fn number(figures: &Figures, figure: Figure) -> Option<(FigureValue, u64)> {
    let number = figures.number(figure).filter(|_| figures.requests > 0)?;
    let count = match figure {
        Figure::GoodputShare => figures.requests,
        Figure::ErrorRatio => figures.decided(),
        _ => figures.succeeded,
    };
    Some((FigureValue::Number(number), count))
}

fn of_stage(it: &Uncertainty, metric: Metric, stat: Option<Stat>) -> Certainty {
    let figure = Figure::from_metric(metric);
    let latencies = it.latencies(figure);
    let time = |millis: f64| FigureValue::Time(Span::from_millis_f64(millis.max(0.0)).unwrap_or_default());
    let (interval, effective_values) = match figure.row().unit.has_statistics() {
        true => {
            let found = latencies.zip(stat).map(|(it, stat)| estimate(&it, stat));
            (bounds(found, time), found.map(|it| it.effective_values))
        }
        false => (bounds(it.rate(figure), FigureValue::Number), it.rate(figure).map(|it| it.effective_values)),
    };
    let drift = match it.steady_state.verdict {
        SteadyVerdict::DriftingUp => Some(Drift::Up),
        SteadyVerdict::DriftingDown => Some(Drift::Down),
        _ => None,
    };
    Certainty { interval, effective_values, drift }
}

fn estimate(of: &Latencies, stat: Stat) -> Estimate {
    let [p50, p90, p99] = of.percentiles;
    let without_interval = Estimate { value: None, interval: None, ..of.mean };
    match stat {
        Stat::Mean => of.mean,
        Stat::P50 => p50,
        Stat::P90 => p90,
        Stat::P99 => p99,
        // p95 lies between p90 and p99, and so does its interval.
        Stat::P95 => {
            let interval = p90.interval.zip(p99.interval).map(|(low, high)| Interval { low: low.low, high: high.high });
            Estimate { interval, ..without_interval }
        }
        Stat::P99P9 | Stat::Max => without_interval,
    }
}

fn bounds(of: Option<Estimate>, value: impl Fn(f64) -> FigureValue) -> Option<(FigureValue, FigureValue)> {
    let interval = of?.interval?;
    Some((value(interval.low), value(interval.high)))
}
