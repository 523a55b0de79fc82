use std::collections::HashSet;

use crds::{
    BenchmarkRun, BenchmarkRunSpec, BenchmarkRunStatus, Outcome,
    status::{Attempt, Phase},
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::Namespaces;
use crate::plan::policy::Policy;

fn policy(most: u32) -> Policy {
    Policy::parse(&format!("namespaces: [{{names: [bench], limits: {{maxConcurrentAttempts: {most}}}}}]")).unwrap()
}

/// A run whose name contains this number. Lower numbers are older, and 1 is the oldest.
fn run(number: i64) -> BenchmarkRun {
    let mut run = BenchmarkRun::new(&format!("r{number}"), BenchmarkRunSpec::default());
    run.metadata.namespace = Some("bench".into());
    run.metadata.uid = Some(format!("uid-{number}"));
    run.metadata.creation_timestamp = Some(Time(Timestamp::from_second(number).unwrap()));
    run
}

fn with_attempt(mut run: BenchmarkRun, phase: Phase) -> BenchmarkRun {
    let attempt: Attempt =
        serde_json::from_value(serde_json::json!({"number": 1, "jobName": "j", "startTime": "2026-01-02T03:04:05Z"}))
            .unwrap();
    run.status = Some(BenchmarkRunStatus { phase: Some(phase), attempts: vec![attempt], ..Default::default() });
    run
}

fn finished(run: BenchmarkRun) -> BenchmarkRun {
    let mut run = with_attempt(run, Phase::Succeeded);
    run.status.as_mut().unwrap().outcome = Some(Outcome::Passed);
    run
}

/// A turn of a run that would begin an attempt.
fn turn(namespaces: &Namespaces, run: &BenchmarkRun, policy: &Policy) -> Option<usize> {
    namespaces.turn(run, policy, true)
}

#[test]
fn as_many_begin_as_the_limit_says_and_the_others_in_the_order_of_their_creation() {
    let (namespaces, policy) = (Namespaces::default(), policy(2));
    assert_eq!(turn(&namespaces, &run(1), &policy), None);
    assert_eq!(turn(&namespaces, &run(2), &policy), None);
    assert_eq!(turn(&namespaces, &run(4), &policy), Some(1));
    assert_eq!(turn(&namespaces, &run(3), &policy), Some(1));
    assert_eq!(turn(&namespaces, &run(4), &policy), Some(2));
    // The watch has reported neither that the first run began nor that it ended.
    namespaces.note(&run(1), &policy);
    assert_eq!(turn(&namespaces, &run(3), &policy), Some(1));
    namespaces.note(&with_attempt(run(1), Phase::Running), &policy);
    assert_eq!(turn(&namespaces, &run(3), &policy), Some(1));
    namespaces.note(&finished(run(1)), &policy);
    assert_eq!(turn(&namespaces, &run(4), &policy), Some(2), "the third one is older");
    assert_eq!(turn(&namespaces, &run(3), &policy), None);
    assert_eq!(turn(&namespaces, &run(4), &policy), Some(1));
}

#[test]
fn a_run_that_could_not_write_its_intent_gives_its_place_back_in_its_next_turn() {
    let (namespaces, policy) = (Namespaces::default(), policy(1));
    assert_eq!(turn(&namespaces, &run(2), &policy), None);
    assert_eq!(turn(&namespaces, &run(1), &policy), Some(1));
    // In the next turn the run has no attempt, so the older run goes first.
    assert_eq!(turn(&namespaces, &run(2), &policy), Some(2));
    assert_eq!(turn(&namespaces, &run(1), &policy), None);
}

#[test]
fn a_run_between_two_attempts_keeps_its_place_and_a_suspended_one_does_not() {
    let (namespaces, policy) = (Namespaces::default(), policy(1));
    namespaces.note(&with_attempt(run(2), Phase::Preparing), &policy);
    assert_eq!(turn(&namespaces, &run(1), &policy), Some(1));
    assert_eq!(turn(&namespaces, &with_attempt(run(2), Phase::Preparing), &policy), None);
    let mut suspended = with_attempt(run(2), Phase::Suspended);
    suspended.spec.suspend = true;
    namespaces.note(&suspended, &policy);
    assert_eq!(turn(&namespaces, &run(1), &policy), None);
}

#[test]
fn a_run_in_the_line_of_a_queue_keeps_its_place() {
    let (namespaces, policy) = (Namespaces::default(), policy(1));
    // The run keeps its slot, because the queue may start its attempt at any time without a request.
    namespaces.note(&with_attempt(run(2), Phase::Suspended), &policy);
    assert_eq!(turn(&namespaces, &run(1), &policy), Some(1));
    namespaces.note(&finished(run(2)), &policy);
    assert_eq!(turn(&namespaces, &run(1), &policy), None);
}

#[test]
fn a_run_that_waits_for_something_else_holds_up_nobody() {
    let (namespaces, policy) = (Namespaces::default(), policy(1));
    assert_eq!(turn(&namespaces, &run(3), &policy), None);
    assert_eq!(turn(&namespaces, &run(1), &policy), Some(1));
    namespaces.note(&finished(run(3)), &policy);
    // Now the run waits for its target, so its request is withdrawn.
    assert_eq!(namespaces.turn(&run(1), &policy, false), None);
    assert_eq!(turn(&namespaces, &run(2), &policy), None);
    assert_eq!(turn(&namespaces, &run(1), &policy), Some(1));
}

#[test]
fn only_runs_of_a_namespace_with_a_limit_are_kept_and_none_that_is_gone() {
    let (namespaces, policy) = (Namespaces::default(), policy(1));
    let mut elsewhere = run(1);
    elsewhere.metadata.namespace = Some("other".into());
    assert_eq!(turn(&namespaces, &elsewhere, &policy), None);
    assert_eq!(namespaces.count(), 0);
    for number in 1..=3 {
        namespaces.note(&run(number), &policy);
    }
    namespaces.forget("uid-1");
    namespaces.retain(Some("other"), &HashSet::new());
    assert_eq!(namespaces.count(), 2);
    namespaces.retain(Some("bench"), &HashSet::from(["uid-3".to_owned()]));
    assert_eq!(namespaces.count(), 1);
    namespaces.note(&finished(run(3)), &policy);
    assert_eq!(namespaces.count(), 0);
}

#[test]
fn the_end_of_an_attempt_wakes_the_oldest_that_wait() {
    let (namespaces, policy) = (Namespaces::default(), policy(2));
    let mut woken = namespaces.woken(None);
    let mut next = || woken.try_next().map(|(_, name)| name);
    for number in [1, 2] {
        assert_eq!(turn(&namespaces, &run(number), &policy), None);
        namespaces.note(&with_attempt(run(number), Phase::Running), &policy);
    }
    for number in [5, 4, 3] {
        assert!(turn(&namespaces, &run(number), &policy).is_some());
    }
    assert_eq!(next(), None);
    namespaces.note(&finished(run(1)), &policy);
    assert_eq!((next(), next()), (Some("r3".into()), None));
    // Two slots are free, and r3 has not requested one yet.
    namespaces.forget("uid-2");
    assert_eq!((next(), next()), (Some("r3".into()), None));
    assert_eq!(turn(&namespaces, &run(3), &policy), None);
    namespaces.note(&with_attempt(run(3), Phase::Running), &policy);
    // A run that waits for something else releases its slot.
    assert_eq!(turn(&namespaces, &run(4), &policy), None);
    assert_eq!(namespaces.turn(&run(4), &policy, false), None);
    assert_eq!((next(), next()), (Some("r5".into()), None));
}
