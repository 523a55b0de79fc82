//! Checks of a run that measures how long a server takes to start.

use super::{EffectiveSpec, Errors, server::is_of_charts};
use crate::benchmark_run::{BenchmarkRunSpec, Harness, Lifecycle};

/// Refuses harness nop if the run does not start its own server. In a cluster it also refuses repeats, because there the server starts only once per
/// run.
pub(super) fn check(spec: &BenchmarkRunSpec, effective: &EffectiveSpec, in_cluster: bool, errors: &mut Errors) {
    if effective.harness != Harness::Nop {
        return;
    }
    match &spec.target.server {
        None => errors.add(
            "spec.harness",
            "is nop, which measures how a server starts; set spec.target.server, so that the run starts the server. For a server that is running already, read its log with `benchwright startup FILE`, or choose another harness, such as benchwright",
        ),
        Some(server) if is_of_charts(server) => errors.add(
            "spec.harness",
            "is nop, which measures how a server starts, and with method ModelService the run starts no server; read the logs of the server's pods with \
             `benchwright startup FILE`, or choose another harness, such as benchwright",
        ),
        Some(_) => {}
    }
    if in_cluster && effective.repeat > 1 {
        let message = format!(
            "is {}, and in a cluster the server starts once for all runs of a series; take it out, and create a BenchmarkRun for each start",
            effective.repeat
        );
        errors.add("spec.repeat", &message);
    }
    let lifecycle = spec.target.server.as_ref().and_then(|it| it.lifecycle).unwrap_or_default();
    if lifecycle != Lifecycle::PerRun {
        let message = format!("is {lifecycle:?}, and nop measures a start; write PerRun, the default");
        errors.add("spec.target.server.lifecycle", &message);
    }
}
