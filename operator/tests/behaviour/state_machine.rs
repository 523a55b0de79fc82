//! One decision at a time: what is there, what is to be done about it.

use crds::{
    Outcome,
    status::{Attempt, Phase},
};
use operator::{
    plan::{End, Ended, Observed, PodState, Presence, Refusal, Refused},
    reason::Reason,
};

use crate::fixture::*;

fn now_gone() -> Option<End> {
    Some(End::PodAndJobNow { pod: Some("chat-2db482-a1-0-x".into()), job: "chat-2db482-a1".into() })
}

fn failed(reason: Reason) -> Want<'static> {
    Want {
        phase: Some(Phase::Failed),
        outcome: Some(Outcome::Error),
        reason: Some(reason),
        attempt_ended: Some(reason),
        ..Want::default()
    }
}

fn retrying(reason: Reason) -> Want<'static> {
    Want {
        phase: Some(Phase::Preparing),
        reason: Some(Reason::Retrying),
        attempt_ended: Some(reason),
        ..Want::default()
    }
}

const NO_RETRY: &str = "{target: {simulator: {}}, policy: {retry: {limit: 0}}}";

#[test]
fn a_new_run_first_says_what_it_intends() {
    let run = run(SIMULATOR);
    let want = Want { phase: Some(Phase::Preparing), reason: Some(Reason::Preparing), again: true, ..Want::default() };
    let plan = check(&run, &nothing(&run), 0, &want);
    let attempt = &plan.status.attempts[0];
    assert_eq!((attempt.number, attempt.job_name.as_str(), attempt.end_time), (1, "chat-2db482-a1", None));
    let resolved = plan.status.resolved.unwrap();
    assert_eq!(
        (resolved.endpoint.as_str(), resolved.launcher_image.as_str()),
        ("simulator", "benchwright/launcher:test")
    );
}

#[test]
fn then_the_children_are_made_the_job_last() {
    let run = in_phase(SIMULATOR, Phase::Preparing);
    let want = Want {
        phase: Some(Phase::Starting),
        reason: Some(Reason::PodStarting),
        creates: &["ConfigMap", "PersistentVolumeClaim", "Job"],
        ..Want::default()
    };
    check(&run, &nothing(&run), 1, &want);
    let mut half = nothing(&run);
    half.config_map = Presence::Ours;
    half.claim.exists = true;
    check(&run, &half, 1, &Want { creates: &["Job"], ..want });
    let spec = "{target: {simulator: {}}, storage: {none: {}}}";
    let run = in_phase(spec, Phase::Preparing);
    check(&run, &nothing(&run), 1, &Want { creates: &["ConfigMap", "Job"], ..Want::default() });
}

#[test]
fn the_config_map_of_a_profile_is_waited_for_and_then_named() {
    let refusal = Refusal { reason: Reason::ProfileNotFound, message: "there is no ConfigMap \"p\"".into() };
    let observed = Observed { input: Some(Err(refusal)), ..Observed::default() };
    let mut run = run(SIMULATOR);
    run.metadata.creation_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(zero()));
    let waits = Want { phase: Some(Phase::Pending), reason: Some(Reason::ProfileNotFound), ..Want::default() };
    check(&run, &observed, 899, &waits);
    check(&run, &observed, 900, &Want { attempt_ended: None, says: "no ConfigMap", ..failed(Reason::ProfileNotFound) });
}

#[test]
fn a_spec_that_cannot_be_run_fails_without_any_child() {
    for reason in [Reason::InvalidSpec, Reason::ProfileInvalid] {
        let refusal = Refusal { reason, message: "load.stages[0].rate: is -3; write a rate above 0".into() };
        let observed = Observed { input: Some(Err(refusal)), ..Observed::default() };
        let want = Want { attempt_ended: None, says: "load.stages[0].rate", ..failed(reason) };
        check(&run(SIMULATOR), &observed, 0, &want);
        let want = Want { says: "load.stages[0].rate", ..failed(reason) };
        check(&in_phase(SIMULATOR, Phase::Preparing), &observed, 1, &want);
    }
}

#[test]
fn what_belongs_to_somebody_else_is_not_touched() {
    let run = in_phase(SIMULATOR, Phase::Preparing);
    let mut observed = nothing(&run);
    observed.config_map = Presence::Foreign;
    check(&run, &observed, 1, &Want { says: "chat-2db482-a1", ..failed(Reason::NameConflict) });
    let mut observed = nothing(&run);
    observed.job.presence = Presence::Foreign;
    check(&run, &observed, 1, &Want { says: "chat-2db482-a1", ..failed(Reason::NameConflict) });
}

#[test]
fn what_the_api_server_refuses_is_told_and_ends_the_run_only_when_it_is_wrong_for_good() {
    let run = in_phase(SIMULATOR, Phase::Preparing);
    let mut observed = nothing(&run);
    observed.refused = Some(Refused { message: "exceeded quota".into(), for_good: false });
    let want = Want {
        phase: Some(Phase::Preparing),
        reason: Some(Reason::Preparing),
        says: "exceeded quota",
        ..Want::default()
    };
    let plan = check(&run, &observed, 1, &want);
    assert!(plan.event.is_some_and(|it| it.warning && it.note.contains("exceeded quota")));
    let run = after(&run, &check(&run, &observed, 1, &want));
    assert!(check(&run, &observed, 5, &want).event.is_none(), "told once");
    observed.refused = None;
    check(&run, &observed, 901, &Want { says: "exceeded quota", ..failed(Reason::PrepareTimeout) });
    observed.refused = Some(Refused { message: "metadata.labels: Invalid value".into(), for_good: true });
    check(&run, &observed, 5, &Want { says: "Invalid value", ..failed(Reason::InvalidSpec) });
}

#[test]
fn a_pod_that_does_not_measure_yet_says_why() {
    let pod = |change: fn(&mut Observed)| {
        let mut observed = started();
        change(&mut observed);
        observed
    };
    let waits = |observed: &mut Observed, reason: &str| observed.pod.waiting = Some((reason.into(), "because".into()));
    let cases: [(Observed, Reason, &str); 8] = [
        (pod(|it| it.pod = PodState::default()), Reason::PodStarting, "events of the Job"),
        (pod(|_| ()), Reason::PodStarting, "node"),
        (pod(|it| it.pod.running = true), Reason::TargetNotReady, "target"),
        (pod(|it| it.pod.unschedulable = Some("0/3 nodes".into())), Reason::Unschedulable, "0/3 nodes"),
        (
            pod(|it| {
                it.pod.unschedulable =
                    Some("pod has unbound immediate PersistentVolumeClaims, volume not found".into());
                it.claim.bound = false;
                it.claim.class = "fast".into();
            }),
            Reason::VolumePending,
            "StorageClass \"fast\"",
        ),
        (
            {
                let mut it = started();
                waits(&mut it, "ImagePullBackOff");
                it
            },
            Reason::ImagePull,
            "benchwright/launcher:test",
        ),
        (
            {
                let mut it = started();
                waits(&mut it, "CreateContainerConfigError");
                it
            },
            Reason::PodStarting,
            "CreateContainerConfigError: because",
        ),
        (
            {
                let mut it = started();
                waits(&mut it, "ContainerCreating");
                it
            },
            Reason::PodStarting,
            "starts",
        ),
    ];
    let run = in_phase(SIMULATOR, Phase::Starting);
    for (observed, reason, says) in cases {
        let want = Want { phase: Some(Phase::Starting), reason: Some(reason), says, ..Want::default() };
        let plan = check(&run, &observed, 30, &want);
        assert!(plan.next_look.is_some(), "a deadline may pass: {reason:?}");
    }
}

#[test]
fn a_ready_pod_measures_and_a_phase_never_goes_back() {
    let running = Want { phase: Some(Phase::Running), reason: Some(Reason::Measuring), ..Want::default() };
    let run = in_phase(SIMULATOR, Phase::Starting);
    let plan = check(&run, &measuring(), 60, &running);
    assert_eq!(plan.status.attempts[0].running_time, Some(at(60)));
    let run = after(&run, &plan);
    // It drains and writes its report: not ready any more.
    let plan = check(&run, &started(), 90, &running);
    assert_eq!(plan.status.attempts[0].running_time, Some(at(60)));
}

#[test]
fn an_envelope_decides_the_outcome() {
    let cases = [
        (Outcome::Passed, "RunSucceeded", Phase::Succeeded, Outcome::Passed, Reason::RunSucceeded),
        (Outcome::Invalid, "SendLagTooLarge", Phase::Failed, Outcome::Invalid, Reason::MeasurementInvalid),
        (Outcome::Error, "ConfigInvalid", Phase::Failed, Outcome::Error, Reason::ConfigInvalid),
        (Outcome::Error, "AmbiguousModel", Phase::Failed, Outcome::Error, Reason::AmbiguousModel),
        (Outcome::Error, "StorageFailed", Phase::Failed, Outcome::Error, Reason::StorageFailed),
        (Outcome::Error, "DeadlineExceeded", Phase::Failed, Outcome::Error, Reason::DeadlineExceeded),
        (Outcome::Error, "TargetUnavailable", Phase::Failed, Outcome::Error, Reason::TargetUnavailable),
        (Outcome::Error, "SomethingNew", Phase::Failed, Outcome::Error, Reason::LauncherFailed),
        (Outcome::Cancelled, "Cancelled", Phase::Failed, Outcome::Error, Reason::Disrupted),
    ];
    for (said_outcome, said_reason, phase, outcome, reason) in cases {
        let envelope = envelope(said_outcome, said_reason);
        let want = Want {
            phase: Some(phase),
            outcome: Some(outcome),
            reason: Some(reason),
            attempt_ended: Some(reason),
            ..Want::default()
        };
        for phase in [Phase::Starting, Phase::Running, Phase::Collecting] {
            let plan = check(&in_phase(NO_RETRY, phase), &ended(said(&envelope)), 600, &want);
            assert_eq!(plan.status.summary, envelope.core.summary, "{said_reason}");
            assert_eq!(plan.status.stages.len(), 1);
            assert_eq!(plan.status.completion_time, Some(at(600)));
        }
    }
}

#[test]
fn a_message_of_another_run_or_attempt_is_not_believed() {
    let run = in_phase(SIMULATOR, Phase::Running);
    let mut other = envelope(Outcome::Passed, "RunSucceeded");
    other.core.attempt = 2;
    check(&run, &ended(said(&other)), 600, &failed(Reason::LauncherFailed));
    other.core.attempt = 1;
    other.core.run_uid = "another".into();
    check(&run, &ended(said(&other)), 600, &failed(Reason::LauncherFailed));
}

#[test]
fn an_end_without_an_envelope_tells_what_is_known() {
    let end = |exit_code, reason: &str, message: &str| Ended {
        exit_code,
        reason: reason.into(),
        message: message.into(),
        disrupted: None,
    };
    let run = in_phase(NO_RETRY, Phase::Running);
    let want = Want { says: "limits.memory", ..failed(Reason::OOMKilled) };
    check(&run, &ended(end(137, "OOMKilled", "")), 600, &want);
    let log = format!("{}thread 'main' panicked at src/x.rs", "é".repeat(1_000));
    let want = Want { says: "panicked at src/x.rs", ..failed(Reason::LauncherFailed) };
    check(&run, &ended(end(101, "Error", &log)), 600, &want);
    check(&run, &ended(end(10, "Error", "no such file")), 600, &failed(Reason::ConfigInvalid));
    let mut lost = end(-1, "", "");
    lost.disrupted = Some("DeletionByTaintManager: node is gone".into());
    check(&run, &ended(lost), 600, &Want { says: "DeletionByTaintManager", ..failed(Reason::Disrupted) });
}

#[test]
fn a_job_that_somebody_deleted_is_not_made_again() {
    for phase in [Phase::Starting, Phase::Running, Phase::Collecting] {
        let run = in_phase(SIMULATOR, phase);
        check(&run, &nothing(&run), 600, &failed(Reason::JobLost));
        let mut going = measuring();
        going.job.deleting = true;
        let want = Want { ends: Some(End::Pod("chat-2db482-a1-0-x".into())), ..failed(Reason::JobLost) };
        check(&run, &going, 600, &want);
    }
    let run = in_phase(SIMULATOR, Phase::Running);
    let mut orphan = measuring();
    orphan.job = Default::default();
    let want = Want { ends: Some(End::Pod("chat-2db482-a1-0-x".into())), ..failed(Reason::JobLost) };
    check(&run, &orphan, 600, &want);
    let mut drained = ended(said(&envelope(Outcome::Cancelled, "Cancelled")));
    drained.job = Default::default();
    check(&run, &drained, 600, &failed(Reason::JobLost));
    let mut whole = ended(said(&envelope(Outcome::Passed, "RunSucceeded")));
    whole.job = Default::default();
    let want = Want {
        phase: Some(Phase::Succeeded),
        outcome: Some(Outcome::Passed),
        attempt_ended: Some(Reason::RunSucceeded),
        ..Want::default()
    };
    check(&run, &whole, 600, &want);
}

#[test]
fn a_pod_on_a_lost_node_is_not_waited_for_until_the_deadline() {
    let run = in_phase(SIMULATOR, Phase::Running);
    let mut lost = measuring();
    lost.pod.deleting = Some(at(100));
    check(&run, &lost, 400, &Want { phase: Some(Phase::Running), ..Want::default() });
    check(&run, &lost, 401, &Want { says: "node is lost", ..retrying(Reason::Disrupted) });
}

#[test]
fn an_unschedulable_pod_is_not_blamed_on_a_claim_that_waits_for_it() {
    let run = in_phase(SIMULATOR, Phase::Starting);
    let mut crowded = started();
    crowded.claim.bound = false;
    crowded.pod.unschedulable = Some("0/1 nodes are available: 1 Insufficient cpu.".into());
    check(&run, &crowded, 30, &Want { reason: Some(Reason::Unschedulable), says: "cpu", ..Want::default() });
    crowded.pod.unschedulable = Some("pod has unbound immediate PersistentVolumeClaims".into());
    check(&run, &crowded, 30, &Want { reason: Some(Reason::VolumePending), says: "unbound", ..Want::default() });
}

#[test]
fn a_disrupted_attempt_is_made_again_as_often_as_the_policy_allows() {
    let disrupted = || {
        let mut ended = said(&envelope(Outcome::Cancelled, "Cancelled"));
        ended.disrupted = Some("EvictionByEvictionAPI: drained".into());
        self::ended(ended)
    };
    let run = in_phase(SIMULATOR, Phase::Running);
    let want = Want { says: "drained", ..retrying(Reason::Disrupted) };
    let again = after(&run, &check(&run, &disrupted(), 600, &want));

    let mut left = disrupted();
    let waits = Want {
        phase: Some(Phase::Preparing),
        reason: Some(Reason::Retrying),
        attempt_ended: Some(Reason::Disrupted),
        ends: Some(End::Job("chat-2db482-a1".into())),
        ..Want::default()
    };
    check(&again, &left, 601, &waits);
    left.job.deleting = true;
    check(&again, &left, 601, &Want { ends: None, says: "chat-2db482-a1", ..waits });
    left.job = Default::default();
    check(
        &again,
        &left,
        601,
        &Want {
            phase: Some(Phase::Preparing),
            ends: Some(End::Pod("chat-2db482-a1-0-x".into())),
            ..retrying(Reason::Disrupted)
        },
    );
    left.pod.deleting = Some(at(601));
    check(&again, &left, 601, &retrying(Reason::Disrupted));
    check(&again, &left, 600 + 901, &Want { says: "node", ..failed_after(Reason::PrepareTimeout, Reason::Disrupted) });

    let mut gone = nothing(&again);
    gone.input = Some(Ok(input(&again, 2)));
    let next = Want { phase: Some(Phase::Preparing), reason: Some(Reason::Preparing), again: true, ..Want::default() };
    let mut second = after(&again, &check(&again, &gone, 602, &next));
    let attempts = &second.status.as_ref().unwrap().attempts;
    assert_eq!((attempts.len(), attempts[1].number, attempts[1].job_name.as_str()), (2, 2, "chat-2db482-a2"));

    second.status.as_mut().unwrap().phase = Some(Phase::Running);
    let mut ended = disrupted();
    let mut envelope = envelope(Outcome::Cancelled, "Cancelled");
    envelope.core.attempt = 2;
    ended.ended = Some(said(&envelope));
    let plan = check(&second, &ended, 1_200, &failed(Reason::Disrupted));
    assert!(plan.status.summary.is_some(), "the figures of what was sent are kept");
}

/// A run that ends between two attempts; the last one keeps its own reason.
fn failed_after(reason: Reason, attempt: Reason) -> Want<'static> {
    Want { attempt_ended: Some(attempt), ..failed(reason) }
}

#[test]
fn attempts_that_were_suspended_count_against_no_limit_and_ten_retries_end() {
    let attempt = |number: u32, reason: Reason| Attempt {
        number,
        job_name: format!("chat-a{number}"),
        job_uid: None,
        pod_uid: None,
        start_time: zero(),
        running_time: None,
        end_time: Some(at(1)),
        reason: reason.name(),
    };
    let lost = || {
        let mut observed = started();
        observed.job.failed = Some("BackoffLimitExceeded".into());
        observed.pod = PodState::default();
        observed
    };
    let mut run = in_phase(SIMULATOR, Phase::Running);
    let status = run.status.as_mut().unwrap();
    let current = status.attempts.remove(0);
    status.attempts = (1..=4).map(|it| attempt(it, Reason::Suspended)).collect();
    status.attempts.push(Attempt { number: 5, ..current.clone() });
    check(&run, &lost(), 600, &retrying(Reason::Disrupted));

    let mut run = in_phase("{target: {simulator: {}}, policy: {retry: {limit: 10}}}", Phase::Running);
    let status = run.status.as_mut().unwrap();
    status.attempts = (7..=10).map(|it| attempt(it, Reason::Disrupted)).collect();
    status.attempts.push(Attempt { number: 11, ..current });
    check(&run, &lost(), 600, &failed(Reason::Disrupted));
}

#[test]
fn a_pod_that_does_not_measure_in_time_is_given_up_before_it_is_ended() {
    for (spec, done) in [(SIMULATOR, retrying(Reason::StartTimeout)), (NO_RETRY, failed(Reason::StartTimeout))] {
        let run = in_phase(spec, Phase::Starting);
        check(&run, &started(), 1_800, &Want { phase: Some(Phase::Starting), ..Want::default() });
        let decided = Want {
            phase: Some(Phase::Starting),
            reason: Some(Reason::StartTimeout),
            says: "policy.deadlines.startSeconds",
            again: true,
            ..Want::default()
        };
        let run = after(&run, &check(&run, &started(), 1_801, &decided));
        let done = Want { ends: now_gone(), says: "policy.deadlines.startSeconds", ..done };
        check(&run, &started(), 1_801, &done);
        // The operator was killed after the deletion: the same end.
        check(&run, &Observed::default(), 1_900, &Want { ends: None, ..done });
    }
}

#[test]
fn the_time_to_start_counts_from_the_job() {
    let run = in_phase(SIMULATOR, Phase::Starting);
    let mut observed = started();
    observed.job.created = Some(at(800));
    check(&run, &observed, 2_600, &Want { phase: Some(Phase::Starting), ..Want::default() });
    check(&run, &observed, 2_601, &Want { reason: Some(Reason::StartTimeout), again: true, ..Want::default() });
}

#[test]
fn a_launcher_that_does_not_end_is_ended() {
    let run = in_phase(NO_RETRY, Phase::Running);
    let limit = 60 + 3_600 + 60 + 60;
    check(&run, &measuring(), limit, &Want { phase: Some(Phase::Running), ..Want::default() });
    let decided =
        Want { phase: Some(Phase::Running), reason: Some(Reason::DeadlineExceeded), again: true, ..Want::default() };
    let run = after(&run, &check(&run, &measuring(), limit + 1, &decided));
    check(&run, &measuring(), limit + 1, &Want { ends: now_gone(), ..failed(Reason::DeadlineExceeded) });
}

#[test]
fn a_job_that_ended_is_read_and_not_waited_for_without_end() {
    let run = in_phase(NO_RETRY, Phase::Starting);
    let mut observed = started();
    observed.job.failed = Some("PodFailurePolicy".into());
    // Long after the start: an operator that was away must not take that for the wait.
    observed.job.ended_at = Some(at(5_000));
    let want = Want { phase: Some(Phase::Collecting), reason: Some(Reason::ReadingResult), ..Want::default() };
    check(&run, &observed, 5_300, &want);
    // The run ends without its pod's word, and the pod must not go on.
    check(&run, &observed, 5_301, &Want { ends: now_gone(), ..failed(Reason::Disrupted) });
    observed.job.failed = Some("DeadlineExceeded".into());
    check(&run, &observed, 5_301, &Want { ends: now_gone(), ..failed(Reason::DeadlineExceeded) });
    observed.pod = PodState::default();
    check(&run, &observed, 5_001, &failed(Reason::DeadlineExceeded));
    observed.job.failed = None;
    observed.job.complete = true;
    check(&run, &observed, 5_001, &failed(Reason::Disrupted));
    let mut drained = ended(said(&envelope(Outcome::Cancelled, "Cancelled")));
    drained.job.failed = Some("DeadlineExceeded".into());
    check(&run, &drained, 5_001, &failed(Reason::DeadlineExceeded));
}

fn cancelled(attempt_ended: Option<Reason>) -> Want<'static> {
    Want {
        phase: Some(Phase::Cancelled),
        outcome: Some(Outcome::Cancelled),
        reason: Some(Reason::Cancelled),
        attempt_ended,
        ..Want::default()
    }
}

#[test]
fn cancel_before_there_is_a_job_is_done_at_once() {
    for how in ["Graceful", "Immediate"] {
        let spec = format!("{{target: {{simulator: {{}}}}, cancel: {how}}}");
        check(&run(&spec), &nothing(&run(&spec)), 0, &cancelled(None));
        let prepared = in_phase(&spec, Phase::Preparing);
        check(&prepared, &nothing(&prepared), 1, &cancelled(Some(Reason::Cancelled)));
    }
}

#[test]
fn a_graceful_cancel_waits_for_the_last_word() {
    let run = in_phase("{target: {simulator: {}}, cancel: Graceful}", Phase::Running);
    let asked = Want {
        phase: Some(Phase::Running),
        reason: Some(Reason::Cancelling),
        ends: Some(End::Pod("chat-2db482-a1-0-x".into())),
        ..Want::default()
    };
    check(&run, &measuring(), 100, &asked);
    let mut going = measuring();
    going.pod.deleting = Some(at(160));
    check(&run, &going, 101, &Want { ends: None, ..asked });
    // Its node is lost: it will never say that it has ended.
    check(&run, &going, 221, &Want { ends: now_gone(), ..cancelled(Some(Reason::Cancelled)) });

    let mut gone = started();
    gone.pod = PodState::default();
    check(
        &run,
        &gone,
        130,
        &Want { ends: Some(End::Job("chat-2db482-a1".into())), ..cancelled(Some(Reason::Cancelled)) },
    );
    gone.ended = Some(said(&envelope(Outcome::Cancelled, "Cancelled")));
    let plan = check(&run, &gone, 130, &cancelled(Some(Reason::Cancelled)));
    assert!(plan.status.summary.is_some(), "the figures of what was sent");
    gone.ended = Some(Ended { exit_code: 137, reason: "Error".into(), ..Ended::default() });
    let plan = check(&run, &gone, 130, &Want { says: "last word was not seen", ..cancelled(Some(Reason::Cancelled)) });
    assert!(plan.status.summary.is_none());
}

#[test]
fn an_immediate_cancel_ends_pod_and_job_at_once() {
    let run = in_phase("{target: {simulator: {}}, cancel: Immediate}", Phase::Running);
    check(&run, &measuring(), 100, &Want { ends: now_gone(), ..cancelled(Some(Reason::Cancelled)) });
    let mut foreign = started();
    foreign.job.presence = Presence::Foreign;
    foreign.pod = PodState::default();
    check(&run, &foreign, 100, &cancelled(Some(Reason::Cancelled)));
}

#[test]
fn what_was_whole_before_a_cancel_or_a_suspension_counts() {
    let want = Want {
        phase: Some(Phase::Succeeded),
        outcome: Some(Outcome::Passed),
        reason: Some(Reason::RunSucceeded),
        attempt_ended: Some(Reason::RunSucceeded),
        ..Want::default()
    };
    for change in ["cancel: Graceful", "cancel: Immediate", "suspend: true"] {
        let run = in_phase(&format!("{{target: {{simulator: {{}}}}, {change}}}"), Phase::Running);
        check(&run, &ended(said(&envelope(Outcome::Passed, "RunSucceeded"))), 600, &want);
    }
}

#[test]
fn a_suspended_run_loses_its_attempt_and_begins_another_one() {
    let spec = "{target: {simulator: {}}, suspend: true}";
    let suspended = Want { phase: Some(Phase::Suspended), reason: Some(Reason::Suspended), ..Want::default() };
    check(&run(spec), &nothing(&run(spec)), 0, &suspended);
    let running = in_phase(spec, Phase::Running);
    let want = Want {
        ends: Some(End::Job("chat-2db482-a1".into())),
        attempt_ended: Some(Reason::Suspended),
        ..Want { phase: suspended.phase, reason: suspended.reason, ..Want::default() }
    };
    let mut run = after(&running, &check(&running, &measuring(), 100, &want));
    check(&run, &Observed::default(), 101, &Want { attempt_ended: Some(Reason::Suspended), ..suspended });

    run.spec.suspend = false;
    let mut observed = nothing(&run);
    observed.input = Some(Ok(input(&run, 2)));
    let plan = check(&run, &observed, 5_000, &Want { phase: Some(Phase::Preparing), again: true, ..Want::default() });
    assert_eq!(plan.status.attempts.last().map(|it| it.number), Some(2));
}

#[test]
fn a_finished_run_is_left_alone_until_its_time_is_over() {
    for (phase, outcome) in
        [(Phase::Succeeded, Outcome::Passed), (Phase::Failed, Outcome::Error), (Phase::Cancelled, Outcome::Cancelled)]
    {
        let spec =
            "{target: {simulator: {}}, cancel: Immediate, ttlSecondsAfterFinished: {succeeded: 100, failed: 200000}}";
        let mut run = in_phase(spec, phase);
        let status = run.status.as_mut().unwrap();
        status.outcome = Some(outcome);
        status.completion_time = Some(zero());
        let want = Want { phase: Some(phase), outcome: Some(outcome), ..Want::default() };
        let ttl = if phase == Phase::Succeeded { 100 } else { 200_000 };
        let plan = check(&run, &measuring(), ttl - 1, &want);
        assert_eq!(Some(&plan.status), run.status.as_ref());
        assert!(!plan.delete_run && plan.next_look.is_some_and(|it| it.as_secs() == 1));
        assert!(check(&run, &measuring(), ttl, &want).delete_run);
        // The clock went back.
        assert!(check(&run, &measuring(), -500_000, &want).next_look.is_some_and(|it| it.as_secs() <= 86_400));
        run.spec.ttl_seconds_after_finished = None;
        let plan = check(&run, &measuring(), 1_000_000, &want);
        assert!(!plan.delete_run && plan.next_look.is_none());
    }
}

#[test]
fn a_run_that_finishes_looks_once_more_for_its_ttl() {
    let run = in_phase("{target: {simulator: {}}, ttlSecondsAfterFinished: {}}", Phase::Running);
    let want = Want {
        phase: Some(Phase::Succeeded),
        outcome: Some(Outcome::Passed),
        attempt_ended: Some(Reason::RunSucceeded),
        again: true,
        ..Want::default()
    };
    check(&run, &ended(said(&envelope(Outcome::Passed, "RunSucceeded"))), 600, &want);
}
