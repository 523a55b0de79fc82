//! How sure the value of an objective is: whether its interval holds the limit, and whether the figure was drifting.

use crds::{
    benchmark_run::{Metric, Stat},
    objective::FigureValue,
    units::Span,
};

use ::figures::Figure;

use crate::{
    Analysis, StageAnalysis,
    uncertainty::{Estimate, Latencies, SteadyVerdict, Uncertainty},
};

/// What is known of a value beside the value itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Certainty {
    /// The 95 % interval, from its lower to its upper end.
    pub interval: Option<(FigureValue, FigureValue)>,
    /// Whether the stage was drifting; `None` where that is not known.
    pub drift: Option<Drift>,
}

/// The direction of a drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drift {
    Up,
    Down,
}

impl Certainty {
    /// What makes the decision on a limit unsure, in words; `None` where nothing is known that does.
    pub(super) fn note(&self, limit: FigureValue) -> Option<String> {
        let holds = |(low, high): &(FigureValue, FigureValue)| (low.as_f64()..=high.as_f64()).contains(&limit.as_f64());
        let interval = self.interval.filter(holds).map(|(low, high)| {
            format!("its 95 % interval, {} to {}, holds the limit", low.beside(limit), high.beside(limit))
        });
        let drift = self.drift.map(|it| match it {
            Drift::Up => "the stage was drifting up".to_owned(),
            Drift::Down => "the stage was drifting down".to_owned(),
        });
        let notes: Vec<String> = [interval, drift].into_iter().flatten().collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

impl Analysis {
    /// Of a stage, or of a run that has one stage: several stages together have no interval.
    pub(super) fn certainty_of(&self, stage: Option<&str>, metric: Metric, stat: Option<Stat>) -> Certainty {
        let stage = match (stage, &self.stages[..]) {
            (None, [only]) => Some(only),
            (None, _) => None,
            (Some(name), stages) => stages.iter().find(|it| it.stage.name == name),
        };
        let known = |it: &StageAnalysis| it.uncertainty.as_ref().ok().map(|it| of_stage(it, metric, stat));
        stage.and_then(known).unwrap_or_default()
    }
}

fn of_stage(it: &Uncertainty, metric: Metric, stat: Option<Stat>) -> Certainty {
    let figure = Figure::from_metric(metric);
    let latencies = it.latencies(figure);
    let time = |millis: f64| FigureValue::Time(Span::from_millis_f64(millis.max(0.0)).unwrap_or_default());
    let interval = match figure.row().unit.has_statistics() {
        true => bounds(latencies.and_then(|it| estimate(&it, stat?)), time),
        false => bounds(it.rate(figure), FigureValue::Number),
    };
    let drift = match it.steady_state.verdict {
        SteadyVerdict::DriftingUp => Some(Drift::Up),
        SteadyVerdict::DriftingDown => Some(Drift::Down),
        _ => None,
    };
    Certainty { interval, drift }
}

fn estimate(of: &Latencies, stat: Stat) -> Option<Estimate> {
    let [p50, p90, p99] = of.percentiles;
    match stat {
        Stat::Mean => Some(of.mean),
        Stat::P50 => Some(p50),
        Stat::P90 => Some(p90),
        Stat::P99 => Some(p99),
        Stat::P95 | Stat::P99P9 | Stat::Max => None,
    }
}

fn bounds(of: Option<Estimate>, value: impl Fn(f64) -> FigureValue) -> Option<(FigureValue, FigureValue)> {
    let interval = of?.interval?;
    Some((value(interval.low), value(interval.high)))
}
