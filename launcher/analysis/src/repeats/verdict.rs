//! The combined result of several runs of the same load.

use crds::{
    Met, Outcome,
    objective::{ObjectiveCounts, ObjectiveStatus},
};

use crate::{
    Analysis, Verdict,
    objectives::{ObjectiveResult, Objectives, is_worse},
};

/// Whether a run enters the means of its series: its figures are valid, and it was not cut off.
pub fn counts(run: &Analysis) -> bool {
    run.verdict.outcome.has_valid_figures() && !run.partial
}

/// Returns the index of the run that decides the outcome of a complete series; `None` if every run passed. It is the first run that did not pass.
/// Exception: if that run only left objectives undecided, a later run that missed an objective decides, if there is one.
pub fn deciding<'a>(runs: impl IntoIterator<Item = &'a Verdict>) -> Option<usize> {
    let outcomes: Vec<Outcome> = runs.into_iter().map(|it| it.outcome).collect();
    let first = outcomes.iter().position(|it| *it != Outcome::Passed)?;
    let missed = || outcomes.iter().position(|it| *it == Outcome::SLOViolated);
    let is_undecided = outcomes[first] == Outcome::Inconclusive;
    Some(missed().filter(|_| is_undecided).unwrap_or(first))
}

/// For each objective, the worst result of all runs with the name of its run. Also counts these results. `None` if no run has objectives. Missed is
/// worse than undecided, and undecided is worse than met. Among equal results, the worst has its value nearest to the limit, or furthest past it.
pub fn worst_objectives<'a>(
    runs: impl IntoIterator<Item = (String, &'a Objectives)>,
) -> Option<(ObjectiveCounts, Vec<ObjectiveStatus>)> {
    let mut worst: Vec<(String, ObjectiveResult)> = Vec::new();
    let mut has_any = false;
    for (run, objectives) in runs {
        has_any = true;
        for (place, result) in objectives.results.iter().enumerate() {
            match worst.get_mut(place) {
                None => worst.push((run.clone(), result.clone())),
                Some(held) if is_worse(result, &held.1) => *held = (run.clone(), result.clone()),
                Some(_) => {}
            }
        }
    }
    let rows: Vec<ObjectiveStatus> =
        worst.iter().map(|(run, it)| ObjectiveStatus { run: run.clone(), ..it.status() }).collect();
    let met: Vec<Met> = rows.iter().map(|it| it.met).collect();
    has_any.then(|| (ObjectiveCounts::count(met), rows))
}
