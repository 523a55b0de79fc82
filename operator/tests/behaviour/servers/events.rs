//! All combinations of a stage of a run and an event of its server. The resulting table is a snapshot.

use crds::BenchmarkRunStatus;
use operator::plan::{Unread, What};

use super::*;

/// The stages of a run that has a server.
const STAGES: [&str; 8] = ["New", "Preparing", "Ready", "Starting", "Running", "Retrying", "Suspended", "Ended"];

/// The events of the server.
const EVENTS: [&str; 17] = [
    "Absent",
    "Going",
    "OnlyPodsLeft",
    "Foreign",
    "Unreadable",
    "QuotaRefuses",
    "PodPending",
    "Unschedulable",
    "ImageMissing",
    "ContainerRuns",
    "ContainerReady",
    "Crashed",
    "OutOfMemoryAndRunsAgain",
    "Evicted",
    "DeletedByOthers",
    "Replaced",
    "NothingForTooLong",
];

fn at_stage(stage: &str) -> (BenchmarkRun, Observed) {
    let launcher = |observed: Observed, run: &BenchmarkRun| Observed { input: Some(Ok(input(run, 1))), ..observed };
    match stage {
        "New" => {
            let run = run(ONE);
            let observed = nothing(&run);
            (run, observed)
        }
        "Preparing" | "Ready" => {
            let run = if stage == "Ready" { with_ready_server(ONE, Phase::Preparing) } else { preparing(ONE) };
            let observed = nothing(&run);
            (run, observed)
        }
        "Starting" => {
            let run = with_ready_server(ONE, Phase::Starting);
            let observed = launcher(started(), &run);
            (run, observed)
        }
        "Running" => {
            let run = with_ready_server(ONE, Phase::Running);
            let observed = launcher(measuring(), &run);
            (run, observed)
        }
        "Retrying" | "Suspended" => {
            let mut run = with_ready_server(ONE, Phase::Preparing);
            run.spec.suspend = stage == "Suspended";
            let status = run.status.as_mut().unwrap();
            status.phase = Some(if run.spec.suspend { Phase::Suspended } else { Phase::Preparing });
            (status.attempts[0].end_time, status.attempts[0].reason) = (Some(at(90)), Reason::Disrupted.into());
            let observed = Observed { input: Some(Ok(input(&run, 2))), ..Observed::default() };
            (run, observed)
        }
        _ => {
            let run = with_ready_server(ONE, Phase::Running);
            let passed = Observed {
                server: exists(vec![ready("s-a")]),
                ..ended(said(&envelope(Outcome::Passed, "RunSucceeded")))
            };
            (after(&run, &decide(&run, &passed, 95)), Observed::default())
        }
    }
}

/// Changes the observations for an event. Returns the time of the next turn in seconds.
fn after_event(event: &str, observed: &mut Observed) -> i64 {
    let with = |change: fn(&mut ServerPod)| {
        let mut pod = ready("s-a");
        change(&mut pod);
        exists(vec![pod])
    };
    let waits = |it: &mut ServerPod| (it.state.running, it.state.ready, it.running_since) = (false, false, None);
    observed.server = match event {
        "Absent" => ServerState::default(),
        "Going" => ServerState { deleting: true, ..with(|_| ()) },
        "OnlyPodsLeft" => ServerState { deployment: Presence::Absent, services: Vec::new(), ..with(|_| ()) },
        "Foreign" => ServerState { deployment: Presence::Foreign, ..ServerState::default() },
        "Unreadable" => {
            let message = "the operator cannot get deployments".into();
            observed.unread = vec![Unread { what: What::Server, message, passing: false }];
            ServerState { deployment: Presence::Unknown, ..ServerState::default() }
        }
        "QuotaRefuses" => ServerState { refused: Some("exceeded quota".into()), ..exists(Vec::new()) },
        "PodPending" => exists(vec![pod("s-a")]),
        "Unschedulable" => {
            let mut state = exists(vec![pod("s-a")]);
            state.pods[0].state.unschedulable = Some("0/3 nodes".into());
            state
        }
        "ImageMissing" => {
            let mut state = exists(vec![pod("s-a")]);
            state.pods[0].state.waiting = Some(("ErrImagePull".into(), "not found".into()));
            state
        }
        "ContainerRuns" => exists(vec![running("s-a")]),
        "ContainerReady" | "NothingForTooLong" => with(|_| ()),
        "Crashed" => {
            let mut state = with(|it| (it.restarts, it.ended) = (1, Some(end(1, "Error", "boom"))));
            state.pods.iter_mut().for_each(waits);
            state
        }
        "OutOfMemoryAndRunsAgain" => with(|it| (it.restarts, it.ended) = (1, Some(end(137, "OOMKilled", "")))),
        "Evicted" => with(|it| it.disrupted = Some("EvictionByEvictionAPI: drained".into())),
        "DeletedByOthers" => with(|it| it.state.deleting = Some(at(130))),
        "Replaced" => with(|it| it.created = Some(at(90))),
        other => panic!("{other} is no event"),
    };
    if event == "NothingForTooLong" { 100_000 } else { 100 }
}

/// The outcome as text: phase, reason, and all writes except the status.
fn outcome(run: &BenchmarkRun, made: &Plan) -> String {
    let before = run.status.clone().unwrap_or_default();
    let status = &made.status;
    let mut text = format!("{} {}", status.phase.map_or("none", Phase::name), status.reason);
    if *status == before {
        text = "stays".into();
    }
    let mut note = |condition: bool, words: &str| {
        if condition {
            text.push_str("; ");
            text.push_str(words);
        }
    };
    let creates: Vec<_> = made.create.iter().map(kind).collect();
    note(!creates.is_empty(), &format!("creates {}", creates.join(", ")));
    note(made.stop.is_some(), "stops the launcher");
    note(made.stop_server.is_some(), "removes the server");
    let ended = |it: &BenchmarkRunStatus| it.attempts.iter().filter(|it| it.end_time.is_some()).count();
    note(ended(status) > ended(&before), "the attempt ends");
    note(status.attempts.len() > before.attempts.len(), "an attempt begins");
    let ready = |it: &BenchmarkRunStatus| it.server.as_ref().is_some_and(|it| it.ready_time.is_some());
    note(ready(status) && !ready(&before), "the server is ready");
    note(status.server.is_none() && before.server.is_some(), "has no server any more");
    let held = status.server.as_ref().and_then(|it| it.held_end.as_ref());
    let new = held.filter(|_| before.server.as_ref().is_none_or(|it| it.held_end.is_none()));
    note(new.is_some(), &format!("ends as {}", new.map_or("", |it| it.reason.as_str())));
    note(made.again, "plans again");
    text
}

#[test]
fn every_stage_of_a_run_with_every_event_of_its_server_has_its_outcome() {
    let mut table = String::new();
    for stage in STAGES {
        for event in EVENTS {
            let (run, mut observed) = at_stage(stage);
            let seconds = after_event(event, &mut observed);
            let made = decide(&run, &observed, seconds);
            table.push_str(&format!("{stage} | {event} | {}\n", outcome(&run, &made)));
        }
    }
    assert_eq!(table.lines().count(), STAGES.len() * EVENTS.len());
    insta::assert_snapshot!(table);
}
