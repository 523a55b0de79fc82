//! The pure core on its own: one event after the other, without an API server or a clock.

use crds::{
    BenchmarkRun, BenchmarkRunStatus, Envelope, Outcome, Settings,
    benchmark_run::Resources,
    envelope::Core,
    resolve::{RunIdentity, resolve},
    status::Phase,
    summary::RunSummary,
};
use jiff::{SignedDuration, Timestamp};
use operator::{
    plan::{
        Child, ClaimState, End, Ended, JobState, LauncherInput, Observed, Plan, PodState, Presence, Refusal, Turn,
        phase::current_attempt, plan,
    },
    reason::Reason,
};
use serde_json::json;

/// The largest status, in bytes of JSON.
const MAX_STATUS_BYTES: usize = 16 * 1024;

fn start() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().expect("a constant")
}

fn settings() -> Settings {
    Settings {
        launcher_image: "benchwright:test".into(),
        launcher_resources: Resources::default(),
        launcher_pull_policy: "IfNotPresent".into(),
        launcher_pull_secrets: Vec::new(),
        service_domain: "svc.cluster.local".into(),
    }
}

/// A run with its plan, its objects and its clock.
struct World {
    run: BenchmarkRun,
    observed: Observed,
    now: Timestamp,
}

impl World {
    fn new(spec: serde_json::Value) -> World {
        let run = json!({
            "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun",
            "metadata": {"name": "chat", "namespace": "bench", "uid": "uid-1", "generation": 1},
            "spec": spec,
        });
        let run = serde_json::from_value(run).expect("the tests write runs that can be read");
        World { run, observed: Observed::default(), now: start() }
    }

    fn simulated() -> World {
        World::new(json!({"target": {"simulator": {}}, "storage": {"none": {}}}))
    }

    fn status(&self) -> BenchmarkRunStatus {
        self.run.status.clone().unwrap_or_default()
    }

    fn attempt(&self) -> u32 {
        self.status().attempts.last().map_or(0, |it| it.number)
    }

    /// One plan, whose status is written down and whose Job exists then.
    fn step(&mut self) -> Plan {
        self.offer_input();
        let settings = settings();
        let plan = plan(&self.run, &self.observed, &Turn { settings: &settings, now: self.now });
        self.run.status = Some(plan.status.clone());
        if plan.create.iter().any(|it| matches!(it, Child::Job(_))) {
            self.observed.job = JobState { presence: Presence::Ours, ..JobState::default() };
            self.observed.config_map = Presence::Ours;
            self.observed.pod = PodState::default();
            self.observed.ended = None;
        }
        plan
    }

    /// Plans until none asks for another one at once.
    fn settle(&mut self) -> Plan {
        for _ in 0..8 {
            let plan = self.step();
            if !plan.again {
                return plan;
            }
        }
        panic!("plans that go in circles: {:?}", self.status());
    }

    fn offer_input(&mut self) {
        let status = self.status();
        let current = current_attempt(&status).map(|it| it.number);
        let attempt = current.unwrap_or(self.attempt() + 1);
        let identity = RunIdentity { name: "chat".into(), namespace: "bench".into(), uid: "uid-1".into(), attempt };
        if !matches!(self.observed.input, Some(Err(_))) {
            let run =
                resolve(identity, &self.run.spec, &settings()).expect("the tests write specs that can be resolved");
            let input = LauncherInput { run, profile: "load: {}".into(), profile_sha256: "ab".repeat(32) };
            self.observed.input = Some(Ok(input));
        }
    }

    fn pass(&mut self, seconds: i64) {
        self.now = self.now.checked_add(SignedDuration::from_secs(seconds)).expect("hours, not millennia");
    }

    fn pod(&mut self, change: impl FnOnce(&mut PodState)) {
        self.observed.pod.name.get_or_insert_with(|| "chat-pod".into());
        change(&mut self.observed.pod);
    }

    fn measuring(&mut self) {
        self.settle();
        self.pod(|it| {
            it.running = true;
            it.ready = true;
        });
        self.settle();
        assert_eq!(self.status().phase, Some(Phase::Running));
    }

    fn ends(&mut self, outcome: Outcome, reason: &str) {
        self.observed.ended = Some(Ended { message: self.envelope(outcome, reason).to_text(), ..Ended::default() });
    }

    fn envelope(&self, outcome: Outcome, reason: &str) -> Envelope {
        let has_figures = outcome != Outcome::Error;
        Envelope {
            core: Core {
                run_uid: "uid-1".into(),
                attempt: self.attempt(),
                outcome,
                reason: reason.into(),
                message: "a sentence".into(),
                model: "m".into(),
                started: None,
                folder: None,
                partial: false,
                summary: has_figures.then(RunSummary::default),
                artifacts: Vec::new(),
            },
            stages: Vec::new(),
            stages_truncated: false,
        }
    }

    /// What ends an attempt is done: Job and pod are gone.
    fn cleaned(&mut self) {
        self.observed.job = JobState::default();
        self.observed.pod = PodState::default();
        self.observed.ended = None;
        self.observed.config_map = Presence::Absent;
    }
}

#[test]
fn retries_end_at_their_limit_however_high_it_is() {
    let spec = json!({"target": {"simulator": {}}, "storage": {"none": {}}, "policy": {"retry": {"limit": 7}}});
    let mut world = World::new(spec);
    for _ in 0..20 {
        world.settle();
        if world.status().phase.is_some_and(Phase::is_terminal) {
            break;
        }
        world.ends(Outcome::Error, "TargetUnavailable");
        world.settle();
        world.cleaned();
    }
    assert_eq!(world.status().phase, Some(Phase::Failed));
}

#[test]
fn a_finished_run_follows_the_generation_of_its_spec() {
    let mut world = World::simulated();
    world.measuring();
    world.ends(Outcome::Passed, "RunSucceeded");
    world.settle();
    assert_eq!(world.status().phase, Some(Phase::Succeeded));
    let before = world.status();
    world.run.metadata.generation = Some(2);
    world.settle();
    let status = world.status();
    assert_eq!(status.observed_generation, 2, "GitOps tools take the run for one in progress");
    assert!(status.conditions.iter().all(|it| it.observed_generation == 2));
    assert_eq!(
        (status.phase, status.summary, status.completion_time),
        (before.phase, before.summary, before.completion_time)
    );
}

#[test]
fn a_long_message_does_not_outgrow_the_status() {
    let mut world = World::simulated();
    let message = "load.stages[0].rate: found \"-3\"\n".repeat(400);
    world.observed.input = Some(Err(Refusal { reason: Reason::ProfileInvalid, message }));
    world.settle();
    let status = world.status();
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "ProfileInvalid"));
    let bytes = serde_json::to_string(&status).unwrap().len();
    assert!(bytes <= MAX_STATUS_BYTES, "{bytes}");
}

#[test]
fn an_envelope_from_a_strange_image_fits_the_schema_of_the_status() {
    let mut world = World::simulated();
    world.measuring();
    let mut envelope = world.envelope(Outcome::Passed, "RunSucceeded");
    envelope.core.model = "m".repeat(600);
    envelope.core.folder = Some("f".repeat(300));
    world.observed.ended = Some(Ended { message: envelope.to_text(), ..Ended::default() });
    world.settle();
    assert!(world.status().resolved.unwrap().model.len() <= 256, "the API server would refuse the status for ever");
}

#[test]
fn a_graceful_cancel_on_a_lost_node_ends() {
    let mut world = World::simulated();
    world.measuring();
    world.run.spec.cancel = crds::benchmark_run::Cancel::Graceful;
    let plan = world.settle();
    assert_eq!(plan.end, Some(End::Pod("chat-pod".into())));
    let deleted = world.now;
    world.pod(|it| it.deleting = Some(deleted));
    world.settle();
    assert!(!world.status().phase.unwrap().is_terminal(), "the launcher drains");
    world.pass(60 + 300 + 10);
    world.settle();
    assert_eq!(world.status().phase, Some(Phase::Cancelled), "a pod that never goes holds the run for ever");
}

#[test]
fn a_pod_on_a_lost_node_is_disrupted_and_not_waited_for_until_the_deadline() {
    let mut world =
        World::new(json!({"target": {"simulator": {}}, "storage": {"none": {}}, "policy": {"retry": {"limit": 0}}}));
    world.measuring();
    let deleted = world.now;
    world.pod(|it| {
        it.ready = false;
        it.deleting = Some(deleted);
    });
    world.pass(360 + 10);
    world.settle();
    assert_eq!(world.status().reason, "Disrupted", "{:?}", world.status());
}

#[test]
fn a_retry_does_not_wait_for_ever_for_what_is_left() {
    let mut world = World::simulated();
    world.measuring();
    world.ends(Outcome::Error, "TargetUnavailable");
    world.settle();
    world.observed.job.deleting = true;
    world.settle();
    assert_eq!(world.status().reason, "Retrying");
    world.pass(900 + 10);
    world.settle();
    assert_eq!(world.status().phase, Some(Phase::Failed), "{:?}", world.status());
}

#[test]
fn an_unschedulable_pod_is_not_blamed_on_a_claim_that_waits_for_it() {
    let mut world = World::new(json!({"target": {"simulator": {}}}));
    world.observed.claim = ClaimState { exists: true, bound: false, class: "local-path".into() };
    world.settle();
    world.pod(|it| it.unschedulable = Some("0/1 nodes are available: 1 Insufficient cpu.".into()));
    world.settle();
    assert_eq!(world.status().reason, "Unschedulable");
    let missing = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.";
    world.pod(|it| it.unschedulable = Some(missing.into()));
    world.settle();
    assert_eq!(world.status().reason, "VolumePending");
}
