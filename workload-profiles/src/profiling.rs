//! The stage of a load that is profiled.

use crds::{resolve::ResolvedProfiling, units::Span, wording};

use crate::{
    problem::{Findings, quoted, suggestion},
    workload::{Load, Margin, Stage, Workload},
};

/// The path of the field that names the stage.
const STAGE: &str = "spec.profiling.stage";
/// The path of the field that says when the window begins.
const START: &str = "spec.profiling.start";

/// The index of the stage that is profiled; `None`: the load has no such stage, which [`crate::prepare`] refuses.
pub fn profiled_stage(profiling: &ResolvedProfiling, stages: &[Stage]) -> Option<usize> {
    match (&profiling.stage, stages) {
        (Some(name), _) => stages.iter().position(|it| it.name == *name),
        (None, [_]) => Some(0),
        (None, _) => None,
    }
}

/// When the window begins, from the start of its stage: where the run does not say, at the end of a warm-up whose length is a time.
pub fn profiling_start(profiling: &ResolvedProfiling, stage: &Stage) -> std::time::Duration {
    let after_warm_up = match stage.warm_up {
        Some(Margin::Duration(length)) => length.0,
        _ => std::time::Duration::ZERO,
    };
    profiling.start.map_or(after_warm_up, |it| it.0)
}

/// How long a stage sends requests, where its load says so. `None`: a number of requests, or how many may be under way, decides.
fn sends_for(load: &Load) -> Option<Span> {
    match load {
        Load::Open { duration, max_concurrency: None, .. }
        | Load::Closed { duration, .. }
        | Load::Users { duration, .. } => *duration,
        _ => None,
    }
}

/// Adds a problem where the load has no such stage, where several could be meant, or where the stage is over before the window begins.
pub(crate) fn check(profiling: Option<&ResolvedProfiling>, workload: &Workload, findings: &Findings) {
    // A profile with a mistake is read with a default in its place, which may be why a stage is missing.
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

/// A warm-up leaves a part of its stage, and so only a time that was written can be too late.
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
