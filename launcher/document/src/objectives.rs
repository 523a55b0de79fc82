//! `objectives` in `report.json`.

use analysis::{ObjectiveResult, Objectives, objectives::StageResult};
use crds::{
    FigureValue, Met,
    benchmark_run::{Metric, MetricUnit, Stat},
};
use serde::{Deserialize, Serialize};

/// The result of one objective of `spec.slo`. Its numbers are in `unit`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectiveDocument {
    pub name: String,
    pub metric: Metric,
    pub stat: Option<Stat>,
    pub stage: Option<String>,
    /// `max` or `min`.
    pub bound: String,
    pub limit: f64,
    /// `ms`, `perSecond` or `share`.
    pub unit: String,
    pub met: Met,
    pub observed: Option<f64>,
    pub observed_stage: Option<String>,
    pub values: Option<u64>,
    pub baseline: Option<f64>,
    pub baseline_limit: Option<f64>,
    /// The result of each stage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageObjectiveDocument>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The result of one stage. Its numbers are in the unit of the objective.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StageObjectiveDocument {
    pub stage: String,
    /// `Inconclusive` if the interval contains the limit, or if there are too few values.
    pub met: Met,
    pub observed: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub values: Option<u64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The rows of all objectives; empty if the run has none.
pub(super) fn documents(objectives: Option<&Objectives>) -> Vec<ObjectiveDocument> {
    objectives.iter().flat_map(|it| &it.results).map(ObjectiveDocument::new).collect()
}

/// Returns the number if it is finite, because JSON has no other numbers.
fn number(it: FigureValue) -> Option<f64> {
    Some(it.as_f64()).filter(|it| it.is_finite())
}

impl StageObjectiveDocument {
    fn new(result: &StageResult) -> Self {
        StageObjectiveDocument {
            stage: result.stage.clone(),
            met: result.met,
            observed: result.observed.as_ref().and_then(|it| number(it.value)),
            low: result.interval.and_then(|(low, _)| number(low)),
            high: result.interval.and_then(|(_, high)| number(high)),
            values: result.observed.as_ref().map(|it| it.count),
            reason: result.reason.clone(),
        }
    }
}

impl ObjectiveDocument {
    fn new(result: &ObjectiveResult) -> Self {
        let (objective, observed) = (&result.objective, result.observed.as_ref());
        ObjectiveDocument {
            name: objective.name.clone(),
            metric: objective.metric,
            stat: objective.stat,
            stage: objective.stage.clone(),
            bound: objective.bound.name().to_owned(),
            limit: objective.bound.limit().as_f64(),
            unit: match objective.metric.unit() {
                MetricUnit::Time => "ms",
                MetricUnit::PerSecond => "perSecond",
                MetricUnit::Share => "share",
            }
            .to_owned(),
            met: result.met,
            observed: observed.and_then(|it| number(it.value)),
            observed_stage: result.stage.clone().filter(|_| observed.is_some()),
            values: observed.map(|it| it.count),
            baseline: result.baseline.and_then(|it| number(it.value)),
            baseline_limit: result.baseline.and_then(|it| number(it.limit)),
            stages: result.stages.iter().map(StageObjectiveDocument::new).collect(),
            reason: result.reason.clone(),
        }
    }
}
