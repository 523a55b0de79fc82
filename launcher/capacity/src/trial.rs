//! [I/O] Runs one load against its own server: starts server and client, and compares their results.

use std::time::Duration;

use crds::resolve::ResolvedRun;
use serde::Serialize;
use workload_profiles::Workload;

use crate::{
    child_messages::{ClientResult, EngineSpec, Part, ServerSpec},
    children::{self, Server},
    error::TrialError,
    matching::{Matched, RequestedLoad},
    server::{Pace, Truth},
};
use measurement::recorder::Keep;

/// Time added to the expected duration of a load, because the machine can be busy, and writing the result takes time.
const SPARE: Duration = Duration::from_secs(60);

/// The results of client and server.
pub struct Trial {
    /// The result of the client.
    pub client: ClientResult,
    /// The record of the server.
    pub truth: Truth,
    /// The comparison of client and server.
    pub matched: Matched,
    /// The requested rate; `None` unless the load is an open loop with a steady rate.
    pub requested: Option<RequestedLoad>,
}

impl Trial {
    /// Returns the fraction of the requested load that arrived in time. `None` for closed loops: their rate depends on the answers.
    pub fn achieved(&self) -> Option<f64> {
        self.matched.achieved(&self.requested?)
    }

    /// Returns the number of failed requests.
    pub fn failed(&self) -> u64 {
        self.client.outcomes.iter().filter(|(outcome, _)| *outcome != "ok").map(|(_, count)| count).sum()
    }
}

/// Runs the workload of a run with the engine, on any cores. The result contains the launcher's judgement of itself.
pub(crate) fn judged(
    pace: Pace,
    workload: Workload,
    run: ResolvedRun,
    threads: usize,
    length: Duration,
) -> Result<Trial, TrialError> {
    let (keep, run) = (Keep::Records, Some(Box::new(run)));
    issue(pace, EngineSpec { port: 0, workload, keep, run, threads, core: None }, None, length)
}

/// Starts a server, runs the engine against it, and compares the times of both. `core` is the server's core. `length` is the expected duration of the
/// load.
///
/// # Errors
/// Server or client failed, or took too long.
pub fn issue(pace: Pace, spec: EngineSpec, core: Option<usize>, length: Duration) -> Result<Trial, TrialError> {
    let server = Server::start(ServerSpec { pace, core })?;
    let requested = spec.workload.stages.first().and_then(|it| RequestedLoad::from_load(&it.load));
    let (spec, kept) = (EngineSpec { port: server.port, ..spec }, spec.keep != Keep::Summary);
    match_sides(server, &Part::Engine(Box::new(spec)), requested, kept, length)
}

/// Runs the client of a started server, ends the server, and compares their times. `kept` states whether the client keeps its requests.
///
/// # Errors
/// Server or client failed, or took too long.
pub fn match_sides(
    server: Server,
    part: &impl Serialize,
    requested: Option<RequestedLoad>,
    kept: bool,
    length: Duration,
) -> Result<Trial, TrialError> {
    let client: ClientResult = children::run(part, 4 * length + SPARE)?;
    let truth = server.end()?;
    if let Some(error) = &client.error {
        tracing::warn!(error, "a request failed");
    }
    let matched = if kept { Matched::new(&client.requests, &truth) } else { Matched::default() };
    Ok(Trial { client, truth, matched, requested })
}
