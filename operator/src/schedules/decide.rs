//! Decides the next step of a schedule: a pure function of the schedule, its runs and the current time.

use std::time::Duration;

use crds::{
    BenchmarkSchedule, Outcome, Reason,
    benchmark_schedule::{
        BenchmarkScheduleSpec, DEFAULT_HISTORY, DEFAULT_TIME_ZONE,
        status::{BenchmarkScheduleStatus, Refusal, RunOfSchedule, Start, Triggered},
        times::Times,
    },
    hex,
};
use jiff::Timestamp;
use kube::ResourceExt as _;
use sha2::{Digest as _, Sha256};

use crate::plan::{
    PlannedEvent,
    status::{Verdict, set_verdict, truncate},
};

/// The annotation on a schedule with the last trigger that started a run. Unlike the status it is part of a backup, so a restored schedule does not
/// start the run again.
pub const TRIGGERED: &str = "benchwright.dev/triggered";
/// Maximum time between two reconciliations of a schedule, in seconds. It is bounded because the clock can be set in between.
const LONGEST_LOOK_SECONDS: u64 = 86_400;
/// Number of hash bytes in the name of a run that a trigger started.
const HASH_BYTES: usize = 4;
/// Maximum length of the message about a refused run, in bytes.
const MAX_REFUSAL: usize = 1_000;

/// A run that the schedule controls.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnRun {
    /// `metadata.name` of the run.
    pub name: String,
    /// `metadata.uid` of the run. A deletion uses it, because a later run can have the same name.
    pub uid: String,
    /// When the run was created. The newest run becomes the last run in the status.
    pub created: Option<Timestamp>,
    /// Whether the run is being deleted.
    pub is_going: bool,
    /// Whether the run has finished.
    pub state: RunState,
}

/// Whether a run has finished, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RunState {
    /// The run has not finished.
    Active,
    /// The run has finished.
    Finished {
        /// The outcome of the run. It is Passed if and only if the run succeeded.
        outcome: Option<Outcome>,
        /// When the run finished.
        time: Option<Timestamp>,
    },
    /// This release cannot parse the run. The schedule never deletes such a run, and does not wait for its end.
    Unreadable,
}

/// The result of a decision: what the reconciliation must do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The status. It must be written before anything else is done.
    pub status: BenchmarkScheduleStatus,
    /// The run to create. The status that was written before already contains it.
    pub create: Option<Start>,
    /// Names and UIDs of runs to delete.
    pub delete: Vec<(String, String)>,
    /// The value of the annotation [`TRIGGERED`] to write.
    pub mark: Option<String>,
    /// Events for users.
    pub events: Vec<PlannedEvent>,
    /// Time to the next reconciliation, unless a change starts one earlier.
    pub next_look: Option<Duration>,
}

/// Decides the next step. `refused` is the message of the API server, if it refused to create the run in `status.starting`.
pub fn decide(schedule: &BenchmarkSchedule, runs: &[OwnRun], refused: Option<&str>, now: Timestamp) -> Decision {
    let mut turn = Turn::new(schedule, runs, now);
    turn.track_runs();
    turn.settle_start(refused);
    if turn.create.is_none() {
        turn.start_next();
    }
    turn.into_decision()
}

struct Turn<'a> {
    schedule: &'a BenchmarkSchedule,
    spec: &'a BenchmarkScheduleSpec,
    runs: &'a [OwnRun],
    now: Timestamp,
    times: Option<Times>,
    /// The reason why the spec has no valid times, although it should have some.
    problem: Option<String>,
    status: BenchmarkScheduleStatus,
    create: Option<Start>,
    events: Vec<PlannedEvent>,
}

impl<'a> Turn<'a> {
    fn new(schedule: &'a BenchmarkSchedule, runs: &'a [OwnRun], now: Timestamp) -> Self {
        let spec = &schedule.spec;
        let zone = spec.time_zone.as_deref().unwrap_or(DEFAULT_TIME_ZONE);
        let parsed = spec.schedule.as_deref().map(|it| Times::parse(it, zone)).transpose();
        let problem = parsed.as_ref().err().map(ToString::to_string);
        let before = schedule.status.clone().unwrap_or_default();
        let mut status = before.clone();
        status.observed_generation = schedule.metadata.generation.unwrap_or_default();
        let expression = spec.schedule.as_deref().map(|it| format!("{it} {zone}"));
        let was_suspended = before.conditions.iter().any(|it| it.kind == "Ready" && it.reason == Reason::Suspended);
        if before.counts_since.is_none() {
            status.counts_since = Some(schedule.creation_timestamp().map_or(now, |it| it.0));
        } else if expression != before.expression || (was_suspended && !spec.suspend) {
            status.counts_since = Some(now);
        }
        status.expression = expression;
        if status.refusal.as_ref().is_some_and(|it| it.generation != status.observed_generation) {
            status.refusal = None;
        }
        let times = parsed.ok().flatten();
        Turn { schedule, spec, runs, now, times, problem, status, create: None, events: Vec::new() }
    }

    /// Updates the active run, the state of the newest run, and the result of the triggered run in the status.
    fn track_runs(&mut self) {
        let newest = |runs: &mut dyn Iterator<Item = &'a OwnRun>| runs.max_by_key(|it| (it.created, it.name.clone()));
        let active = newest(&mut self.runs.iter().filter(|it| it.state == RunState::Active));
        self.status.active_run = active.map(|it| it.name.clone());
        if let Some(run) = newest(&mut self.runs.iter()) {
            let (outcome, completion_time) = match run.state {
                RunState::Finished { outcome, time, .. } => (outcome, time),
                RunState::Active | RunState::Unreadable => (None, None),
            };
            self.status.last_run = Some(RunOfSchedule { name: run.name.clone(), outcome, completion_time });
        }
        let Some(triggered) = self.status.triggered.as_mut().filter(|it| !it.finished) else { return };
        match self.runs.iter().find(|it| it.name == triggered.name).map(|it| it.state) {
            Some(RunState::Active) => {}
            Some(RunState::Finished { outcome, .. }) => (triggered.finished, triggered.outcome) = (true, outcome),
            // The run was deleted before its end, or this release cannot parse it.
            Some(RunState::Unreadable) | None => triggered.finished = true,
        }
    }

    /// Creates the run in `status.starting`, or records that it was created or refused.
    fn settle_start(&mut self, refused: Option<&str>) {
        let Some(start) = self.status.starting.clone() else { return };
        let exists = self.runs.iter().any(|it| it.name == start.name);
        if !exists && refused.is_none() {
            self.create = Some(start);
            return;
        }
        self.status.starting = None;
        if let Some(trigger) = &start.trigger {
            let name = if exists { start.name.clone() } else { String::new() };
            let (trigger, finished) = (trigger.clone(), !exists);
            self.status.triggered = Some(Triggered { trigger, name, finished, outcome: None });
        }
        let cause = match (&start.trigger, start.schedule_time) {
            (Some(trigger), _) => format!("for trigger {trigger:?}"),
            (None, Some(time)) => format!("for {time}"),
            (None, None) => String::new(),
        };
        if exists {
            self.status.refusal = None;
            self.event(false, Reason::RunStarted, format!("started run {} {cause}", start.name));
            // The new run is already in the list of runs, and might have finished.
            self.track_runs();
            return;
        }
        let answer = refused.unwrap_or_default();
        let message = format!(
            "run {} {cause} was not started: {answer}; correct spec.runTemplate, or the rights of the operator{}",
            start.name,
            if start.trigger.is_some() { ", and then change spec.trigger" } else { "" }
        );
        let message = truncate(&message, MAX_REFUSAL);
        self.event(true, Reason::StartRefused, message.clone());
        self.status.refusal = Some(Refusal { generation: self.status.observed_generation, message });
    }

    /// Sets `status.starting` to the next run, if one is due.
    fn start_next(&mut self) {
        if self.spec.suspend {
            return;
        }
        let waits_for = self.status.active_run.clone();
        if waits_for.is_none()
            && let Some(trigger) = self.new_trigger()
        {
            let name = self.name_of_trigger(&trigger);
            self.status.starting = Some(Start { name, schedule_time: None, trigger: Some(trigger) });
        }
        let Some(times) = &self.times else { return };
        let after = self.status.counts_since.max(self.status.last_schedule_time).unwrap_or(self.now);
        let Some(due) = times.latest(after, self.now) else { return };
        self.status.last_schedule_time = Some(due);
        let late = self.now.duration_since(due).as_secs();
        let deadline = self.spec.starting_deadline_seconds.map(i64::from);
        if let Some(deadline) = deadline.filter(|it| late > *it) {
            let message = format!(
                "the run of {due} was not started: it is {late} s late, and startingDeadlineSeconds is {deadline}"
            );
            self.event(true, Reason::RunSkipped, message);
        } else if let Some(other) = waits_for.or_else(|| self.status.starting.as_ref().map(|it| it.name.clone())) {
            let message = format!("the run of {due} was skipped, because run {other} is still running");
            self.event(false, Reason::RunSkipped, message);
        } else {
            // The suffix is the minute since the epoch, as in the names of a CronJob's Jobs.
            let name = format!("{}-{:08}", self.schedule.name_any(), due.as_second() / 60);
            self.status.starting = Some(Start { name, schedule_time: Some(due), trigger: None });
        }
    }

    /// The trigger in the spec, if it has not started a run yet.
    fn new_trigger(&self) -> Option<String> {
        let trigger = self.spec.trigger.as_ref()?;
        let handled = match &self.status.triggered {
            Some(it) => it.trigger == *trigger,
            None => self.schedule.annotations().get(TRIGGERED) == Some(trigger),
        };
        (!handled).then(|| trigger.clone())
    }

    /// The name of the run for a trigger. It depends on the generation, because the same text can be set again later and must then start another run.
    fn name_of_trigger(&self, trigger: &str) -> String {
        let generation = self.status.observed_generation.to_string();
        let uid = self.schedule.uid().unwrap_or_default();
        let hash = Sha256::digest([uid.as_str(), &generation, trigger].join("\0"));
        format!("{}-t{}", self.schedule.name_any(), hex(&hash[..HASH_BYTES]))
    }

    fn event(&mut self, warning: bool, reason: Reason, note: String) {
        self.events.push(PlannedEvent { warning, reason, note });
    }

    fn into_decision(mut self) -> Decision {
        let counted = self.times.as_ref().filter(|_| !self.spec.suspend);
        self.status.next_schedule_time = counted.and_then(|it| it.next(self.now));
        let verdict = self.verdict();
        set_verdict(&mut self.status.conditions, self.status.observed_generation, self.now, verdict);
        let delete = self.outdated();
        let triggered = self.status.triggered.as_ref().map(|it| &it.trigger);
        let mark = triggered.filter(|it| self.schedule.annotations().get(TRIGGERED) != Some(it)).cloned();
        let seconds = |next: Timestamp| u64::try_from(next.duration_since(self.now).as_secs()).unwrap_or(0);
        let next_look = self.status.next_schedule_time.map(|it| {
            // The timer cannot fire too early. `now` is truncated to seconds, so the timer fires up to one second after the due time.
            Duration::from_secs(seconds(it).min(LONGEST_LOOK_SECONDS))
        });
        let Turn { status, create, events, .. } = self;
        Decision { status, create, delete, mark, events, next_look }
    }

    /// Returns whether the schedule is ready, whether it will become ready without an intervention, and the reason and message for both.
    fn verdict(&self) -> Verdict {
        if let Some(problem) = &self.problem {
            return (false, false, Reason::InvalidSpec, problem.clone());
        }
        if let Some(refusal) = &self.status.refusal {
            return (false, false, Reason::StartRefused, refusal.message.clone());
        }
        let starting = self.status.starting.as_ref().filter(|it| it.trigger.is_some());
        if let Some(start) = starting {
            return (false, true, Reason::RunActive, format!("starts run {} for the trigger", start.name));
        }
        if self.spec.suspend {
            return (true, false, Reason::Suspended, "spec.suspend is true, so that no run is started".to_owned());
        }
        if self.new_trigger().is_some() {
            let other = self.status.active_run.as_deref().unwrap_or_default();
            let message = format!("the new trigger starts a run as soon as run {other} has ended");
            return (false, true, Reason::RunActive, message);
        }
        let current = |it: &&Triggered| Some(&it.trigger) == self.spec.trigger.as_ref();
        match self.status.triggered.as_ref().filter(current) {
            Some(it) if !it.finished => {
                (false, true, Reason::RunActive, format!("run {} of the trigger is running", it.name))
            }
            // An empty name means that the run was refused. Since then the user has edited the spec but not the trigger, so no run is requested.
            Some(it) if it.outcome != Some(Outcome::Passed) && !it.name.is_empty() => {
                let outcome = it.outcome.map_or("no outcome", Outcome::name);
                let message = format!(
                    "run {} of the trigger did not succeed, and ended with {outcome}; see its message, then change spec.trigger for another run",
                    it.name
                );
                (false, false, Reason::TriggeredRunFailed, message)
            }
            _ => (true, false, Reason::Scheduled, self.next_text()),
        }
    }

    fn next_text(&self) -> String {
        let next = self.status.next_schedule_time.map(|it| format!("the next run starts at {it}"));
        next.unwrap_or_else(|| "a change of spec.trigger starts the next run".to_owned())
    }

    /// The finished runs that exceed the history limits, the oldest first.
    fn outdated(&self) -> Vec<(String, String)> {
        let limits = [(true, self.spec.successful_runs_history_limit), (false, self.spec.failed_runs_history_limit)];
        let mut all = Vec::new();
        for (passed, limit) in limits {
            let mut finished: Vec<(Option<Timestamp>, &OwnRun)> = self
                .runs
                .iter()
                .filter(|it| !it.is_going)
                .filter_map(|it| match it.state {
                    RunState::Finished { outcome, time } if (outcome == Some(Outcome::Passed)) == passed => {
                        Some((time, it))
                    }
                    _ => None,
                })
                .collect();
            finished.sort_by_key(|(time, run)| (*time, run.name.clone()));
            let kept = usize::try_from(limit.unwrap_or(DEFAULT_HISTORY)).unwrap_or(usize::MAX);
            let beyond = finished.len().saturating_sub(kept);
            all.extend(finished.into_iter().take(beyond).map(|(_, it)| (it.name.clone(), it.uid.clone())));
        }
        all
    }
}
