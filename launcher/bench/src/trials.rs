//! [I/O] Runs trials. Each trial has a server and a load generator, each on its own core. The load generator is the launcher's engine, or the bare
//! client (plain hyper and tokio) that it is compared with.

use std::time::Duration;

use capacity::{
    child_messages::{EngineSpec, ServerSpec},
    children::Server,
    server::Pace,
    trial::{self, Trial},
};
use workload_profiles::Workload;

use super::{
    BenchError,
    cores::Cores,
    parts::{BareSpec, Part},
};
use measurement::recorder::Keep;

/// Runs a workload with the engine on `threads` threads. `length` is the expected duration.
pub(super) fn engine(
    pace: Pace,
    workload: Workload,
    keep: Keep,
    threads: usize,
    cores: Cores,
    length: Duration,
) -> Result<Trial, BenchError> {
    let spec = EngineSpec { port: 0, workload, keep, run: None, threads, core: cores.client };
    Ok(trial::issue(pace, spec, cores.server, length)?)
}

/// Runs a closed loop with the bare client.
pub(super) fn bare(pace: Pace, streams: u32, rounds: u32, tokens: u32, cores: Cores) -> Result<Trial, BenchError> {
    let server = Server::start(ServerSpec { pace, core: cores.server })?;
    let spec = BareSpec { port: server.port, streams, rounds, tokens, core: cores.client };
    Ok(trial::match_sides(server, &Part::Bare(spec), None, true, pace.answer(tokens) * rounds)?)
}

/// CPU time of the client per token, in microseconds.
pub(super) fn cpu_per_token(trial: &Trial) -> f64 {
    trial.client.cpu_ns as f64 / 1e3 / trial.matched.tokens.max(1) as f64
}

/// The reason why a trial has no valid figures: requests failed, or only one side recorded them. `None` if the figures are valid.
pub(super) fn fault(trial: &Trial) -> Option<String> {
    let (failed, unmatched) = (trial.failed(), trial.matched.unmatched);
    if failed > 0 {
        let error = trial.client.error.as_deref().unwrap_or("no message");
        return Some(format!("{failed} requests failed ({error})"));
    }
    (unmatched > 0).then(|| format!("{unmatched} requests or tokens could not be matched"))
}

#[cfg(test)]
mod tests {
    use capacity::{child_messages::ClientResult, matching::Matched, server::Truth};

    use super::*;

    fn check(outcomes: &[(&str, u64)], unmatched: u64, expected: Option<&str>) {
        let outcomes = outcomes.iter().map(|(outcome, count)| ((*outcome).to_owned(), *count)).collect();
        let client = ClientResult { outcomes, error: Some("reset".into()), ..ClientResult::default() };
        let matched = Matched { unmatched, ..Matched::default() };
        let trial = Trial { client, truth: Truth::default(), matched, requested: None };
        assert_eq!(fault(&trial).as_deref(), expected);
    }

    #[test]
    fn a_trial_counts_where_all_requests_succeeded_and_both_sides_know_them() {
        check(&[("ok", 50)], 0, None);
        check(&[("ok", 50)], 2, Some("2 requests or tokens could not be matched"));
        check(&[("ok", 47), ("timeout", 2), ("refused", 1)], 1, Some("3 requests failed (reset)"));
    }
}
