//! Which run has which target. This is the leader's memory: it prevents two runs that are decided simultaneously from both beginning.
//!
//! The watch on runs fills it, and each turn corrects it with the state that it read and wrote. A run that may begin takes its place here
//! before its intent is written. One lock covers both the check of all other runs and the taking of the place. See
//! docs/decisions/0009-one-load-a-target.md.

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

/// How long after its grace period a pod still counts as working. After that its node counts as lost.
pub(crate) const LEEWAY: SignedDuration = SignedDuration::from_secs(60);
/// A waiting run gets its new position at most this often, because each update is a status write.
const MESSAGE_INTERVAL: SignedDuration = SignedDuration::from_secs(60);
/// How long after the start runs wait for watches that have not filled their caches. A namespace that cannot be watched must not block
/// other namespaces.
const LONGEST_FILLING: Duration = Duration::from_secs(30);
/// Number of runs at the front of a line that look again as soon as a silent run lets them in.
const SOONER: usize = 2;
/// How often expired entries are searched for.
const SWEEP_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// The unfinished runs by target, and the runs that ended or were deleted a moment ago. The number of these runs bounds its size. An entry
/// is removed after its run has ended and its pod is gone, or has had time to end.
#[derive(Debug, Default)]
pub struct Targets {
    state: Mutex<State>,
    wakes: Wakes,
}

#[derive(Debug, Default)]
struct State {
    /// The runs of each target.
    by_key: HashMap<TargetKey, Line>,
    /// The key of each run, by UID.
    keys: HashMap<String, TargetKey>,
    /// Start times of the watches that have not filled their caches.
    filling: Vec<Instant>,
    swept: Option<Timestamp>,
}

/// The runs on one target.
#[derive(Debug, Default)]
struct Line {
    /// By UID.
    runs: HashMap<String, Entry>,
    /// When a run of each namespace last began.
    turns: HashMap<String, Timestamp>,
}

/// Whether a run may begin.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// It may begin, unless one of these pods still works. The run keeps the place until [`Targets::give_back`].
    Begin(Vec<Drain>),
    /// Another run is in front.
    Wait(Wait),
    /// Some runs are not known yet.
    NotYet,
}

impl Targets {
    /// Updates a run from the watch. A state older than the known state changes nothing.
    pub fn note(&self, run: &BenchmarkRun, settings: &Settings, now: Timestamp) {
        let target = Target::of_run(run, settings);
        self.put(&mut self.lock(), run, target, now);
    }

    /// Updates a run as its own turn read or wrote it, with the target that this turn found.
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

    /// Requests the target for a run that was just noted. The run takes its place if it may begin.
    pub fn ask(&self, uid: &str, now: Timestamp) -> Answer {
        let mut state = self.lock();
        state.filling.retain(|it| it.elapsed() < LONGEST_FILLING);
        if !state.filling.is_empty() {
            return Answer::NotYet;
        }
        let Some(key) = state.keys.get(uid).copied() else { return Answer::Begin(Vec::new()) };
        let Some(line) = state.by_key.get_mut(&key) else { return Answer::Begin(Vec::new()) };
        // The caller checks whether the pods of ended runs work.
        let works: Vec<_> = line.seen(now).filter(|it| !matches!(it.place, Place::Draining { .. })).collect();
        let Some(entry) = line.runs.get_mut(uid) else { return Answer::Begin(Vec::new()) };
        let namespace = entry.member.namespace.clone();
        let own = entry.asks(works.iter().any(|it| it.place == Place::Waiting && it.namespace != namespace));
        let own = Member { turns: line.turns_of(&own), ..own };
        let busy = busy(&own, works.iter(), now);
        let mut drains: Vec<_> =
            line.runs.values().filter(|it| it.drains_before(&own, now)).map(Entry::drain).collect();
        drains.sort_by(|a, b| a.uid.cmp(&b.uid));
        // The first runs in line do not wait longer than necessary for a silent run.
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

    /// Whether another run waits for this run's target, and may begin after this run leaves it.
    pub fn is_wanted(&self, uid: &str, now: Timestamp) -> bool {
        let state = self.lock();
        let Some(line) = state.keys.get(uid).and_then(|it| state.by_key.get(it)) else { return false };
        let Some(own) = line.runs.get(uid) else { return false };
        // A run that needs the same queue would wait too.
        let has_same_queue = |it: &Member| {
            it.namespace == own.member.namespace
                && own.queue.is_some()
                && line.runs.get(&it.uid).is_some_and(|it| it.queue == own.queue)
        };
        line.seen(now).any(|it| it.place == Place::Waiting && it.excludes(&own.member) && !has_same_queue(&it))
    }

    /// Records whether the status of a run was written. Without a written status the run has no place.
    pub fn written(&self, uid: &str, is_written: bool, now: Timestamp) {
        if let Some(entry) = self.lock().entry(uid) {
            entry.written(is_written, now);
        }
    }

    /// Returns a place that [`Targets::ask`] took, because a pod still works. Returns the wait to report for the run.
    pub fn wait_for(&self, uid: &str, drain: &Drain, now: Timestamp) -> Option<Wait> {
        let mut state = self.lock();
        let entry = state.entry(uid)?;
        entry.give_back();
        Some(entry.wait(drain.busy(), now))
    }

    /// Returns a place that [`Targets::ask`] took, because the run does not begin: its intent was certainly not written, or the run has to
    /// do something else first.
    pub fn give_back(&self, uid: &str, now: Timestamp) {
        let mut state = self.lock();
        let was_taken = state.entry(uid).is_some_and(Entry::give_back);
        if let Some(key) = state.keys.get(uid).copied().filter(|_| was_taken) {
            self.wake_next(&mut state, key, now);
        }
    }

    /// Returns a place that [`Targets::ask`] took, because the run has changed meanwhile. Its namespace counts as having had its turn: a
    /// run that changes all the time must not block other runs.
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

    /// Returns a place that [`Targets::ask`] took, because a read failed. Wakes no run: the first in line is usually this run, and it
    /// retries by itself.
    pub fn step_back(&self, uid: &str) {
        if let Some(entry) = self.lock().entry(uid) {
            entry.give_back();
        }
    }

    /// Removes an ended run after its pod is gone.
    pub fn drained(&self, uid: &str) {
        self.lock().remove(uid);
    }

    /// Handles a deleted run. Its pod may still work.
    pub fn forget(&self, uid: &str, now: Timestamp) {
        let mut state = self.lock();
        if let Some(key) = state.forget(uid, now) {
            self.wake_next(&mut state, key, now);
        }
    }

    /// Removes the runs, in one namespace or in all, that a watch no longer knows.
    pub fn retain(&self, namespace: Option<&str>, known: &HashSet<String>, now: Timestamp) {
        let mut state = self.lock();
        let works = state.entries().filter(|it| !matches!(it.member.place, Place::Draining { .. }));
        let of_watch = works.filter(|it| namespace.is_none_or(|namespace| namespace == it.member.namespace));
        let gone: Vec<String> = of_watch.map(|it| it.member.uid.clone()).filter(|it| !known.contains(it)).collect();
        let freed: HashSet<_> = gone.iter().filter_map(|it| state.forget(it, now)).collect();
        freed.into_iter().for_each(|it| self.wake_next(&mut state, it, now));
    }

    /// When a run was last made to wait. The wait for its other objects restarts at this time.
    pub fn last_in_line(&self, uid: &str) -> Option<Timestamp> {
        self.lock().entry(uid)?.asked
    }

    /// Records that a watch starts. Its cache has to be filled before runs begin.
    pub fn filling(&self) {
        self.lock().filling.push(Instant::now());
    }

    /// Records that the cache of one of these watches is filled.
    pub fn filled(&self) {
        self.lock().filling.pop();
    }

    /// The runs that may begin because another run ended, in one namespace or in all.
    pub fn woken(&self, namespace: Option<&str>) -> Woken {
        self.wakes.subscribe(namespace)
    }

    /// Whether the run with this UID is known and still counts.
    pub fn knows(&self, uid: &str, now: Timestamp) -> bool {
        self.lock().entry(uid).is_some_and(|it| !it.is_over(now))
    }

    /// Whether a run holds no place that keeps other runs from its target.
    pub fn is_free_of(&self, uid: &str) -> bool {
        self.lock().entry(uid).is_none_or(|it| it.member.place != Place::Holding)
    }

    /// Number of entries.
    pub fn count(&self) -> usize {
        self.lock().keys.len()
    }

    /// Wakes the runs that wait for nothing except the end of a pod.
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
        // Each operation leaves the maps valid, so a panic elsewhere does not invalidate them.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// Each run as other runs see it.
    fn seen(&self, now: Timestamp) -> impl Iterator<Item = Member> {
        self.runs.values().map(move |it| {
            let seen = it.seen(now);
            Member { turns: self.turns_of(&seen), ..seen }
        })
    }

    /// [`Member::turns`] of a run. Only this line knows the namespace's turn.
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

    /// Removes a deleted run but keeps a record of its pod. Returns the key of its target if other runs may now begin.
    fn forget(&mut self, uid: &str, now: Timestamp) -> Option<TargetKey> {
        let key = self.keys.get(uid).copied()?;
        let entry = self.remove(uid)?;
        let counted = entry::rank(entry.member.place) > 0;
        if let Some(entry) = entry.deleted(now) {
            self.insert(key, entry);
        }
        counted.then_some(key)
    }

    /// Removes ended runs after their time has passed.
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
