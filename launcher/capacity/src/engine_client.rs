//! [I/O] The client process of a trial. It runs the launcher's engine, with the same code, sockets and clock as in a real run.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crds::{resolve::ResolvedRun, units::Seed};

use crate::{
    child_messages::{ClientRequest, ClientResult, EngineSpec, nanos},
    error::TrialError,
    memory,
};
use analysis::{Evidence, Measured, SelfJudgement};
use engine::{
    client::Target,
    issue::{self, LoadOrder, Progress},
    stop::Stop,
};
use measurement::{inter_token_times::InterTokenTimes, load_result::LoadResult, recorder::Keep};
use workload_files::WorkloadFiles;

/// A fixed seed, so that each trial sends the same requests at the same times.
const SEED: Seed = Seed(1);

/// Runs the load, and returns its result.
///
/// # Errors
/// The load cannot run, or the memory use cannot be read from /proc.
pub(super) fn run(spec: &EngineSpec) -> Result<ClientResult, TrialError> {
    let url = format!("http://127.0.0.1:{}", spec.port);
    let workload = &spec.workload;
    let target = Target::new(&url, workload.api, None, None, &BTreeMap::new())?;
    let (cpu, begun) = (clock::process_cpu(), clock::monotonic());
    let load = issue::run_load(LoadOrder {
        workload,
        files: &WorkloadFiles::read(workload, SEED)?.to_send,
        phases: &[],
        model: "bench",
        target: &target,
        seeds: SEED.into(),
        keep: spec.keep,
        threads: spec.threads,
        stop: &Stop::default(),
        progress: Arc::new(Progress::default()),
        trials: None,
    })?;
    let (cpu, wall) = (clock::process_cpu().saturating_sub(cpu), clock::monotonic().saturating_sub(begun));
    // Without the times between tokens, comparing them would always succeed. So this must be an error.
    if spec.keep == Keep::RecordsAndGaps && load.recorder.tape.as_ref().is_some_and(|it| !it.is_whole()) {
        let message = "the memory for the times between tokens ran out; give the bench more memory, or lower the load";
        return Err(TrialError::Child(message.to_owned()));
    }
    let peak_rss_bytes = memory::peak()?;
    let mut outcomes = BTreeMap::new();
    let mut error = None;
    for stage in &load.recorder.stages {
        stage.outcomes.iter().for_each(|(outcome, count)| *outcomes.entry(outcome.name()).or_default() += count);
        error = error.or_else(|| stage.error_samples.values().next().map(|it| it.to_string()));
    }
    let judgement = spec.run.as_ref().map(|run| judge(&load, spec, run));
    Ok(ClientResult {
        cpu_ns: nanos(cpu),
        wall_ns: nanos(wall),
        peak_rss_bytes,
        outcomes,
        error,
        busiest: judgement.as_ref().and_then(|it| it.busiest.as_ref()).map(|it| it.share),
        receive_delay_p99_ns: judgement.as_ref().and_then(|it| it.receive_delay).map(|it| nanos(it.p99)),
        requests: seen(&load),
    })
}

/// Returns the launcher's judgement of itself, as in a report.
fn judge(load: &LoadResult, spec: &EngineSpec, run: &ResolvedRun) -> SelfJudgement {
    analysis::analyse(&Evidence::new(Measured::from(load), &spec.workload, run, "bench")).judgement
}

/// Returns the successful requests, with times on the machine's monotonic clock.
fn seen(load: &LoadResult) -> Vec<ClientRequest> {
    let at = |time: Duration| nanos(load.zero + time);
    let records = load.recorder.records.iter().flatten().enumerate();
    let all_gaps = load.recorder.gaps();
    let gaps = |place: usize| all_gaps.as_ref().and_then(|all| all.get(place));
    records
        .filter(|(_, record)| record.outcome.is_success())
        .filter_map(|(place, record)| {
            Some(ClientRequest {
                stage: record.stage,
                number: record.number,
                scheduled_ns: at(record.scheduled),
                queued_ns: nanos(record.permit_wait.unwrap_or_default()),
                sent_ns: at(record.sent?),
                // An answer in one piece has no separate time of its first token.
                first_ns: at(record.first_token.or(record.last_token)?),
                last_ns: at(record.last_token?),
                gaps_ns: gaps(place).into_iter().flat_map(InterTokenTimes::iter).map(nanos).collect(),
            })
        })
        .collect()
}
