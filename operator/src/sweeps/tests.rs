//! Tests of a sweep's decisions over several turns, with a fake API server that stores the runs.

use std::{collections::BTreeMap, time::Duration};

use crds::{
    BenchmarkSweep, Microseconds, Outcome, Reason,
    benchmark_sweep::{BenchmarkSweepSpec, KIND, ResolvedSweep, resolve, status::SweepPhase},
    reason::Word as _,
    status::ConditionStatus,
};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    decide::{Figures, OwnRun, Plan, Refusal, RunState, Wait, decide},
    run,
};

/// A sweep, its runs, and the current time.
struct World {
    sweep: BenchmarkSweep,
    runs: Vec<OwnRun>,
    now: Timestamp,
    /// Why the next creation is refused. `None` if it succeeds.
    refuses: Option<Refusal>,
    events: Vec<Reason>,
    /// The names of all created runs, in their order.
    created: Vec<String>,
}

impl World {
    /// A sweep of two servers and two rates, with two repeats.
    fn new(more: Value) -> Self {
        let mut spec = json!({
            "runTemplate": {"metadata": {"labels": {"team": "serving"}}, "spec": {"target": {"url": "http://a:8000"}}},
            "factors": [
                {"name": "server", "levels": [{"name": "a"}, {"name": "b", "set": {"target.url": "http://b:8000"}}]},
                {"name": "rate", "field": "profile.variables.rate", "values": [2, 5]},
            ],
            "repeats": 2,
        });
        spec.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        let mut sweep = BenchmarkSweep::new("batching", serde_json::from_value::<BenchmarkSweepSpec>(spec).unwrap());
        sweep.metadata.namespace = Some("bench".into());
        sweep.metadata.uid = Some("uid-1".into());
        sweep.metadata.generation = Some(1);
        let now = "2026-11-23T08:00:00Z".parse().unwrap();
        World { sweep, runs: Vec::new(), now, refuses: None, events: Vec::new(), created: Vec::new() }
    }

    fn edit(&mut self, edit: impl FnOnce(&mut BenchmarkSweepSpec)) {
        edit(&mut self.sweep.spec);
        *self.sweep.metadata.generation.as_mut().unwrap() += 1;
    }

    fn resolved(&self) -> Result<ResolvedSweep, Vec<crds::resolve::FieldError>> {
        resolve("batching", &self.sweep.spec, "uid-1")
    }

    fn decide(&self, refusal: Option<&Refusal>) -> Plan {
        let resolved = self.resolved();
        decide(&self.sweep, resolved.as_ref().map_err(Vec::as_slice), &self.runs, refusal, self.now)
    }

    /// Runs one turn as the loop does.
    fn turn(&mut self) -> Wait {
        let mut refusal = None;
        for _ in 0..4 {
            match self.decide(refusal.as_ref()) {
                Plan::Create(start) => match &self.refuses {
                    Some(refused) => refusal = Some(refused.clone()),
                    None => self.create(&start.name),
                },
                Plan::Wait(wait) => {
                    self.sweep.status = Some(wait.status.clone());
                    self.events.extend(wait.events.iter().map(|it| it.reason));
                    return *wait;
                }
            }
        }
        panic!("the decisions do not end: {:?}", self.sweep.status);
    }

    /// Creates a run, as the API server does: a name exists once.
    fn create(&mut self, name: &str) {
        assert!(!self.runs.iter().any(|it| it.name == name), "{name} is created twice");
        assert!(!self.runs.iter().any(|it| it.state == RunState::Active), "{name} starts beside another run");
        self.created.push(name.to_owned());
        self.runs.push(OwnRun { name: name.to_owned(), created: Some(self.now), state: RunState::Active });
    }

    /// Ends the active run after one second, with a TTFT p99 in microseconds.
    fn end(&mut self, outcome: Outcome, ttft: u64) {
        self.pass(1);
        let time = Some(self.now);
        let run = self.runs.iter_mut().find(|it| it.state == RunState::Active).unwrap();
        let figures = Figures { ttft_p99: Some(ttft.into()), ..Figures::default() };
        run.state = RunState::Finished { outcome: Some(outcome), time, figures };
    }

    fn pass(&mut self, seconds: i64) {
        self.now = self.now.checked_add(SignedDuration::from_secs(seconds)).unwrap();
    }

    /// Ends each run with its outcome until no run follows.
    fn play(&mut self, outcome: impl Fn(&str) -> Outcome) {
        loop {
            self.turn();
            let Some(run) = self.runs.iter().find(|it| it.state == RunState::Active) else { return };
            let outcome = outcome(&run.name);
            self.end(outcome, 1_000);
        }
    }

    #[track_caller]
    fn assert_is(&self, phase: SweepPhase, progress: &str, reason: Reason) {
        let status = self.sweep.status.as_ref().unwrap();
        let ready = status.conditions.iter().find(|it| it.kind == "Ready").unwrap();
        let found = (status.phase, status.progress.as_deref(), ready.reason.as_str());
        assert_eq!(found, (Some(phase), Some(progress), reason.name()), "{}", ready.message);
        let kinds: Vec<&str> = status.conditions.iter().map(|it| it.kind.as_str()).collect();
        let expected: &[&str] = match (ready.status, reason) {
            (ConditionStatus::True, _) => &["Ready"],
            (_, Reason::RunActive | Reason::CoolingDown | Reason::Suspended) => &["Ready", "Reconciling"],
            _ => &["Ready", "Stalled"],
        };
        assert_eq!(kinds, expected);
        assert_eq!(status.observed_generation, self.sweep.metadata.generation.unwrap());
    }
}

const ALL: [&str; 8] = [
    "batching-c1-r1",
    "batching-c2-r1",
    "batching-c3-r1",
    "batching-c4-r1",
    "batching-c4-r2",
    "batching-c3-r2",
    "batching-c2-r2",
    "batching-c1-r2",
];

#[test]
fn every_cell_runs_once_per_repeat_one_after_the_other() {
    let mut world = World::new(json!({}));
    world.turn();
    world.assert_is(SweepPhase::Running, "0/8", Reason::RunActive);
    let status = world.sweep.status.clone().unwrap();
    assert_eq!(status.current.as_deref(), Some("server=a,rate=2"));
    assert_eq!(status.current_run.as_deref(), Some("batching-c1-r1"));
    assert_eq!(world.turn().events, [], "nothing changed");
    world.end(Outcome::SLOViolated, 3_000);
    world.play(|_| Outcome::Passed);
    assert_eq!(world.created, ALL);
    world.assert_is(SweepPhase::Succeeded, "8/8", Reason::SweepSucceeded);
    let status = world.sweep.status.clone().unwrap();
    assert_eq!((status.start_time, status.completion_time), (world.runs[0].created, Some(world.now)));
    let rows: Vec<_> = status.cells.iter().map(|it| (it.cell.as_str(), it.runs, it.ttft_p99_microseconds)).collect();
    assert_eq!(rows[0], ("server=a,rate=2", 2, Some(Microseconds::from(2_000))));
    assert_eq!(rows[3], ("server=b,rate=5", 2, Some(Microseconds::from(1_000))));
    let expected: Vec<Reason> = [Reason::RunStarted].repeat(8).into_iter().chain([Reason::SweepSucceeded]).collect();
    assert_eq!(world.events, expected);
}

#[test]
fn a_failed_run_is_tried_again_and_then_left_out_or_ends_the_sweep() {
    let fails = |name: &str| if name.starts_with("batching-c2-r1") { Outcome::Error } else { Outcome::Passed };
    let mut world = World::new(json!({"attempts": 2}));
    world.play(fails);
    assert_eq!(world.created[1..4], ["batching-c2-r1", "batching-c2-r1-a2", "batching-c3-r1"]);
    world.assert_is(SweepPhase::Failed, "7/8", Reason::SweepFailed);
    let status = world.sweep.status.clone().unwrap();
    assert_eq!((status.failed, status.cells[1].failed), (Some(1), 1));
    assert_eq!(world.events.iter().filter(|it| **it == Reason::RunFailed).count(), 1);
    world.edit(|it| it.attempts = Some(3));
    world.play(|_| Outcome::Passed);
    assert_eq!(world.created.last().map(String::as_str), Some("batching-c2-r1-a3"));
    world.assert_is(SweepPhase::Succeeded, "8/8", Reason::SweepSucceeded);

    let mut world = World::new(json!({"onFailure": "Stop"}));
    world.play(fails);
    assert_eq!(world.created.len(), 2);
    world.assert_is(SweepPhase::Failed, "1/8", Reason::SweepFailed);
}

#[test]
fn a_pause_lies_between_the_runs() {
    let mut world = World::new(json!({"cooldownSeconds": 60}));
    world.turn();
    assert_eq!(world.created.len(), 1, "no pause before the first run");
    world.end(Outcome::Passed, 1);
    world.pass(10);
    assert_eq!(world.turn().next_look, Some(Duration::from_secs(50)));
    world.assert_is(SweepPhase::Running, "1/8", Reason::CoolingDown);
    world.pass(50);
    world.turn();
    assert_eq!(world.created.len(), 2);
}

#[test]
fn a_suspended_sweep_starts_no_run_and_continues() {
    let mut world = World::new(json!({"suspend": true}));
    world.turn();
    world.assert_is(SweepPhase::Suspended, "0/8", Reason::Suspended);
    world.edit(|it| it.suspend = false);
    world.turn();
    world.edit(|it| it.suspend = true);
    world.turn();
    world.assert_is(SweepPhase::Running, "0/8", Reason::RunActive);
    world.end(Outcome::Passed, 1);
    world.turn();
    world.assert_is(SweepPhase::Suspended, "1/8", Reason::Suspended);
    assert_eq!(world.created.len(), 1);
}

#[test]
fn no_run_starts_after_the_budget_until_it_is_raised() {
    let mut world = World::new(json!({"budgetSeconds": 60}));
    world.turn();
    world.pass(70);
    world.end(Outcome::Passed, 1);
    world.turn();
    world.assert_is(SweepPhase::Failed, "1/8", Reason::BudgetExceeded);
    assert!(world.sweep.status.clone().unwrap().completion_time.is_some());
    world.edit(|it| it.budget_seconds = Some(6_000));
    world.turn();
    world.assert_is(SweepPhase::Running, "1/8", Reason::RunActive);
    assert_eq!(world.sweep.status.clone().unwrap().completion_time, None);
}

#[test]
fn a_refused_run_is_reported_once_and_tried_again() {
    let mut world = World::new(json!({}));
    let message = "run batching-c1-r1 was refused: exceeded quota".to_owned();
    world.refuses = Some(Refusal { reason: Reason::StartRefused, message });
    assert_eq!(world.turn().next_look, Some(Duration::from_secs(60)));
    world.turn();
    world.assert_is(SweepPhase::Running, "0/8", Reason::StartRefused);
    world.refuses = None;
    world.turn();
    world.assert_is(SweepPhase::Running, "0/8", Reason::RunActive);
    assert_eq!(world.events, [Reason::StartRefused, Reason::RunStarted]);
}

#[test]
fn a_wrong_spec_stalls_the_sweep_with_field_value_and_remedy() {
    let mut world = World::new(json!({"baseline": {"rate": 3}}));
    world.turn();
    world.turn();
    let status = world.sweep.status.clone().unwrap();
    let stalled = status.conditions.iter().find(|it| it.kind == "Stalled").unwrap();
    assert!(stalled.message.starts_with("spec.baseline.rate: is 3, which is no level of rate"), "{}", stalled.message);
    assert_eq!((stalled.reason.as_str(), status.phase), ("InvalidSpec", Some(SweepPhase::Failed)));
    assert_eq!(world.events, [Reason::InvalidSpec]);
    let values: Vec<usize> = (0..64).collect();
    let factor = |name: &str| json!({"name": name, "field": format!("profile.variables.{name}"), "values": values});
    let mut world = World::new(json!({"factors": [factor("a"), factor("b"), factor("c")]}));
    let text = format!("{:?}", world.turn());
    assert!(text.contains("spec.factors: have 262144 combinations; use fewer levels"), "{text}");
}

/// A run that somebody deletes has no figures any more, so it runs again, as the same attempt. After the end of the sweep nothing runs again.
#[test]
fn a_deleted_run_is_run_again_as_the_same_attempt() {
    let mut world = World::new(json!({"attempts": 2}));
    world.turn();
    world.end(Outcome::Error, 1);
    world.turn();
    world.end(Outcome::Passed, 1);
    world.turn();
    assert_eq!(world.created, ["batching-c1-r1", "batching-c1-r1-a2", "batching-c2-r1"]);
    // The failed first attempt does not matter: a later one exists.
    world.runs.retain(|it| it.name != "batching-c1-r1");
    world.end(Outcome::Passed, 1);
    world.turn();
    assert_eq!(world.created.last().map(String::as_str), Some("batching-c3-r1"));
    world.runs.retain(|it| it.name != "batching-c2-r1");
    world.end(Outcome::Passed, 1);
    world.turn();
    assert_eq!(world.created.last().map(String::as_str), Some("batching-c2-r1"));
}

#[test]
fn the_status_of_the_largest_sweep_fits_64_kib() {
    let factor = |name: &str, levels: usize| {
        let names = (0..levels)
            .map(|it| json!({"name": format!("{it:0>63}"), "set": {format!("profile.variables.v{name}"): it}}))
            .collect::<Vec<_>>();
        json!({"name": format!("{name:a>32}"), "levels": names})
    };
    let factors: Vec<Value> = (0..8).map(|it| factor(&it.to_string(), 2)).collect();
    let mut world = World::new(json!({"factors": factors, "repeats": 10}));
    let resolved = world.resolved().unwrap();
    assert_eq!(resolved.cells.len(), 256);
    let largest = u64::try_from(i64::MAX).unwrap();
    for &(cell, repeat) in &resolved.order {
        let name = resolved.attempt_name(cell, repeat, 1);
        let figures = Figures {
            ttft_p99: Some(largest.into()),
            tpot_p50: Some(largest.into()),
            output_tokens_per_second: Some(largest.into()),
        };
        let state = RunState::Finished { outcome: Some(Outcome::Passed), time: Some(world.now), figures };
        world.runs.push(OwnRun { name, created: Some(world.now), state });
    }
    world.turn();
    world.assert_is(SweepPhase::Succeeded, "2560/2560", Reason::SweepSucceeded);
    let status = world.sweep.status.clone().unwrap();
    assert_eq!(status.cells[0].runs, 10);
    let size = serde_json::to_string(&status).unwrap().len();
    assert!((48 * 1024..=64 * 1024).contains(&size), "{size}");
}

#[test]
fn a_run_has_the_template_the_levels_the_labels_and_the_owner_of_its_sweep() {
    let world = World::new(json!({}));
    let Plan::Create(start) = world.decide(None) else { panic!("a run is created") };
    let resolved = world.resolved().unwrap();
    let start = super::decide::Start { cell: 2, name: "batching-c3-r1".into(), ..start };
    let run = run(&world.sweep, &resolved, &start).unwrap();
    assert_eq!(run.spec.target.url.as_deref(), Some("http://b:8000"));
    assert_eq!(run.spec.seed, Some(resolved.seed_of(1).0));
    let labels: BTreeMap<&str, &str> = run.labels().iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let expected = [
        ("benchwright.dev/cell", "3"),
        ("benchwright.dev/repeat", "1"),
        ("benchwright.dev/sweep", "batching"),
        ("team", "serving"),
    ];
    assert_eq!(labels, expected.into());
    assert_eq!(run.annotations()["benchwright.dev/levels"], "server=b,rate=2");
    let owner = &run.owner_references()[0];
    assert_eq!((owner.kind.as_str(), owner.uid.as_str(), owner.controller), (KIND, "uid-1", Some(true)));
}

/// Where an operator stops, and what is lost.
#[derive(Clone, Copy, Debug)]
enum Crash {
    /// Before it creates the run that it decided on.
    BeforeCreation,
    /// After it created the run, before it wrote the status.
    BeforeStatus,
    /// The status is lost as well, for example by a restore.
    StatusLost,
    /// Another operator with an outdated list of runs requests the same run.
    Outdated,
}

proptest! {
    /// Whatever happens at whichever point, each run is started as often as without it, and in the same order.
    #[test]
    fn a_sweep_continues_after_every_crash(
        crashes in prop::collection::vec(
            (0_usize..12, prop_oneof![
                Just(Crash::BeforeCreation), Just(Crash::BeforeStatus), Just(Crash::StatusLost), Just(Crash::Outdated)
            ]),
            0..6,
        ),
        failing in 0_usize..8,
        attempts in 1_u32..3,
    ) {
        let fails = |name: &str| {
            let is_failing = name == ALL[failing];
            if is_failing { Outcome::Invalid } else { Outcome::Passed }
        };
        let more = json!({"attempts": attempts});
        let mut undisturbed = World::new(more.clone());
        undisturbed.play(fails);
        let mut world = World::new(more);
        for step in 0.. {
            let due = crashes.iter().filter(|it| it.0 == step).map(|it| it.1);
            for crash in due {
                let before = world.runs.clone();
                if let Plan::Create(start) = world.decide(None) {
                    match crash {
                        Crash::BeforeCreation => {}
                        Crash::BeforeStatus | Crash::StatusLost => world.create(&start.name),
                        Crash::Outdated => {
                            world.create(&start.name);
                            let current = std::mem::replace(&mut world.runs, before);
                            let Plan::Create(again) = world.decide(None) else { panic!("the same decision") };
                            // The API server refuses the second creation, because the name is the same.
                            prop_assert_eq!(again.name, start.name);
                            world.runs = current;
                        }
                    }
                }
                if matches!(crash, Crash::StatusLost) {
                    world.sweep.status = None;
                }
            }
            world.turn();
            let Some(run) = world.runs.iter().find(|it| it.state == RunState::Active) else { break };
            let outcome = fails(&run.name);
            world.end(outcome, 1_000);
        }
        prop_assert_eq!(&world.created, &undisturbed.created);
        let end = |world: &World| world.sweep.status.clone().map(|it| (it.phase, it.progress, it.failed, it.cells));
        prop_assert_eq!(end(&world), end(&undisturbed));
    }
}
