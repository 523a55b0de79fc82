//! Short constructors for runs and observations in tests.

use crds::{
    BenchmarkRun, BenchmarkRunSpec, BenchmarkRunStatus, Envelope, Met, ObjectiveCounts, ObjectiveStatus, Outcome,
    Reason, Reported, Settings,
    benchmark_run::Resources,
    envelope::Core,
    resolve::{RunIdentity, resolve},
    status::{Attempt, Condition, ConditionStatus, Phase},
    summary::{RunSummary, StageSummary},
};
use jiff::{SignedDuration, Timestamp};
use operator::plan::{
    ClaimState, Ended, JobState, LauncherInput, Observed, Plan, PodState, Presence, Stop, Turn, plan,
};

pub const UID: &str = "2f9c4e0a-9d1b-4e57-8d8c-0a2f6f3f9b11";
pub const SIMULATOR: &str = "{target: {simulator: {}}}";
pub const NO_RETRY: &str = "{target: {simulator: {}}, execution: {retry: {limit: 0}}}";

/// The start time of the first attempt in the fixtures.
pub fn zero() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

pub fn at(seconds: i64) -> Timestamp {
    zero() + SignedDuration::from_secs(seconds)
}

pub fn settings() -> Settings {
    let map = |name: &str, amount: &str| [(name.to_owned(), amount.into())].into();
    Settings {
        launcher_image: "benchwright/launcher:test".into(),
        launcher_resources: Resources { requests: map("cpu", "1"), limits: map("memory", "1Gi") },
        launcher_pull_secrets: vec!["registry".into()],
        managed_servers: true,
        ..Settings::default()
    }
}

pub fn run(spec: &str) -> BenchmarkRun {
    let spec: BenchmarkRunSpec = serde_saphyr::from_str(spec).unwrap();
    let mut run = BenchmarkRun::new("chat", spec);
    run.metadata.namespace = Some("bench".into());
    run.metadata.uid = Some(UID.into());
    run.metadata.generation = Some(1);
    run
}

/// A run in this phase. Its first attempt started at [`zero`].
pub fn in_phase(spec: &str, phase: Phase) -> BenchmarkRun {
    let mut run = run(spec);
    let running_time = matches!(phase, Phase::Running | Phase::Collecting).then(|| at(60));
    run.status = Some(BenchmarkRunStatus {
        observed_generation: 1,
        phase: Some(phase),
        attempts: vec![Attempt {
            number: 1,
            job_name: "chat-2db482-a1".into(),
            job_uid: None,
            config_map_uid: None,
            pod_name: String::new(),
            pod_uid: None,
            node_name: String::new(),
            image_id: String::new(),
            start_time: zero(),
            running_time,
            end_time: None,
            reason: Reported::default(),
        }],
        ..BenchmarkRunStatus::default()
    });
    run
}

pub fn input(run: &BenchmarkRun, attempt: u32) -> LauncherInput {
    let identity = RunIdentity { attempt, ..RunIdentity::first_attempt("chat", "bench", UID) };
    LauncherInput::new(resolve(identity, &run.spec, &settings()).unwrap(), "load: {}\n".into())
}

/// Observations in which no object of the run exists yet.
pub fn nothing(run: &BenchmarkRun) -> Observed {
    let number = run.status.as_ref().and_then(|it| it.attempts.last()).map_or(1, |it| it.number);
    Observed { input: Some(Ok(input(run, number))), ..Observed::default() }
}

/// Observations in which the Job exists, with a pod that has not started.
pub fn started() -> Observed {
    Observed {
        config_map: Presence::Ours,
        claim: ClaimState { exists: true, bound: true, class: "standard".into(), ..ClaimState::default() },
        job: JobState { presence: Presence::Ours, created: Some(zero()), ..JobState::default() },
        pod: PodState { name: Some("chat-2db482-a1-0-x".into()), ..PodState::default() },
        ..Observed::default()
    }
}

pub fn measuring() -> Observed {
    let mut observed = started();
    observed.pod.running = true;
    observed.pod.ready = true;
    observed
}

pub fn envelope(outcome: Outcome, reason: &str) -> Envelope {
    let summary = RunSummary {
        requests: 100,
        duration_microseconds: 10_000_000.into(),
        requests_per_second_milli: Some(10_000.into()),
        output_tokens_per_second_milli: Some(900_000.into()),
        ..RunSummary::default()
    };
    Envelope {
        core: Core {
            run_uid: UID.into(),
            attempt: 1,
            outcome,
            reason: reason.into(),
            message: "what the launcher says".into(),
            model: "org/model".into(),
            load_start_time: Some(at(60)),
            folder: Some("chat-2db482-a1".into()),
            partial: outcome == Outcome::Cancelled,
            summary: (outcome != Outcome::Error).then_some(summary),
            search: None,
            objectives: None,
            deleted_folders: 0,
            artifacts: Vec::new(),
        },
        stages: vec![StageSummary {
            name: "r10".into(),
            requests: 100,
            failed: 0,
            cancelled: 0,
            ttft_p99_microseconds: None,
            itl_p99_microseconds: None,
            output_tokens_per_second_milli: Some(900_000.into()),
        }],
        stages_truncated: false,
        objectives: Vec::new(),
        accuracy: None,
    }
}

/// An envelope with these objectives: name, result and measured value. The limit of each is 500ms.
pub fn with_objectives(outcome: Outcome, reason: &str, objectives: &[(&str, Met, &str)]) -> Envelope {
    let mut envelope = envelope(outcome, reason);
    let row = |(name, met, observed): &(&str, Met, &str)| ObjectiveStatus {
        name: (*name).into(),
        met: *met,
        observed: (*observed).into(),
        limit: "500ms".into(),
        run: String::new(),
    };
    envelope.objectives = objectives.iter().map(row).collect();
    envelope.core.objectives = Some(ObjectiveCounts::count(objectives.iter().map(|it| it.1)));
    envelope
}

/// How a launcher that writes this envelope ends.
pub fn said(envelope: &Envelope) -> Ended {
    let exit_code = match envelope.core.outcome {
        Outcome::Passed | Outcome::SLOViolated | Outcome::Inconclusive | Outcome::Invalid => 0,
        Outcome::Error => 11,
        Outcome::Cancelled => 20,
    };
    Ended { exit_code, reason: "Completed".into(), message: envelope.to_text(), disrupted: None }
}

/// Observations in which the launcher, its pod and its Job have ended.
pub fn ended(ended: Ended) -> Observed {
    let mut observed = started();
    observed.job.complete = ended.exit_code == 0;
    observed.job.failed = (ended.exit_code != 0).then(|| "BackoffLimitExceeded".into());
    observed.job.ended_at = Some(at(600));
    observed.ended = Some(ended);
    observed
}

/// Observations in which the launcher has ended, but neither the end of its pod nor that of its Job has been reported.
pub fn stopped(ended: Ended) -> Observed {
    let mut observed = started();
    observed.pod = PodState { held: true, ended_at: Some(at(600)), ..observed.pod };
    observed.ended = Some(ended);
    observed
}

/// Expected values of a plan. Fields that are not set are not checked.
#[derive(Default)]
pub struct Want<'a> {
    pub phase: Option<Phase>,
    pub outcome: Option<Outcome>,
    pub reason: Option<Reason>,
    /// A part of the message of the condition Ready.
    pub says: &'a str,
    /// The kinds of the objects to create, in order.
    pub creates: &'a [&'a str],
    pub stops: Option<Stop>,
    pub again: bool,
    /// The reason of the last attempt, if the attempt has ended.
    pub attempt_ended: Option<Reason>,
}

/// The plan at `seconds` after [`zero`].
pub fn plan_of(run: &BenchmarkRun, observed: &Observed, seconds: i64) -> Plan {
    plan(run, observed, &Turn { settings: &settings(), now: at(seconds) })
}

/// Plans at `seconds` after [`zero`], and compares the plan with the expected values.
#[track_caller]
pub fn check(run: &BenchmarkRun, observed: &Observed, seconds: i64, want: &Want<'_>) -> Plan {
    let made = plan_of(run, observed, seconds);
    let status = &made.status;
    if let Some(phase) = want.phase {
        assert_eq!(status.phase, Some(phase), "{status:#?}");
    }
    assert_eq!(status.outcome, want.outcome, "{status:#?}");
    if let Some(reason) = want.reason {
        assert_eq!(status.reason, reason, "{status:#?}");
    }
    let says = message(&made);
    assert!(says.contains(want.says), "{says:?} does not hold {:?}", want.says);
    let creates: Vec<_> = made.create.iter().map(kind).collect();
    assert_eq!(creates, want.creates);
    assert_eq!(made.stop, want.stops);
    // A run that finishes gets another plan, which writes its mark.
    let finishes = status.outcome.is_some() && !run.is_finished();
    assert_eq!(made.again, want.again || finishes);
    let attempt_ended = status.attempts.last().filter(|it| it.end_time.is_some()).map(|it| it.reason.clone());
    assert_eq!(attempt_ended, want.attempt_ended.map(Reported::from), "{status:#?}");
    made
}

/// The kind of a child object.
pub fn kind(child: &operator::plan::Child) -> &'static str {
    match child {
        operator::plan::Child::ConfigMap(_) => "ConfigMap",
        operator::plan::Child::ChartValues(_) => "values of llm-d",
        operator::plan::Child::NetworkPolicy(_) => "NetworkPolicy",
        operator::plan::Child::Claim(_) => "PersistentVolumeClaim",
        operator::plan::Child::Job(_) => "Job",
        operator::plan::Child::Service(_) => "Service",
        operator::plan::Child::Deployment(_) => "Deployment",
    }
}

pub fn message(made: &Plan) -> String {
    condition(&made.status, "Ready").map(|it| it.message.clone()).unwrap_or_default()
}

pub fn condition<'a>(status: &'a BenchmarkRunStatus, kind: &str) -> Option<&'a Condition> {
    status.conditions.iter().find(|it| it.kind == kind)
}

pub fn standing(status: &BenchmarkRunStatus, kind: &str) -> Option<ConditionStatus> {
    condition(status, kind).map(|it| it.status)
}

/// The run with the status of the plan.
pub fn after(run: &BenchmarkRun, made: &Plan) -> BenchmarkRun {
    let mut run = run.clone();
    run.status = Some(made.status.clone());
    run
}

/// The expected stop: the pod and the Job of the first attempt are deleted immediately.
pub fn now_gone() -> Option<Stop> {
    Some(Stop::PodAndJobNow { pod: Some("chat-2db482-a1-0-x".into()), job: "chat-2db482-a1".into() })
}

/// The expected values for a run that fails with this reason, together with its last attempt.
pub fn failed(reason: Reason) -> Want<'static> {
    ended_as(Phase::Failed, Outcome::Error, reason)
}

/// The expected values for a run that ends in this way, together with its last attempt.
pub fn ended_as(phase: Phase, outcome: Outcome, reason: Reason) -> Want<'static> {
    Want {
        phase: Some(phase),
        outcome: Some(outcome),
        reason: Some(reason),
        attempt_ended: Some(reason),
        ..Want::default()
    }
}

/// The expected values for a plan that only records why the attempt will be ended, and deletes nothing yet.
pub fn given_up(phase: Phase, reason: Reason) -> Want<'static> {
    Want { phase: Some(phase), reason: Some(reason), again: true, ..Want::default() }
}

/// The expected values for an attempt that ends with this reason and is followed by another attempt.
pub fn retrying(reason: Reason) -> Want<'static> {
    Want {
        phase: Some(Phase::Preparing),
        reason: Some(Reason::Retrying),
        attempt_ended: Some(reason),
        ..Want::default()
    }
}
