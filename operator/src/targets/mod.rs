//! Records which run occupies which target. The leader keeps these records in memory. They prevent that two concurrent reconciliations let two runs
//! begin on one target.
//!
//! The watch on runs fills the records, and each reconciliation updates them with the state that the reconciliation read and wrote. A run that can
//! begin takes its slot here before its attempt is written into its status. One lock covers both the check of all other runs and the taking of the
//! slot. See docs/decisions/0009-one-load-a-target.md.

mod entry;
pub mod turn;

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crds::{BenchmarkRun, Settings};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use tokio::time::Instant;

pub use self::entry::Drain;
use self::entry::Entry;
use crate::{
    plan::exclusive::{
        Target, TargetKey, Wait,
        line::{Member, Place, busy, next},
    },
    wakes::{Wakes, Woken},
};

/// A pod counts as working until this long after its grace period. After that its node counts as lost.
pub(crate) const LEEWAY: SignedDuration = SignedDuration::from_secs(60);
/// Minimum time between two updates of a waiting run's position, because each update is a status write.
const MESSAGE_INTERVAL: SignedDuration = SignedDuration::from_secs(60);
/// Maximum time after the start for which runs wait for watches whose caches are not filled yet. It is limited so that a namespace that cannot be
/// watched does not block the others.
const LONGEST_FILLING: Duration = Duration::from_secs(30);
/// A run can get no reconciliation although other runs wait for it. Then this number of runs at the front of the line get a reconciliation as soon as
/// they need no longer wait for that run.
const SOONER: usize = 2;
/// Time between two searches for expired records.
const SWEEP_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// The unfinished runs of each target, and runs that ended or were deleted recently. Its size is bounded by the number of these runs. A record is
/// removed when its run has ended and its pod is gone or has had enough time to end.
#[derive(Debug, Default)]
pub struct Targets {
    state: Mutex<State>,
    wakes: Wakes,
}

#[derive(Debug, Default)]
struct State {
    /// The runs of each target.
    by_key: HashMap<TargetKey, Line>,
    /// The target of each run, by the run's UID.
    keys: HashMap<String, TargetKey>,
    /// The start times of the watches whose caches are not filled yet.
    filling: Vec<Instant>,
    swept: Option<Timestamp>,
}

/// The runs of one target.
#[derive(Debug, Default)]
struct Line {
    /// The records of the runs, by UID.
    runs: HashMap<String, Entry>,
    /// For each namespace, the time at which one of its runs last began.
    turns: HashMap<String, Timestamp>,
}

/// The answer to a run that requests its target.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// The run can begin, unless one of these pods still works. It keeps its slot until [`Targets::give_back`].
    Begin(Vec<Drain>),
    /// The run must wait, because another run is in front of it.
    Wait(Wait),
    /// No decision is possible yet, because some runs are not known yet.
    NotYet,
}

impl Targets {
    /// Updates the record of a run from the watch. A state that is older than the known state is ignored.
    pub fn note(&self, run: &BenchmarkRun, settings: &Settings, now: Timestamp) {
        let target = Target::of_run(run, settings);
        self.put(&mut self.lock(), run, target, now);
    }

    /// Updates the record of a run with the state that its own reconciliation has read or written. `target` is the target that this reconciliation
    /// found.
    pub fn note_live(&self, run: &BenchmarkRun, target: Option<Target>, now: Timestamp) {
        self.put(&mut self.lock(), run, target, now);
    }

    fn put(&self, state: &mut State, run: &BenchmarkRun, target: Option<Target>, now: Timestamp) {
        let uid = run.uid().unwrap_or_default();
        let before = state.keys.get(&uid).copied();
        let Some(key) = target.map(|it| it.key).or(before) else { return };
        let known = state.remove(&uid);
        let was_wide = known.as_ref().is_none_or(|it| it.member.is_cluster_wide);
        let was = known.as_ref().map_or(0, |it| entry::rank(it.member.place));
        let next = known.map_or_else(|| Entry::new(run, now), |it| it.updated(run, now));
        let is = next.as_ref().map_or(0, |it| entry::rank(it.member.place));
        if let Some(mut entry) = next {
            entry.member.is_cluster_wide = target.map_or(was_wide, |it| it.is_cluster_wide);
            state.insert(key, entry);
        }
        state.sweep(now);
        if is < was || before.is_some_and(|it| it != key) {
            self.wake_next(state, before.unwrap_or(key), now);
        }
    }

    /// Requests the target for a run whose record was just updated. If the run can begin, it takes its slot.
    pub fn ask(&self, uid: &str, now: Timestamp) -> Answer {
        let mut state = self.lock();
        state.filling.retain(|it| it.elapsed() < LONGEST_FILLING);
        if !state.filling.is_empty() {
            return Answer::NotYet;
        }
        let Some(key) = state.keys.get(uid).copied() else { return Answer::Begin(Vec::new()) };
        let Some(line) = state.by_key.get_mut(&key) else { return Answer::Begin(Vec::new()) };
        // Ended runs are left out here, because the caller checks whether their pods still work.
        let works: Vec<_> = line.seen(now).filter(|it| !matches!(it.place, Place::Draining { .. })).collect();
        let Some(entry) = line.runs.get_mut(uid) else { return Answer::Begin(Vec::new()) };
        let namespace = entry.member.namespace.clone();
        let own = entry.asks(works.iter().any(|it| it.place == Place::Waiting && it.namespace != namespace));
        let own = Member { turns: line.turns_of(&own), ..own };
        let busy = busy(&own, works.iter(), now);
        let mut drains: Vec<_> =
            line.runs.values().filter(|it| it.drains_before(&own, now)).map(Entry::drain).collect();
        drains.sort_by(|a, b| a.uid.cmp(&b.uid));
        // If a run gets no reconciliation, the first runs in line get a reconciliation as soon as they need no longer wait for that run.
        let silent = line.runs.values().filter(|it| it.member.uid != uid).filter_map(|it| it.is_waited_for(now)).min();
        let silent = silent.filter(|_| busy.as_ref().is_some_and(|it| it.position <= SOONER));
        let Some(entry) = line.runs.get_mut(uid) else { return Answer::Begin(Vec::new()) };
        match busy {
            Some(busy) => {
                entry.give_back();
                let mut wait = entry.wait(busy, now);
                if let Some(silent) = silent.and_then(|it| Duration::try_from(it).ok()) {
                    wait.next_look = wait.next_look.min(silent + Duration::from_secs(1));
                }
                Answer::Wait(wait)
            }
            None => {
                entry.take();
                Answer::Begin(drains)
            }
        }
    }

    /// Whether another run waits for this run's target, and could begin if this run left it.
    pub fn is_wanted(&self, uid: &str, now: Timestamp) -> bool {
        let state = self.lock();
        let Some(line) = state.keys.get(uid).and_then(|it| state.by_key.get(it)) else { return false };
        let Some(own) = line.runs.get(uid) else { return false };
        // A run that needs the same queue could not start either if it had the target.
        let has_same_queue = |it: &Member| {
            it.namespace == own.member.namespace
                && own.queue.is_some()
                && line.runs.get(&it.uid).is_some_and(|it| it.queue == own.queue)
        };
        line.seen(now).any(|it| it.place == Place::Waiting && it.excludes(&own.member) && !has_same_queue(&it))
    }

    /// Records whether a reconciliation could write the status of a run. Without a written status the run has no slot.
    pub fn written(&self, uid: &str, is_written: bool, now: Timestamp) {
        if let Some(entry) = self.lock().entry(uid) {
            entry.written(is_written, now);
        }
    }

    /// Releases a slot that [`Targets::ask`] granted, because a pod still works. Returns the observation for the run, which must wait.
    pub fn wait_for(&self, uid: &str, drain: &Drain, now: Timestamp) -> Option<Wait> {
        let mut state = self.lock();
        let entry = state.entry(uid)?;
        entry.give_back();
        Some(entry.wait(drain.busy(), now))
    }

    /// Releases a slot that [`Targets::ask`] granted, because the run does not begin: its new attempt was certainly not written, or the run must
    /// do something else first.
    pub fn give_back(&self, uid: &str, now: Timestamp) {
        let mut state = self.lock();
        let was_taken = state.entry(uid).is_some_and(Entry::give_back);
        if let Some(key) = state.keys.get(uid).copied().filter(|_| was_taken) {
            self.wake_next(&mut state, key, now);
        }
    }

    /// Releases a slot that [`Targets::ask`] granted, because the run has changed in the meantime. This counts as a turn of its namespace on the
    /// target, so that a run that changes all the time does not block other runs.
    pub fn changed(&self, uid: &str, now: Timestamp) {
        let mut state = self.lock();
        if let Some(key) = state.keys.get(uid).copied()
            && let Some(line) = state.by_key.get_mut(&key)
            && let Some(entry) = line.runs.get(uid)
        {
            line.turns.insert(entry.member.namespace.clone(), now);
        }
        drop(state);
        self.give_back(uid, now);
    }

    /// Releases a slot that [`Targets::ask`] granted, because a read failed. Wakes no run: usually this run is the first in line, and it requests
    /// the target again on its own.
    pub fn step_back(&self, uid: &str) {
        if let Some(entry) = self.lock().entry(uid) {
            entry.give_back();
        }
    }

    /// Removes the record of an ended run whose pod is gone.
    pub fn drained(&self, uid: &str) {
        self.lock().remove(uid);
    }

    /// Updates the record of a deleted run, whose pod may still work.
    pub fn forget(&self, uid: &str, now: Timestamp) {
        let mut state = self.lock();
        if let Some(key) = state.forget(uid, now) {
            self.wake_next(&mut state, key, now);
        }
    }

    /// Removes the records of runs that the watch no longer lists, in one namespace or in all.
    pub fn retain(&self, namespace: Option<&str>, known: &HashSet<String>, now: Timestamp) {
        let mut state = self.lock();
        let works = state.entries().filter(|it| !matches!(it.member.place, Place::Draining { .. }));
        let of_watch = works.filter(|it| namespace.is_none_or(|namespace| namespace == it.member.namespace));
        let gone: Vec<String> = of_watch.map(|it| it.member.uid.clone()).filter(|it| !known.contains(it)).collect();
        let freed: HashSet<_> = gone.iter().filter_map(|it| state.forget(it, now)).collect();
        freed.into_iter().for_each(|it| self.wake_next(&mut state, it, now));
    }

    /// When a run last had to wait for its target. At this time the time limit for the run's other objects, such as its ConfigMap, starts again.
    pub fn last_in_line(&self, uid: &str) -> Option<Timestamp> {
        self.lock().entry(uid)?.asked
    }

    /// Records that a watch has started. Runs only begin when its cache is filled.
    pub fn filling(&self) {
        self.lock().filling.push(Instant::now());
    }

    /// Records that the cache of one of these watches is filled.
    pub fn filled(&self) {
        self.lock().filling.pop();
    }

    /// The stream of runs that get a reconciliation because another run ended, in one namespace or in all.
    pub fn woken(&self, namespace: Option<&str>) -> Woken {
        self.wakes.subscribe(namespace)
    }

    /// Whether the run with this UID has a record that has not expired.
    pub fn knows(&self, uid: &str, now: Timestamp) -> bool {
        self.lock().entry(uid).is_some_and(|it| !it.is_over(now))
    }

    /// Whether a run does not occupy its target.
    pub fn is_free_of(&self, uid: &str) -> bool {
        self.lock().entry(uid).is_none_or(|it| it.member.place != Place::Holding)
    }

    /// Number of records.
    pub fn count(&self) -> usize {
        self.lock().keys.len()
    }

    /// Wakes the waiting runs that can begin now, unless the pod of an ended run still works.
    fn wake_next(&self, state: &mut State, key: TargetKey, now: Timestamp) {
        let Some(line) = state.by_key.get_mut(&key) else { return };
        let seen: Vec<_> = line.seen(now).collect();
        for member in next(seen.iter()) {
            self.wakes.wake(&member.namespace, &member.name);
            if let Some(entry) = line.runs.get_mut(&member.uid) {
                entry.call(now);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // If another thread has panicked, the lock is poisoned, but it is used nevertheless: every operation leaves the maps in a valid state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// All runs of the line as other runs see them.
    fn seen(&self, now: Timestamp) -> impl Iterator<Item = Member> {
        self.runs.values().map(move |it| {
            let seen = it.seen(now);
            Member { turns: self.turns_of(&seen), ..seen }
        })
    }

    /// Computes [`Member::turns`] of a run. Only the line knows when the namespace last had its turn.
    fn turns_of(&self, member: &Member) -> [Timestamp; 2] {
        let [least, own] = member.turns;
        [self.turns.get(&member.namespace).copied().unwrap_or(Timestamp::MIN).max(least), own]
    }
}

impl State {
    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.by_key.values().flat_map(|it| it.runs.values())
    }

    fn entry(&mut self, uid: &str) -> Option<&mut Entry> {
        let key = self.keys.get(uid)?;
        self.by_key.get_mut(key)?.runs.get_mut(uid)
    }

    fn insert(&mut self, key: TargetKey, entry: Entry) {
        self.keys.insert(entry.member.uid.clone(), key);
        let line = self.by_key.entry(key).or_default();
        let [_, began] = entry.member.turns;
        if began > Timestamp::MIN {
            let turn = line.turns.entry(entry.member.namespace.clone()).or_insert(began);
            *turn = began.max(*turn);
        }
        line.runs.insert(entry.member.uid.clone(), entry);
    }

    fn remove(&mut self, uid: &str) -> Option<Entry> {
        let key = self.keys.remove(uid)?;
        self.by_key.get_mut(&key)?.runs.remove(uid)
    }

    /// Removes a deleted run, but keeps a record while its pod may work. Returns the key of its target if other runs can begin now.
    fn forget(&mut self, uid: &str, now: Timestamp) -> Option<TargetKey> {
        let key = self.keys.get(uid).copied()?;
        let entry = self.remove(uid)?;
        let counted = entry::rank(entry.member.place) > 0;
        if let Some(entry) = entry.deleted(now) {
            self.insert(key, entry);
        }
        counted.then_some(key)
    }

    /// Removes the records of ended runs whose time has passed.
    fn sweep(&mut self, now: Timestamp) {
        if self.swept.is_some_and(|it| now.duration_since(it) < SWEEP_INTERVAL) {
            return;
        }
        self.swept = Some(now);
        let gone: Vec<_> = self.entries().filter(|it| it.is_over(now)).map(|it| it.member.uid.clone()).collect();
        gone.iter().for_each(|it| drop(self.remove(it)));
        self.by_key.retain(|_, it| !it.runs.is_empty());
    }
}

#[cfg(test)]
mod tests;
