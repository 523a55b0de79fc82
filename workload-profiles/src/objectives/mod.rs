//! Refuses objectives before the load if the workload cannot have figures for them. Other figures may turn out to be missing during the measurement,
//! for example if a server sends no token counts. An objective without its figure is then inconclusive.

use std::collections::BTreeSet;

use crds::{
    benchmark_run::Metric,
    resolve::{ResolvedSlo, Scope},
};

use crate::{
    problem::{Findings, quoted, suggestion},
    workload::{Margin, Workload},
};

/// Adds a problem for each objective whose stage or figure the workload does not have.
pub(crate) fn check(slo: Option<&ResolvedSlo>, workload: &Workload, findings: &Findings) {
    // In a profile with errors, defaults replace the wrong values. A figure might be missing only because of that.
    if findings.has_problems() {
        return;
    }
    let stages: BTreeSet<&str> = workload.stages.iter().map(|it| it.name.as_str()).collect();
    let warms_up = |name: &str| workload.stages.iter().any(|it| it.name == name && it.warm_up == Some(Margin::All));
    for (index, objective) in slo.iter().flat_map(|it| &it.objectives).enumerate() {
        let path = |field: &str| format!("spec.slo.objectives[{index}].{field}");
        let metric = objective.metric;
        if let Scope::Stage(name) = objective.scope()
            && !stages.contains(name)
        {
            let known = suggestion(name, stages.iter().copied());
            let message = format!("is {}, and the profile has no stage of this name; {known}", quoted(name));
            findings.problem(path("stage"), message);
        }
        if let Scope::Stage(name) = objective.scope()
            && warms_up(name)
        {
            let message = format!(
                "is {}, which is a warm-up as a whole and has no figures; name a measured stage, or write \"*\" for all measured stages",
                quoted(name)
            );
            findings.problem(path("stage"), message);
        }
        if metric.needs_streaming() && !workload.streaming {
            let message = format!(
                "is {}, which is measured in streams alone, and the profile has streaming off; turn it on, or bound latency",
                metric.name()
            );
            findings.problem(path("metric"), message);
        }
        let goodput = matches!(metric, Metric::GoodputRequestsPerSecond | Metric::GoodputShare);
        if goodput && workload.goodput.is_empty() {
            let message = format!(
                "is {}, and the profile sets no goals that a request could meet; set its goodput, or bound another figure",
                metric.name()
            );
            findings.problem(path("metric"), message);
        }
    }
}

#[cfg(test)]
mod tests;
