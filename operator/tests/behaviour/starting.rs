//! Plans for a run until its launcher measures.

use crds::{EffectiveSpec, Outcome, Reason, Settings, status::Phase};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use operator::plan::{ClaimState, InputError, Observed, PodState, Presence, Refused, Stop, Turn, plan, pvc};

use crate::behaviour::fixture::*;

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
    let run = run(SIMULATOR);
    let waits = Want { phase: Some(Phase::Pending), reason: Some(Reason::ProfileNotFound), ..Want::default() };
    let run = after(&run, &check(&run, &observed, 0, &waits));
    check(&run, &observed, 899, &waits);
    check(&run, &observed, 900, &Want { attempt_ended: None, says: "no ConfigMap", ..failed(Reason::ProfileNotFound) });
}

#[test]
fn only_the_time_of_preparing_counts_towards_its_deadline() {
    let spec = "{target: {simulator: {}}, execution: {retry: {limit: 1}}}";
    let refusal = InputError { reason: Reason::TargetNotFound, message: "there is no Gateway".into() };
    let missing = Observed { input: Some(Err(refusal)), ..Observed::default() };
    let waits = |phase: Phase| Want { phase: Some(phase), reason: Some(Reason::TargetNotFound), ..Want::default() };
    let fails = Want { attempt_ended: None, ..failed(Reason::TargetNotFound) };
    let created = |mut run: crds::BenchmarkRun| {
        run.metadata.creation_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(zero()));
        run
    };

    // Each of these runs lost its first hour: the operator was down, the run was suspended, or the namespace was busy.
    let new = created(run(spec));
    let mut suspended = new.clone();
    suspended.spec.suspend = true;
    let plan = check(&suspended, &missing, 0, &Want { phase: Some(Phase::Suspended), ..Want::default() });
    let resumed = after(&new, &plan);
    let mut in_line = nothing(&new);
    in_line.namespace_line = Some(1);
    let busy = after(&new, &check(&new, &in_line, 0, &Want { reason: Some(Reason::NamespaceBusy), ..Want::default() }));
    for run in [new, resumed, busy] {
        let run = after(&run, &check(&run, &missing, 3_600, &waits(Phase::Pending)));
        check(&run, &missing, 4_499, &waits(Phase::Pending));
        check(&run, &missing, 4_500, &fails);
    }

    // The attempt is in the status, but an object is missing before its Job exists.
    let decided = created(in_phase(spec, Phase::Preparing));
    let decided = after(&decided, &check(&decided, &missing, 1, &waits(Phase::Preparing)));
    check(&decided, &missing, 900, &waits(Phase::Preparing));
    check(&decided, &missing, 901, &failed(Reason::TargetNotFound));

    // A retry begins one hour after the creation of the run.
    let mut retries = created(in_phase(spec, Phase::Preparing));
    let last = &mut retries.status.as_mut().unwrap().attempts[0];
    (last.end_time, last.reason) = (Some(at(3_600)), Reason::Disrupted.into());
    let ended = Some(Reason::Disrupted);
    let waits = Want { attempt_ended: ended, ..waits(Phase::Pending) };
    let retries = after(&retries, &check(&retries, &missing, 3_601, &waits));
    check(&retries, &missing, 4_500, &waits);
    check(&retries, &missing, 4_501, &Want { attempt_ended: ended, ..failed(Reason::TargetNotFound) });
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
    let cases: [(Observed, Reason, &str); 10] = [
        (
            pod(|it| {
                it.pod = PodState::default();
                it.job.created = Some(at(1));
            }),
            Reason::PodStarting,
            "events of the Job",
        ),
        (
            pod(|it| {
                it.pod.waiting = Some(("ContainerCreating".into(), String::new()));
                (it.pod.without_sandbox, it.pod.accepted) = (true, Some(at(-31)));
            }),
            Reason::MountPending,
            "kubectl describe pod chat-2db482-a1-0-x",
        ),
        (
            pod(|it| {
                it.pod.waiting = Some(("ContainerCreating".into(), String::new()));
                (it.pod.without_sandbox, it.pod.accepted) = (true, Some(at(-30)));
            }),
            Reason::PodStarting,
            "starts",
        ),
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
            Reason::ContainerRefused,
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

/// If a provisioner fails, the scheduler waits ten minutes for it without reporting anything.
#[test]
fn a_claim_that_nothing_provisions_is_named_after_a_minute() {
    let run = in_phase(SIMULATOR, Phase::Starting);
    let mut waits = started();
    waits.claim.bound = false;
    waits.pod = PodState { name: waits.pod.name.clone(), uid: waits.pod.uid.clone(), ..PodState::default() };
    let starting = Want { reason: Some(Reason::PodStarting), ..Want::default() };
    check(&run, &waits, 60, &starting);
    let says = "has no volume (StorageClass \"standard\"): nothing has provisioned one for 60 seconds";
    check(&run, &waits, 61, &Want { reason: Some(Reason::VolumePending), says, ..Want::default() });
    // If a node has accepted the pod, or if the volume exists, the pod waits for another reason.
    let mut on_node = waits.clone();
    on_node.pod.node = "n".into();
    check(&run, &on_node, 61, &starting);
    waits.claim.bound = true;
    check(&run, &waits, 61, &starting);
}

#[test]
fn a_ready_pod_measures_and_a_phase_never_goes_back() {
    let running = Want { phase: Some(Phase::Running), reason: Some(Reason::Measuring), ..Want::default() };
    let run = in_phase(SIMULATOR, Phase::Starting);
    let plan = check(&run, &measuring(), 60, &running);
    assert_eq!(plan.status.attempts[0].running_time, Some(at(60)));
    let run = after(&run, &plan);
    // The launcher is no longer ready, because it drains and writes its report.
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
        // If the operator was killed after the deletion, the end is the same.
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

/// The operator stopped after it had created the ConfigMap, and a release with other defaults creates the Job.
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
    let mut given = EffectiveSpec::new(&run.spec, run.metadata.uid.as_deref().unwrap_or_default(), &settings());
    given.storage.pvc.as_mut().unwrap().claim_name = "claim-of-an-older-release".into();
    run.status.as_mut().unwrap().effective_spec = Some(Box::new(given));
    let passed = ended(said(&envelope(Outcome::Passed, "RunSucceeded")));
    let made = plan(&run, &passed, &Turn { settings: &settings(), now: at(600) });
    let stored = condition(&made.status, "ResultsStored").unwrap();
    assert!(stored.message.ends_with("on claim claim-of-an-older-release"), "{}", stored.message);
}

/// If fsGroup is set, the kubelet changes the group of all files in a volume that the pod mounts for writing.
#[test]
fn a_claim_of_others_is_refused_before_any_pod_mounts_it() {
    let run = run("{target: {simulator: {}}, storage: {pvc: {claimName: database}}}");
    let mut observed = nothing(&run);
    observed.claim = ClaimState { exists: true, bound: true, of_others: true, ..ClaimState::default() };
    let says = "spec.storage.pvc.claimName: is \"database\"";
    let made = check(&run, &observed, 0, &Want { says, attempt_ended: None, ..failed(Reason::PolicyDenied) });
    assert!(message(&made).contains("kubectl label pvc database benchwright.dev/results=true"), "{}", message(&made));

    // Somebody else created the claim after the attempt had started.
    let mut decided = in_phase("{target: {simulator: {}}, storage: {pvc: {claimName: database}}}", Phase::Preparing);
    decided.status.as_mut().unwrap().effective_spec = Some(Box::new(EffectiveSpec::new(
        &decided.spec,
        decided.metadata.uid.as_deref().unwrap_or_default(),
        &settings(),
    )));
    check(&decided, &observed, 1, &Want { says, ..failed(Reason::PolicyDenied) });

    let labels = |pairs: &[(&str, &str)]| ObjectMeta {
        labels: Some(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()),
        ..ObjectMeta::default()
    };
    for (found, expected) in [
        (ObjectMeta::default(), false),
        (labels(&[("app.kubernetes.io/managed-by", "Helm")]), false),
        (labels(&[("benchwright.dev/results", "false")]), false),
        (labels(&[("benchwright.dev/results", "true")]), true),
        (labels(&[("app.kubernetes.io/managed-by", "benchwright-operator")]), true),
    ] {
        assert_eq!(pvc::is_for_results(&found), expected, "{found:?}");
    }
}

#[test]
fn a_cause_that_the_status_names_is_waited_for_once_and_not_tried_again() {
    let named = |reason: &str| Some((reason.to_owned(), "because".to_owned()));
    let change = |change: &dyn Fn(&mut Observed)| {
        let mut observed = started();
        change(&mut observed);
        observed
    };
    let cases = [
        (change(&|it| it.pod = PodState::default()), Reason::PodRefused, None),
        (change(&|it| it.pod.unschedulable = Some("0/3 nodes".into())), Reason::Unschedulable, now_gone()),
        (change(&|it| it.pod.waiting = named("CreateContainerConfigError")), Reason::ContainerRefused, now_gone()),
        (
            change(&|it| {
                it.pod.unschedulable = Some("pod has unbound immediate PersistentVolumeClaims".into());
                it.claim.bound = false;
            }),
            Reason::VolumePending,
            now_gone(),
        ),
        (
            change(&|it| (it.pod.without_sandbox, it.pod.accepted) = (true, Some(zero()))),
            Reason::MountPending,
            now_gone(),
        ),
    ];
    for (observed, reason, stops) in cases {
        let run = in_phase(SIMULATOR, Phase::Starting);
        let waits = Want { phase: Some(Phase::Starting), reason: Some(reason), ..Want::default() };
        let plan = check(&run, &observed, 1_800, &waits);
        assert!(plan.event.is_some_and(|it| it.warning), "{reason}: a person should look at it");
        let run = after(&run, &check(&run, &observed, 1_801, &given_up(Phase::Starting, reason)));
        let stops = stops.or(Some(Stop::PodAndJobNow { pod: None, job: "chat-2db482-a1".into() }));
        check(&run, &observed, 1_801, &Want { stops, ..failed(reason) });
    }
}

#[test]
fn an_image_that_cannot_be_pulled_ends_the_run_in_minutes() {
    let run = in_phase(SIMULATOR, Phase::Starting);
    let waits = |reason: &str| {
        let mut observed = started();
        observed.pod.waiting = Some((reason.into(), "because".into()));
        observed.pod.accepted = Some(at(10));
        observed
    };
    for reason in ["InvalidImageName", "ErrImageNeverPull"] {
        let decided = after(&run, &check(&run, &waits(reason), 11, &given_up(Phase::Starting, Reason::ImagePull)));
        check(&decided, &waits(reason), 11, &Want { stops: now_gone(), says: reason, ..failed(Reason::ImagePull) });
    }
    for reason in ["ErrImagePull", "ImagePullBackOff"] {
        let want = Want { phase: Some(Phase::Starting), reason: Some(Reason::ImagePull), ..Want::default() };
        check(&run, &waits(reason), 310, &want);
        let decided = after(&run, &check(&run, &waits(reason), 311, &given_up(Phase::Starting, Reason::ImagePull)));
        check(&decided, &waits(reason), 311, &Want { stops: now_gone(), says: reason, ..failed(Reason::ImagePull) });
    }
}

#[test]
fn a_pod_that_was_seen_and_is_gone_is_not_called_refused() {
    let mut run = in_phase(SIMULATOR, Phase::Starting);
    run.status.as_mut().unwrap().attempts[0].pod_uid = Some("uid-of-a-pod".into());
    let mut observed = started();
    observed.pod = PodState::default();
    let want = Want { phase: Some(Phase::Starting), reason: Some(Reason::PodStarting), ..Want::default() };
    check(&run, &observed, 100, &want);
}
