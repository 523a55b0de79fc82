//! The objectives of a run as text, for every table that shows them.

use analysis::objectives::stricter;
use crds::{
    FigureValue, ObjectiveCounts,
    benchmark_run::{Enforcement, Metric, MetricUnit},
    resolve::{ResolvedObjective, ResolvedSlo},
    units::Span,
};
use document::{ObjectiveDocument, ReportDocument};

use crate::text::optional;

/// An objective with its result.
pub(super) struct Row<'a> {
    pub objective: &'a ResolvedObjective,
    pub result: &'a ObjectiveDocument,
    pub enforcement: Enforcement,
}

/// The objectives in the order of the spec; empty if the run has none.
pub(super) fn rows(document: &ReportDocument) -> Vec<Row<'_>> {
    let Some(ResolvedSlo { enforcement, objectives, .. }) = &document.resolved_run.slo else { return Vec::new() };
    let row = |result: &'_ ObjectiveDocument| objectives.iter().find(|it| it.name == result.name);
    let rows = document
        .objectives
        .iter()
        .filter_map(|result| Some(Row { objective: row(result)?, result, enforcement: *enforcement }));
    rows.collect()
}

/// Counts the objectives by their result. `None` if the run has no objectives.
pub(super) fn counts(document: &ReportDocument) -> Option<ObjectiveCounts> {
    let found = document.objectives.iter().map(|it| it.met);
    (!document.objectives.is_empty()).then(|| ObjectiveCounts::count(found))
}

/// The baseline of the objectives and the allowed worsening, as text; `None` if there is no baseline.
pub(super) fn baseline(document: &ReportDocument) -> Option<String> {
    let baseline = document.resolved_run.slo.as_ref()?.baseline.as_ref()?;
    let name = baseline.report.as_ref().map_or_else(|| "an earlier run".to_owned(), |it| it.display().to_string());
    let percent = baseline.max_regression_percent;
    Some(format!("{name}; a figure may be up to {percent} % worse than in this baseline"))
}

impl Row<'_> {
    /// The figure as text, such as `p99 of ttft in every stage`.
    pub(super) fn figure(&self) -> String {
        // The report decides where an objective applies: in a search, only at the load of the answer.
        ResolvedObjective { stage: self.result.stage.clone(), ..self.objective.clone() }.figure_in_place()
    }

    /// The limit as the spec has it, such as `max 500ms`. A baseline does not change it.
    pub(super) fn limit(&self) -> String {
        self.objective.bound.described()
    }

    /// The measured value, formatted like the effective limit.
    pub(super) fn observed(&self) -> String {
        let own = self.objective.bound.limit();
        let limit = self.value(self.result.baseline_limit).map_or(own, |it| stricter(self.objective.bound, it));
        optional(self.value(self.result.observed), |it| it.beside(limit))
    }

    /// Whether the value was compared with the value of an earlier run.
    pub(super) fn has_baseline(&self) -> bool {
        self.result.baseline.is_some()
    }

    /// The value of the baseline, and the limit derived from it, such as `max 422ms`.
    pub(super) fn baseline(&self) -> [String; 2] {
        let side = self.objective.bound.name();
        let limit = self.value(self.result.baseline_limit);
        [optional(self.value(self.result.baseline), |it| it.to_string()), optional(limit, |it| format!("{side} {it}"))]
    }

    fn value(&self, number: Option<f64>) -> Option<FigureValue> {
        value(self.objective.metric, number?)
    }
}

/// Converts a number of the document to the type of the metric. Times are in milliseconds.
fn value(metric: Metric, number: f64) -> Option<FigureValue> {
    match metric.unit() {
        MetricUnit::Time => Span::from_millis_f64(number).map(FigureValue::Time),
        MetricUnit::PerSecond | MetricUnit::Share => Some(FigureValue::Number(number)),
    }
}
