//! Tests of a schedule's decisions over several turns, with a fake API server that stores the runs.

use std::time::Duration;

use crds::{
    BenchmarkSchedule, Outcome, Reason,
    benchmark_schedule::{BenchmarkScheduleSpec, KIND},
    reason::Word as _,
    status::ConditionStatus,
};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;

use super::{
    decide::{Decision, OwnRun, RunState, TRIGGERED, decide},
    run,
};

/// A schedule, its runs, and the current time.
struct World {
    schedule: BenchmarkSchedule,
    runs: Vec<OwnRun>,
    now: Timestamp,
    /// The message with which the next creation is refused. `None` if it succeeds.
    refuses: Option<String>,
    /// The reasons of all events.
    events: Vec<Reason>,
    created: usize,
}

impl World {
    /// Creates a world at 2026-11-23 08:00:00 UTC, a Monday.
    fn new(edit: impl FnOnce(&mut BenchmarkScheduleSpec)) -> Self {
        let now: Timestamp = "2026-11-23T08:00:00Z".parse().unwrap();
        let mut spec = BenchmarkScheduleSpec::default();
        edit(&mut spec);
        let mut schedule = BenchmarkSchedule::new("nightly", spec);
        schedule.metadata.namespace = Some("bench".into());
        schedule.metadata.uid = Some("uid-1".into());
        schedule.metadata.generation = Some(1);
        schedule.metadata.creation_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now));
        World { schedule, runs: Vec::new(), now, refuses: None, events: Vec::new(), created: 0 }
    }

    fn edit(&mut self, edit: impl FnOnce(&mut BenchmarkScheduleSpec)) {
        edit(&mut self.schedule.spec);
        *self.schedule.metadata.generation.as_mut().unwrap() += 1;
    }

    /// Runs one turn as the loop does: decides and writes until no work is left that can be done immediately.
    fn turn(&mut self) -> Decision {
        let mut refused = None;
        for _ in 0..6 {
            let decision = decide(&self.schedule, &self.runs, refused.take(), self.now);
            self.schedule.status = Some(decision.status.clone());
            self.events.extend(decision.events.iter().map(|it| it.reason));
            if let Some(mark) = &decision.mark {
                self.schedule.annotations_mut().insert(TRIGGERED.into(), mark.clone());
            }
            if let Some(start) = &decision.create {
                match self.refuses.take() {
                    Some(message) => {
                        refused = Some(message.leak() as &str);
                        continue;
                    }
                    None => self.add(&run(&self.schedule, start).name_any()),
                }
            } else if decision.status.starting.is_none() {
                self.runs.retain(|it| !decision.delete.iter().any(|(_, uid)| *uid == it.uid));
                return decision;
            }
        }
        panic!("the decisions come to no end: {:?}", self.schedule.status);
    }

    fn add(&mut self, name: &str) {
        assert!(!self.runs.iter().any(|it| it.name == name), "{name} is created twice");
        self.created += 1;
        self.runs.push(OwnRun {
            name: name.to_owned(),
            uid: format!("run-{}", self.created),
            created: Some(self.now),
            is_going: false,
            state: RunState::Active,
        });
    }

    /// Ends the active run with this outcome.
    fn end(&mut self, outcome: Outcome) {
        let time = Some(self.now);
        let run = self.runs.iter_mut().find(|it| it.state == RunState::Active).unwrap();
        run.state = RunState::Finished { outcome: Some(outcome), time };
    }

    fn pass(&mut self, seconds: i64) -> Decision {
        self.now = self.now.checked_add(SignedDuration::from_secs(seconds)).unwrap();
        self.turn()
    }

    fn names(&self) -> Vec<&str> {
        self.runs.iter().map(|it| it.name.as_str()).collect()
    }

    #[track_caller]
    fn assert_ready(&self, status: ConditionStatus, reason: Reason) {
        let conditions = &self.schedule.status.as_ref().unwrap().conditions;
        let ready = conditions.iter().find(|it| it.kind == "Ready").unwrap();
        assert_eq!((ready.status, ready.reason.as_str()), (status, reason.name()), "{}", ready.message);
        let kinds: Vec<&str> = conditions.iter().map(|it| it.kind.as_str()).collect();
        let expected: &[&str] = match (status, reason) {
            (ConditionStatus::True, _) => &["Ready"],
            (_, Reason::RunActive) => &["Ready", "Reconciling"],
            _ => &["Ready", "Stalled"],
        };
        assert_eq!(kinds, expected);
    }
}

fn hourly(spec: &mut BenchmarkScheduleSpec) {
    spec.schedule = Some("30 * * * *".into());
}

fn on_trigger(spec: &mut BenchmarkScheduleSpec) {
    spec.trigger = Some("a".into());
}

#[test]
fn each_time_starts_one_run_with_its_minute_in_the_name() {
    let mut world = World::new(hourly);
    let decision = world.turn();
    assert_eq!(decision.next_look, Some(Duration::from_secs(1_800)));
    assert!(world.runs.is_empty(), "the time before its creation does not count");
    world.assert_ready(ConditionStatus::True, Reason::Scheduled);
    world.pass(1_799);
    assert!(world.runs.is_empty());
    world.pass(1);
    assert_eq!(world.names(), ["nightly-29923710"]);
    world.turn();
    world.end(Outcome::Passed);
    world.turn();
    assert_eq!(world.runs.len(), 1);
    let last = world.schedule.status.clone().unwrap().last_run.unwrap();
    assert_eq!((last.name.as_str(), last.outcome), ("nightly-29923710", Some(Outcome::Passed)));
    world.pass(3_600);
    assert_eq!(world.runs.len(), 2);
    assert_eq!(world.events, [Reason::RunStarted, Reason::RunStarted]);
}

#[test]
fn a_time_while_a_run_is_under_way_is_left_out_for_good() {
    let mut world = World::new(hourly);
    world.turn();
    world.pass(1_800);
    world.pass(3_600);
    assert_eq!(world.runs.len(), 1);
    world.end(Outcome::Passed);
    world.turn();
    assert_eq!(world.runs.len(), 1, "it is not made up for");
    assert_eq!(world.events, [Reason::RunStarted, Reason::RunSkipped]);
}

#[test]
fn of_the_times_that_an_operator_missed_the_newest_is_made_up_for_within_the_deadline() {
    let mut world = World::new(hourly);
    world.turn();
    world.pass(1_800 + 5 * 3_600 + 60);
    assert_eq!(world.names(), ["nightly-29924010"]);
    let mut world = World::new(|it| {
        hourly(it);
        it.starting_deadline_seconds = Some(30);
    });
    world.turn();
    world.pass(1_800 + 31);
    assert!(world.runs.is_empty());
    assert_eq!(world.events, [Reason::RunSkipped]);
    world.pass(3_600 - 31 + 30);
    assert_eq!(world.runs.len(), 1);
}

#[test]
fn times_before_an_edit_and_of_a_suspension_are_not_made_up_for() {
    let mut world = World::new(hourly);
    world.turn();
    world.edit(|it| it.suspend = true);
    world.turn();
    world.assert_ready(ConditionStatus::True, Reason::Suspended);
    assert_eq!(world.pass(7_200).next_look, None);
    world.edit(|it| it.suspend = false);
    world.turn();
    assert!(world.runs.is_empty());
    // 10:30 was a time of the old schedule, but is no time of the new one.
    world.pass(1_500);
    world.edit(|it| it.schedule = Some("15 * * * *".into()));
    world.turn();
    assert!(world.runs.is_empty());
    world.pass(3_600);
    assert_eq!(world.runs.len(), 1);
}

#[test]
fn each_change_of_the_trigger_starts_one_run_and_the_schedule_is_ready_when_it_succeeded() {
    let mut world = World::new(on_trigger);
    world.turn();
    assert_eq!(world.runs.len(), 1);
    world.assert_ready(ConditionStatus::False, Reason::RunActive);
    world.edit(|it| it.trigger = Some("b".into()));
    world.turn();
    assert_eq!(world.runs.len(), 1, "it waits for the first one");
    world.assert_ready(ConditionStatus::False, Reason::RunActive);
    world.end(Outcome::SLOViolated);
    world.turn();
    assert_eq!(world.runs.len(), 2);
    world.assert_ready(ConditionStatus::False, Reason::RunActive);
    world.end(Outcome::SLOViolated);
    world.turn();
    world.assert_ready(ConditionStatus::False, Reason::TriggeredRunFailed);
    world.edit(|it| it.trigger = Some("a".into()));
    world.turn();
    world.end(Outcome::Passed);
    world.turn();
    world.assert_ready(ConditionStatus::True, Reason::Scheduled);
    assert_eq!(world.runs.len(), 3, "the text of the first run starts another one");
    world.edit(|it| it.suspend = true);
    world.turn();
    world.edit(|it| it.suspend = false);
    world.turn();
    assert_eq!(world.runs.len(), 3);
}

#[test]
fn a_triggered_run_that_is_deleted_before_its_end_did_not_succeed() {
    let mut world = World::new(on_trigger);
    world.turn();
    world.runs.clear();
    world.turn();
    world.assert_ready(ConditionStatus::False, Reason::TriggeredRunFailed);
    assert_eq!(world.created, 1);
}

#[test]
fn a_suspended_schedule_starts_its_trigger_afterwards() {
    let mut world = World::new(|it| {
        on_trigger(it);
        it.suspend = true;
    });
    world.turn();
    assert!(world.runs.is_empty());
    world.edit(|it| it.suspend = false);
    world.turn();
    assert_eq!(world.runs.len(), 1);
}

/// A backup without the status still contains the annotation, so a restored schedule starts no run.
#[test]
fn a_restored_schedule_starts_no_run() {
    let mut world = World::new(|it| {
        on_trigger(it);
        hourly(it);
    });
    world.turn();
    world.end(Outcome::SLOViolated);
    world.turn();
    let annotations = world.schedule.annotations().clone();
    let mut restored = World::new(|it| {
        on_trigger(it);
        hourly(it);
    });
    *restored.schedule.annotations_mut() = annotations;
    restored.turn();
    assert!(restored.runs.is_empty());
    restored.assert_ready(ConditionStatus::True, Reason::Scheduled);
    restored.edit(|it| it.trigger = Some("b".into()));
    restored.turn();
    assert_eq!(restored.runs.len(), 1);
}

/// The start is recorded first, so that an operator which stops between the two writes does not start a second run.
#[test]
fn a_start_that_was_noted_is_carried_out_once() {
    let mut world = World::new(on_trigger);
    let first = decide(&world.schedule, &[], None, world.now);
    assert_eq!(first.create, None);
    world.schedule.status = Some(first.status.clone());
    let second = decide(&world.schedule, &[], None, world.now);
    let name = second.create.unwrap().name;
    assert_eq!(first.status.starting.unwrap().name, name);
    // The operator created the run, but stopped before it could record that.
    world.add(&name);
    world.edit(|it| it.starting_deadline_seconds = Some(60));
    world.turn();
    assert_eq!(world.names(), [name]);
    assert_eq!(world.events, [Reason::RunStarted]);
}

#[test]
fn a_refused_start_is_said_until_a_later_one_succeeds() {
    let mut world = World::new(hourly);
    world.turn();
    world.refuses = Some("exceeded quota".into());
    world.pass(1_800);
    world.assert_ready(ConditionStatus::False, Reason::StartRefused);
    assert!(world.runs.is_empty());
    world.pass(60);
    world.assert_ready(ConditionStatus::False, Reason::StartRefused);
    world.pass(3_540);
    assert_eq!(world.runs.len(), 1);
    world.assert_ready(ConditionStatus::True, Reason::Scheduled);
    assert_eq!(world.events, [Reason::StartRefused, Reason::RunStarted]);

    let mut world = World::new(on_trigger);
    world.refuses = Some("spec.target is wrong".into());
    world.turn();
    world.turn();
    world.assert_ready(ConditionStatus::False, Reason::StartRefused);
    assert_eq!(world.events, [Reason::StartRefused]);
    world.edit(|it| it.trigger = Some("b".into()));
    world.turn();
    assert_eq!(world.runs.len(), 1);
}

#[test]
fn a_schedule_that_cannot_be_read_is_stalled_until_it_is_corrected() {
    let mut world = World::new(|it| it.schedule = Some("61 * * * *".into()));
    world.turn();
    world.assert_ready(ConditionStatus::False, Reason::InvalidSpec);
    world.edit(hourly);
    world.turn();
    world.assert_ready(ConditionStatus::True, Reason::Scheduled);
}

#[test]
fn finished_runs_beyond_the_history_are_deleted_the_oldest_first() {
    let mut world = World::new(|it| {
        hourly(it);
        it.successful_runs_history_limit = Some(2);
        it.failed_runs_history_limit = Some(1);
    });
    world.turn();
    world.pass(1_800);
    for outcome in [Outcome::Passed, Outcome::Error, Outcome::Passed, Outcome::Error, Outcome::Passed] {
        world.end(outcome);
        world.turn();
        world.pass(3_600);
    }
    // The oldest successful run and the oldest failed run were deleted. The last run is still active.
    let uids: Vec<&str> = world.runs.iter().map(|it| it.uid.as_str()).collect();
    assert_eq!(uids, ["run-3", "run-4", "run-5", "run-6"]);
}

#[test]
fn a_run_has_the_template_the_label_and_the_owner_of_its_schedule() {
    let mut world = World::new(on_trigger);
    world.schedule.spec.run_template.spec.seed = Some(7);
    world.schedule.spec.run_template.metadata.labels.insert("team".into(), "serving".into());
    let first = decide(&world.schedule, &[], None, world.now);
    let run = run(&world.schedule, &first.status.starting.unwrap());
    assert_eq!(run.spec.seed, Some(7));
    assert_eq!(run.labels()["team"], "serving");
    assert_eq!(run.labels()["benchwright.dev/schedule"], "nightly");
    assert_eq!(run.annotations()["benchwright.dev/trigger"], "a");
    let owner = &run.owner_references()[0];
    assert_eq!((owner.kind.as_str(), owner.uid.as_str(), owner.controller), (KIND, "uid-1", Some(true)));
    assert!(run.name_any().len() <= "nightly".len() + 10, "{}", run.name_any());
}
