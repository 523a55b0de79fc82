//! Decisions until the launcher measures.

use crds::{EffectiveSpec, Outcome, Reason, Settings, status::Phase};
use operator::plan::{InputError, Observed, PodState, Presence, Refused, Turn, plan};

use crate::fixture::*;

#[test]
fn a_new_run_first_says_what_it_intends() {
    let run = run(SIMULATOR);
    let want = Want { phase: Some(Phase::Preparing), reason: Some(Reason::Preparing), again: true, ..Want::default() };
    let plan = check(&run, &nothing(&run), 0, &want);
    let attempt = &plan.status.attempts[0];
    assert_eq!((attempt.number, attempt.job_name.as_str(), attempt.end_time), (1, "chat-2db482-a1", None));
    assert_eq!(plan.status.resolved.unwrap().endpoint, "simulator");
    assert_eq!(plan.status.effective_spec.unwrap().launcher.image, "benchwright/launcher:test");
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
    let refusal = InputError { reason: Reason::ProfileNotFound, message: "there is no ConfigMap \"p\"".into() };
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
        let refusal = InputError { reason, message: "load.stages[0].rate: is -3; write a rate above 0".into() };
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
fn a_pod_that_does_not_measure_in_time_is_given_up_before_it_is_ended() {
    for (spec, done) in [(SIMULATOR, retrying(Reason::StartTimeout)), (NO_RETRY, failed(Reason::StartTimeout))] {
        let run = in_phase(spec, Phase::Starting);
        check(&run, &started(), 1_800, &Want { phase: Some(Phase::Starting), ..Want::default() });
        let decided = Want {
            phase: Some(Phase::Starting),
            reason: Some(Reason::StartTimeout),
            says: "execution.deadlines.startSeconds",
            again: true,
            ..Want::default()
        };
        let run = after(&run, &check(&run, &started(), 1_801, &decided));
        let done = Want { stops: now_gone(), says: "execution.deadlines.startSeconds", ..done };
        check(&run, &started(), 1_801, &done);
        // The operator was killed after the deletion: the same end.
        check(&run, &Observed::default(), 1_900, &Want { stops: None, ..done });
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
fn the_status_tells_the_values_of_the_attempt_and_a_newer_operator_keeps_to_them() {
    let run = run("{target: {simulator: {}}, execution: {deadlines: {startSeconds: 100}}, launcher: {image: a/b:1}}");
    let plan = check(&run, &nothing(&run), 0, &Want { again: true, ..Want::default() });
    let given = plan.status.effective_spec.clone().unwrap();
    assert_eq!((given.execution.deadlines.start_seconds, given.execution.deadlines.run_seconds), (100, 3_600));
    assert_eq!((given.launcher.image.as_str(), given.validity.max_cpu_share.as_str()), ("a/b:1", "0.9"));
    assert_eq!(given.launcher.resources, settings().launcher_resources);

    let mut run = in_phase(SIMULATOR, Phase::Starting);
    let status = run.status.as_mut().unwrap();
    status.effective_spec = Some(given);
    check(&run, &started(), 99, &Want { phase: Some(Phase::Starting), ..Want::default() });
    check(&run, &started(), 101, &Want { again: true, says: "within 100 seconds", ..Want::default() });
}

/// The operator ended between the ConfigMap and the Job, and a release with other defaults goes on.
#[test]
fn the_values_of_a_kept_config_map_are_kept() {
    let (older, newer) = (settings(), Settings { launcher_image: "benchwright/launcher:newer".into(), ..settings() });
    let run = run("{target: {simulator: {}}}");
    let noted = plan(&run, &nothing(&run), &Turn { settings: &older, now: at(0) });
    let run = after(&run, &noted);
    let mut observed = nothing(&run);
    let image = |observed: &Observed| {
        let made = plan(&run, observed, &Turn { settings: &newer, now: at(1) });
        made.status.effective_spec.unwrap().launcher.image
    };
    assert_eq!(image(&observed), "benchwright/launcher:newer");
    observed.config_map = Presence::Ours;
    assert_eq!(image(&observed), "benchwright/launcher:test");
}

#[test]
fn results_are_on_the_claim_that_the_attempt_was_given() {
    let mut run = in_phase(SIMULATOR, Phase::Running);
    let mut given = EffectiveSpec::new(&run.spec, &settings());
    given.storage.pvc.as_mut().unwrap().claim_name = "claim-of-an-older-release".into();
    run.status.as_mut().unwrap().effective_spec = Some(given);
    let passed = ended(said(&envelope(Outcome::Passed, "RunSucceeded")));
    let made = plan(&run, &passed, &Turn { settings: &settings(), now: at(600) });
    let stored = condition(&made.status, "ResultsStored").unwrap();
    assert!(stored.message.ends_with("on claim claim-of-an-older-release"), "{}", stored.message);
}
