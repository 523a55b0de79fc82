//! Plans for a run that is cancelled or suspended.

use crds::{Outcome, Reason, status::Phase};
use operator::plan::{Ended, Observed, PodState, Presence, Stop};

use crate::behaviour::fixture::*;

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
        stops: Some(Stop::Pod("chat-2db482-a1-0-x".into())),
        ..Want::default()
    };
    check(&run, &measuring(), 100, &asked);
    let mut going = measuring();
    going.pod.deleting = Some(at(160));
    check(&run, &going, 101, &Want { stops: None, ..asked });
    // The node of the pod is lost, so the pod will never report its end.
    check(&run, &going, 221, &Want { stops: now_gone(), ..cancelled(Some(Reason::Cancelled)) });

    let mut gone = started();
    gone.pod = PodState::default();
    check(
        &run,
        &gone,
        130,
        &Want { stops: Some(Stop::Job("chat-2db482-a1".into())), ..cancelled(Some(Reason::Cancelled)) },
    );
    gone.ended = Some(said(&envelope(Outcome::Cancelled, "Cancelled")));
    let plan = check(&run, &gone, 130, &cancelled(Some(Reason::Cancelled)));
    assert!(plan.status.summary.is_some(), "the figures of what was sent");
    gone.ended = Some(Ended { exit_code: 137, reason: "Error".into(), ..Ended::default() });
    let plan = check(
        &run,
        &gone,
        130,
        &Want { says: "termination message was not seen", ..cancelled(Some(Reason::Cancelled)) },
    );
    assert!(plan.status.summary.is_none());
}

#[test]
fn an_immediate_cancel_ends_pod_and_job_at_once() {
    let run = in_phase("{target: {simulator: {}}, cancel: Immediate}", Phase::Running);
    check(&run, &measuring(), 100, &Want { stops: now_gone(), ..cancelled(Some(Reason::Cancelled)) });
    let mut foreign = started();
    foreign.job.presence = Presence::Foreign;
    foreign.pod = PodState::default();
    check(&run, &foreign, 100, &cancelled(Some(Reason::Cancelled)));
}

#[test]
fn what_was_whole_before_a_cancel_or_a_suspension_counts() {
    let want = ended_as(Phase::Succeeded, Outcome::Passed, Reason::RunSucceeded);
    for change in ["cancel: Graceful", "cancel: Immediate", "suspend: true"] {
        let run = in_phase(&format!("{{target: {{simulator: {{}}}}, {change}}}"), Phase::Running);
        check(&run, &ended(said(&envelope(Outcome::Passed, "RunSucceeded"))), 600, &want);
        for (outcome, reason) in
            [(Outcome::SLOViolated, Reason::SLOViolated), (Outcome::Invalid, Reason::MeasurementInvalid)]
        {
            let want = ended_as(Phase::Failed, outcome, reason);
            let plan = check(&run, &ended(said(&envelope(outcome, "SendLagTooLarge"))), 600, &want);
            assert!(!plan.status.partial && !message(&plan).contains("cancelled"), "{}", message(&plan));
        }
    }
}

#[test]
fn a_suspended_run_loses_its_attempt_and_begins_another_one() {
    let spec = "{target: {simulator: {}}, suspend: true}";
    let suspended = Want { phase: Some(Phase::Suspended), reason: Some(Reason::Suspended), ..Want::default() };
    check(&run(spec), &nothing(&run(spec)), 0, &suspended);
    let running = in_phase(spec, Phase::Running);
    let decided = given_up(Phase::Running, Reason::Suspended);
    let decided = after(&running, &check(&running, &measuring(), 100, &decided));
    let want = Want {
        stops: Some(Stop::Job("chat-2db482-a1".into())),
        attempt_ended: Some(Reason::Suspended),
        ..Want { phase: suspended.phase, reason: suspended.reason, ..Want::default() }
    };
    let mut run = after(&decided, &check(&decided, &measuring(), 100, &want));
    check(&run, &Observed::default(), 101, &Want { attempt_ended: Some(Reason::Suspended), ..suspended });

    run.spec.suspend = false;
    let mut observed = nothing(&run);
    observed.input = Some(Ok(input(&run, 2)));
    let plan = check(&run, &observed, 5_000, &Want { phase: Some(Phase::Preparing), again: true, ..Want::default() });
    assert_eq!(plan.status.attempts.last().map(|it| it.number), Some(2));
}

/// The user resumes the run before anything is deleted, or even before the status shows the suspension.
#[test]
fn an_attempt_whose_suspension_is_taken_back_ends_and_another_one_follows() {
    let mut run = in_phase("{target: {simulator: {}}, suspend: true}", Phase::Running);
    run = after(&run, &check(&run, &measuring(), 100, &given_up(Phase::Running, Reason::Suspended)));
    run.spec.suspend = false;
    let want = Want { stops: Some(Stop::Job("chat-2db482-a1".into())), ..retrying(Reason::Suspended) };
    check(&run, &measuring(), 101, &want);
    check(&run, &Observed::default(), 101, &retrying(Reason::Suspended));
}
