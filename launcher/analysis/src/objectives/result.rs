//! The results of objectives.

use crds::{
    LauncherReason,
    benchmark_run::Enforcement,
    objective::{FigureValue, Met, ObjectiveCounts, ObjectiveStatus},
    outcome::Outcome,
    resolve::{Bound, ResolvedBaseline, ResolvedObjective, ResolvedSlo},
};

use super::{
    comparison::{BaselineLimit, stricter},
    reading::Reading,
};
use crate::validity::{Reason, Verdict};

/// Maximum number of objectives that a reason names.
const MAX_NAMED: usize = 3;

/// The results of the objectives of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Objectives {
    /// The effect of a missed objective on the run.
    pub enforcement: Enforcement,
    /// The earlier run to compare figures with; `None` without a baseline.
    pub baseline: Option<ResolvedBaseline>,
    /// One result per objective, in the order of the spec.
    pub results: Vec<ObjectiveResult>,
}

/// The result of one objective.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectiveResult {
    /// The objective in the spec.
    pub objective: ResolvedObjective,
    /// Whether it is met.
    pub met: Met,
    /// The measured value; `None` if nothing was measured. For an objective on every stage, the value of the worst stage.
    pub observed: Option<Reading>,
    /// The stage with `observed`; `None` if the value covers the whole run.
    pub stage: Option<String>,
    /// The baseline's value and the limit derived from it; `None` if no comparison was made.
    pub baseline: Option<BaselineLimit>,
    /// The result of each measured stage that the objective covers, in the order of the stages.
    pub stages: Vec<StageResult>,
    /// The reason why the objective is missed or undecided, or a note on its value; empty if there is nothing to report.
    pub reason: String,
}

/// The comparison of one stage with the limit of an objective.
#[derive(Clone, Debug, PartialEq)]
pub struct StageResult {
    /// The name of the stage.
    pub stage: String,
    /// Met or missed only if that is certain; undecided otherwise.
    pub met: Met,
    /// The measured value; `None` if nothing was measured.
    pub observed: Option<Reading>,
    /// The 95 % interval of the value as (lower end, upper end); `None` if the value has no interval.
    pub interval: Option<(FigureValue, FigureValue)>,
    /// The reason why the stage is undecided; empty if it is decided.
    pub reason: String,
}

impl ObjectiveResult {
    /// The effective limit: the stricter of the objective's own limit and the baseline's limit.
    pub fn limit(&self) -> FigureValue {
        let own = self.objective.bound.limit();
        self.baseline.map_or(own, |it| stricter(self.objective.bound, it.limit))
    }

    /// The result as a row of a status.
    pub fn status(&self) -> ObjectiveStatus {
        ObjectiveStatus {
            name: self.objective.name.clone(),
            met: self.met,
            observed: self.observed.as_ref().map(|it| it.value.beside(self.limit())).unwrap_or_default(),
            limit: self.limit().to_string(),
            run: String::new(),
        }
    }

    pub(super) fn undecided(objective: &ResolvedObjective, stage: Option<&str>, reason: String) -> ObjectiveResult {
        ObjectiveResult {
            objective: objective.clone(),
            met: Met::Inconclusive,
            observed: None,
            stage: stage.map(str::to_owned),
            baseline: None,
            stages: Vec::new(),
            reason,
        }
    }
}

impl Objectives {
    /// Counts the objectives by their result.
    pub fn counts(&self) -> ObjectiveCounts {
        ObjectiveCounts::count(self.results.iter().map(|it| it.met))
    }

    /// The objectives of a run without valid figures, all undecided for this reason.
    pub fn undecided(slo: &ResolvedSlo, reason: &str) -> Objectives {
        Objectives::without_figures(slo, Met::Inconclusive, reason)
    }

    /// The objectives of a run without figures of them, all with this result for this reason.
    pub(crate) fn without_figures(slo: &ResolvedSlo, met: Met, reason: &str) -> Objectives {
        let result =
            |it: &ResolvedObjective| ObjectiveResult { met, ..ObjectiveResult::undecided(it, None, reason.to_owned()) };
        let results = slo.objectives.iter().map(result).collect();
        Objectives { enforcement: slo.enforcement, baseline: None, results }
    }

    /// The outcome and the reason if the objectives make a valid measurement fail. `None` if all are met, or if they are only reported.
    pub fn verdict(&self) -> Option<(Outcome, Reason)> {
        let all = self.counts().all();
        let (outcome, name) = match (self.enforcement, all) {
            (Enforcement::Fail, Met::False) => (Outcome::SLOViolated, LauncherReason::SLOViolated),
            (Enforcement::Fail, Met::Inconclusive) => (Outcome::Inconclusive, LauncherReason::SLOInconclusive),
            (Enforcement::Fail, Met::True) | (Enforcement::Report, _) => return None,
        };
        Some((outcome, Reason { name, message: self.message(all) }))
    }

    /// Applies the objectives to the verdict on a valid measurement, unless they are only reported.
    pub(super) fn apply(&self, verdict: &mut Verdict) {
        if let Some((outcome, reason)) = self.verdict().filter(|_| verdict.outcome == Outcome::Passed) {
            verdict.outcome = outcome;
            verdict.reasons = vec![reason];
        }
    }

    /// The message that lists the objectives with this result and their reasons.
    fn message(&self, met: Met) -> String {
        let these: Vec<&ObjectiveResult> = self.results.iter().filter(|it| it.met == met).collect();
        let mut told: Vec<String> =
            these.iter().take(MAX_NAMED).map(|it| format!("{}: {}", it.objective.name, it.reason)).collect();
        if these.len() > MAX_NAMED {
            told.push(format!("and {} more, see report.md", these.len() - MAX_NAMED));
        }
        told.join("; ")
    }
}

/// Whether the result `it` is worse than the result `than` of the same objective in another stage or run. Missed is worse than undecided, and
/// undecided is worse than met. Between two equal results, the worse one has its value nearer to the limit, or further past it. Returns false for
/// identical results.
pub(crate) fn is_worse(it: &ObjectiveResult, than: &ObjectiveResult) -> bool {
    let rank = |it: &ObjectiveResult| match it.met {
        Met::True => 0,
        Met::Inconclusive => 1,
        Met::False => 2,
    };
    rank(it).cmp(&rank(than)).then_with(|| used(it).total_cmp(&used(than))).is_gt()
}

/// The value as a share of the limit; the objective is missed above 1.
fn used(result: &ObjectiveResult) -> f64 {
    let Some(observed) = &result.observed else { return 0.0 };
    let (value, limit) = (observed.value.as_f64(), result.limit().as_f64());
    let share = match result.objective.bound {
        Bound::Max(_) => value / limit,
        Bound::Min(_) => limit / value,
    };
    // 0 / 0: the value equals the limit.
    if share.is_nan() { 1.0 } else { share }
}
