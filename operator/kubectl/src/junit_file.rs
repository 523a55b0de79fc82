//! [I/O] `--junit`: writes the validity and the objectives of a run as test cases. The names are the same as in the `junit.xml` of a results folder,
//! but the values come from the status.

use std::{io, path::Path};

use crds::{
    BenchmarkRun, Met, Outcome,
    benchmark_run::Enforcement,
    resolve::{ResolvedObjective, readable_slo},
    status::ConditionStatus,
};
use files::output;
use junit::{Case, Suite};
use kube::ResourceExt as _;

use crate::{failure::Failure, follow::message_of};

/// Checks that the file can be written. This is done before the run, which can take hours.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    output::check(path).map_err(|it| cannot_be_written(path, &it))
}

/// Writes the test cases.
pub(crate) fn write(run: &BenchmarkRun, path: &Path) -> Result<(), Failure> {
    let written = output::write(path, |to| junit::write(&[suite(run)], to));
    written.map(drop).map_err(|it| cannot_be_written(path, &it))
}

fn cannot_be_written(path: &Path, error: &io::Error) -> Failure {
    Failure::error(format!("--junit is {}, which cannot be written: {error}; name another file", path.display()))
}

fn suite(run: &BenchmarkRun) -> Suite {
    let status = run.status.as_ref();
    let outcome = status.and_then(|it| it.outcome).unwrap_or(Outcome::Error);
    let message = message_of(run);
    let results = status.map(|it| it.objectives.as_slice()).unwrap_or_default();
    let slo = readable_slo(&run.spec.slo);
    let objectives = slo.iter().flat_map(|slo| slo.objectives.iter().map(|it| (it, slo.enforcement)));
    let objectives =
        objectives.map(|(objective, enforcement)| match results.iter().find(|it| it.name == objective.name) {
            Some(it) => {
                let reason = format!("observed {}, limit {}", or_nothing(&it.observed), or_nothing(&it.limit));
                Case::objective(objective, it.met, enforcement, &reason)
            }
            None => without_row(run, objective, enforcement),
        });
    let duration = status.and_then(|it| it.summary.as_ref()).map(|it| u64::from(it.duration_microseconds));
    let started = status.and_then(|it| it.load_start_time.or(it.attempts.first().map(|it| it.start_time)));
    Suite {
        name: run.name_any(),
        started: started.unwrap_or_default().to_string(),
        duration: std::time::Duration::from_micros(duration.unwrap_or_default()),
        cases: std::iter::once(Case::validity(outcome, &message)).chain(objectives).collect(),
        notes: Vec::new(),
    }
}

/// The test case of an objective that has no row in the status. A full status leaves out rows, first the rows of met objectives. A run that was
/// restored from a backup has only an outcome.
fn without_row(run: &BenchmarkRun, objective: &ResolvedObjective, enforcement: Enforcement) -> Case {
    let Some(status) = &run.status else {
        return Case::objective(objective, Met::Inconclusive, enforcement, "the run has no status");
    };
    let passed = status.outcome == Some(Outcome::Passed);
    let all_met = status.conditions.iter().any(|it| it.kind == "SLOMet" && it.status == ConditionStatus::True);
    if all_met || (passed && enforcement == Enforcement::Fail) {
        return Case::objective(objective, Met::True, enforcement, "");
    }
    // Another row of the status already shows a failure, so this objective counts as left out.
    let has_failure = status.objectives_truncated && status.objectives.iter().any(|it| it.met != Met::True);
    if passed || has_failure {
        return Case::left_out(
            objective,
            "the status leaves this objective out; the junit.xml of the results folder has it",
        );
    }
    Case::objective(objective, Met::Inconclusive, enforcement, "the status has no result of this objective")
}

fn or_nothing(text: &str) -> &str {
    if text.is_empty() { "nothing" } else { text }
}
