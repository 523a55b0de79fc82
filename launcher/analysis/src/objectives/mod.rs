//! Objectives of `spec.slo`: is each met, missed, or not to be decided? The rules stand in `docs/objectives.md`.
//!
//! A value that is equal to its limit meets it. What was not measured, and what a run that is not valid measured, decides nothing.

mod certainty;
mod comparison;
mod reading;
#[cfg(test)]
mod tests;

use crds::{
    LauncherReason, Word as _,
    benchmark_run::Enforcement,
    objective::{FigureValue, Met, ObjectiveCounts, ObjectiveStatus},
    resolve::{Bound, ResolvedBaseline, ResolvedObjective, ResolvedSlo, Scope},
    summary::Outcome,
    wording::cut,
};

use workload_profiles::workload::Margin;

use super::{
    Analysis,
    validity::{Reason, Verdict},
};
pub use certainty::{Certainty, Drift};
use comparison::Comparison;
pub use comparison::stricter;
pub use reading::{Reading, Source, basis};

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

/// The value of an earlier run, and the limit that follows from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BaselineLimit {
    /// The earlier value.
    pub value: FigureValue,
    /// The worst value that is no regression.
    pub limit: FigureValue,
}

/// An earlier run that figures are compared with.
#[derive(Clone, Copy)]
pub struct Baseline<'a> {
    /// The figures of the earlier run.
    pub source: &'a dyn Source,
    /// By how many percent of the earlier value a figure may be worse.
    pub max_regression_percent: u32,
}

/// What the objectives are about.
struct Subject<'a> {
    /// Why the figures decide nothing; `None` where they count.
    undecided: Option<String>,
    stages: Vec<&'a str>,
    /// Those that have figures: a stage that is a warm-up as a whole has none.
    measured: Vec<&'a str>,
    source: &'a dyn Source,
    baseline: Option<Baseline<'a>>,
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

    fn undecided(objective: &ResolvedObjective, stage: Option<&str>, reason: String) -> ObjectiveResult {
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

    /// Evaluates the objectives on the report of a finished run. `measured`: of its stages those that have figures. `undecided`: why its
    /// figures decide nothing; `None`: they count.
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
    fn apply(&self, verdict: &mut Verdict) {
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

impl Analysis {
    /// Evaluates the objectives of a run, and takes them into account in its verdict. It comes last, because a measurement that is
    /// not valid decides no objective.
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

/// How the remark on a baseline of another model begins.
pub const OTHER_MODEL: &str = "the baseline is of the model ";

/// A remark where the baseline measured another model.
pub fn other_model(baseline: &dyn Source, model: &str) -> Option<String> {
    let other = baseline.model().filter(|it| *it != model)?;
    Some(format!(
        "{OTHER_MODEL}{}, and this run of {}: what differs may be the model, and not the server",
        cut(other),
        cut(model)
    ))
}

/// Why the figures of a run decide nothing; `None`: they count. `reason`: the name of the verdict's first reason.
pub fn why_undecided(outcome: Outcome, partial: bool, reason: &str) -> Option<String> {
    match outcome {
        Outcome::Cancelled => Some("the run was stopped before its end".into()),
        it if it.has_valid_figures() && partial => Some("the run was stopped before its end".into()),
        it if it.has_valid_figures() => None,
        _ => Some(format!("the run is not valid ({reason}), so that its figures do not count")),
    }
}

/// The earlier run, with how much worse a figure may be.
fn with_percent<'a>(slo: &ResolvedSlo, source: Option<&'a dyn Source>) -> Option<Baseline<'a>> {
    let max_regression_percent = slo.baseline.as_ref()?.max_regression_percent;
    Some(Baseline { source: source?, max_regression_percent })
}

fn evaluate(objective: &ResolvedObjective, subject: &Subject<'_>) -> ObjectiveResult {
    match objective.scope() {
        Scope::Run => decide(objective, None, subject),
        Scope::Stage(stage) if subject.stages.contains(&stage) => decide(objective, Some(stage), subject),
        Scope::Stage(stage) => ObjectiveResult::undecided(objective, None, format!("the load has no stage {stage}")),
        Scope::EveryStage => {
            let measured = || subject.measured.iter().copied();
            let each = measured().filter(|it| profiled(subject.source, Some(it)).is_none());
            each.map(|stage| decide(objective, Some(stage), subject)).reduce(worse).unwrap_or_else(|| {
                let why = match measured().next() {
                    Some(_) => "every stage was profiled, and the figures of a profiled stage decide nothing",
                    None => "the load has no stage",
                };
                ObjectiveResult::undecided(objective, None, why.into())
            })
        }
    }
}

/// Why figures decide nothing because a profiler touches them; `None`: none does.
fn profiled(source: &dyn Source, stage: Option<&str>) -> Option<String> {
    let touched = source.profiled();
    match stage {
        Some(stage) if touched.iter().any(|it| it == stage) => {
            Some(format!("stage {stage} was profiled, and the figures of a profiled stage decide nothing"))
        }
        None => {
            let first = touched.first()?;
            Some(format!(
                "stage {first} was profiled, and is a part of the figures of the run, which therefore decide nothing"
            ))
        }
        Some(_) => None,
    }
}

/// Why figures decide nothing although the run counts; `None`: they do.
fn does_not_count(source: &dyn Source, stage: Option<&str>) -> Option<String> {
    let invalid = || {
        let all = source.invalid();
        let (name, reason) = all.iter().find(|(name, _)| stage.is_none_or(|it| it == *name))?;
        let part = if stage.is_none() { ", and is a part of the figures of the run" } else { "" };
        Some(format!("stage {name} is not valid ({reason}){part}"))
    };
    profiled(source, stage).or_else(invalid)
}

/// The one of two stages that decides.
fn worse(one: ObjectiveResult, other: ObjectiveResult) -> ObjectiveResult {
    if is_worse(&other, &one) { other } else { one }
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

/// Decides an objective on the run as a whole or on one stage.
fn decide(objective: &ResolvedObjective, stage: Option<&str>, subject: &Subject<'_>) -> ObjectiveResult {
    if let Some(reason) = subject.undecided.clone().or_else(|| does_not_count(subject.source, stage)) {
        // The report shows the value, although it does not decide.
        let observed = subject.source.reading(stage, objective.metric, objective.stat);
        let observed = observed.filter(|it| !it.value.as_f64().is_nan());
        return ObjectiveResult { observed, ..ObjectiveResult::undecided(objective, stage, reason) };
    }
    let figure = objective.figure();
    let place = stage.map(|it| format!(" in stage {it}")).unwrap_or_default();
    let Some(observed) = subject.source.reading(stage, objective.metric, objective.stat) else {
        return ObjectiveResult::undecided(objective, stage, format!("no value of {figure} was measured{place}"));
    };
    if observed.value.as_f64().is_nan() {
        return ObjectiveResult::undecided(objective, stage, format!("{figure}{place} is no number"));
    }
    let (bound, value) = (objective.bound, observed.value);
    let compared = subject.baseline.map(|it| it.compare(objective, stage, &observed));
    let own = comparison::is_within(bound, bound.limit(), value);
    let (met, why) = match &compared {
        _ if !own => (Met::False, Some(past(bound, bound.limit(), value, bound.name()))),
        Some(Comparison::Regression(found, percent)) => {
            let of = format!("which is {percent} % from the {} of the baseline", found.value);
            (Met::False, Some(format!("{}, {of}", past(bound, found.limit, value, "the limit"))))
        }
        Some(Comparison::Undecided(reason)) => (Met::Inconclusive, Some(reason.clone())),
        _ => (Met::True, None),
    };
    let why = why.map(|why| if met == Met::False { format!("{figure}{place} is {why}") } else { why });
    let limit = compared.as_ref().and_then(Comparison::limit).map(|it| stricter(bound, it.limit));
    let sure = subject.source.certainty(stage, objective.metric, objective.stat);
    let unsure = sure.note(limit.unwrap_or(bound.limit()));
    let notes = [why, compared.as_ref().and_then(Comparison::note), few(objective, &observed), unsure];
    ObjectiveResult {
        objective: objective.clone(),
        met,
        observed: Some(observed),
        stage: stage.map(str::to_owned),
        baseline: compared.and_then(|it| it.limit()),
        reason: notes.into_iter().flatten().collect::<Vec<_>>().join("; "),
    }
}

/// `812ms, above max 500ms`.
fn past(bound: Bound, limit: FigureValue, value: FigureValue, name: &str) -> String {
    let side = match bound {
        Bound::Max(_) => "above",
        Bound::Min(_) => "below",
    };
    format!("{}, {side} {name} {limit}", value.beside(limit))
}

/// A percentile of too few values decides, but it is the largest of them.
fn few(objective: &ResolvedObjective, observed: &Reading) -> Option<String> {
    let stat = objective.stat?;
    let needed = stat.fewest_values().filter(|it| observed.count < *it)?;
    let (count, stat) = (observed.count, stat.name());
    Some(format!("{stat} of {count} values is the largest of them: it needs {needed} or more"))
}
