//! Decides whether each objective of `spec.slo` is met, missed or undecided. `docs/objectives.md` has the rules.
//!
//! A value equal to its limit meets it. An objective is undecided if its figure was not measured, or if the run is invalid.

mod certainty;
mod comparison;
mod decision;
mod of_run;
mod reading;
mod result;
mod stages;
#[cfg(test)]
mod tests;

use crds::{
    Word as _,
    outcome::Outcome,
    resolve::{ResolvedObjective, ResolvedSlo, Scope},
    wording::cut,
};
use workload_profiles::workload::Margin;

use crate::Analysis;

pub use certainty::{Certainty, Drift};
pub use comparison::{Baseline, BaselineLimit, stricter};
pub use reading::{Reading, Source, basis};
pub(crate) use result::is_worse;
pub use result::{ObjectiveResult, Objectives, StageResult};

use decision::{Subject, decide};
use reading::profiled;

impl Objectives {
    /// Evaluates the objectives on the report of a finished run. `measured` are the stages with figures. `undecided` is the reason if all objectives
    /// stay undecided; `None` if the figures are valid.
    pub fn of_report(
        slo: &ResolvedSlo,
        report: &dyn Source,
        stages: &[&str],
        measured: &[&str],
        baseline: Option<&dyn Source>,
        undecided: Option<String>,
    ) -> Objectives {
        let subject = Subject {
            undecided,
            stages: stages.to_vec(),
            measured: measured.to_vec(),
            source: report,
            baseline: with_percent(slo, baseline),
        };
        Objectives::evaluate(slo, &subject)
    }

    fn evaluate(slo: &ResolvedSlo, subject: &Subject<'_>) -> Objectives {
        let results = slo.objectives.iter().map(|it| evaluate(it, subject)).collect();
        let named = slo.baseline.clone().filter(|_| subject.baseline.is_some());
        Objectives { enforcement: slo.enforcement, baseline: named, results }
    }
}

impl Analysis {
    /// Evaluates the objectives of a run, and applies them to its verdict. Call it after all other rules, because objectives of an invalid
    /// measurement stay undecided.
    pub(crate) fn judge_objectives(&mut self, slo: &ResolvedSlo, baseline: Option<&dyn Source>) {
        let baseline = with_percent(slo, baseline);
        self.judgement.remarks.extend(baseline.and_then(|it| other_model(it.source, &self.model)));
        let subject = Subject {
            undecided: why_undecided(self.verdict.outcome, self.partial, self.verdict.headline().name.name()),
            stages: self.stages.iter().map(|it| it.stage.name.as_str()).collect(),
            measured: self
                .stages
                .iter()
                .filter(|it| it.stage.warm_up != Some(Margin::All))
                .map(|it| it.stage.name.as_str())
                .collect(),
            source: self,
            baseline,
        };
        let objectives = Objectives::evaluate(slo, &subject);
        objectives.apply(&mut self.verdict);
        self.objectives = Some(objectives);
    }
}

/// Prefix of the remark that the baseline measured another model.
pub const OTHER_MODEL: &str = "the baseline is of the model ";

/// A remark if the baseline measured another model.
pub fn other_model(baseline: &dyn Source, model: &str) -> Option<String> {
    let other = baseline.model().filter(|it| *it != model)?;
    Some(format!(
        "{OTHER_MODEL}{}, and this run is of {}: differences may come from the model instead of the server",
        cut(other),
        cut(model)
    ))
}

/// The reason why objectives stay undecided; `None` if the figures of the run are valid. `reason` is the name of the verdict's first reason.
pub fn why_undecided(outcome: Outcome, partial: bool, reason: &str) -> Option<String> {
    match outcome {
        Outcome::Cancelled => Some("the run was stopped before its end".into()),
        it if it.has_valid_figures() && partial => Some("the run was stopped before its end".into()),
        it if it.has_valid_figures() => None,
        _ => Some(format!("the run is not valid ({reason}), so its figures do not count")),
    }
}

/// The baseline: the earlier run, and by how much a figure can be worse than there.
fn with_percent<'a>(slo: &ResolvedSlo, source: Option<&'a dyn Source>) -> Option<Baseline<'a>> {
    let max_regression_percent = slo.baseline.as_ref()?.max_regression_percent;
    Some(Baseline { source: source?, max_regression_percent })
}

fn evaluate(objective: &ResolvedObjective, subject: &Subject<'_>) -> ObjectiveResult {
    let is_covered = |stage: &str| !matches!(objective.scope(), Scope::Stage(only) if only != stage);
    let covered = subject.measured.iter().copied().filter(|it| is_covered(it));
    let decided: Vec<ObjectiveResult> = covered.map(|stage| decide(objective, Some(stage), subject)).collect();
    let stages = decided.iter().map(|it| StageResult::new(it, subject)).collect();
    let result = match objective.scope() {
        Scope::Run => decide(objective, None, subject),
        Scope::Stage(stage) if subject.stages.contains(&stage) => decide(objective, Some(stage), subject),
        Scope::Stage(stage) => ObjectiveResult::undecided(objective, None, format!("the load has no stage {stage}")),
        Scope::EveryStage => {
            let why = match decided.is_empty() {
                false => "every stage was profiled, and figures of profiled stages decide no objective",
                true => "the load has no stage",
            };
            let counts = |it: &ObjectiveResult| profiled(subject.source, it.stage.as_deref()).is_none();
            let worst = decided.into_iter().filter(counts).reduce(worse);
            worst.unwrap_or_else(|| ObjectiveResult::undecided(objective, None, why.into()))
        }
    };
    ObjectiveResult { stages, ..result }
}

/// Returns the worse of two stages' results. The worst stage decides the objective.
fn worse(one: ObjectiveResult, other: ObjectiveResult) -> ObjectiveResult {
    if is_worse(&other, &one) { other } else { one }
}
