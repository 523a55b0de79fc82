//! What several runs of the same load come to together.

use crds::{
    Met, Outcome,
    objective::{ObjectiveCounts, ObjectiveStatus},
};

use crate::{
    Analysis, Verdict,
    objectives::{ObjectiveResult, Objectives, is_worse},
};

/// Whether the figures of a run are in the means of a series: they count, and the run was not cut off.
pub fn counts(run: &Analysis) -> bool {
    run.verdict.outcome.has_valid_figures() && !run.partial
}

/// Which run gives a complete series its outcome; `None`: every run passed. It is the first that did not pass, or, where that one left
/// its objectives undecided, the first that missed one.
pub fn deciding<'a>(runs: impl IntoIterator<Item = &'a Verdict>) -> Option<usize> {
    let outcomes: Vec<Outcome> = runs.into_iter().map(|it| it.outcome).collect();
    let first = outcomes.iter().position(|it| *it != Outcome::Passed)?;
    let missed = || outcomes.iter().position(|it| *it == Outcome::SLOViolated);
    let is_undecided = outcomes[first] == Outcome::Inconclusive;
    Some(missed().filter(|_| is_undecided).unwrap_or(first))
}

/// The worst result of each objective, with the name of the run that has it, and the counts of these; `None` where no run has
/// objectives. A missed one comes before an undecided one, then the one that is nearest to its limit or furthest past it.
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
