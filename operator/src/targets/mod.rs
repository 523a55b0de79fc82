//! Which run has which target: the memory of the leader, by which two runs that are decided at the same time never both begin.
//!
//! The watch on runs fills it, and each turn corrects it by what it read and wrote. A run that may begin takes its place here
//! before its intent is written, and under one lock with the look at all others. See docs/decisions/0009-one-load-a-target.md.

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
        TargetKey, Wait,
        line::{Place, busy, next},
    },
    wakes::{Wakes, Woken},
};

/// How long after the end of its grace period a pod counts as one that still works. Later its node is lost.
pub(crate) const LEEWAY: SignedDuration = SignedDuration::from_secs(60);
/// A waiting run gets its new position at most this often: each is a status write.
const MESSAGE_INTERVAL: SignedDuration = SignedDuration::from_secs(60);
/// How long runs wait after the start for watches that have not filled their caches. A namespace that cannot be watched must
/// not hold up the others.
const LONGEST_FILLING: Duration = Duration::from_secs(30);
/// How often entries whose time has passed are looked for.
const SWEEP_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// The runs that have not ended, by target, and those that ended or were deleted a moment ago. Its size is bounded by their
/// number: an entry leaves when its run has ended and its pod is gone, or could be gone for a time.
#[derive(Debug, Default)]
pub struct Targets {
    state: Mutex<State>,
    wakes: Wakes,
}

#[derive(Debug, Default)]
struct State {
    /// The runs of each target, by UID.
    by_key: HashMap<TargetKey, HashMap<String, Entry>>,
    /// The key of each run, by UID.
    keys: HashMap<String, TargetKey>,
    /// Watches whose caches are not filled, and since when.
    filling: Vec<Instant>,
    swept: Option<Timestamp>,
}

/// Whether a run may begin.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// It may, unless one of these pods still works. Its place is taken until [`Targets::give_back`].
    Begin(Vec<Drain>),
    /// Another run is in front of it.
    Wait(Wait),
    /// Not all runs are known yet.
    NotYet,
}

impl Targets {
    /// Takes a run as a watch saw it. A state that is older than the known one changes nothing.
    pub fn note(&self, run: &BenchmarkRun, settings: &Settings, now: Timestamp) {
        let key = TargetKey::of_run(run, settings);
        self.put(&mut self.lock(), run, key, now);
    }

    /// Takes a run as its own turn read or wrote it, with the key that this turn found.
    pub fn note_live(&self, run: &BenchmarkRun, key: Option<TargetKey>, now: Timestamp) {
        self.put(&mut self.lock(), run, key, now);
    }

    fn put(&self, state: &mut State, run: &BenchmarkRun, key: Option<TargetKey>, now: Timestamp) {
        let uid = run.uid().unwrap_or_default();
        let before = state.keys.get(&uid).copied();
        let Some(key) = key.or(before) else { return };
        let known = state.remove(&uid);
        let was = known.as_ref().map_or(0, |it| entry::rank(it.member.place));
        let next = known.map_or_else(|| Entry::new(run, now), |it| it.updated(run, now));
        let is = next.as_ref().map_or(0, |it| entry::rank(it.member.place));
        if let Some(entry) = next {
            state.insert(key, entry);
        }
        state.sweep(now);
        if is < was || before.is_some_and(|it| it != key) {
            self.wake_next(state, before.unwrap_or(key));
        }
    }

    /// Asks whether a run may begin that was just noted, and takes its place if it may.
    pub fn ask(&self, uid: &str, now: Timestamp) -> Answer {
        let mut state = self.lock();
        state.filling.retain(|it| it.elapsed() < LONGEST_FILLING);
        if !state.filling.is_empty() {
            return Answer::NotYet;
        }
        let Some(key) = state.keys.get(uid).copied() else { return Answer::Begin(Vec::new()) };
        let Some(all) = state.by_key.get_mut(&key) else { return Answer::Begin(Vec::new()) };
        let Some(own) = all.get(uid).map(|it| it.member.clone()) else { return Answer::Begin(Vec::new()) };
        // Whether the pods of ended runs work is for the caller to see.
        let works = all.values().filter(|it| !matches!(it.member.place, Place::Draining { .. }));
        let busy = busy(&own, works.map(|it| &it.member), now);
        let mut drains: Vec<_> = all.values().filter(|it| it.drains_before(&own, now)).map(Entry::drain).collect();
        drains.sort_by(|a, b| a.uid.cmp(&b.uid));
        let Some(entry) = all.get_mut(uid) else { return Answer::Begin(Vec::new()) };
        match busy {
            Some(busy) => {
                entry.give_back();
                Answer::Wait(entry.wait(busy, now))
            }
            None => {
                entry.take();
                Answer::Begin(drains)
            }
        }
    }

    /// Gives a place back that [`Targets::ask`] took, because a pod still works. Returns what the run is told.
    pub fn wait_for(&self, uid: &str, drain: &Drain, now: Timestamp) -> Option<Wait> {
        let mut state = self.lock();
        let entry = state.entry(uid)?;
        entry.give_back();
        Some(entry.wait(drain.busy(&entry.member), now))
    }

    /// Gives a place back that [`Targets::ask`] took, because the run does not begin: the intent was certainly not written, or
    /// the run has to do something else first.
    pub fn give_back(&self, uid: &str) {
        let mut state = self.lock();
        let was_taken = state.entry(uid).is_some_and(Entry::give_back);
        if let Some(key) = state.keys.get(uid).copied().filter(|_| was_taken) {
            self.wake_next(&state, key);
        }
    }

    /// Gives a place back that [`Targets::ask`] took, because a read failed. Wakes nobody: the first in line is most often the
    /// run itself, and it tries again by itself.
    pub fn step_back(&self, uid: &str) {
        if let Some(entry) = self.lock().entry(uid) {
            entry.give_back();
        }
    }

    /// The pod of a run that has ended is gone.
    pub fn drained(&self, uid: &str) {
        self.lock().remove(uid);
    }

    /// A run was deleted. Its pod may still work.
    pub fn forget(&self, uid: &str, now: Timestamp) {
        let mut state = self.lock();
        if let Some(key) = state.forget(uid, now) {
            self.wake_next(&state, key);
        }
    }

    /// Removes the runs of a namespace, or of all, that a watch does not know any more.
    pub fn retain(&self, namespace: Option<&str>, known: &HashSet<String>, now: Timestamp) {
        let mut state = self.lock();
        let all = state.by_key.values().flat_map(HashMap::values);
        let works = all.filter(|it| !matches!(it.member.place, Place::Draining { .. }));
        let of_watch = works.filter(|it| namespace.is_none_or(|namespace| namespace == it.member.namespace));
        let gone: Vec<String> = of_watch.map(|it| it.member.uid.clone()).filter(|it| !known.contains(it)).collect();
        let freed: HashSet<_> = gone.iter().filter_map(|it| state.forget(it, now)).collect();
        freed.into_iter().for_each(|it| self.wake_next(&state, it));
    }

    /// When a run was last told to wait: what it needs beside its target is waited for anew from then on.
    pub fn last_in_line(&self, uid: &str) -> Option<Timestamp> {
        self.lock().entry(uid)?.asked
    }

    /// A watch begins whose cache has to be filled before runs begin.
    pub fn filling(&self) {
        self.lock().filling.push(Instant::now());
    }

    /// The cache of one of these watches is filled.
    pub fn filled(&self) {
        self.lock().filling.pop();
    }

    /// The runs that may begin because another one ended, of one namespace or of all.
    pub fn woken(&self, namespace: Option<&str>) -> Woken {
        self.wakes.subscribe(namespace)
    }

    /// Whether the run of a UID is known, and counts.
    pub fn knows(&self, uid: &str, now: Timestamp) -> bool {
        self.lock().entry(uid).is_some_and(|it| !it.is_over(now))
    }

    /// Whether a run keeps nobody from its target by a place of its own.
    pub fn is_free_of(&self, uid: &str) -> bool {
        self.lock().entry(uid).is_none_or(|it| it.member.place != Place::Holding)
    }

    /// Number of entries.
    pub fn count(&self) -> usize {
        self.lock().keys.len()
    }

    /// Wakes the runs that wait for nothing but the end of a pod.
    fn wake_next(&self, state: &State, key: TargetKey) {
        let Some(all) = state.by_key.get(&key) else { return };
        let members = all.values().map(|it| &it.member);
        next(members).into_iter().for_each(|it| self.wakes.wake(&it.namespace, &it.name));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each operation leaves the maps valid, so that a panic elsewhere does not invalidate them.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn entry(&mut self, uid: &str) -> Option<&mut Entry> {
        let key = self.keys.get(uid)?;
        self.by_key.get_mut(key)?.get_mut(uid)
    }

    fn insert(&mut self, key: TargetKey, entry: Entry) {
        self.keys.insert(entry.member.uid.clone(), key);
        self.by_key.entry(key).or_default().insert(entry.member.uid.clone(), entry);
    }

    fn remove(&mut self, uid: &str) -> Option<Entry> {
        let key = self.keys.remove(uid)?;
        let all = self.by_key.get_mut(&key)?;
        let entry = all.remove(uid);
        if all.is_empty() {
            self.by_key.remove(&key);
        }
        entry
    }

    /// Removes a deleted run, but for its pod. Returns the key of its target if others may now begin.
    fn forget(&mut self, uid: &str, now: Timestamp) -> Option<TargetKey> {
        let key = self.keys.get(uid).copied()?;
        let entry = self.remove(uid)?;
        let counted = entry::rank(entry.member.place) > 0;
        if let Some(entry) = entry.deleted(now) {
            self.insert(key, entry);
        }
        counted.then_some(key)
    }

    /// Removes ended runs whose time has passed.
    fn sweep(&mut self, now: Timestamp) {
        if self.swept.is_some_and(|it| now.duration_since(it) < SWEEP_INTERVAL) {
            return;
        }
        self.swept = Some(now);
        let over = self.by_key.values().flat_map(HashMap::values).filter(|it| it.is_over(now));
        let gone: Vec<_> = over.map(|it| it.member.uid.clone()).collect();
        gone.iter().for_each(|it| drop(self.remove(it)));
    }
}

#[cfg(test)]
mod tests;
