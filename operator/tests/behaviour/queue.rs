//! Plans for a run that waits in a Kueue queue, or that its queue has stopped.

use crds::{BenchmarkRun, Outcome, Reason, status::ConditionStatus, status::Phase};
use k8s_openapi::api::batch::v1::Job;
use operator::plan::{Child, JobState, Observed, Plan, PodState, QueueState, Stop, Unread, Wanted, What};

use crate::behaviour::fixture::*;

const QUEUED: &str = "{target: {simulator: {}}, queueName: load}";

fn in_queue(phase: Phase) -> BenchmarkRun {
    in_phase(QUEUED, phase)
}

/// Observations in which the Job waits in its queue, and the queue reports the reason.
fn waiting() -> Observed {
    let mut observed = started();
    observed.pod = PodState::default();
    observed.job.suspended = true;
    observed.queue = Some(QueueState { exists: true, message: "insufficient unused quota for cpu".into() });
    observed
}

fn queued() -> Want<'static> {
    Want { phase: Some(Phase::Suspended), reason: Some(Reason::Queued), ..Want::default() }
}

fn job(made: &Plan) -> &Job {
    let job = made.create.iter().find_map(|it| match it {
        Child::Job(job) => Some(job.as_ref()),
        _ => None,
    });
    job.expect("the plan creates a Job")
}

/// The expected values for a plan that ends a suspended first attempt and prepares the second attempt.
fn next_attempt() -> Want<'static> {
    Want {
        phase: Some(Phase::Preparing),
        reason: Some(Reason::Retrying),
        stops: Some(Stop::Job("chat-2db482-a1".into())),
        attempt_ended: Some(Reason::Suspended),
        ..Want::default()
    }
}

#[test]
fn the_job_of_a_queue_is_created_suspended_with_its_label() {
    let run = in_queue(Phase::Preparing);
    let creates = &["ConfigMap", "PersistentVolumeClaim", "Job"][..];
    let made = check(&run, &nothing(&run), 1, &Want { creates, says: "queue \"load\"", ..queued() });
    let job = job(&made);
    let labels = job.metadata.labels.as_ref().unwrap();
    assert_eq!(labels.get("kueue.x-k8s.io/queue-name").map(String::as_str), Some("load"));
    assert_eq!(job.spec.as_ref().unwrap().suspend, Some(true));

    let run = in_phase(SIMULATOR, Phase::Preparing);
    let made = check(&run, &nothing(&run), 1, &Want { phase: Some(Phase::Starting), creates, ..Want::default() });
    let job = self::job(&made);
    assert_eq!(job.spec.as_ref().unwrap().suspend, None);
    assert!(!job.metadata.labels.as_ref().unwrap().contains_key("kueue.x-k8s.io/queue-name"));
}

#[test]
fn no_deadline_runs_in_the_line_of_a_queue() {
    let run = in_queue(Phase::Suspended);
    for seconds in [1, 59, 61, 1_000_000] {
        check(&run, &waiting(), seconds, &Want { says: "insufficient unused quota for cpu", ..queued() });
    }
    // The queue admits the Job after eleven days, and startSeconds counts from then on.
    let mut admitted = waiting();
    admitted.job.suspended = false;
    let starts = Want { phase: Some(Phase::Starting), reason: Some(Reason::PodStarting), ..Want::default() };
    check(&run, &admitted, 1_000_000, &starts);
    admitted.job.started = Some(at(1_000_000));
    admitted.pod = started().pod;
    check(&run, &admitted, 1_001_800, &starts);
    let late = Want { reason: Some(Reason::StartTimeout), again: true, ..Want::default() };
    check(&run, &admitted, 1_001_801, &late);
    // The result is the same if the pods cannot be read.
    admitted.unread = vec![Unread { what: What::Pods, message: "the operator cannot list pods".into(), passing: true }];
    check(&run, &admitted, 1_001_800, &Want { reason: Some(Reason::ReadFailed), ..Want::default() });
}

#[test]
fn a_queue_that_does_not_exist_stalls_the_run_until_it_does() {
    let run = in_queue(Phase::Suspended);
    let mut missing = waiting();
    missing.queue = Some(QueueState::default());
    check(&run, &missing, 59, &queued());
    let not_found = Want {
        phase: Some(Phase::Suspended),
        reason: Some(Reason::QueueNotFound),
        says: "spec.queueName: is \"load\"",
        ..Want::default()
    };
    let made = check(&run, &missing, 60, &not_found);
    assert_eq!(standing(&made.status, "Stalled"), Some(ConditionStatus::True));
    assert_eq!(standing(&made.status, "Reconciling"), None);
    assert!(made.event.is_some_and(|it| it.warning && it.reason == Reason::QueueNotFound));

    let made = check(&after(&run, &check(&run, &missing, 60, &not_found)), &waiting(), 70, &queued());
    assert_eq!(standing(&made.status, "Stalled"), None);
    assert_eq!(standing(&made.status, "Reconciling"), Some(ConditionStatus::True));

    // A queue that cannot be read does not count as missing.
    let mut unread = waiting();
    unread.queue = None;
    let message = "the operator cannot get localqueues \"load\"".to_owned();
    unread.unread = vec![Unread { what: What::Queue, message, passing: false }];
    check(&run, &unread, 1_000, &Want { says: "cannot get localqueues", ..queued() });
}

#[test]
fn an_attempt_that_its_queue_stops_is_lost_and_counts_towards_no_limit() {
    let mut run =
        in_phase("{target: {simulator: {}}, queueName: load, execution: {retry: {limit: 0}}}", Phase::Running);
    run.status.as_mut().unwrap().attempts[0].pod_uid = Some("of-pod".into());
    let mut drains = measuring();
    drains.job.suspended = true;
    drains.pod.deleting = Some(at(700));
    let mut reported = drains.clone();
    reported.ended = Some(said(&envelope(Outcome::Cancelled, "Cancelled")));
    let gone = Observed { pod: PodState::default(), ..drains.clone() };
    for observed in [drains, reported, gone] {
        let lost = Want { reason: Some(Reason::Suspended), says: "evicted the run", again: true, ..Want::default() };
        let given_up = after(&run, &check(&run, &observed, 600, &lost));
        let ended = after(&given_up, &check(&given_up, &observed, 601, &next_attempt()));
        let made = check(
            &ended,
            &nothing(&ended),
            602,
            &Want { phase: Some(Phase::Preparing), again: true, ..Want::default() },
        );
        assert_eq!(made.status.attempts.len(), 2);
    }

    // The launcher had already measured until its regular end.
    let mut passed = ended(said(&envelope(Outcome::Passed, "RunSucceeded")));
    passed.job = JobState { suspended: true, complete: false, ..passed.job };
    let succeeds = Want {
        phase: Some(Phase::Succeeded),
        outcome: Some(Outcome::Passed),
        attempt_ended: Some(Reason::RunSucceeded),
        stops: None,
        ..Want::default()
    };
    check(&run, &passed, 600, &succeeds);
}

#[test]
fn an_attempt_that_others_wait_for_leaves_its_queue_after_a_time_that_doubles() {
    let mut run = in_queue(Phase::Suspended);
    let wanted = |since: i64| Observed { wanted: Some(Wanted { since: at(since), limit: 1_800 }), ..waiting() };
    // As long as no other run waits, an attempt may wait in its queue without a time limit.
    for (since, seconds) in [(0, 1_799), (10_000, 11_799)] {
        check(&run, &wanted(since), seconds, &queued());
    }
    let lost = Want { reason: Some(Reason::Suspended), says: "within 1800 seconds", again: true, ..Want::default() };
    let given_up = after(&run, &check(&run, &wanted(10_000), 11_800, &lost));
    check(&given_up, &wanted(10_000), 11_801, &next_attempt());
    let attempts = &mut run.status.as_mut().unwrap().attempts;
    let mut suspended = attempts[0].clone();
    (suspended.end_time, suspended.reason) = (Some(at(0)), Reason::Suspended.into());
    attempts.insert(0, suspended);
    check(&run, &wanted(0), 3_599, &queued());
    check(&run, &wanted(0), 3_600, &Want { reason: Some(Reason::Suspended), again: true, ..Want::default() });
}

#[test]
fn a_run_whose_queue_does_not_exist_ends_when_others_wait() {
    let run = in_queue(Phase::Suspended);
    let missing = Observed { queue: Some(QueueState::default()), ..waiting() };
    check(&run, &missing, 1_000_000, &Want { reason: Some(Reason::QueueNotFound), ..queued() });
    let wanted = Observed { wanted: Some(Wanted { since: at(100), limit: 1_800 }), ..missing };
    check(&run, &wanted, 159, &Want { reason: Some(Reason::QueueNotFound), ..queued() });
    let ended = Want {
        phase: Some(Phase::Failed),
        outcome: Some(Outcome::Error),
        reason: Some(Reason::QueueNotFound),
        says: "create the queue, then create the run again",
        attempt_ended: Some(Reason::QueueNotFound),
        stops: Some(Stop::Job("chat-2db482-a1".into())),
        again: true,
        ..Want::default()
    };
    check(&run, &wanted, 160, &ended);
}

#[test]
fn a_job_that_something_else_suspends_is_no_failure() {
    let run = in_phase(SIMULATOR, Phase::Starting);
    let mut observed = waiting();
    observed.queue = None;
    check(&run, &observed, 100, &Want { says: "something suspended Job chat-2db482-a1", ..queued() });
}
