//! The leader's in-memory record of one run, and how a newer state of the run changes it. Pure.

use crds::{
    BenchmarkRun, Reason,
    resolve::effective,
    status::{Attempt, Phase},
};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;

use super::{LEEWAY, MESSAGE_INTERVAL};
use crate::plan::{
    current_attempt,
    exclusive::{
        Wait,
        line::{Ahead, Busy, Member, Place},
    },
    job,
};

/// How long the Job of a deleted run is checked, in seconds, if the Job was not deleted together with the run. The operator deletes such a Job, and
/// retries for this long.
const ORPHAN_SECONDS: u32 = 3_600;
/// The grace period in seconds of a run without an attempt, if its spec sets none.
const GRACE_SECONDS: u32 = 60;
/// How long other runs wait for a new or woken run to request the target in its reconciliation.
const PATIENCE: SignedDuration = SignedDuration::from_secs(15);
/// How long a run keeps its slot after a status write failed. The write might have succeeded although the response was lost.
const UNSURE: SignedDuration = SignedDuration::from_secs(20);

/// The version of a run. Both fields only increase, so they reveal whether a watch event is older than the known state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Version {
    generation: i64,
    /// Number of the last attempt, whether that attempt has ended, and whether the run has ended.
    progress: (u32, bool, bool),
}

impl Version {
    fn from_run(run: &BenchmarkRun) -> Self {
        let last = last_attempt(run);
        let attempt = last.map_or((0, false), |it| (it.number, it.end_time.is_some()));
        let generation = run.metadata.generation.unwrap_or_default();
        Version { generation, progress: (attempt.0, attempt.1, run.is_finished()) }
    }

    fn is_older_than(&self, other: &Version) -> bool {
        self.generation < other.generation || self.progress < other.progress
    }
}

/// The record of one run.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) member: Member,
    /// When the run last had to wait for the target.
    pub(super) asked: Option<Timestamp>,
    /// When the message of the waiting run was last updated.
    told: Option<Timestamp>,
    /// Whether the run was allowed to begin, although its status may not show it yet.
    taken: bool,
    /// When other runs began to wait for this run to request the target in a reconciliation. `None` if they do not wait for that.
    called: Option<Timestamp>,
    /// Set if the last status write failed: the time until which that write might still have been applied.
    unwritten: Option<Timestamp>,
    version: Version,
    /// Whether the run is between two attempts.
    is_between: bool,
    /// When the attempt must have ended because of the deadlines of its Job, whatever its status contains.
    ends: Timestamp,
    /// The queue that the run's Jobs wait for.
    pub(super) queue: Option<String>,
    /// The name of its last attempt's Job. Empty before the first attempt.
    job: String,
    grace_seconds: u32,
}

impl Entry {
    /// Creates the record of a run. `None` if the run has ended and its pod has had enough time to end.
    pub(super) fn new(run: &BenchmarkRun, now: Timestamp) -> Option<Self> {
        let member = Member {
            uid: run.uid().unwrap_or_default(),
            namespace: run.namespace().unwrap_or_default(),
            name: run.name_any(),
            created: run.creation_timestamp().map_or(Timestamp::MAX, |it| it.0),
            turns: [Timestamp::MIN, last_attempt(run).map_or(Timestamp::MIN, |it| it.start_time)],
            exclusive: effective::exclusive(&run.spec.target),
            is_cluster_wide: true,
            place: place_of(run, now)?,
        };
        Some(Entry {
            member,
            asked: None,
            told: None,
            taken: false,
            called: Some(now),
            unwritten: None,
            version: Version::from_run(run),
            is_between: last_attempt(run).is_some_and(|it| it.end_time.is_some()),
            ends: ends(run),
            queue: run.spec.queue_name.clone(),
            job: last_attempt(run).map(|it| it.job_name.clone()).unwrap_or_default(),
            grace_seconds: grace_seconds(run),
        })
    }

    /// The record after a newer state of its run. `None` if it is no longer needed.
    pub(super) fn updated(self, run: &BenchmarkRun, now: Timestamp) -> Option<Self> {
        if Version::from_run(run).is_older_than(&self.version) {
            return Some(self);
        }
        let mut next = Entry::new(run, now)?;
        next.asked = self.asked;
        next.told = self.told;
        next.called = self.called;
        let has_begun = run.status.as_ref().is_some_and(|it| current_attempt(it).is_some());
        next.unwritten = self.unwritten.filter(|_| !has_begun);
        if self.taken && !has_begun && !run.is_finished() && run.metadata.deletion_timestamp.is_none() {
            next.take();
        }
        Some(next)
    }

    /// The record after its run was deleted. `None` if the run had no pod.
    pub(super) fn deleted(mut self, now: Timestamp) -> Option<Self> {
        match self.member.place {
            Place::Holding => {
                let until = drained_at(now, self.grace_seconds.saturating_add(ORPHAN_SECONDS));
                self.member.place = Place::Draining { until };
            }
            Place::Draining { .. } => {}
            Place::Waiting | Place::Aside => return None,
        }
        self.taken = false;
        Some(self)
    }

    /// The run as other runs see it. A run that gets no reconciliation, or whose status cannot be written, must not block other runs.
    pub(super) fn seen(&self, now: Timestamp) -> Member {
        let is_late = self.called.is_some_and(|it| now.duration_since(it) > PATIENCE);
        let place = match (self.member.place, self.unwritten) {
            (Place::Waiting, Some(until)) if until > now => Place::Holding,
            (Place::Waiting, Some(_)) => Place::Aside,
            (Place::Waiting, None) if is_late => Place::Aside,
            (Place::Holding, Some(_)) if !self.taken && (self.is_between || self.ends < now) => Place::Aside,
            (place, _) => place,
        };
        Member { place, ..self.member.clone() }
    }

    /// Time until other runs stop waiting for this run if it gets no reconciliation. `None` if they do not wait for it.
    pub(super) fn is_waited_for(&self, now: Timestamp) -> Option<SignedDuration> {
        let called = self.called.and_then(|it| it.checked_add(PATIENCE).ok());
        let until = [called.filter(|_| self.member.place == Place::Waiting), self.unwritten];
        until.into_iter().flatten().map(|it| it.duration_since(now)).filter(|it| it.is_positive()).min()
    }

    /// The run at the moment at which it requests the target. If its last status write failed, it goes behind all other runs. Between two attempts it
    /// keeps its target, unless a run in another namespace waits for it.
    pub(super) fn asks(&mut self, is_wanted: bool) -> Member {
        self.called = None;
        let mut member = self.member.clone();
        if self.unwritten.is_some() {
            member.turns = [Timestamp::MAX; 2];
        }
        if member.place == Place::Holding && self.is_between && !self.taken && is_wanted {
            member.place = Place::Waiting;
        }
        member
    }

    /// From now on, other runs wait for the reconciliation of this run.
    pub(super) fn call(&mut self, now: Timestamp) {
        self.called.get_or_insert(now);
    }

    /// Records whether a status write succeeded. A write that failed might still have been applied.
    pub(super) fn written(&mut self, is_written: bool, now: Timestamp) {
        if is_written {
            self.unwritten = None;
        } else if self.give_back() {
            self.unwritten = Some(now.checked_add(UNSURE).unwrap_or(Timestamp::MAX));
        } else {
            self.unwritten.get_or_insert(now);
        }
    }

    /// Allows the run to begin.
    pub(super) fn take(&mut self) {
        self.taken = true;
        self.member.place = Place::Holding;
    }

    /// Withdraws the permission to begin. Returns whether the run had it.
    pub(super) fn give_back(&mut self) -> bool {
        let was_taken = std::mem::take(&mut self.taken);
        if was_taken {
            self.member.place = Place::Waiting;
        }
        was_taken
    }

    /// The observation for a run that must wait.
    pub(super) fn wait(&mut self, busy: Busy, now: Timestamp) -> Wait {
        self.asked = Some(now);
        let keep_message = self.told.is_some_and(|it| now.duration_since(it) < MESSAGE_INTERVAL);
        if !keep_message {
            self.told = Some(now);
        }
        Wait { next_look: busy.next_look(), keep_message, busy }
    }

    /// Whether the pod of this run must be gone before another run begins.
    pub(super) fn drains_before(&self, other: &Member, now: Timestamp) -> bool {
        let works = matches!(self.member.place, Place::Draining { until } if until > now);
        works && self.member.excludes(other)
    }

    /// Whether the run has ended and the time for its pod to end has passed.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        matches!(self.member.place, Place::Draining { until } if until <= now)
    }

    pub(super) fn drain(&self) -> Drain {
        Drain {
            uid: self.member.uid.clone(),
            namespace: self.member.namespace.clone(),
            name: self.member.name.clone(),
            job: self.job.clone(),
        }
    }
}

/// An ended or deleted run whose pod may still work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drain {
    /// UID of the run.
    pub uid: String,
    /// Namespace of the run.
    pub namespace: String,
    /// Name of the run.
    pub name: String,
    /// The name of its last attempt's Job. Empty if it is not known.
    pub job: String,
}

impl Drain {
    /// The reason to wait for the first run in line.
    pub(super) fn busy(&self) -> Busy {
        Busy { position: 1, ahead: Ahead::Drains, name: format!("{}/{}", self.namespace, self.name) }
    }
}

/// How close to the target a run in this place is: higher is closer. If the rank of a run decreases, other runs can begin.
pub(super) fn rank(place: Place) -> u8 {
    match place {
        Place::Holding => 2,
        Place::Waiting => 1,
        Place::Draining { .. } | Place::Aside => 0,
    }
}

/// The slot of a run. `None` if it has ended and its pod has had enough time to end.
fn place_of(run: &BenchmarkRun, now: Timestamp) -> Option<Place> {
    let status = run.status.as_ref();
    let last = last_attempt(run);
    let drains = |ended: Timestamp| {
        let until = drained_at(ended, grace_seconds(run));
        (until > now).then_some(Place::Draining { until })
    };
    if run.is_finished() {
        let ended = status?.completion_time.or(last?.end_time)?;
        return last.and_then(|_| drains(ended));
    }
    if let Some(deleted) = &run.metadata.deletion_timestamp {
        // A finalizer can keep the deleted run for any length of time. Before another run begins, the Job and pod of this run are checked.
        let Some(_) = last else { return Some(Place::Aside) };
        let until = drained_at(deleted.0, grace_seconds(run).saturating_add(ORPHAN_SECONDS));
        return (until > now).then_some(Place::Draining { until });
    }
    if status.is_some_and(|it| current_attempt(it).is_some()) {
        return Some(Place::Holding);
    }
    let phase = status.and_then(|it| it.phase);
    let stopped = run.spec.suspend || run.spec.cancel.is_some();
    if stopped || phase == Some(Phase::Suspended) {
        let drains = last.and_then(|it| it.end_time).and_then(drains);
        return Some(drains.unwrap_or(if stopped { Place::Aside } else { Place::Waiting }));
    }
    // The run keeps its target because another attempt follows, unless its queue did not admit the last attempt.
    if let Some(last) = last.filter(|_| phase == Some(Phase::Preparing)) {
        let drains = last.end_time.and_then(drains).unwrap_or(Place::Waiting);
        return Some(if last.reason == Reason::Suspended { drains } else { Place::Holding });
    }
    let waits_for_else = phase == Some(Phase::Pending) && status.is_some_and(|it| it.reason != Reason::TargetBusy);
    Some(if waits_for_else { Place::Aside } else { Place::Waiting })
}

/// The time at which a pod has had enough time to end.
fn drained_at(stopped: Timestamp, grace_seconds: u32) -> Timestamp {
    let time = SignedDuration::from_secs(grace_seconds.into()) + LEEWAY;
    stopped.checked_add(time).unwrap_or(Timestamp::MAX)
}

/// The time at which the Job of the last attempt must have ended because of its deadlines.
fn ends(run: &BenchmarkRun) -> Timestamp {
    let status = run.status.as_ref();
    let deadline = status.and_then(|it| it.effective_spec.as_deref()).map(job::deadline);
    let end = last_attempt(run).zip(deadline).and_then(|(attempt, seconds)| {
        // Time in a queue counts toward no deadline, so for a queued run the count starts with the measurement.
        let began = attempt.running_time.or(Some(attempt.start_time).filter(|_| run.spec.queue_name.is_none()))?;
        began.checked_add(SignedDuration::from_secs(seconds) + LEEWAY).ok()
    });
    end.unwrap_or(Timestamp::MAX)
}

fn last_attempt(run: &BenchmarkRun) -> Option<&Attempt> {
    run.status.as_ref()?.attempts.last()
}

fn grace_seconds(run: &BenchmarkRun) -> u32 {
    let given =
        run.status.as_ref().and_then(|it| it.effective_spec.as_ref()).map(|it| it.execution.grace_period_seconds);
    given.or(run.spec.execution.grace_period_seconds).unwrap_or(GRACE_SECONDS)
}
