//! Tests figure 26 of docs/reliability.md: the end of a run causes exactly one event. If the run failed, the event is a Warning with the reason and a
//! text of its own.

use std::collections::BTreeSet;

use crds::{BenchmarkRun, Outcome, Reason, Word as _, status::Phase};
use operator::plan::{
    Ended, InputError, Observed, PlannedEvent, PodState, Presence, Refused, Turn, finished::FINISHED, plan,
};

use crate::behaviour::{fixture::*, servers};

/// Whether a run can fail with this reason. The match has no wildcard, so that every new reason must be classified.
fn fails_a_run(reason: Reason) -> bool {
    match reason {
        // These reasons report progress, or are only used in conditions. An Unreadable run keeps its status.
        Reason::Preparing
        | Reason::ServerStarting
        | Reason::ServerStopping
        | Reason::ServerNotGone
        | Reason::Suspended
        | Reason::Queued
        | Reason::QueueNotFound
        | Reason::TargetBusy
        | Reason::NamespaceBusy
        | Reason::PodStarting
        | Reason::TargetNotReady
        | Reason::Measuring
        | Reason::Debugging
        | Reason::ReadingResult
        | Reason::Cancelling
        | Reason::ReadFailed
        | Reason::Retrying
        | Reason::RunSucceeded
        | Reason::CoolingDown
        | Reason::RunFailed
        | Reason::SweepSucceeded
        | Reason::SweepFailed
        | Reason::BudgetExceeded
        | Reason::SLOMet
        | Reason::Unreadable
        | Reason::Cancelled
        | Reason::Stored
        | Reason::NotStored
        | Reason::NotAsked
        | Reason::OwnLauncher
        | Reason::CustomImage
        | Reason::Collected
        | Reason::Reread => false,
        // Only schedules use these reasons.
        Reason::Scheduled
        | Reason::RunActive
        | Reason::RunStarted
        | Reason::RunSkipped
        | Reason::StartRefused
        | Reason::TriggeredRunFailed => false,
        Reason::TargetNotFound
        | Reason::Unschedulable
        | Reason::VolumePending
        | Reason::ImagePull
        | Reason::PodRefused
        | Reason::MountPending
        | Reason::ContainerRefused
        | Reason::MeasurementInvalid
        | Reason::SLOViolated
        | Reason::SLOInconclusive
        | Reason::InvalidSpec
        | Reason::PolicyDenied
        | Reason::ProfileInvalid
        | Reason::ProfileNotFound
        | Reason::NameConflict
        | Reason::ConfigInvalid
        | Reason::AmbiguousModel
        | Reason::AmbiguousPod
        | Reason::TargetUnavailable
        | Reason::ServerFailed
        | Reason::ServerDied
        | Reason::StorageFailed
        | Reason::Disrupted
        | Reason::ResultLost
        | Reason::OOMKilled
        | Reason::PrepareTimeout
        | Reason::StartTimeout
        | Reason::DeadlineExceeded
        | Reason::LauncherFailed
        | Reason::JobLost
        | Reason::Restored => true,
    }
}

/// A way to fail: a run with the observations of successive turns, each with the seconds since [`zero`]. The last turn ends the run.
struct Failure {
    reason: Reason,
    run: BenchmarkRun,
    looks: Vec<(i64, Observed)>,
}

impl Failure {
    fn new(reason: Reason, run: BenchmarkRun, looks: impl Into<Vec<(i64, Observed)>>) -> Self {
        Failure { reason, run, looks: looks.into() }
    }
}

/// Failures that the launcher reports.
fn reported() -> Vec<Failure> {
    [
        (Outcome::Invalid, "SendLagTooLarge", Reason::MeasurementInvalid),
        (Outcome::SLOViolated, "SLOViolated", Reason::SLOViolated),
        (Outcome::Inconclusive, "SLOInconclusive", Reason::SLOInconclusive),
        (Outcome::Error, "ConfigInvalid", Reason::ConfigInvalid),
        (Outcome::Error, "AmbiguousModel", Reason::AmbiguousModel),
        (Outcome::Error, "TargetUnavailable", Reason::TargetUnavailable),
        (Outcome::Error, "StorageFailed", Reason::StorageFailed),
        (Outcome::Error, "LauncherFailed", Reason::LauncherFailed),
    ]
    .map(|(outcome, word, reason)| {
        let mut envelope = envelope(outcome, word);
        envelope.core.message = format!("what a launcher says of {word}");
        Failure::new(reason, in_phase(NO_RETRY, Phase::Running), [(600, ended(said(&envelope)))])
    })
    .into()
}

/// Failures of the Job or the pod after the run has begun.
fn lost() -> Vec<Failure> {
    let (starting, running) = (in_phase(NO_RETRY, Phase::Starting), in_phase(NO_RETRY, Phase::Running));
    let memory = Ended { exit_code: 137, reason: "OOMKilled".into(), ..Ended::default() };
    let evicted =
        Ended { exit_code: 137, disrupted: Some("EvictionByEvictionAPI: drained".into()), ..Ended::default() };
    let mut completed = started();
    (completed.job.complete, completed.pod) = (true, PodState::default());
    let mut twins = started();
    (twins.ambiguous, twins.pod, twins.other_pods) = (true, PodState::default(), vec!["one".into(), "two".into()]);
    let (server, dead_server) = servers::dead();
    vec![
        Failure::new(Reason::ServerDied, server, [(100, dead_server)]),
        Failure::new(Reason::OOMKilled, running.clone(), [(600, ended(memory))]),
        Failure::new(Reason::Disrupted, running.clone(), [(600, ended(evicted))]),
        Failure::new(Reason::ResultLost, running.clone(), [(600, completed)]),
        Failure::new(Reason::JobLost, running.clone(), [(600, nothing(&running))]),
        Failure::new(Reason::AmbiguousPod, starting.clone(), [(5, twins)]),
        Failure::new(Reason::StartTimeout, starting, [(10, started()), (1_801, started())]),
        Failure::new(Reason::DeadlineExceeded, running, [(100, measuring()), (3_781, measuring())]),
    ]
}

/// Reasons why a pod does not start. While the run waits, a Warning reports the reason, which later ends the run. If there is only one turn, for
/// example because the operator was down, that turn ends the run.
fn stuck() -> Vec<Failure> {
    let pod = || started().pod;
    let waiting = |reason: &str| PodState { waiting: Some((reason.into(), "not found".into())), ..pod() };
    let unscheduled = |why: &str| PodState { unschedulable: Some(why.into()), ..pod() };
    let unmounted = PodState { accepted: Some(zero()), without_sandbox: true, ..pod() };
    let cases = [
        (Reason::Unschedulable, unscheduled("0/3 nodes"), 1_801),
        (Reason::VolumePending, unscheduled("unbound PersistentVolumeClaims"), 1_801),
        (Reason::ImagePull, waiting("ErrImagePull"), 301),
        (Reason::ImagePull, waiting("InvalidImageName"), 301),
        (Reason::PodRefused, PodState::default(), 1_801),
        (Reason::MountPending, unmounted, 1_801),
        (Reason::ContainerRefused, waiting("CreateContainerConfigError"), 1_801),
    ];
    let observed = |reason: Reason, pod: PodState| {
        let mut observed = Observed { pod, ..started() };
        observed.claim.bound = reason != Reason::VolumePending;
        observed
    };
    let run = || in_phase(NO_RETRY, Phase::Starting);
    let late = cases.clone().map(|(reason, pod, end)| Failure::new(reason, run(), [(end, observed(reason, pod))]));
    let seen = cases.into_iter().filter(|(_, pod, _)| pod.waiting.as_ref().is_none_or(|it| it.0 != "InvalidImageName"));
    let seen = seen.map(|(reason, pod, end)| {
        let observed = observed(reason, pod);
        Failure::new(reason, run(), [(100, observed.clone()), (end, observed)])
    });
    late.into_iter().chain(seen).collect()
}

/// Failures of a run that cannot begin.
fn unprepared() -> Vec<Failure> {
    let fresh = run(SIMULATOR);
    let refused_input = |reason: Reason| {
        let message = format!("what is wrong is {reason}");
        Observed { input: Some(Err(InputError { reason, message })), ..Observed::default() }
    };
    let at_once = [Reason::InvalidSpec, Reason::PolicyDenied, Reason::ProfileInvalid];
    let at_once = at_once.map(|it| Failure::new(it, fresh.clone(), [(0, refused_input(it))]));
    let waited_for = [Reason::ProfileNotFound, Reason::TargetNotFound];
    let waited_for =
        waited_for.map(|it| Failure::new(it, fresh.clone(), [(0, refused_input(it)), (901, refused_input(it))]));
    let preparing = in_phase(NO_RETRY, Phase::Preparing);
    let foreign = Observed { config_map: Presence::Foreign, ..nothing(&preparing) };
    let quota = Refused { message: "exceeded quota".into(), for_good: false };
    let refused = Observed { refused: Some(quota), ..nothing(&preparing) };
    let late = nothing(&preparing);
    let mut restored = run(NO_RETRY);
    let mark = r#"{"name": "chat", "uid": "of-old", "outcome": "Error", "reason": "JobLost"}"#;
    restored.metadata.annotations = Some([(FINISHED.to_owned(), mark.to_owned())].into());
    let (server, crashed_server) = servers::crashed();
    let others = [
        Failure::new(Reason::ServerFailed, server, [(20, crashed_server)]),
        Failure::new(Reason::NameConflict, preparing.clone(), [(1, foreign)]),
        Failure::new(Reason::PrepareTimeout, preparing, [(10, refused), (901, late)]),
        Failure::new(Reason::Restored, restored.clone(), [(0, nothing(&restored))]),
    ];
    at_once.into_iter().chain(waited_for).chain(others).collect()
}

/// Runs a turn with all plans that follow immediately. Returns its events and the run after it.
fn look(run: &BenchmarkRun, observed: &Observed, seconds: i64) -> (Vec<PlannedEvent>, BenchmarkRun) {
    let (settings, mut run, mut events) = (settings(), run.clone(), Vec::new());
    for _ in 0..4 {
        let made = plan(&run, observed, &Turn { settings: &settings, now: at(seconds) });
        run = after(&run, &made);
        events.extend(made.event);
        if !made.again {
            break;
        }
    }
    (events, run)
}

#[test]
fn the_end_of_each_failed_run_is_exactly_one_warning_with_its_own_text() {
    let mut ends = Vec::new();
    for Failure { reason, mut run, looks } in [reported(), lost(), stuck(), unprepared()].into_iter().flatten() {
        let mut before = Vec::new();
        let (last, waits) = looks.split_last().unwrap();
        for (seconds, observed) in waits {
            let (events, next) = look(&run, observed, *seconds);
            assert!(!next.is_finished(), "{reason}: {:#?}", next.status);
            before.extend(events);
            run = next;
        }
        let (events, run) = look(&run, &last.1, last.0);
        let status = run.status.as_ref().unwrap();
        assert_eq!((status.phase, status.reason.known()), (Some(Phase::Failed), Some(reason)), "{status:#?}");
        let [event] = events.as_slice() else { panic!("{reason}: {events:#?}") };
        assert!(event.warning && event.reason == reason, "{reason}: {event:?}");
        assert_eq!(Some(&event.note), condition(status, "Ready").map(|it| &it.message), "{reason}");
        assert!(before.iter().all(|it| it.note != event.note), "{reason}: {before:#?}");
        let named: Vec<_> = before.iter().filter(|it| it.warning && it.reason == reason).collect();
        assert!(named.len() <= 1, "{reason}: {named:#?}");
        assert_eq!(look(&run, &last.1, last.0 + 1).0, [], "{reason}: a run that has failed has no further event");
        ends.push((reason, event.note.clone()));
    }
    let failing: Vec<_> = Reason::ALL.iter().copied().filter(|it| fails_a_run(*it)).collect();
    for reason in &failing {
        assert!(ends.iter().any(|(it, _)| it == reason), "{reason} has no failure in this test");
    }
    // Every text occurs with only one reason.
    let texts: BTreeSet<_> = ends.iter().map(|(_, text)| text).collect();
    let pairs: BTreeSet<_> = ends.iter().map(|(reason, text)| (reason.name(), text)).collect();
    assert_eq!(texts.len(), pairs.len(), "{ends:#?}");
    println!(
        "figure 26: a failed run has exactly one Warning, for each of {} reasons in {} runs",
        failing.len(),
        ends.len()
    );
}

#[test]
fn a_success_and_a_cancel_are_one_event_and_no_warning() {
    let passed = ended(said(&envelope(Outcome::Passed, "RunSucceeded")));
    let cancelled = in_phase("{target: {simulator: {}}, cancel: Immediate}", Phase::Running);
    for (run, observed, reason) in [
        (in_phase(NO_RETRY, Phase::Running), passed, Reason::RunSucceeded),
        (cancelled, measuring(), Reason::Cancelled),
    ] {
        let (events, run) = look(&run, &observed, 600);
        let [event] = events.as_slice() else { panic!("{reason}: {events:#?}") };
        assert_eq!((event.warning, event.reason), (false, reason));
        assert_eq!(look(&run, &observed, 601).0, [], "{reason}");
    }
}
