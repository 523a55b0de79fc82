//! [I/O] The baseline of a run: reads the earlier run, and finds its report on the claim with the results.

use std::path::{Path, PathBuf};

use crds::{
    BenchmarkRun, BenchmarkRunStatus, Outcome,
    resolve::{claim, mounts},
    status::ConditionStatus,
    wording::quoted,
};
use kube::{Api, ResourceExt as _};

/// The file name of the report in a results folder.
const REPORT: &str = "report.json";

/// The report of an earlier run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Earlier {
    /// The path of the report in the pod of the current run.
    pub(super) report: PathBuf,
    /// The SHA-256 of the report's content in hex. `None` if the status of the earlier run contains none.
    pub(super) sha256: Option<String>,
}

/// Reads the run that `spec.slo.baseline` names, and returns the location of its `report.json`. The inner error describes what is wrong with the
/// field.
///
/// # Errors
/// The error of the API server.
pub(super) async fn find(runs: &Api<BenchmarkRun>, run: &BenchmarkRun) -> Result<Result<Earlier, String>, kube::Error> {
    let name = run.spec.slo.baseline.as_ref().map(|it| it.run_ref.clone()).unwrap_or_default();
    let found = match runs.get_opt(&name).await {
        Ok(found) => found,
        Err(kube::Error::SerdeError(_)) => {
            return Ok(Err(told(&name, "which this release cannot read; name a run of this release")));
        }
        Err(error) => return Err(error),
    };
    Ok(report(run, &name, found.as_ref()))
}

/// The location of an earlier run's report, or what is wrong with that run.
fn report(run: &BenchmarkRun, name: &str, found: Option<&BenchmarkRun>) -> Result<Earlier, String> {
    let problem = |what: &str| told(name, what);
    let earlier = found.ok_or_else(|| problem("and this namespace has no such BenchmarkRun; create that run first"))?;
    if run.name_any() == name {
        return Err(problem("the run itself; name an earlier one"));
    }
    let status = earlier.status.as_ref().filter(|_| earlier.is_finished());
    let status = status.ok_or_else(|| problem("which has not finished; create this run when it has"))?;
    if !status.outcome.is_some_and(Outcome::has_valid_figures) || status.partial {
        let outcome = status.outcome.map_or("without an outcome", Outcome::name);
        return Err(problem(&format!("which ended {outcome}, so that its figures do not count; name a valid run")));
    }
    if let Some(repeat) = status.effective_spec.as_ref().map(|it| it.repeat).filter(|it| *it > 1) {
        return Err(problem(&format!(
            "which has {repeat} repeats, each with a report of its own; name a run without repeat"
        )));
    }
    let folder =
        stored_folder(earlier, status).ok_or_else(|| problem("which left no results; name a run with storage.pvc"))?;
    if status.effective_spec.as_ref().is_some_and(|it| it.storage.s3.is_some()) {
        return Err(problem("whose results are in a bucket, which no launcher reads; name a run with storage.pvc"));
    }
    let own = claim(&run.spec.storage).map(|it| it.claim_name).unwrap_or_default();
    let its = status.effective_spec.as_ref().and_then(|it| it.storage.pvc.as_ref());
    match its.map(|it| it.claim_name.as_str()) {
        Some(its) if its == own => {
            let recorded = status.artifacts.iter().find(|it| it.name == REPORT).map(|it| it.sha256.clone());
            let report = Path::new(mounts::RESULTS).join(folder).join(REPORT);
            Ok(Earlier { report, sha256: recorded.filter(|it| !it.is_empty()) })
        }
        its => {
            let its = its.unwrap_or_default();
            Err(problem(&format!(
                "whose results are on claim {its}, not on claim {own}; set storage.pvc.claimName to {its}"
            )))
        }
    }
}

/// The name of a run's results folder. It is the name of one of the run's Jobs, which this operator chose. The path that the launcher reported is
/// only used to select the Job, because an attempt may report the folder of an earlier attempt. If that path selects no known Job, the last Job is
/// used. A run with `spec.execution.collect` has the folder in its spec.
fn stored_folder<'a>(run: &'a BenchmarkRun, status: &'a BenchmarkRunStatus) -> Option<&'a str> {
    let stored = status.conditions.iter().find(|it| it.kind == "ResultsStored");
    stored.filter(|it| it.status == ConditionStatus::True)?;
    if let Some(collect) = &run.spec.execution.collect {
        return Some(&collect.folder);
    }
    let said = status.artifacts.iter().find_map(|it| it.uri.strip_prefix("pvc://")?.split('/').nth(1));
    let attempt = status.attempts.iter().find(|it| Some(it.job_name.as_str()) == said);
    attempt.or(status.attempts.last()).map(|it| it.job_name.as_str())
}

fn told(name: &str, what: &str) -> String {
    format!("spec.slo.baseline.runRef: is {}, {what}", quoted(name))
}

#[cfg(test)]
mod tests;
