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
        Target, TargetKey, Wait,
        line::{Member, Place, busy, next},
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
/// As many of the first ones in line look again as soon as a run that is not heard of lets them in.
const SOONER: usize = 2;
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
    /// The runs of each target.
    by_key: HashMap<TargetKey, Line>,
    /// The key of each run, by UID.
    keys: HashMap<String, TargetKey>,
    /// Watches whose caches are not filled, and since when.
    filling: Vec<Instant>,
    swept: Option<Timestamp>,
}

/// The runs of a target.
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
        let target = Target::of_run(run, settings);
        self.put(&mut self.lock(), run, target, now);
    }

    /// Takes a run as its own turn read or wrote it, with the key that this turn found.
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

    /// Asks whether a run may begin that was just noted, and takes its place if it may.
    pub fn ask(&self, uid: &str, now: Timestamp) -> Answer {
        let mut state = self.lock();
        state.filling.retain(|it| it.elapsed() < LONGEST_FILLING);
        if !state.filling.is_empty() {
            return Answer::NotYet;
        }
        let Some(key) = state.keys.get(uid).copied() else { return Answer::Begin(Vec::new()) };
        let Some(line) = state.by_key.get_mut(&key) else { return Answer::Begin(Vec::new()) };
        // Whether the pods of ended runs work is for the caller to see.
        let works: Vec<_> = line.seen(now).filter(|it| !matches!(it.place, Place::Draining { .. })).collect();
        let Some(entry) = line.runs.get_mut(uid) else { return Answer::Begin(Vec::new()) };
        let namespace = entry.member.namespace.clone();
        let own = entry.asks(works.iter().any(|it| it.place == Place::Waiting && it.namespace != namespace));
        let own = Member { turns: line.turns_of(&own), ..own };
        let busy = busy(&own, works.iter(), now);
        let mut drains: Vec<_> =
            line.runs.values().filter(|it| it.drains_before(&own, now)).map(Entry::drain).collect();
        drains.sort_by(|a, b| a.uid.cmp(&b.uid));
        // The first ones in line do not wait longer than necessary for a run that is not heard of.
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

    /// Whether another run waits for the target of a run, and may begin once this one leaves it.
    pub fn is_wanted(&self, uid: &str, now: Timestamp) -> bool {
        let state = self.lock();
        let Some(line) = state.keys.get(uid).and_then(|it| state.by_key.get(it)) else { return false };
        let Some(own) = line.runs.get(uid) else { return false };
        // A run that needs the same queue would wait as well.
        let has_same_queue = |it: &Member| {
            it.namespace == own.member.namespace
                && own.queue.is_some()
                && line.runs.get(&it.uid).is_some_and(|it| it.queue == own.queue)
        };
        line.seen(now).any(|it| it.place == Place::Waiting && it.excludes(&own.member) && !has_same_queue(&it))
    }

    /// A status of a run was written or not: without one it has no place.
    pub fn written(&self, uid: &str, is_written: bool, now: Timestamp) {
        if let Some(entry) = self.lock().entry(uid) {
            entry.written(is_written, now);
        }
    }

    /// Gives a place back that [`Targets::ask`] took, because a pod still works. Returns what the run is told.
    pub fn wait_for(&self, uid: &str, drain: &Drain, now: Timestamp) -> Option<Wait> {
        let mut state = self.lock();
        let entry = state.entry(uid)?;
        entry.give_back();
        Some(entry.wait(drain.busy(), now))
    }

    /// Gives a place back that [`Targets::ask`] took, because the run does not begin: the intent was certainly not written, or
    /// the run has to do something else first.
    pub fn give_back(&self, uid: &str, now: Timestamp) {
        let mut state = self.lock();
        let was_taken = state.entry(uid).is_some_and(Entry::give_back);
        if let Some(key) = state.keys.get(uid).copied().filter(|_| was_taken) {
            self.wake_next(&mut state, key, now);
        }
    }

    /// Gives a place back that [`Targets::ask`] took, because the run has changed meanwhile. Its namespace has had its turn: a run that
    /// changes all the time must not stop the others.
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
            self.wake_next(&mut state, key, now);
        }
    }

    /// Removes the runs of a namespace, or of all, that a watch does not know any more.
    pub fn retain(&self, namespace: Option<&str>, known: &HashSet<String>, now: Timestamp) {
        let mut state = self.lock();
        let works = state.entries().filter(|it| !matches!(it.member.place, Place::Draining { .. }));
        let of_watch = works.filter(|it| namespace.is_none_or(|namespace| namespace == it.member.namespace));
        let gone: Vec<String> = of_watch.map(|it| it.member.uid.clone()).filter(|it| !known.contains(it)).collect();
        let freed: HashSet<_> = gone.iter().filter_map(|it| state.forget(it, now)).collect();
        freed.into_iter().for_each(|it| self.wake_next(&mut state, it, now));
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
        // Each operation leaves the maps valid, so that a panic elsewhere does not invalidate them.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// Each run as others have to see it.
    fn seen(&self, now: Timestamp) -> impl Iterator<Item = Member> {
        self.runs.values().map(move |it| {
            let seen = it.seen(now);
            Member { turns: self.turns_of(&seen), ..seen }
        })
    }

    /// [`Member::turns`] of a run: the first of them is known here alone.
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
        let gone: Vec<_> = self.entries().filter(|it| it.is_over(now)).map(|it| it.member.uid.clone()).collect();
        gone.iter().for_each(|it| drop(self.remove(it)));
        self.by_key.retain(|_, it| !it.runs.is_empty());
    }
}

#[cfg(test)]
mod tests;
