//! Tests of one situation each.

use crds::{
    BenchmarkRunStatus, Outcome, Reason,
    benchmark_run::Cancel,
    status::{ConditionStatus, Phase},
};
use operator::plan::{
    Observed, Presence, Unread, What,
    server::{ServerPod, ServerState, StopServer},
};

use super::*;

#[test]
fn the_status_has_the_server_before_anything_of_it_is_created() {
    let run = run(ONE);
    let made = decide(&run, &nothing(&run), 5);
    assert_state(&made, Phase::Preparing, Reason::Preparing, "");
    assert_eq!((server(&made).name.as_str(), server(&made).start_time, made.again), (NAME, at(5), true));
    assert!(made.create.is_empty(), "{made:#?}");
}

#[test]
fn the_server_is_created_before_the_launcher_and_the_launcher_waits_for_all_replicas() {
    let run = preparing(TWO);
    let made = decide(&run, &before_launcher(&run, ServerState::default()), 1);
    assert_state(&made, Phase::Preparing, Reason::ServerStarting, "are being created");
    let kinds: Vec<_> = made.create.iter().map(kind).collect();
    assert_eq!(kinds, ["Service", "Service", "Deployment"]);

    let half = before_launcher(&run, exists(vec![ready("s-a"), running("s-b")]));
    let made = decide(&run, &half, 20);
    assert_state(
        &made,
        Phase::Preparing,
        Reason::ServerStarting,
        "1 of 2 replicas of server chat-2db482-server are ready; the server in pod s-b has started",
    );
    assert_eq!((server(&made).ready_replicas, made.create.len()), (1, 0));

    let whole = before_launcher(&run, exists(vec![ready("s-a"), ready("s-b")]));
    let made = decide(&run, &whole, 40);
    assert_eq!((server(&made).ready_time, server(&made).pods_time, made.create.len()), (Some(at(40)), Some(at(2)), 0));
    assert_eq!((server(&made).container_time, server(&made).ready_replicas, made.again), (Some(at(10)), 2, true));
    let made = decide(&after(&run, &made), &whole, 40);
    assert_state(&made, Phase::Starting, Reason::PodStarting, "");
    let kinds: Vec<_> = made.create.iter().map(kind).collect();
    assert_eq!(kinds, ["ConfigMap", "PersistentVolumeClaim", "Job"]);
}

#[test]
fn a_service_that_is_missing_is_created_again() {
    let run = preparing(ONE);
    let lost = ServerState { services: Vec::new(), ..exists(vec![running("s-a")]) };
    let made = decide(&run, &before_launcher(&run, lost), 20);
    assert_eq!(made.create.iter().map(kind).collect::<Vec<_>>(), ["Service", "Deployment"], "what exists is accepted");
}

#[test]
fn a_server_starts_only_when_an_earlier_one_of_its_name_is_gone() {
    let run = preparing(ONE);
    let going = ServerState { deleting: true, ..exists(vec![running("old")]) };
    let made = decide(&run, &before_launcher(&run, going), 5);
    assert_state(&made, Phase::Preparing, Reason::ServerStarting, "still there: Deployment chat-2db482-server");
    let pods = ServerState { deployment: Presence::Absent, services: Vec::new(), ..exists(vec![running("old")]) };
    let made = decide(&run, &before_launcher(&run, pods.clone()), 5);
    assert_state(&made, Phase::Preparing, Reason::ServerStarting, "pod old");
    assert!(made.create.is_empty());
    let made = decide(&run, &before_launcher(&run, pods), 901);
    assert_eq!(
        (made.status.phase, made.status.attempts[0].reason.as_str()),
        (Some(Phase::Collecting), "PrepareTimeout")
    );
}

#[test]
fn a_deployment_of_somebody_else_is_not_touched() {
    let run = preparing(ONE);
    let foreign = ServerState { deployment: Presence::Foreign, ..ServerState::default() };
    let made = decide(&run, &before_launcher(&run, foreign), 5);
    assert_state(&made, Phase::Failed, Reason::NameConflict, NAME);
    assert_eq!(made.stop_server, None);
}

#[test]
fn what_a_server_waits_for_is_said_with_its_remedy_and_ends_in_time() {
    let with = |change: fn(&mut ServerPod)| {
        let mut pod = pod("s-a");
        change(&mut pod);
        exists(vec![pod])
    };
    let unschedulable = with(|it| it.state.unschedulable = Some("0/3 nodes: 3 Insufficient nvidia.com/gpu".into()));
    let image = with(|it| it.state.waiting = Some(("ErrImagePull".into(), "not found".into())));
    let wrong_name = with(|it| it.state.waiting = Some(("InvalidImageName".into(), "bad".into())));
    let config =
        with(|it| it.state.waiting = Some(("CreateContainerConfigError".into(), "secret \"hub\" not found".into())));
    let mounts = with(|it| it.state.without_sandbox = true);
    let refused = ServerState { refused: Some("exceeded quota: gpus".into()), ..exists(Vec::new()) };
    let never = exists(vec![running("s-a")]);
    for (state, reason, says, waits_until, ends_at, ends_as) in [
        (
            &unschedulable,
            Reason::Unschedulable,
            "Insufficient nvidia.com/gpu; check resources",
            1_800,
            1_801,
            Reason::Unschedulable,
        ),
        (
            &image,
            Reason::ImagePull,
            "image \"benchwright/launcher:test\" of the server cannot be pulled",
            303,
            304,
            Reason::ImagePull,
        ),
        (
            &config,
            Reason::ContainerRefused,
            "secret \"hub\" not found; check the objects",
            1_800,
            1_801,
            Reason::ContainerRefused,
        ),
        (&mounts, Reason::MountPending, "kubectl describe pod s-a", 1_800, 1_801, Reason::MountPending),
        (&refused, Reason::PodRefused, "exceeded quota: gpus", 1_800, 1_801, Reason::PodRefused),
        (
            &never,
            Reason::ServerStarting,
            "does not answer /health with 200 yet; it has 900 seconds",
            910,
            911,
            Reason::ServerFailed,
        ),
    ] {
        let run = preparing(ONE);
        let made = decide(&run, &before_launcher(&run, state.clone()), waits_until);
        assert_state(&made, Phase::Preparing, reason, says);
        let made = decide(&run, &before_launcher(&run, state.clone()), ends_at);
        assert_state(&made, Phase::Collecting, Reason::ServerStopping, ends_as.name());
        let held = server(&made).held_end.as_ref().unwrap();
        assert_eq!((held.phase, held.outcome, held.reason.as_str()), (Phase::Failed, Outcome::Error, ends_as.name()));
        assert_eq!(server(&made).last_failure, held.message);
    }
    let run = preparing(ONE);
    let made = decide(&run, &before_launcher(&run, wrong_name), 20);
    assert_eq!(made.status.attempts[0].reason, Reason::ImagePull, "a wrong name stays wrong");
}

#[test]
fn a_server_that_never_answers_has_the_command_that_shows_its_log() {
    let run = preparing("{target: {server: {engine: Custom, image: i}, readiness: {timeoutSeconds: 30}}}");
    let made = decide(&run, &before_launcher(&run, exists(vec![running("s-a")])), 41);
    let message = &server(&made).last_failure;
    for part in ["30 seconds", "/v1/models", "target.readiness.timeoutSeconds", "kubectl logs s-a"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_container_that_ends_before_it_is_ready_ends_the_attempt_with_its_last_words() {
    let run = preparing(ONE);
    let crashed = |ended: Ended| {
        let mut pod = pod("s-a");
        (pod.restarts, pod.ended) = (1, Some(ended));
        exists(vec![pod])
    };
    for (ended, says) in [
        (
            end(1, "Error", "HF_TOKEN=abcdef123456\nValueError: no such model"),
            "exit code 1; its last output:\nHF_TOKEN=<redacted>\nValueError: no such model",
        ),
        (end(137, "OOMKilled", ""), "OOMKilled"),
        (end(139, "Error", ""), "SIGSEGV"),
    ] {
        let made = decide(&run, &before_launcher(&run, crashed(ended)), 20);
        assert_eq!(made.status.attempts[0].reason, Reason::ServerFailed);
        assert!(server(&made).last_failure.contains(says), "{}", server(&made).last_failure);
        assert_eq!(server(&made).restarts, 1);
    }
}

#[test]
fn a_server_that_dies_in_mid_run_stops_the_launcher_and_ends_the_run() {
    let run = with_ready_server(ONE, Phase::Running);
    let lives = at_work(exists(vec![ready("s-a")]));
    assert_state(&decide(&run, &lives, 100), Phase::Running, Reason::Measuring, "");

    let mut again = running("s-a");
    (again.restarts, again.ended) = (1, Some(end(137, "OOMKilled", "")));
    let dead = at_work(exists(vec![again]));
    let made = decide(&run, &dead, 100);
    assert_state(&made, Phase::Running, Reason::ServerDied, "OOMKilled");
    assert_eq!(
        (made.stop.as_ref(), made.again),
        (None, true),
        "the reason is in the status before anything is stopped"
    );
    let run = after(&run, &made);
    let made = decide(&run, &dead, 100);
    assert_state(&made, Phase::Collecting, Reason::ServerStopping, "ServerDied");
    assert_eq!(
        (made.stop.clone(), made.stop_server.clone()),
        (now_gone(), None),
        "the end is in the status before the server goes"
    );
    let run = after(&run, &made);
    let made = decide(&run, &dead, 101);
    let deleted = StopServer {
        deployment: Some((NAME.into(), Some("d".into()))),
        services: vec![NAME.into(), "chat-2db482-pods".into()],
        pods: Vec::new(),
    };
    assert_eq!(made.stop_server, Some(deleted));
    let made = decide(&after(&run, &made), &Observed::default(), 110);
    assert_state(&made, Phase::Failed, Reason::ServerDied, "OOMKilled");
    assert_eq!((server(&made).gone_time, server(&made).held_end.clone()), (Some(at(110)), None));
    let event = made.event.unwrap();
    assert!(event.warning && event.reason == Reason::ServerDied, "{event:?}");
}

#[test]
fn a_launcher_that_noticed_the_death_first_does_not_hide_it_and_valid_figures_count() {
    let mut dead = pod("s-a");
    (dead.restarts, dead.ended) = (1, Some(end(1, "Error", "CUDA error")));
    for (outcome, reason, expected) in [
        (Outcome::Invalid, "TargetLost", Reason::ServerDied),
        (Outcome::Error, "TargetUnavailable", Reason::ServerDied),
        (Outcome::Passed, "RunSucceeded", Reason::RunSucceeded),
        (Outcome::SLOViolated, "SLOViolated", Reason::SLOViolated),
    ] {
        let run = with_ready_server(ONE, Phase::Running);
        let observed = Observed { server: exists(vec![dead.clone()]), ..ended(said(&envelope(outcome, reason))) };
        let made = decide(&run, &observed, 700);
        assert_eq!(server(&made).held_end.as_ref().unwrap().reason, expected, "{outcome:?}");
        assert_eq!(made.status.summary.is_some(), outcome != Outcome::Error, "{outcome:?}: figures are kept");
    }
}

#[test]
fn a_pod_that_is_evicted_deleted_or_replaced_is_a_disruption_and_the_server_starts_anew() {
    let evicted = ServerPod { disrupted: Some("EvictionByEvictionAPI: drained".into()), ..ready("s-a") };
    let mut deleted = ready("s-a");
    deleted.state.deleting = Some(at(130));
    let replaced = ServerPod { created: Some(at(90)), ..ready("s-b") };
    for (pods, says) in [
        (vec![evicted], "drained"),
        (vec![deleted], "somebody deleted it"),
        (vec![replaced], "only 0 of the 1 ready pods"),
    ] {
        let run = with_ready_server(ONE, Phase::Running);
        let observed = at_work(exists(pods.clone()));
        let made = decide(&run, &observed, 100);
        assert_state(&made, Phase::Running, Reason::Disrupted, says);
        let run = after(&run, &made);
        let made = decide(&run, &observed, 100);
        assert_state(&made, Phase::Preparing, Reason::Retrying, "another attempt follows");
        let run = after(&run, &made);
        let made = decide(&run, &before_launcher(&run, exists(pods)), 105);
        assert_state(&made, Phase::Preparing, Reason::Retrying, "another attempt starts when it is gone");
        assert!(made.stop_server.is_some());
        let run = after(&run, &made);
        let made = decide(&run, &before_launcher(&run, ServerState::default()), 110);
        assert_eq!((made.status.server.as_ref(), made.again), (None, true));
        let run = after(&run, &made);
        let made = decide(&run, &before_launcher(&run, ServerState::default()), 110);
        assert_eq!((made.status.attempts.len(), server(&made).start_time), (2, at(110)));
    }
    let further = vec![ready("s-a"), ServerPod { created: Some(at(90)), ..ready("s-b") }];
    let run = with_ready_server(ONE, Phase::Running);
    let made = decide(&run, &at_work(exists(further)), 100);
    assert_eq!(made.status.reason, Reason::Measuring, "a further replica takes nothing away");
}

/// A run whose first attempt was disrupted while its server is still alive.
fn before_second_attempt(spec: &str) -> (BenchmarkRun, Observed) {
    let mut run = with_ready_server(spec, Phase::Preparing);
    let status = run.status.as_mut().unwrap();
    status.reason = Reason::Retrying.into();
    (status.attempts[0].end_time, status.attempts[0].reason) = (Some(at(90)), Reason::Disrupted.into());
    let alive = before_launcher(&run, exists(vec![ready("s-a")]));
    let observed = Observed { input: Some(Ok(input(&run, 2))), ..alive };
    (run, observed)
}

#[test]
fn a_healthy_server_is_kept_for_the_next_attempt() {
    let (run, observed) = before_second_attempt(ONE);
    let made = decide(&run, &observed, 100);
    assert_eq!((made.status.attempts.len(), server(&made).ready_time), (2, Some(at(30))));
    let made = decide(&after(&run, &made), &observed, 101);
    assert_state(&made, Phase::Starting, Reason::PodStarting, "");
    assert_eq!(made.stop_server, None);
}

#[test]
fn another_attempt_at_measuring_a_start_has_a_server_of_its_own() {
    let (run, observed) = before_second_attempt("{harness: nop, target: {server: {engine: Simulator}}}");
    let made = decide(&run, &observed, 100);
    assert_state(&made, Phase::Preparing, Reason::Retrying, "server chat-2db482-server has started already");
    assert!(made.stop_server.is_some() && made.status.attempts.len() == 1);
    let gone = Observed { server: ServerState::default(), ..observed };
    let made = decide(&after(&run, &made), &gone, 102);
    assert!(made.again && made.status.server.is_none(), "{:?}", made.status.server);
}

#[test]
fn a_run_has_finished_only_when_nothing_of_its_server_is_left() {
    let run = with_ready_server(ONE, Phase::Running);
    let passed =
        Observed { server: exists(vec![ready("s-a")]), ..ended(said(&envelope(Outcome::Passed, "RunSucceeded"))) };
    let made = decide(&run, &passed, 600);
    assert_state(&made, Phase::Collecting, Reason::ServerStopping, "server chat-2db482-server is being removed");
    assert_eq!(
        (made.status.outcome, made.status.completion_time, standing(&made.status, "Finished")),
        (None, None, Some(ConditionStatus::False))
    );
    assert_eq!(standing(&made.status, "ResultsStored"), Some(ConditionStatus::True), "the figures are safe");
    let mut run = after(&run, &made);
    // The Job and the pod of the launcher are gone.
    for left in [
        exists(vec![ready("s-a")]),
        ServerState { deleting: true, ..exists(vec![ready("s-a")]) },
        ServerState { pods: vec![ready("s-a")], ..ServerState::default() },
    ] {
        let made = decide(&run, &Observed { server: left, ..Observed::default() }, 610);
        assert_state(&made, Phase::Collecting, Reason::ServerStopping, "");
        run = after(&run, &made);
    }
    let made = decide(&run, &Observed::default(), 620);
    assert_state(&made, Phase::Succeeded, Reason::RunSucceeded, "the figures are valid");
    assert_eq!((made.status.outcome, made.status.completion_time), (Some(Outcome::Passed), Some(at(620))));
    assert_eq!(standing(&made.status, "Finished"), Some(ConditionStatus::True));
    assert!(made.status.summary.is_some() && made.status.columns.is_some());
    let status = server(&made);
    assert_eq!((status.stop_time, status.gone_time, status.ready_replicas), (Some(at(600)), Some(at(620)), 0));
}

#[test]
fn the_conditions_of_the_objectives_survive_the_wait_for_the_server() {
    let spec = "{target: {server: {engine: Simulator}}, slo: {objectives: [{name: ttft, metric: ttft, stat: p99, max: 500ms}]}}";
    let run = with_ready_server(spec, Phase::Running);
    let envelope = with_objectives(Outcome::SLOViolated, "SLOViolated", &[("ttft", crds::Met::False, "600ms")]);
    let observed = Observed { server: exists(vec![ready("s-a")]), ..ended(said(&envelope)) };
    let held = decide(&run, &observed, 600);
    assert_eq!(standing(&held.status, "SLOMet"), Some(ConditionStatus::False));
    let made = decide(&after(&run, &held), &Observed::default(), 620);
    assert_eq!(
        (made.status.outcome, standing(&made.status, "SLOMet")),
        (Some(Outcome::SLOViolated), Some(ConditionStatus::False))
    );
    assert_eq!(made.status.objectives.len(), 1);
}

#[test]
fn a_server_that_does_not_go_holds_a_run_for_a_bounded_time_and_is_named() {
    let run = with_ready_server(ONE, Phase::Running);
    let passed =
        Observed { server: exists(vec![ready("s-a")]), ..ended(said(&envelope(Outcome::Passed, "RunSucceeded"))) };
    let run = after(&run, &decide(&run, &passed, 600));
    let stuck =
        Observed { server: ServerState { deleting: true, ..exists(vec![ready("s-a")]) }, ..Observed::default() };
    assert_eq!(decide(&run, &stuck, 900).status.phase, Some(Phase::Collecting));
    let made = decide(&run, &stuck, 901);
    assert_state(
        &made,
        Phase::Succeeded,
        Reason::RunSucceeded,
        "was not gone within 300 seconds (execution.deadlines.collectSeconds)",
    );
    assert!(
        message(&made).contains("Deployment chat-2db482-server") && message(&made).contains("pod s-a"),
        "{}",
        message(&made)
    );
    assert_eq!((server(&made).gone_time, made.event.map(|it| it.reason)), (None, Some(Reason::ServerNotGone)));
    // A missing right to read the server ends the run in the same way.
    let unread = Unread { what: What::Server, message: "the operator cannot get deployments".into(), passing: false };
    let server = ServerState { deployment: Presence::Unknown, ..ServerState::default() };
    let observed = Observed { server, unread: vec![unread], ..Observed::default() };
    assert_eq!(decide(&run, &observed, 900).status.phase, Some(Phase::Collecting));
    assert_state(&decide(&run, &observed, 901), Phase::Succeeded, Reason::RunSucceeded, "cannot get deployments");
}

#[test]
fn a_server_that_is_kept_or_shared_stays_after_the_run() {
    for spec in [KEEP, REUSE] {
        let run = with_ready_server(spec, Phase::Running);
        let passed =
            Observed { server: exists(vec![ready("s-a")]), ..ended(said(&envelope(Outcome::Passed, "RunSucceeded"))) };
        let made = decide(&run, &passed, 600);
        assert_state(&made, Phase::Succeeded, Reason::RunSucceeded, "");
        assert_eq!((made.stop_server.clone(), server(&made).gone_time), (None, None), "{spec}");
    }
}

#[test]
fn a_shared_server_that_was_started_again_long_ago_is_used_and_one_that_crashes_is_named() {
    let run = preparing(REUSE);
    let name = run.status.as_ref().unwrap().server.as_ref().unwrap().name.clone();
    assert!(name.starts_with("benchwright-") && name.ends_with("-server"), "{name}");
    let old = ServerPod { restarts: 7, ended: Some(end(1, "Error", "")), ..ready("s-a") };
    let made = decide(&run, &before_launcher(&run, exists(vec![old.clone()])), 10);
    assert_eq!((server(&made).ready_time, server(&made).restarts), (Some(at(10)), 7));
    let run_ready = after(&run, &made);
    let made = decide(&run_ready, &at_work(exists(vec![old])), 20);
    assert!(made.status.reason != Reason::ServerDied, "{:?}", made.status.reason);
    let mut crashes = pod("s-a");
    (crashes.restarts, crashes.ended) = (8, Some(end(1, "Error", "boom")));
    crashes.state.waiting = Some(("CrashLoopBackOff".into(), "back-off".into()));
    let made = decide(&run, &before_launcher(&run, exists(vec![crashes])), 10);
    assert_state(&made, Phase::Failed, Reason::ServerFailed, &format!("kubectl delete deployment {name}"));
    assert_eq!(made.stop_server, None);
}

#[test]
fn runs_of_the_same_description_share_a_name_and_others_do_not() {
    let name = |spec: &str| preparing(spec).status.unwrap().server.unwrap().name;
    let same = [
        "{target: {server: {engine: Simulator, lifecycle: Reuse}}, seed: 7}",
        "{target: {server: {engine: Simulator, lifecycle: Reuse, replicas: 1, port: 8000, image: 'benchwright/launcher:test'}}}",
        "{target: {server: {engine: Simulator, lifecycle: Reuse, distribution: LeastOutstanding}, readiness: {timeoutSeconds: 5}}}",
    ];
    for spec in same {
        assert_eq!(name(spec), name(REUSE), "{spec}");
    }
    for field in ["replicas: 2", "port: 8001", "args: [--seed, '1']", "env: {A: b}", "model: m", "image: other"] {
        let spec = format!("{{target: {{server: {{engine: Simulator, lifecycle: Reuse, {field}}}}}}}");
        assert_ne!(name(&spec), name(REUSE), "{field}");
    }
}

#[test]
fn a_shared_simulator_has_another_name_when_the_operator_has_another_image() {
    let mut run = preparing(REUSE);
    run.status.as_mut().unwrap().server.as_mut().unwrap().name = "benchwright-old-server".into();
    let made = decide(&run, &before_launcher(&run, exists(vec![ready("s-a")])), 10);
    let fresh = preparing(REUSE).status.unwrap().server.unwrap();
    assert_eq!((server(&made).name.as_str(), server(&made).ready_time, made.again), (fresh.name.as_str(), None, true));
}

#[test]
fn a_cancelled_run_waits_for_the_end_of_its_server_as_well() {
    let mut run = preparing(ONE);
    run.spec.cancel = Some(Cancel::Graceful);
    let made = decide(&run, &before_launcher(&run, exists(vec![running("s-a")])), 20);
    assert_state(&made, Phase::Collecting, Reason::ServerStopping, "(Cancelled)");
    let made = decide(&after(&run, &made), &Observed::default(), 30);
    assert_state(&made, Phase::Cancelled, Reason::Cancelled, "cancelled");
    // If no object exists yet, the run need not wait for a removal.
    let made = decide(&run, &before_launcher(&run, ServerState::default()), 20);
    assert_state(&made, Phase::Cancelled, Reason::Cancelled, "");
}

#[test]
fn a_suspended_run_has_no_server_and_starts_one_again() {
    let mut run = with_ready_server(ONE, Phase::Suspended);
    run.spec.suspend = true;
    let status = run.status.as_mut().unwrap();
    (status.attempts[0].end_time, status.attempts[0].reason) = (Some(at(90)), Reason::Suspended.into());
    let made = decide(&run, &before_launcher(&run, exists(vec![ready("s-a")])), 100);
    assert!(made.stop_server.is_some() && made.next_look.is_some());
    let made = decide(&run, &before_launcher(&run, ServerState::default()), 110);
    assert_eq!(made.status.server, None);
    run = after(&run, &made);
    run.spec.suspend = false;
    let made = decide(
        &run,
        &Observed { input: Some(Ok(input(&run, 2))), ..before_launcher(&run, ServerState::default()) },
        120,
    );
    assert_eq!((made.status.attempts.len(), server(&made).start_time), (2, at(120)));
}

#[test]
fn a_suspended_run_uses_a_shared_server_no_more() {
    let mut run = with_ready_server(REUSE, Phase::Suspended);
    run.spec.suspend = true;
    let status = run.status.as_mut().unwrap();
    (status.attempts[0].end_time, status.attempts[0].reason) = (Some(at(90)), Reason::Suspended.into());
    let made = decide(&run, &before_launcher(&run, exists(vec![ready("s-a")])), 100);
    assert_eq!((made.stop_server, made.status.server, made.status.phase), (None, None, Some(Phase::Suspended)));
}

#[test]
fn a_server_that_cannot_be_read_is_waited_for_and_not_for_ever() {
    let run = preparing(ONE);
    let observed = |passing| {
        let unread = Unread { what: What::Server, message: "the operator cannot get deployments".into(), passing };
        let server = ServerState { deployment: Presence::Unknown, ..ServerState::default() };
        Observed { unread: vec![unread], ..before_launcher(&run, server) }
    };
    assert_state(&decide(&run, &observed(false), 900), Phase::Preparing, Reason::ReadFailed, "cannot get deployments");
    let made = decide(&run, &observed(false), 901);
    assert_eq!(made.status.attempts[0].reason, Reason::PrepareTimeout);
    assert_state(&decide(&run, &observed(true), 2_700), Phase::Preparing, Reason::ReadFailed, "");
    let made = decide(&run, &observed(true), 2_701);
    assert_eq!(made.status.attempts[0].reason, Reason::PrepareTimeout);
    // A launcher that is measuring continues.
    let run = with_ready_server(ONE, Phase::Running);
    let blind = ServerState { deployment: Presence::Unknown, ..ServerState::default() };
    assert_eq!(decide(&run, &at_work(blind), 100).status.reason, Reason::Measuring);
}

#[test]
fn the_time_of_the_server_counts_towards_no_deadline_of_the_launcher() {
    // The server was ready after 25 minutes, which is longer than prepareSeconds.
    let mut run = with_ready_server(ONE, Phase::Preparing);
    run.status.as_mut().unwrap().server.as_mut().unwrap().ready_time = Some(at(1_500));
    let made = decide(&run, &before_launcher(&run, exists(vec![ready("s-a")])), 1_501);
    assert_state(&made, Phase::Starting, Reason::PodStarting, "");
}

#[test]
fn a_run_without_a_server_and_one_that_only_collects_have_none() {
    let collect = "{target: {server: {engine: Simulator}}, storage: {pvc: {claimName: c}}, execution: {collect: {folder: chat-2db482-a1}}}";
    for spec in [SIMULATOR, collect] {
        let run = run(spec);
        let made = decide(&run, &nothing(&run), 5);
        assert_eq!(made.status.server, None, "{spec}");
    }
}

#[test]
fn the_status_of_a_server_is_read_as_it_is_written() {
    let status = with_ready_server(TWO, Phase::Running).status.unwrap();
    let read: BenchmarkRunStatus = serde_json::from_str(&serde_json::to_string(&status).unwrap()).unwrap();
    assert_eq!(read, status);
}
