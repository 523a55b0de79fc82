//! [I/O] One load on its own server: starts server and client, and matches their results.

use std::time::Duration;

use crds::resolve::ResolvedRun;
use workload_profiles::Workload;

use super::{
    BenchError,
    child_messages::{BareSpec, ClientResult, EngineSpec, Part},
    children::{self, Server},
    cores::Cores,
    matching::{Matched, RequestedLoad},
    server::{Pace, ServerSpec, Truth},
};
use measurement::recorder::Keep;

/// Added to the expected time of a load. The machine may be busy, and writing the result takes time.
const SPARE: Duration = Duration::from_secs(60);

/// The results of client and server.
pub(super) struct Trial {
    pub(super) client: ClientResult,
    pub(super) truth: Truth,
    pub(super) matched: Matched,
    /// The requested rate of an open load.
    requested: Option<RequestedLoad>,
}

impl Trial {
    /// CPU time of the client for each token, in microseconds.
    pub(super) fn cpu_per_token(&self) -> f64 {
        self.client.cpu_ns as f64 / 1e3 / self.matched.tokens.max(1) as f64
    }

    /// Share of the requested load that arrived in time. `None` for closed loads, where answers decide the rate.
    pub(super) fn achieved(&self) -> Option<f64> {
        self.matched.achieved(&self.requested?)
    }

    /// Why the figures do not count, if they do not: requests failed, or only one side has a record of them.
    pub(super) fn fault(&self) -> Option<String> {
        let (failed, unmatched) = (self.failed(), self.matched.unmatched);
        if failed > 0 {
            let error = self.client.error.as_deref().unwrap_or("no message");
            return Some(format!("{failed} requests failed ({error})"));
        }
        (unmatched > 0).then(|| format!("{unmatched} requests or tokens could not be matched"))
    }

    /// Number of failed requests.
    pub(super) fn failed(&self) -> u64 {
        self.client.outcomes.iter().filter(|(outcome, _)| *outcome != "ok").map(|(_, count)| count).sum()
    }
}

/// Runs a workload with the engine on `threads` threads. `length` is the expected time.
pub(super) fn engine(
    pace: Pace,
    workload: Workload,
    keep: Keep,
    threads: usize,
    cores: Cores,
    length: Duration,
) -> Result<Trial, BenchError> {
    let spec = EngineSpec { port: 0, workload, keep, run: None, threads, core: cores.client };
    issue(pace, spec, cores.server, length)
}

/// Runs a workload of a run with the engine, on any cores. The result contains the launcher's judgement of its own part.
pub(super) fn judged(
    pace: Pace,
    workload: Workload,
    run: ResolvedRun,
    threads: usize,
    length: Duration,
) -> Result<Trial, BenchError> {
    let (keep, run) = (Keep::Records, Some(Box::new(run)));
    issue(pace, EngineSpec { port: 0, workload, keep, run, threads, core: None }, None, length)
}

/// Starts the server, and then the engine with its port.
fn issue(pace: Pace, spec: EngineSpec, core: Option<usize>, length: Duration) -> Result<Trial, BenchError> {
    let server = Server::start(ServerSpec { pace, core })?;
    let requested = spec.workload.stages.first().and_then(|it| RequestedLoad::from_load(&it.load));
    let (spec, kept) = (EngineSpec { port: server.port, ..spec }, spec.keep != Keep::Summary);
    match_sides(server, &Part::Engine(Box::new(spec)), requested, kept, length)
}

/// Runs a closed loop with the bare client.
pub(super) fn bare(pace: Pace, streams: u32, rounds: u32, tokens: u32, cores: Cores) -> Result<Trial, BenchError> {
    let server = Server::start(ServerSpec { pace, core: cores.server })?;
    let spec = BareSpec { port: server.port, streams, rounds, tokens, core: cores.client };
    match_sides(server, &Part::Bare(spec), None, true, pace.answer(tokens) * rounds)
}

fn match_sides(
    server: Server,
    part: &Part,
    requested: Option<RequestedLoad>,
    kept: bool,
    length: Duration,
) -> Result<Trial, BenchError> {
    let client: ClientResult = children::run(part, 4 * length + SPARE)?;
    let truth = server.end()?;
    if let Some(error) = &client.error {
        tracing::warn!(error, "a request failed");
    }
    let matched = if kept { Matched::new(&client.requests, &truth) } else { Matched::default() };
    Ok(Trial { client, truth, matched, requested })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(outcomes: &[(&str, u64)], unmatched: u64, fault: Option<&str>) {
        let outcomes = outcomes.iter().map(|(outcome, count)| ((*outcome).to_owned(), *count)).collect();
        let client = ClientResult { outcomes, error: Some("reset".into()), ..ClientResult::default() };
        let matched = Matched { unmatched, ..Matched::default() };
        let trial = Trial { client, truth: Truth::default(), matched, requested: None };
        assert_eq!(trial.fault().as_deref(), fault);
    }

    #[test]
    fn a_trial_counts_where_all_requests_succeeded_and_both_sides_know_them() {
        check(&[("ok", 50)], 0, None);
        check(&[("ok", 50)], 2, Some("2 requests or tokens could not be matched"));
        check(&[("ok", 47), ("timeout", 2), ("refused", 1)], 1, Some("3 requests failed (reset)"));
    }
}
