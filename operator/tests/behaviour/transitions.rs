//! All combinations of a phase and an event, one row per combination. The rows are a snapshot, so after a new phase or event the test fails until
//! somebody has reviewed its rows.

use std::fmt::Write as _;

use crds::{BenchmarkRun, Outcome, Reason, benchmark_run::Cancel, status::Phase};
use operator::plan::{
    Ended, InputError, JobState, Observed, Plan, PodState, Presence, Refused, Turn, Unread, What, current_attempt, plan,
};

use crate::behaviour::fixture::*;

/// Defines an enum together with the list of all its variants.
macro_rules! events {
    ($($(#[$about:meta])* $event:ident,)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Event {
            $($(#[$about])* $event,)+
        }

        const EVENTS: &[Event] = &[$(Event::$event,)+];
    };
}

events! {
    /// A turn in which nothing has changed.
    Nothing,
    /// The operator restarts, and loses what the watches recorded in memory.
    OperatorRestarts,
    /// The clock is set back by an hour.
    ClockSetBack,
    /// All deadlines have passed.
    DeadlinesPass,
    /// A user edits a field that does not affect an attempt.
    SpecEdited,
    Suspend,
    CancelGracefully,
    CancelImmediately,
    /// The ConfigMap of the profile does not exist.
    ProfileMissing,
    /// The spec cannot be run.
    SpecInvalid,
    /// An object of another owner has the name of the ConfigMap or the Job.
    NameTaken,
    /// A quota or missing rights prevent the creation of a child.
    ChildForbidden,
    /// The API server rejects a child as invalid.
    ChildInvalid,
    PodMissing,
    PodPending,
    PodUnschedulable,
    VolumePending,
    ImageMissing,
    ContainerRuns,
    ContainerReady,
    /// The pod is being deleted, within its grace period.
    PodDeleted,
    /// The pod is being deleted, but its node does not respond.
    NodeLost,
    /// Two pods with the same creation second have the Job as their owner.
    PodAmbiguous,
    /// Another pod of the Job is working besides the launcher's pod.
    PodReplaced,
    /// The queue or a user suspends the Job before it has a pod.
    JobSuspended,
    /// The queue or a user suspends the Job while it has a pod.
    JobSuspendedWithPod,
    JobDeleted,
    JobGone,
    JobRecreatedByOthers,
    JobCompleteWithoutPod,
    JobFailedWithoutPod,
    JobDeadlineExceeded,
    JobEndedPodStays,
    ResultPassed,
    ResultSLOViolated,
    ResultInconclusive,
    ResultInvalid,
    ResultTargetUnavailable,
    ResultConfigInvalid,
    ResultCancelled,
    ResultOfAnotherRun,
    OutOfMemory,
    Evicted,
    /// The launcher was stopped, but its pod has not ended.
    StoppedPodStays,
    /// Like `StoppedPodStays`: the pod has not ended, because another container in it is still running.
    StoppedPodKept,
    /// Like `StoppedPodStays`, while the clock of the node is ahead.
    StoppedOnNodeAhead,
    /// Like `StoppedOnNodeAhead`, and in the meantime the Job has exceeded its deadline.
    StoppedOnNodeAheadJobEnded,
    /// The pod of a stopped launcher has not ended although `collectSeconds` have passed.
    StoppedPodNeverEnds,
    /// The pod of a stopped launcher has ended, and reports what stopped the launcher.
    StoppedThenEvicted,
    /// The pod of a stopped launcher has ended, but does not report what stopped the launcher.
    StoppedWithoutCause,
    CrashedWithoutResult,
}

/// A run in this phase without problems, with its observations and the seconds since its start.
fn usual(phase: Phase) -> (BenchmarkRun, Observed, i64) {
    let mut run = in_phase(SIMULATOR, phase);
    let observed = match phase {
        Phase::Pending | Phase::Suspended => {
            if let Some(status) = &mut run.status {
                status.attempts.clear();
            }
            nothing(&run)
        }
        Phase::Preparing => nothing(&run),
        Phase::Starting => started(),
        Phase::Running => measuring(),
        Phase::Collecting => {
            let mut observed = started();
            observed.job.complete = true;
            observed.job.ended_at = Some(at(590));
            observed
        }
        Phase::Succeeded | Phase::Failed | Phase::Cancelled => {
            let outcome = match phase {
                Phase::Succeeded => Outcome::Passed,
                Phase::Failed => Outcome::Error,
                _ => Outcome::Cancelled,
            };
            if let Some(status) = &mut run.status {
                (status.outcome, status.completion_time) = (Some(outcome), Some(at(500)));
                status.attempts[0].end_time = Some(at(500));
            }
            Observed::default()
        }
    };
    (run, observed, 600)
}

/// Changes the run, the observations and the time for an event. The launcher's input stays available.
fn happen(event: Event, run: &mut BenchmarkRun, observed: &mut Observed, now: &mut i64) {
    let input = observed.input.clone();
    after_event(event, run, observed, now);
    observed.input = observed.input.take().or(input);
}

fn after_event(event: Event, run: &mut BenchmarkRun, observed: &mut Observed, now: &mut i64) {
    let pod = || PodState { name: Some("chat-2db482-a1-0-x".into()), ..PodState::default() };
    let ours = || JobState { presence: Presence::Ours, created: Some(zero()), ..JobState::default() };
    let refusal = |reason, message: &str| Some(Err(InputError { reason, message: message.into() }));
    let result = |outcome, reason| ended(said(&envelope(outcome, reason)));
    let cancelled = || said(&envelope(Outcome::Cancelled, "Cancelled"));
    let without_envelope = |exit_code, reason: &str, disrupted: Option<&str>| {
        let reason = reason.into();
        ended(Ended { exit_code, reason, message: String::new(), disrupted: disrupted.map(Into::into) })
    };
    match event {
        Event::Nothing => {}
        Event::OperatorRestarts => observed.ended = None,
        Event::ClockSetBack => *now -= 3_600,
        Event::DeadlinesPass => *now += 1_000_000,
        Event::SpecEdited => run.metadata.generation = Some(2),
        Event::Suspend => run.spec.suspend = true,
        Event::CancelGracefully => run.spec.cancel = Some(Cancel::Graceful),
        Event::CancelImmediately => run.spec.cancel = Some(Cancel::Immediate),
        Event::ProfileMissing => observed.input = refusal(Reason::ProfileNotFound, "there is no ConfigMap \"p\""),
        Event::SpecInvalid => observed.input = refusal(Reason::InvalidSpec, "target.url: is x"),
        Event::NameTaken => {
            observed.config_map = Presence::Foreign;
            observed.job = JobState { presence: Presence::Foreign, ..JobState::default() };
        }
        Event::ChildForbidden => observed.refused = Some(Refused { message: "quota".into(), for_good: false }),
        Event::ChildInvalid => observed.refused = Some(Refused { message: "invalid".into(), for_good: true }),
        Event::PodMissing => observed.pod = PodState::default(),
        Event::PodPending => observed.pod = pod(),
        Event::PodUnschedulable => {
            observed.pod = PodState { unschedulable: Some("0/3 nodes".into()), ..pod() };
        }
        Event::VolumePending => {
            observed.pod = PodState { unschedulable: Some("unbound PersistentVolumeClaims".into()), ..pod() };
            observed.claim.bound = false;
        }
        Event::ImageMissing => {
            observed.pod = PodState { waiting: Some(("ErrImagePull".into(), "not found".into())), ..pod() };
        }
        Event::ContainerRuns => observed.pod = PodState { running: true, ..pod() },
        Event::ContainerReady => observed.pod = PodState { running: true, ready: true, ..pod() },
        Event::PodDeleted => observed.pod.deleting = Some(at(630)),
        Event::NodeLost => observed.pod.deleting = Some(at(60)),
        Event::PodAmbiguous => {
            observed.pod = PodState::default();
            (observed.ambiguous, observed.other_pods) = (true, vec!["one".into(), "two".into()]);
        }
        Event::PodReplaced => observed.other_pods = vec!["another".into()],
        Event::JobSuspended => (observed.job.suspended, observed.pod) = (true, PodState::default()),
        Event::JobSuspendedWithPod => observed.job.suspended = true,
        Event::JobDeleted => observed.job.deleting = true,
        Event::JobGone => observed.job = JobState::default(),
        Event::JobRecreatedByOthers => {
            observed.job = JobState { presence: Presence::Foreign, ..JobState::default() };
        }
        Event::JobCompleteWithoutPod => {
            observed.job = JobState { complete: true, ended_at: Some(at(590)), ..ours() };
            observed.pod = PodState::default();
        }
        Event::JobFailedWithoutPod => {
            observed.job = JobState { failed: Some("BackoffLimitExceeded".into()), ended_at: Some(at(590)), ..ours() };
            observed.pod = PodState::default();
        }
        Event::JobDeadlineExceeded => {
            observed.job = JobState { failed: Some("DeadlineExceeded".into()), ended_at: Some(at(590)), ..ours() };
            observed.pod = PodState::default();
        }
        Event::JobEndedPodStays => {
            observed.job = JobState { complete: true, ended_at: Some(at(590)), ..ours() };
            observed.pod = pod();
        }
        Event::ResultPassed => *observed = result(Outcome::Passed, "RunSucceeded"),
        Event::ResultSLOViolated => *observed = result(Outcome::SLOViolated, "SLOViolated"),
        Event::ResultInconclusive => *observed = result(Outcome::Inconclusive, "SLOInconclusive"),
        Event::ResultInvalid => *observed = result(Outcome::Invalid, "TooManyErrors"),
        Event::ResultTargetUnavailable => *observed = result(Outcome::Error, "TargetUnavailable"),
        Event::ResultConfigInvalid => *observed = result(Outcome::Error, "ConfigInvalid"),
        Event::ResultCancelled => *observed = result(Outcome::Cancelled, "Cancelled"),
        Event::ResultOfAnotherRun => {
            let mut other = envelope(Outcome::Passed, "RunSucceeded");
            other.core.run_uid = "another".into();
            *observed = ended(said(&other));
        }
        Event::OutOfMemory => *observed = without_envelope(137, "OOMKilled", None),
        Event::Evicted => *observed = without_envelope(137, "Error", Some("EvictionByEvictionAPI: drained")),
        Event::StoppedPodStays => *observed = stopped(cancelled()),
        Event::StoppedPodKept => {
            *observed = stopped(cancelled());
            observed.pod.kept = true;
        }
        Event::StoppedOnNodeAhead => {
            *observed = stopped(cancelled());
            observed.pod.ended_at = Some(at(*now + 1_000_000));
        }
        Event::StoppedOnNodeAheadJobEnded => {
            *observed = stopped(cancelled());
            observed.pod.ended_at = Some(at(*now + 1_000_000));
            (observed.job.failed, observed.job.ended_at) = (Some("DeadlineExceeded".into()), Some(at(590)));
        }
        Event::StoppedPodNeverEnds => {
            *observed = stopped(cancelled());
            wait_for_cause(run, observed);
            *now += 301;
        }
        Event::StoppedThenEvicted | Event::StoppedWithoutCause => {
            wait_for_cause(run, &stopped(cancelled()));
            let disrupted = (event == Event::StoppedThenEvicted).then(|| "TerminationByKubelet: low on disk".into());
            *observed = ended(Ended { disrupted, ..cancelled() });
            *now += 10;
        }
        Event::CrashedWithoutResult => *observed = without_envelope(101, "Error", None),
    }
}

/// If the run has a current attempt, gives it the status in which it waits for the cause of the launcher's stop.
fn wait_for_cause(run: &mut BenchmarkRun, stopped: &Observed) {
    if run.status.as_ref().is_some_and(|it| current_attempt(it).is_some()) {
        let settings = settings();
        *run = after(run, &plan(run, stopped, &Turn { settings: &settings, now: at(600) }));
    }
}

/// The outcome as text: phase, reason, and all writes except the status.
fn outcome(run: &BenchmarkRun, made: &Plan) -> String {
    let before = run.status.clone().unwrap_or_default();
    let status = &made.status;
    let mut text = format!("{} {}", status.phase.map_or("none", Phase::name), status.reason);
    if *status == before {
        text = "stays".into();
    }
    let creates: Vec<_> = made.create.iter().map(kind).collect();
    if !creates.is_empty() {
        let _ = write!(text, "; creates {}", creates.join(", "));
    }
    if let Some(stop) = &made.stop {
        let name = format!("{stop:?}");
        let _ = write!(text, "; stops {}", name.split(['(', ' ']).next().unwrap_or_default());
    }
    if !made.stop_pods.is_empty() {
        let _ = write!(text, "; stops {} other pods", made.stop_pods.len());
    }
    let ended = |attempts: &[crds::status::Attempt]| attempts.iter().filter(|it| it.end_time.is_some()).count();
    if ended(&status.attempts) > ended(&before.attempts) {
        let _ = write!(text, "; the attempt ends");
    }
    if status.attempts.len() > before.attempts.len() {
        text.push_str("; an attempt begins");
    }
    if made.again {
        text.push_str("; plans again");
    }
    text
}

#[test]
fn every_phase_with_every_event_has_its_outcome() {
    let settings = settings();
    let mut table = String::new();
    for phase in Phase::ALL {
        for event in EVENTS {
            let (mut run, mut observed, mut now) = usual(phase);
            happen(*event, &mut run, &mut observed, &mut now);
            let made = plan(&run, &observed, &Turn { settings: &settings, now: at(now) });
            let _ = writeln!(table, "{} | {event:?} | {}", phase.name(), outcome(&run, &made));
            if phase.is_terminal() {
                let status = run.status.unwrap_or_default();
                assert_eq!((made.status.phase, made.status.outcome), (status.phase, status.outcome), "{event:?}");
                // While the cause is awaited, a pod is only stopped if another container keeps it alive.
                assert!(made.create.is_empty(), "{phase:?} {event:?}: {made:?}");
                assert_eq!(made.stop.is_some(), observed.pod.kept, "{phase:?} {event:?}: {made:?}");
            }
        }
    }
    assert_eq!(table.lines().count(), Phase::ALL.len() * EVENTS.len());
    let pairs = table.lines().count();
    println!("figure 1: all {pairs} pairs of a phase and an event have a tested result");
    insta::assert_snapshot!(table);
}

const LLM_D: &str = "{target: {server: {engine: VLLM, method: ModelService, image: i, model: o/m, gatewayRef: {name: gw}}, readiness: {timeoutSeconds: 1800}}, storage: {none: {}}}";

/// Events before the Job exists, for a run whose server is started by llm-d's charts.
#[derive(Clone, Copy, Debug)]
enum OfLlmD {
    /// All objects of llm-d are ready.
    Ready,
    /// An object of llm-d is missing.
    Missing,
    MissingAndValuesWritten,
    MissingAndValuesForeign,
    MissingAndValuesRefused,
    /// An object has been missing for longer than prepareSeconds, but not for the whole time that the run waits.
    MissingForLong,
    MissingTooLong,
    Unreadable,
    UnreadableForLong,
    ProfileMissing,
    SpecInvalid,
    Suspend,
    CancelGracefully,
}

const OF_LLM_D: [OfLlmD; 13] = [
    OfLlmD::Ready,
    OfLlmD::Missing,
    OfLlmD::MissingAndValuesWritten,
    OfLlmD::MissingAndValuesForeign,
    OfLlmD::MissingAndValuesRefused,
    OfLlmD::MissingForLong,
    OfLlmD::MissingTooLong,
    OfLlmD::Unreadable,
    OfLlmD::UnreadableForLong,
    OfLlmD::ProfileMissing,
    OfLlmD::SpecInvalid,
    OfLlmD::Suspend,
    OfLlmD::CancelGracefully,
];

#[test]
fn every_stage_of_the_wait_for_llm_d_with_every_event_has_its_outcome() {
    let settings = settings();
    let refusal = |reason, message: &str| Some(Err(InputError { reason, message: message.into() }));
    let missing = || refusal(Reason::TargetNotFound, "there is no Gateway");
    let new = run(LLM_D);
    let waiting = {
        let observed = Observed { input: missing(), ..nothing(&new) };
        after(&new, &plan(&new, &observed, &Turn { settings: &settings, now: zero() }))
    };
    let decided = after(&new, &plan(&new, &nothing(&new), &Turn { settings: &settings, now: zero() }));
    let mut table = String::new();
    for (stage, run) in [("new", new), ("waits", waiting), ("decided", decided)] {
        for event in OF_LLM_D {
            let (mut run, mut observed, mut now) = (run.clone(), nothing(&run), 10);
            match event {
                OfLlmD::Ready => {}
                OfLlmD::Missing => observed.input = missing(),
                OfLlmD::MissingAndValuesWritten => {
                    (observed.input, observed.chart_values) = (missing(), Presence::Ours);
                }
                OfLlmD::MissingAndValuesForeign => {
                    (observed.input, observed.chart_values) = (missing(), Presence::Foreign);
                }
                OfLlmD::MissingAndValuesRefused => {
                    observed.input = missing();
                    observed.values_refused = Some("quota".into());
                }
                OfLlmD::MissingForLong => (observed.input, now) = (missing(), 1_799),
                OfLlmD::MissingTooLong => (observed.input, now) = (missing(), 1_800),
                OfLlmD::Unreadable | OfLlmD::UnreadableForLong => {
                    let message = "the operator cannot get gateways".to_owned();
                    observed.input = None;
                    observed.unread = vec![Unread { what: What::Input, message, passing: true }];
                    now = if matches!(event, OfLlmD::UnreadableForLong) { 1_801 } else { 1_799 };
                }
                OfLlmD::ProfileMissing => observed.input = refusal(Reason::ProfileNotFound, "there is no ConfigMap"),
                OfLlmD::SpecInvalid => observed.input = refusal(Reason::InvalidSpec, "target.url: is x"),
                OfLlmD::Suspend => run.spec.suspend = true,
                OfLlmD::CancelGracefully => run.spec.cancel = Some(Cancel::Graceful),
            }
            let made = plan(&run, &observed, &Turn { settings: &settings, now: at(now) });
            let _ = writeln!(table, "{stage} | {event:?} | {}", outcome(&run, &made));
            assert!(made.stop_server.is_none(), "{stage} {event:?}: the operator removes nothing of llm-d");
        }
    }
    insta::assert_snapshot!(table);
}
