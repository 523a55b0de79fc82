//! Where an objective reads its figure.

use std::time::Duration;

use ::figures::Figure;
use crds::{
    benchmark_run::{Metric, Stat},
    objective::FigureValue,
    units::Span,
};

use super::Certainty;
use crate::{Analysis, distribution::Distribution, figures::Figures, labels::Labels, stage::StageAnalysis};

/// A value as it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The value.
    pub value: FigureValue,
    /// How many values it comes from: of a time those of the distribution, of a rate the requests that succeeded, of a share the
    /// requests that it is a share of.
    pub count: u64,
    /// What has to be the same for two values to be compared, see [`basis`].
    pub basis: String,
}

/// Figures that objectives read: those of the run, or of an earlier one.
pub trait Source {
    /// The value of a metric, of the run as a whole or of a stage; `None` where it was not measured, or there is no such stage.
    fn reading(&self, stage: Option<&str>, metric: Metric, stat: Option<Stat>) -> Option<Reading>;

    /// The model that was measured, where that is known.
    fn model(&self) -> Option<&str> {
        None
    }

    /// The stages whose figures a profiler touches. They decide nothing, nor do those of the run as a whole if there is one.
    fn profiled(&self) -> &[String] {
        &[]
    }

    /// The stages that do not count, and why. They decide nothing, nor do the figures of the run as a whole if there is one.
    fn invalid(&self) -> Vec<(&str, String)> {
        Vec::new()
    }

    /// How sure that value is, as far as that is known.
    fn certainty(&self, _stage: Option<&str>, _metric: Metric, _stat: Option<Stat>) -> Certainty {
        Certainty::default()
    }
}

/// The comparability label that a metric depends on: from which clock its times count, or who counted its tokens. Empty where it
/// depends on none.
pub fn basis<'a>(metric: Metric, clock: &'a str, itl: &'a str, tokens: &'a str) -> &'a str {
    Figure::from_metric(metric).row().basis.choose(clock, itl, tokens)
}

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

    fn certainty(&self, stage: Option<&str>, metric: Metric, stat: Option<Stat>) -> Certainty {
        self.certainty_of(stage, metric, stat)
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

/// A rate or a share. Of a load without a request there is none, and not a rate of 0.
fn number(figures: &Figures, figure: Figure) -> Option<(FigureValue, u64)> {
    let number = figures.number(figure).filter(|_| figures.requests > 0)?;
    let count = match figure {
        Figure::GoodputShare => figures.requests,
        Figure::ErrorRatio => figures.decided(),
        _ => figures.succeeded,
    };
    Some((FigureValue::Number(number), count))
}
