//! Plans for the end of an attempt and of a run.

use crds::{
    Outcome, Reason,
    status::{Attempt, Phase, Resolved},
};
use operator::plan::{Ended, Observed, OwnJob, PodState, Stop, status};

use crate::behaviour::fixture::*;

#[test]
fn an_envelope_decides_the_outcome() {
    let cases = [
        (Outcome::Passed, "RunSucceeded", Phase::Succeeded, Outcome::Passed, Reason::RunSucceeded),
        (Outcome::SLOViolated, "SLOViolated", Phase::Failed, Outcome::SLOViolated, Reason::SLOViolated),
        (Outcome::Inconclusive, "SLOInconclusive", Phase::Failed, Outcome::Inconclusive, Reason::SLOInconclusive),
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
        let want = ended_as(phase, outcome, reason);
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
    let says = "the launcher was ended by signal 9 (SIGKILL), and left no result; its last output is \"stage 1 of 1\"";
    check(&run, &ended(end(137, "Error", "stage 1 of 1")), 600, &Want { says, ..failed(Reason::LauncherFailed) });
    let says = "the launcher ended with exit code 1 (Error), and left no result; it wrote nothing";
    check(&run, &ended(end(1, "Error", "")), 600, &Want { says, ..failed(Reason::LauncherFailed) });
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
        let want = Want { stops: Some(Stop::Pod("chat-2db482-a1-0-x".into())), ..failed(Reason::JobLost) };
        check(&run, &going, 600, &want);
    }
    let run = in_phase(SIMULATOR, Phase::Running);
    let mut orphan = measuring();
    orphan.job = Default::default();
    let want = Want { stops: Some(Stop::Pod("chat-2db482-a1-0-x".into())), ..failed(Reason::JobLost) };
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
    let decided = Want { says: "node is lost", ..given_up(Phase::Running, Reason::Disrupted) };
    let run = after(&run, &check(&run, &lost, 401, &decided));
    check(&run, &lost, 401, &Want { says: "node is lost", stops: now_gone(), ..retrying(Reason::Disrupted) });
}

#[test]
fn a_launcher_that_does_not_end_is_ended() {
    let run = in_phase(NO_RETRY, Phase::Running);
    let limit = 60 + 3_600 + 60 + 60;
    check(&run, &measuring(), limit, &Want { phase: Some(Phase::Running), ..Want::default() });
    let decided =
        Want { phase: Some(Phase::Running), reason: Some(Reason::DeadlineExceeded), again: true, ..Want::default() };
    let run = after(&run, &check(&run, &measuring(), limit + 1, &decided));
    check(&run, &measuring(), limit + 1, &Want { stops: now_gone(), ..failed(Reason::DeadlineExceeded) });
}

/// The operator has decided to end an attempt, but the launcher ends before anything is deleted.
#[test]
fn a_result_counts_although_the_attempt_was_given_up() {
    let timeouts = [
        (Phase::Starting, started(), 1_801, Reason::StartTimeout),
        (Phase::Running, measuring(), 3_781, Reason::DeadlineExceeded),
    ];
    for (phase, observed, seconds, reason) in timeouts {
        let run = in_phase(NO_RETRY, phase);
        let run = after(&run, &check(&run, &observed, seconds, &given_up(phase, reason)));
        let cases = [
            (Outcome::Passed, "RunSucceeded", Phase::Succeeded, Reason::RunSucceeded),
            (Outcome::SLOViolated, "SLOViolated", Phase::Failed, Reason::SLOViolated),
            (Outcome::Invalid, "SendLagTooLarge", Phase::Failed, Reason::MeasurementInvalid),
        ];
        for (outcome, said_reason, phase, reason) in cases {
            let want = ended_as(phase, outcome, reason);
            let plan = check(&run, &ended(said(&envelope(outcome, said_reason))), seconds, &want);
            assert!(plan.status.summary.is_some(), "{said_reason}");
        }
        let cut = ended(said(&envelope(Outcome::Cancelled, "Cancelled")));
        check(&run, &cut, seconds, &Want { stops: now_gone(), ..failed(reason) });
    }
}

#[test]
fn of_two_pods_of_one_second_the_one_that_is_left_is_not_believed_either() {
    let run = in_phase(NO_RETRY, Phase::Starting);
    let mut twins = started();
    (twins.ambiguous, twins.pod) = (true, PodState::default());
    let run = after(&run, &check(&run, &twins, 5, &given_up(Phase::Starting, Reason::AmbiguousPod)));
    let one_is_left = ended(said(&envelope(Outcome::Passed, "RunSucceeded")));
    check(&run, &one_is_left, 6, &Want { stops: now_gone(), ..failed(Reason::AmbiguousPod) });
}

#[test]
fn a_job_that_ended_is_read_and_not_waited_for_without_end() {
    let run = in_phase(NO_RETRY, Phase::Starting);
    let mut observed = started();
    observed.job.failed = Some("PodFailurePolicy".into());
    // This is long after the start. Time in which the operator was down must not count as time to wait for the result.
    observed.job.ended_at = Some(at(5_000));
    let want = Want { phase: Some(Phase::Collecting), reason: Some(Reason::ReadingResult), ..Want::default() };
    check(&run, &observed, 5_300, &want);
    // The run ends although the end of its pod was not reported. The pod must be stopped.
    for (job, reason) in [("PodFailurePolicy", Reason::Disrupted), ("DeadlineExceeded", Reason::DeadlineExceeded)] {
        observed.job.failed = Some(job.into());
        let decided = after(&run, &check(&run, &observed, 5_301, &given_up(Phase::Starting, reason)));
        check(&decided, &observed, 5_301, &Want { stops: now_gone(), ..failed(reason) });
    }
    observed.pod = PodState::default();
    check(&run, &observed, 5_001, &failed(Reason::DeadlineExceeded));
    observed.job.failed = Some("PodFailurePolicy".into());
    check(&run, &observed, 5_001, &failed(Reason::Disrupted));
    observed.job.failed = None;
    observed.job.complete = true;
    check(&run, &observed, 5_001, &failed(Reason::ResultLost));
    let mut drained = ended(said(&envelope(Outcome::Cancelled, "Cancelled")));
    drained.job.failed = Some("DeadlineExceeded".into());
    check(&run, &drained, 5_001, &failed(Reason::DeadlineExceeded));
}

/// A results folder on a shared claim does not prove that its run completed, because another run may have written it.
#[test]
fn only_a_job_that_completed_vouches_for_a_results_folder() {
    let run = in_phase(SIMULATOR, Phase::Starting);
    assert_eq!(status::finished_attempts(&run), Vec::<u32>::new());
    let (mut completed, mut lost) = (started(), measuring());
    completed.job.complete = true;
    completed.pod = PodState::default();
    let plan = check(&run, &completed, 600, &retrying(Reason::ResultLost));
    assert_eq!(status::finished_attempts(&after(&run, &plan)), [1]);
    lost.job.failed = Some("PodFailurePolicy".into());
    lost.pod = PodState::default();
    let plan = check(&run, &lost, 600, &retrying(Reason::Disrupted));
    assert_eq!(status::finished_attempts(&after(&run, &plan)), Vec::<u32>::new());
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
        stops: Some(Stop::Job("chat-2db482-a1".into())),
        ..Want::default()
    };
    check(&again, &left, 601, &waits);
    left.job.deleting = true;
    check(&again, &left, 601, &Want { stops: None, says: "chat-2db482-a1", ..waits });
    left.job = Default::default();
    check(
        &again,
        &left,
        601,
        &Want {
            phase: Some(Phase::Preparing),
            stops: Some(Stop::Pod("chat-2db482-a1-0-x".into())),
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

/// The expected end of a run between two attempts. The last attempt keeps its own reason.
fn failed_after(reason: Reason, attempt: Reason) -> Want<'static> {
    Want { attempt_ended: Some(attempt), ..failed(reason) }
}

fn attempt(number: u32, reason: Reason) -> Attempt {
    Attempt {
        number,
        job_name: format!("chat-a{number}"),
        job_uid: None,
        config_map_uid: None,
        pod_name: String::new(),
        pod_uid: None,
        node_name: String::new(),
        image_id: String::new(),
        start_time: zero(),
        running_time: None,
        end_time: Some(at(1)),
        reason: reason.into(),
    }
}

#[test]
fn attempts_that_were_suspended_count_against_no_limit_and_ten_retries_end() {
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

    let mut run = in_phase("{target: {simulator: {}}, execution: {retry: {limit: 10}}}", Phase::Running);
    let status = run.status.as_mut().unwrap();
    status.attempts = (7..=10).map(|it| attempt(it, Reason::Disrupted)).collect();
    status.attempts.push(Attempt { number: 11, ..current });
    check(&run, &lost(), 600, &failed(Reason::Disrupted));
}

#[test]
fn a_finished_run_is_left_alone_until_its_time_is_over() {
    for (phase, outcome) in
        [(Phase::Succeeded, Outcome::Passed), (Phase::Failed, Outcome::Error), (Phase::Cancelled, Outcome::Cancelled)]
    {
        let spec = "{target: {simulator: {}}, cancel: Immediate, cleanup: {run: {afterSuccessSeconds: 100, afterFailureSeconds: 200000}}}";
        let mut run = in_phase(spec, phase);
        let status = run.status.as_mut().unwrap();
        status.outcome = Some(outcome);
        status.completion_time = Some(zero());
        let want = Want { phase: Some(phase), outcome: Some(outcome), ..Want::default() };
        let seconds = if phase == Phase::Succeeded { 100 } else { 200_000 };
        let plan = check(&run, &measuring(), seconds - 1, &want);
        assert_eq!(Some(&plan.status), run.status.as_ref());
        assert!(!plan.delete_run && plan.next_look.is_some_and(|it| it.as_secs() == 1));
        assert!(check(&run, &measuring(), seconds, &want).delete_run);
        // The clock was set back by several days.
        assert!(check(&run, &measuring(), -500_000, &want).next_look.is_some_and(|it| it.as_secs() <= 86_400));
        run.spec.cleanup.run = None;
        let plan = check(&run, &measuring(), 1_000_000, &want);
        assert!(!plan.delete_run && plan.next_look.is_none());
    }
}

#[test]
fn the_jobs_of_a_finished_run_are_deleted_when_their_time_is_over() {
    let spec =
        "{target: {simulator: {}}, cleanup: {jobs: {afterFailureSeconds: 100}, run: {afterFailureSeconds: 300}}}";
    let mut run = in_phase(spec, Phase::Failed);
    let status = run.status.as_mut().unwrap();
    status.outcome = Some(Outcome::Error);
    status.completion_time = Some(zero());
    status.attempts = vec![attempt(2, Reason::Disrupted), attempt(3, Reason::LauncherFailed)];
    let want = Want {
        phase: Some(Phase::Failed),
        outcome: Some(Outcome::Error),
        attempt_ended: Some(Reason::LauncherFailed),
        ..Want::default()
    };
    let job = |name: &str, deleting| OwnJob { name: name.into(), uid: Some(format!("uid-of-{name}")), deleting };
    let observed = |jobs: &[OwnJob]| Observed { own_jobs: Some(jobs.to_vec()), ..Observed::default() };
    let both = observed(&[job("chat-2db482-a2", true), job("chat-2db482-a3", false)]);
    let plan = check(&run, &both, 99, &want);
    assert_eq!(plan.next_look.unwrap().as_secs(), 1);
    assert!(plan.delete_jobs.is_empty());
    let plan = check(&run, &both, 100, &want);
    assert_eq!(plan.delete_jobs, [job("chat-2db482-a3", false)]);
    assert_eq!(Some(&plan.status), run.status.as_ref());
    assert_eq!(plan.next_look.unwrap().as_secs(), 200, "then the run itself is deleted");
    let plan = check(&run, &observed(&[]), 110, &want);
    assert_eq!(plan.status.jobs_deleted_time, Some(at(110)));
    assert!(plan.delete_jobs.is_empty() && !plan.delete_run);
    // After the deletion is recorded, nothing is deleted again.
    let run = after(&run, &plan);
    let plan = check(&run, &observed(&[]), 120, &want);
    assert_eq!((plan.status.jobs_deleted_time, plan.next_look.unwrap().as_secs()), (Some(at(110)), 180));
    assert!(check(&run, &observed(&[]), 300, &want).delete_run);
}

#[test]
fn jobs_have_retention_times_of_their_own() {
    for (phase, outcome, seconds) in
        [(Phase::Succeeded, Outcome::Passed, 3_600), (Phase::Cancelled, Outcome::Cancelled, 604_800)]
    {
        let mut run = in_phase("{target: {simulator: {}}, cleanup: {jobs: {}}}", phase);
        let status = run.status.as_mut().unwrap();
        status.outcome = Some(outcome);
        status.completion_time = Some(zero());
        let want = Want { phase: Some(phase), outcome: Some(outcome), ..Want::default() };
        assert_eq!(check(&run, &Observed::default(), seconds - 1, &want).status.jobs_deleted_time, None);
        let gone = Observed { own_jobs: Some(Vec::new()), ..Observed::default() };
        let plan = check(&run, &gone, seconds, &want);
        assert_eq!(plan.status.jobs_deleted_time, Some(at(seconds)));
        let plan = check(&run, &Observed::default(), seconds, &want);
        assert!(
            plan.status.jobs_deleted_time.is_none() && plan.next_look.is_some(),
            "Jobs that cannot be read may be there"
        );
        run.spec.cleanup.jobs = None;
        let plan = check(&run, &Observed::default(), seconds, &want);
        assert!(plan.status.jobs_deleted_time.is_none() && plan.next_look.is_none());
    }
}

#[test]
fn a_run_that_finishes_plans_once_more_for_its_cleanup() {
    let run = in_phase("{target: {simulator: {}}, cleanup: {run: {}}}", Phase::Running);
    let want = Want {
        phase: Some(Phase::Succeeded),
        outcome: Some(Outcome::Passed),
        attempt_ended: Some(Reason::RunSucceeded),
        again: true,
        ..Want::default()
    };
    check(&run, &ended(said(&envelope(Outcome::Passed, "RunSucceeded"))), 600, &want);
}

#[test]
fn a_series_has_the_deadline_of_all_its_runs() {
    let times =
        "execution: {retry: {limit: 0}, deadlines: {startSeconds: 50, runSeconds: 100}, gracePeriodSeconds: 10}";
    let spec = |repeat: u32| {
        format!("{{target: {{simulator: {{}}, readiness: {{timeoutSeconds: 20}}}}, {times}, repeat: {repeat}}}")
    };
    // Each repeat has 110 seconds. Each repeat but the first may wait 20 seconds for the target, and the operator waits another 60 seconds.
    for (repeat, limit) in [(1, 170), (3, 430)] {
        let run = in_phase(&spec(repeat), Phase::Running);
        check(&run, &measuring(), 60 + limit, &Want { phase: Some(Phase::Running), ..Want::default() });
        let plan = operator::plan::plan(
            &run,
            &measuring(),
            &operator::plan::Turn { settings: &settings(), now: at(61 + limit) },
        );
        let last = plan.status.attempts.last().unwrap();
        assert_eq!(last.reason, Reason::DeadlineExceeded, "{repeat}");
        let run = in_phase(&spec(repeat), Phase::Preparing);
        let plan =
            operator::plan::plan(&run, &nothing(&run), &operator::plan::Turn { settings: &settings(), now: at(1) });
        let deadlines = plan.create.iter().filter_map(|it| match it {
            operator::plan::Child::Job(job) => job.spec.as_ref()?.active_deadline_seconds,
            _ => None,
        });
        // The deadline is the sum of the start, the repeats, and the Job's margin of 300 seconds.
        assert_eq!(deadlines.collect::<Vec<_>>(), [50 + (limit - 60) + 300], "{repeat}");
    }
}

#[test]
fn the_figures_of_a_series_say_of_how_many_runs_they_are_the_mean() {
    let mut reported = with_objectives(Outcome::SLOViolated, "SLOViolated", &[("a", crds::Met::False, "812ms")]);
    reported.objectives[0].run = "r2".into();
    reported.core.message = "run r2: a: p99 of ttft is 812ms, above max 500ms".into();
    reported.core.summary.as_mut().unwrap().mean_of_runs = Some(3);
    let spec =
        "{target: {simulator: {}}, repeat: 3, slo: {objectives: [{name: a, metric: ttft, stat: p99, max: 500ms}]}}";
    let want = Want { says: "run r2: a: p99", ..ended_as(Phase::Failed, Outcome::SLOViolated, Reason::SLOViolated) };
    let plan = check(&in_phase(spec, Phase::Running), &ended(said(&reported)), 600, &want);
    assert_eq!(plan.status.summary.unwrap().mean_of_runs, Some(3));
    assert_eq!(plan.status.objectives[0].run, "r2");
    let slo = plan.status.conditions.iter().find(|it| it.kind == "SLOMet").unwrap();
    assert_eq!(slo.message, "0 of 1 objectives met, 1 missed: a (812ms in run r2, limit 500ms)");
}

/// If two pods were created in the same second, neither is trusted, but both may still work.
#[test]
fn the_next_attempt_waits_until_two_pods_of_one_second_are_gone() {
    let run = in_phase(SIMULATOR, Phase::Running);
    let want = Want { says: "drained", ..retrying(Reason::Disrupted) };
    let mut drained = ended(said(&envelope(Outcome::Cancelled, "Cancelled")));
    drained.ended.as_mut().unwrap().disrupted = Some("EvictionByEvictionAPI: drained".into());
    let again = after(&run, &check(&run, &drained, 600, &want));
    let mut twins = nothing(&run);
    (twins.ambiguous, twins.other_pods) = (true, vec!["one".into(), "two".into()]);
    let waits = Want {
        phase: Some(Phase::Preparing),
        reason: Some(Reason::Retrying),
        attempt_ended: Some(Reason::Disrupted),
        ..Want::default()
    };
    let plan = check(&again, &twins, 602, &waits);
    assert_eq!(plan.stop_pods, ["one", "two"]);
    twins.other_pods.clear();
    check(&again, &twins, 603, &waits);
}

/// The condition Verified (status and reason) and the message of a run that passed.
fn verified(spec: &str, of_attempts: impl Fn(&mut Vec<Attempt>), folder: Option<&str>) -> (String, String, String) {
    let mut run = in_phase(spec, Phase::Running);
    of_attempts(&mut run.status.as_mut().unwrap().attempts);
    let mut envelope = envelope(Outcome::Passed, "RunSucceeded");
    envelope.core.attempt = run.status.as_ref().unwrap().attempts.last().unwrap().number;
    envelope.core.folder = folder.map(str::to_owned);
    envelope.core.message = "what the launcher says".into();
    let mut ended = ended(said(&envelope));
    ended.pod.image_id = "registry.example/image@sha256:00".into();
    let status = plan_of(&run, &ended, 600).status;
    let condition = |kind: &str| status.conditions.iter().find(|it| it.kind == kind).unwrap().clone();
    let verified = condition("Verified");
    (format!("{:?} {}", verified.status, verified.reason), verified.message, condition("Ready").message)
}

#[test]
fn the_status_says_who_measured() {
    let (condition, message, ready) = verified(SIMULATOR, |_| {}, None);
    assert_eq!(condition, "True OwnLauncher");
    assert_eq!(message, "measured by the operator's image registry.example/image@sha256:00");
    assert_eq!(ready, "the figures are valid");

    let (condition, message, ready) =
        verified("{target: {simulator: {}}, launcher: {image: registry.example/image}}", |_| {}, None);
    assert_eq!(condition, "False CustomImage");
    assert_eq!(message, "measured by the custom image registry.example/image@sha256:00");
    assert_eq!(ready, format!("the figures are valid; {message}"));

    let collects = "{target: {url: 'http://h'}, execution: {collect: {folder: old-a1}}}";
    let (condition, message, ready) = verified(collects, |_| {}, Some("old-a1"));
    assert_eq!(condition, "False Collected");
    assert_eq!((message.as_str(), ready.as_str()), ("what the launcher says", "what the launcher says"));

    let again = |attempts: &mut Vec<Attempt>| {
        let mut lost = attempts[0].clone();
        (lost.end_time, lost.reason) = (Some(at(500)), Reason::ResultLost.into());
        (attempts[0].number, attempts[0].job_name) = (2, "chat-2db482-a2".into());
        attempts.insert(0, lost);
    };
    let (condition, _, ready) = verified(SIMULATOR, again, Some("chat-2db482-a1"));
    assert_eq!(condition, "False Reread");
    assert_eq!(ready, "the figures are valid; what the launcher says");
    // The second attempt measured the figures itself.
    assert_eq!(verified(SIMULATOR, again, Some("chat-2db482-a2")).0, "True OwnLauncher");
}

#[test]
fn a_collected_result_is_not_the_one_of_the_target_that_the_run_names() {
    let mut run = in_phase("{target: {url: 'http://h'}, execution: {collect: {folder: old-a1}}}", Phase::Running);
    run.status.as_mut().unwrap().resolved =
        Some(Resolved { endpoint: "http://h".into(), model: String::new(), profile_sha256: String::new() });
    let status = plan_of(&run, &ended(said(&envelope(Outcome::Passed, "RunSucceeded"))), 600).status;
    assert_eq!((status.reason.to_string().as_str(), status.outcome), ("Collected", Some(Outcome::Passed)));
    assert_eq!(status.resolved.map(|it| it.endpoint).as_deref(), Some(""));
}
