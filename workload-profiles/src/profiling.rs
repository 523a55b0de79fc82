//! Finds the stage of a load that is profiled, and when its profiling starts.

use crds::{resolve::ResolvedProfiling, units::Span, wording};

use crate::{
    problem::{Findings, quoted, suggestion},
    workload::{Load, Margin, Stage, Workload},
};

/// The path of the field that names the stage.
const STAGE: &str = "spec.profiling.stage";
/// The path of the field that sets the start of the profiling.
const START: &str = "spec.profiling.start";

/// Returns the index of the stage to profile. `None` if the load does not have this stage, which [`crate::prepare`] reports as a problem.
pub fn profiled_stage(profiling: &ResolvedProfiling, stages: &[Stage]) -> Option<usize> {
    match (&profiling.stage, stages) {
        (Some(name), _) => stages.iter().position(|it| it.name == *name),
        (None, [_]) => Some(0),
        (None, _) => None,
    }
}

/// Returns the start of the profiling, as time since the start of the stage. The default is the end of the warm-up, if the warm-up has a duration.
pub fn profiling_start(profiling: &ResolvedProfiling, stage: &Stage) -> std::time::Duration {
    let after_warm_up = match stage.warm_up {
        Some(Margin::Duration(length)) => length.0,
        _ => std::time::Duration::ZERO,
    };
    profiling.start.map_or(after_warm_up, |it| it.0)
}

/// Returns how long a stage sends requests. `None` if this depends on a number of requests or on the concurrency, and so is not known before the run.
fn sends_for(load: &Load) -> Option<Span> {
    match load {
        Load::Open { duration, max_concurrency: None, .. }
        | Load::Closed { duration, .. }
        | Load::Users { duration, .. } => *duration,
        _ => None,
    }
}

/// Adds a problem if the load does not have the named stage, if no stage is named and there are several, or if the stage ends before profiling
/// starts.
pub(crate) fn check(profiling: Option<&ResolvedProfiling>, workload: &Workload, findings: &Findings) {
    // In a profile with errors, defaults replace the wrong values. The stage might be missing only because of that.
    let Some(profiling) = profiling.filter(|_| !findings.has_problems()) else { return };
    if let Some(stage) = profiled_stage(profiling, &workload.stages).and_then(|it| workload.stages.get(it)) {
        return check_start(profiling, stage, findings);
    }
    let names: Vec<&str> = workload.stages.iter().map(|it| it.name.as_str()).collect();
    let message = match &profiling.stage {
        Some(name) => {
            let known = suggestion(name, names.iter().copied());
            format!("is {}, and the profile has no stage of this name; {known}", quoted(name))
        }
        None => format!("is missing, and the profile has several stages; write one of {}", wording::listed(&names)),
    };
    findings.problem(STAGE, message);
}

/// Adds a problem if the stage ends before an explicit start of profiling. The default start is never too late, because a warm-up is shorter than its
/// stage.
fn check_start(profiling: &ResolvedProfiling, stage: &Stage, findings: &Findings) {
    let (Some(start), Some(length)) = (profiling.start, sends_for(&stage.load)) else { return };
    if start.0 < length.0 {
        return;
    }
    let name = quoted(&stage.name);
    findings.problem(
        START,
        format!(
            "is {start}, and stage {name} sends requests for {length} only; write a time below {length}, or make the stage longer"
        ),
    );
}
