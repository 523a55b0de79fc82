//! Workloads, servers and records that the tests share.

use std::{sync::Arc, time::Duration};

use crds::{
    benchmark_run::{Api, SimulatorPreset},
    units::{RequestRate, Seed, Span},
};
use engine::{
    client::Target,
    issue::{LoadOrder, run_order_here},
    stop::Stop,
};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, body::Bytes, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use loadgen::phases::{planned_phases, to_issue};
use measurement::{
    load_result::LoadResult,
    record::{RequestOutcome, RequestRecord},
    recorder::Keep,
};
use simulator::{
    SimOptions, Simulator,
    faults::{Fault, FaultKind},
    latency::StepCosts,
};
use tokio::io::{DuplexStream, duplex};
use workload_files::WorkloadFiles;
use workload_profiles::{
    Workload,
    workload::{Arrivals, LengthDistribution, Load, PromptText, Rate, RequestSource, Sampling, Stage},
};

/// The body of a streamed answer with one token.
pub const ANSWER: &str = "data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n";

pub const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub fn open(rate: f64, seconds: u64) -> Stage {
    let load = Load::Open {
        arrivals: Arrivals::ConditionedPoisson,
        rate: Rate::Steady(RequestRate::try_from(rate).unwrap()),
        duration: Some(Span(Duration::from_secs(seconds))),
        count: Some((rate * seconds as f64) as u64),
        max_concurrency: None,
    };
    Stage::new(format!("r{rate}"), load)
}

pub fn closed(concurrency: u32, count: u64) -> Stage {
    let load = Load::closed(concurrency, count);
    Stage::new(format!("c{concurrency}"), load)
}

/// Evenly spaced requests; the first is due immediately.
pub fn paced(rate: f64, count: u64) -> Stage {
    let load = Load::Open {
        arrivals: Arrivals::Constant,
        rate: Rate::Steady(RequestRate::try_from(rate).unwrap()),
        duration: Some(Span(Duration::from_secs_f64(count as f64 / rate))),
        count: None,
        max_concurrency: None,
    };
    Stage::new(format!("r{rate}"), load)
}

/// Limits the number of requests in flight in a stage.
pub fn bounded(mut stage: Stage, permits: u32) -> Stage {
    match &mut stage.load {
        Load::Open { max_concurrency, .. }
        | Load::Burst { max_concurrency, .. }
        | Load::Trace { max_concurrency, .. } => *max_concurrency = Some(permits),
        Load::Closed { .. } | Load::Users { .. } | Load::LoadGen { .. } => {
            panic!("this load limits its requests in flight by itself")
        }
    }
    stage
}

/// A closed-loop stage that sends for `duration`. Its slots are opened evenly within `ramp_up`.
pub fn closed_for(concurrency: u32, duration: Duration, ramp_up: Duration) -> Stage {
    let load = Load::Closed {
        concurrency,
        count: None,
        duration: Some(Span(duration)),
        ramp_up: Span(ramp_up),
        start_rate: None,
    };
    Stage::new(format!("c{concurrency}"), load)
}

/// A workload of streamed completions, with prompts of 10 words and answers of `output` tokens.
pub fn workload(stages: Vec<Stage>, output: u32) -> Workload {
    Workload {
        sampling: Sampling { ignore_eos: true, ..Sampling::default() },
        ..Workload::new(
            Api::Completions,
            RequestSource::random(LengthDistribution::fixed(10), LengthDistribution::fixed(output), PromptText::Words),
            stages,
        )
    }
}

/// A server with this time to first token for a single request, and this time between two tokens.
pub fn server(ttft: Duration, itl: Duration) -> SimOptions {
    let costs = StepCosts { base: itl, per_prompt: ttft - itl, ..StepCosts::default() };
    SimOptions { costs, model: "m".into(), ..SimOptions::preset(SimulatorPreset::Instant) }
}

pub fn fault(kind: FaultKind) -> Option<Fault> {
    Some(Fault { kind, ratio: 1.0 })
}

/// Returns a target. The simulator serves its connections on the current runtime.
pub fn simulated(options: SimOptions) -> Target {
    let simulator = Simulator::new(options);
    in_process(move |server| {
        let simulator = Arc::clone(&simulator);
        tokio::spawn(async move { simulator.serve_connection(server).await });
    })
}

/// Returns a target that passes each of its connections to `serve`.
pub fn in_process(serve: impl Fn(DuplexStream) + Send + Sync + 'static) -> Target {
    Target::in_process(Api::Completions, move || {
        let (client, server) = duplex(64 << 10);
        serve(server);
        client
    })
}

/// A server that answers each request with one token. `after` gets the arrival time of a request, counted from the first connection, and returns the
/// delay of its answer.
pub fn answering(after: fn(Duration) -> Duration) -> Target {
    saying(ANSWER, after)
}

/// Like [`answering`], with another answer.
pub fn saying(answer: &'static str, after: fn(Duration) -> Duration) -> Target {
    let clock = clock::Clock::from_runtime();
    in_process(move |server| {
        let service = service_fn(move |request: Request<Incoming>| async move {
            let body = request.into_body().collect().await;
            tokio::time::sleep(after(clock.now())).await;
            let head = Response::builder().header("content-type", "text/event-stream");
            body.map(|_| head.body(Full::<Bytes>::from(answer)).unwrap())
        });
        // How the connection ends does not matter.
        tokio::spawn(async move { drop(http1::Builder::new().serve_connection(TokioIo::new(server), service).await) });
    })
}

/// A server that sends this answer in one piece.
pub fn saying_json(answer: &'static str) -> Target {
    in_process(move |server| {
        let service = service_fn(move |request: Request<Incoming>| async move {
            let body = request.into_body().collect().await;
            let head = Response::builder().header("content-type", "application/json");
            body.map(|_| head.body(Full::<Bytes>::from(answer)).unwrap())
        });
        tokio::spawn(async move { drop(http1::Builder::new().serve_connection(TokioIo::new(server), service).await) });
    })
}

pub async fn issue(workload: &Workload, target: &Target) -> LoadResult {
    issue_until(workload, target, &Stop::default()).await
}

pub async fn issue_until(workload: &Workload, target: &Target, stop: &Stop) -> LoadResult {
    try_issue(workload, target, Seed(42), stop).await.unwrap()
}

/// Runs a workload with its files and phases, and keeps the record of each request.
pub async fn try_issue(workload: &Workload, target: &Target, seed: Seed, stop: &Stop) -> Result<LoadResult, String> {
    let files = WorkloadFiles::read(workload, seed).map_err(|it| it.to_string())?;
    let order = LoadOrder {
        workload,
        files: &files.to_send,
        phases: &to_issue(&planned_phases(workload).unwrap()),
        model: "m",
        target,
        seeds: seed.into(),
        keep: Keep::Records,
        threads: 1,
        stop,
        progress: Arc::default(),
        trials: None,
    };
    run_order_here(order).await.map_err(|it| it.to_string())
}

/// Returns all records, sorted by stage and number.
pub fn records(result: &LoadResult) -> Vec<RequestRecord> {
    let mut records: Vec<RequestRecord> = result.recorder.records.as_ref().unwrap().iter().cloned().collect();
    records.sort_by_key(|it| (it.stage, it.number));
    records
}

/// Returns the number of requests of a stage per outcome, by the name of the outcome.
pub fn outcomes(result: &LoadResult, stage: usize) -> Vec<(String, u64)> {
    result.recorder.stages[stage].outcomes.iter().map(|(outcome, count)| (outcome.name(), *count)).collect()
}

/// Returns the time from when a request was sent to `at`.
pub fn after_send(record: &RequestRecord, at: Option<Duration>) -> Duration {
    at.unwrap() - record.sent.unwrap()
}

pub fn all(result: &LoadResult, outcome: RequestOutcome) -> bool {
    records(result).iter().all(|it| it.outcome == outcome)
}
