//! How objectives came out.

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

/// How many objectives a reason names.
const MAX_NAMED: usize = 3;

/// The objectives of a run as they came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Objectives {
    /// What an objective that is missed does.
    pub enforcement: Enforcement,
    /// The earlier run that figures are compared with; `None` where none is.
    pub baseline: Option<ResolvedBaseline>,
    /// In the order of the spec.
    pub results: Vec<ObjectiveResult>,
}

/// One objective as it came out.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectiveResult {
    /// What was asked.
    pub objective: ResolvedObjective,
    /// Whether it is met.
    pub met: Met,
    /// What was measured, of every stage that of the worst; `None` where nothing was.
    pub observed: Option<Reading>,
    /// The stage of that value; `None` where it is of the run as a whole.
    pub stage: Option<String>,
    /// What the baseline has, and the limit that follows from it; `None` where nothing is compared.
    pub baseline: Option<BaselineLimit>,
    /// Why it is missed or cannot be decided, or what to know of the value; empty where there is nothing to say.
    pub reason: String,
}

impl ObjectiveResult {
    /// The limit that decides: the stricter one of its own and of the baseline's.
    pub fn limit(&self) -> FigureValue {
        let own = self.objective.bound.limit();
        self.baseline.map_or(own, |it| stricter(self.objective.bound, it.limit))
    }

    /// The row of a status.
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
            reason,
        }
    }
}

impl Objectives {
    /// How many came out in which way.
    pub fn counts(&self) -> ObjectiveCounts {
        ObjectiveCounts::count(self.results.iter().map(|it| it.met))
    }

    /// The objectives of a run whose figures do not count, with the reason.
    pub fn undecided(slo: &ResolvedSlo, reason: &str) -> Objectives {
        let results = slo.objectives.iter().map(|it| ObjectiveResult::undecided(it, None, reason.to_owned())).collect();
        Objectives { enforcement: slo.enforcement, baseline: None, results }
    }

    /// What they make of a valid measurement, and why; `None`: it stays valid, because they are met or only reported.
    pub fn verdict(&self) -> Option<(Outcome, Reason)> {
        let all = self.counts().all();
        let (outcome, name) = match (self.enforcement, all) {
            (Enforcement::Fail, Met::False) => (Outcome::SLOViolated, LauncherReason::SLOViolated),
            (Enforcement::Fail, Met::Inconclusive) => (Outcome::Inconclusive, LauncherReason::SLOInconclusive),
            (Enforcement::Fail, Met::True) | (Enforcement::Report, _) => return None,
        };
        Some((outcome, Reason { name, message: self.message(all) }))
    }

    /// Takes them into account in the verdict on a valid measurement, unless they are only reported.
    pub(super) fn apply(&self, verdict: &mut Verdict) {
        if let Some((outcome, reason)) = self.verdict().filter(|_| verdict.outcome == Outcome::Passed) {
            verdict.outcome = outcome;
            verdict.reasons = vec![reason];
        }
    }

    /// The objectives that came out in one way, with their reasons.
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

/// Whether a result of an objective decides before another one, of another stage or run: one that misses before one that is undecided
/// before one that meets, and then the one that is nearer to its limit, or further past it. Of equals neither does.
pub(crate) fn is_worse(it: &ObjectiveResult, than: &ObjectiveResult) -> bool {
    let rank = |it: &ObjectiveResult| match it.met {
        Met::True => 0,
        Met::Inconclusive => 1,
        Met::False => 2,
    };
    rank(it).cmp(&rank(than)).then_with(|| used(it).total_cmp(&used(than))).is_gt()
}

/// The part of the limit that a value uses up: above 1 the limit is missed.
fn used(result: &ObjectiveResult) -> f64 {
    let Some(observed) = &result.observed else { return 0.0 };
    let (value, limit) = (observed.value.as_f64(), result.limit().as_f64());
    let share = match result.objective.bound {
        Bound::Max(_) => value / limit,
        Bound::Min(_) => limit / value,
    };
    // 0 / 0 is exactly at the limit.
    if share.is_nan() { 1.0 } else { share }
}
