//! The decision on an objective for the whole run or for one stage.

use crds::{
    objective::{FigureValue, Met},
    resolve::{Bound, ResolvedObjective, Scope},
};

use super::{
    comparison::{self, Baseline, Comparison, stricter},
    reading::{Reading, Source, profiled},
    result::ObjectiveResult,
};

/// The run whose figures decide the objectives.
pub(super) struct Subject<'a> {
    /// The reason why no objective can be decided on these figures; `None` if the figures are valid.
    pub(super) undecided: Option<String>,
    pub(super) stages: Vec<&'a str>,
    /// The stages with figures. A stage that is entirely warm-up has no figures.
    pub(super) measured: Vec<&'a str>,
    pub(super) source: &'a dyn Source,
    pub(super) baseline: Option<Baseline<'a>>,
}

/// Decides an objective for one stage, or for the whole run if `stage` is `None`. An objective on the whole run compares only the run's figure with
/// the baseline. Its stages are compared with its own limit alone.
pub(super) fn decide(objective: &ResolvedObjective, stage: Option<&str>, subject: &Subject<'_>) -> ObjectiveResult {
    if let Some(reason) = subject.undecided.clone().or_else(|| does_not_count(subject.source, stage)) {
        // The report shows the value even if the objective stays undecided.
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
    let baseline = subject.baseline.filter(|_| stage.is_none() || objective.scope() != Scope::Run);
    let compared = baseline.map(|it| it.compare(objective, stage, &observed));
    let own = comparison::is_within(bound, bound.limit(), value);
    let (met, why) = match &compared {
        _ if !own => (Met::False, Some(past(bound, bound.limit(), value, bound.name()))),
        Some(Comparison::Regression(found, percent)) => {
            let of = format!("which is {percent} % away from the baseline's {}", found.value);
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
        stages: Vec::new(),
        reason: notes.into_iter().flatten().collect::<Vec<_>>().join("; "),
    }
}

/// A value past its limit, such as `812ms, above max 500ms`.
fn past(bound: Bound, limit: FigureValue, value: FigureValue, name: &str) -> String {
    let side = match bound {
        Bound::Max(_) => "above",
        Bound::Min(_) => "below",
    };
    format!("{}, {side} {name} {limit}", value.beside(limit))
}

/// A note if the percentile has too few values and is therefore the largest value. The objective is decided nevertheless.
fn few(objective: &ResolvedObjective, observed: &Reading) -> Option<String> {
    let stat = objective.stat?;
    let needed = stat.fewest_values().filter(|it| observed.count < *it)?;
    let (count, stat) = (observed.count, stat.name());
    Some(format!("{stat} of {count} values is the largest of them: it needs {needed} values or more"))
}

/// The reason why objectives stay undecided on this stage or on the run, although the verdict on the run is valid; `None` if they can be decided.
fn does_not_count(source: &dyn Source, stage: Option<&str>) -> Option<String> {
    let invalid = || {
        let all = source.invalid();
        let (name, reason) = all.iter().find(|(name, _)| stage.is_none_or(|it| it == *name))?;
        let part = if stage.is_none() { ", and is included in the figures of the run" } else { "" };
        Some(format!("stage {name} is not valid ({reason}){part}"))
    };
    profiled(source, stage).or_else(invalid)
}
