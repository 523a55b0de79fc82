//! Tests of the server that a run describes: it is started before the launcher, watched, and removed before the run finishes.

mod any_order;
mod cases;
mod events;
mod log_token;
mod objects;
mod retention;

use crds::{BenchmarkRun, Outcome, Reason, ServerStatus, Word as _, status::Phase};
use operator::plan::{
    Ended, Observed, Plan, PodState, Presence, Turn, plan,
    server::{ServerPod, ServerState},
};

use crate::behaviour::fixture::*;

const NAME: &str = "chat-2db482-server";
const ONE: &str = "{target: {server: {engine: Simulator}}}";
const TWO: &str = "{target: {server: {engine: Simulator, replicas: 2}}}";
const KEEP: &str = "{target: {server: {engine: Simulator, lifecycle: Keep}}}";
const REUSE: &str = "{target: {server: {engine: Simulator, lifecycle: Reuse}}}";

/// A run whose first attempt started at [`zero`] and has a server in the status.
fn preparing(spec: &str) -> BenchmarkRun {
    let mut run = in_phase(spec, Phase::Preparing);
    let server = run.spec.target.server.clone().unwrap();
    let names = crds::resolve::ServerNames::new(&operator::plan::meta::identity(&run, 1), &server, &settings());
    let status = run.status.as_mut().unwrap();
    status.server = Some(ServerStatus::new(names.server, server.replicas.unwrap_or(1), zero()));
    run
}

/// Like [`preparing`], but in another phase, and with a server that has been ready since second 30.
fn with_ready_server(spec: &str, phase: Phase) -> BenchmarkRun {
    let mut run = preparing(spec);
    let status = run.status.as_mut().unwrap();
    status.phase = Some(phase);
    let server = status.server.as_mut().unwrap();
    (server.ready_time, server.pods_time) = (Some(at(30)), Some(at(2)));
    server.ready_replicas = server.replicas;
    if phase == Phase::Running {
        status.attempts[0].running_time = Some(at(60));
    }
    run
}

fn pod(name: &str) -> ServerPod {
    ServerPod {
        state: PodState { name: Some(name.into()), accepted: Some(at(3)), ..PodState::default() },
        created: Some(at(2)),
        ..ServerPod::default()
    }
}

fn running(name: &str) -> ServerPod {
    let pod = pod(name);
    ServerPod { state: PodState { running: true, ..pod.state.clone() }, running_since: Some(at(10)), ..pod }
}

fn ready(name: &str) -> ServerPod {
    let pod = running(name);
    ServerPod { state: PodState { ready: true, ..pod.state.clone() }, ..pod }
}

fn exists(pods: Vec<ServerPod>) -> ServerState {
    ServerState {
        deployment: Presence::Ours,
        uid: Some("d".into()),
        services: vec![NAME.into(), "chat-2db482-pods".into()],
        pods,
        ..ServerState::default()
    }
}

fn end(exit_code: i32, reason: &str, message: &str) -> Ended {
    Ended { exit_code, reason: reason.into(), message: message.into(), disrupted: None }
}

/// Observations for an attempt whose launcher has not been created yet.
fn before_launcher(run: &BenchmarkRun, server: ServerState) -> Observed {
    Observed { server, ..nothing(run) }
}

/// A run whose kept server died while the run was measuring.
pub fn dead() -> (BenchmarkRun, Observed) {
    let dead = ServerPod { restarts: 1, ended: Some(end(137, "OOMKilled", "")), ..running("s-a") };
    (with_ready_server(KEEP, Phase::Running), at_work(exists(vec![dead])))
}

/// A run whose kept server ended before it was ready.
pub fn crashed() -> (BenchmarkRun, Observed) {
    let run = preparing(KEEP);
    let crashed = ServerPod { restarts: 1, ended: Some(end(1, "Error", "no such model")), ..pod("s-a") };
    let observed = before_launcher(&run, exists(vec![crashed]));
    (run, observed)
}

fn decide(run: &BenchmarkRun, observed: &Observed, seconds: i64) -> Plan {
    let settings = settings();
    plan(run, observed, &Turn { settings: &settings, now: at(seconds) })
}

fn server(made: &Plan) -> &ServerStatus {
    made.status.server.as_ref().unwrap()
}

#[track_caller]
fn assert_state(made: &Plan, phase: Phase, reason: Reason, says: &str) {
    let found = message(made);
    assert_eq!((made.status.phase, made.status.reason.as_str()), (Some(phase), reason.name()), "{found}");
    assert!(found.contains(says), "{found:?} does not hold {says:?}");
}

/// Observations in which the launcher is measuring and the server has this state.
fn at_work(server: ServerState) -> Observed {
    Observed { server, ..measuring() }
}
