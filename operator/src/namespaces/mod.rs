//! Counts the attempts in each namespace that has a limit. The leader keeps these counts in memory. Without them, two concurrent reconciliations
//! could give the last slot to two runs.
//!
//! The watch on runs creates the entries before the first reconciliation. Each reconciliation updates the entry of its run with the state that it
//! read and wrote. Only runs in namespaces with a limit have entries.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crds::{BenchmarkRun, Reason, status::Phase};
use jiff::Timestamp;
use kube::ResourceExt as _;

use crate::{
    plan::{Observed, current_attempt, policy::Policy, would_begin},
    wakes::{Wakes, Woken},
};

/// The unfinished runs in namespaces with a limit, by UID. Its size is bounded by the number of these runs.
#[derive(Debug, Default)]
pub struct Namespaces {
    runs: Mutex<HashMap<String, Entry>>,
    wakes: Wakes,
}

#[derive(Clone, Debug)]
struct Entry {
    namespace: String,
    name: String,
    created: Timestamp,
    /// The queue that the Jobs of the run wait for.
    queue: Option<String>,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The run has an attempt, or is about to begin another attempt.
    Holding,
    /// The run was allowed to begin an attempt, but the watch may not have reported the attempt yet.
    Taken,
    /// The run has requested a slot and waits for it.
    Waiting,
    /// The run has not requested a slot.
    Aside,
}

impl Place {
    /// Whether this run counts toward the namespace's limit.
    fn counts(self) -> bool {
        matches!(self, Place::Holding | Place::Taken)
    }
}

impl Namespaces {
    /// Updates the entry of a run, from the watch or after a reconciliation has written.
    pub fn note(&self, run: &BenchmarkRun, policy: &Policy) {
        let namespace = run.namespace().unwrap_or_default();
        let Some(most) = policy.max_concurrent_attempts(&namespace) else { return };
        let uid = run.uid().unwrap_or_default();
        let mut all = self.lock();
        let held = all.get(&uid).is_some_and(|it| it.place.counts());
        if run.is_finished() || run.metadata.deletion_timestamp.is_some() {
            all.remove(&uid);
        } else {
            Namespaces::put(&mut all, run, uid.clone(), namespace.clone());
        }
        if held && !all.get(&uid).is_some_and(|it| it.place.counts()) {
            self.wake_next(&all, &namespace, free(&all, &namespace, most));
        }
    }

    fn put(all: &mut HashMap<String, Entry>, run: &BenchmarkRun, uid: String, namespace: String) {
        let before = all.get(&uid).map_or(Place::Aside, |it| it.place);
        let place = match before {
            _ if has_attempts(run) => Place::Holding,
            _ if is_stopped(run) => Place::Aside,
            Place::Holding => Place::Aside,
            before => before,
        };
        let created = run.creation_timestamp().map_or(Timestamp::MAX, |it| it.0);
        all.insert(uid, Entry { namespace, name: run.name_any(), created, queue: run.spec.queue_name.clone(), place });
    }

    /// The stream of runs that get a reconciliation because a slot became free, in one namespace or in all.
    pub fn woken(&self, namespace: Option<&str>) -> Woken {
        self.wakes.subscribe(namespace)
    }

    /// Wakes the oldest waiting runs of a namespace, one for each free slot.
    fn wake_next(&self, all: &HashMap<String, Entry>, namespace: &str, free: usize) {
        let mut waiting: Vec<_> =
            all.iter().filter(|(_, it)| it.namespace == namespace && it.place == Place::Waiting).collect();
        waiting.sort_unstable_by_key(|(uid, it)| (it.created, *uid));
        waiting.into_iter().take(free).for_each(|(_, it)| self.wakes.wake(namespace, &it.name));
    }

    /// Updates the entry of a run in its own reconciliation. With `asks`, the run requests a slot to begin an attempt. Returns `None` if it gets the
    /// slot, otherwise its position in line, counted from 1. Each call replaces the run's earlier requests, so a run that now waits for something
    /// else blocks no other run. Runs get slots in the order of their creation.
    pub fn turn(&self, run: &BenchmarkRun, policy: &Policy, asks: bool) -> Option<usize> {
        self.note(run, policy);
        let uid = run.uid().unwrap_or_default();
        let most = policy.max_concurrent_attempts(&run.namespace().unwrap_or_default())?;
        let mut all = self.lock();
        let own = all.get(&uid).filter(|it| it.place != Place::Holding)?.clone();
        let others = || all.iter().filter(|(other, it)| **other != uid && it.namespace == own.namespace);
        let holding = others().filter(|(_, it)| it.place.counts()).count();
        let is_before = |other: &str, it: &Entry| (it.created, other) < (own.created, uid.as_str());
        let before = others().filter(|(other, it)| it.place == Place::Waiting && is_before(other, it)).count();
        let may = holding + before < usize::try_from(most).unwrap_or(usize::MAX);
        let place = match asks {
            true if may => Place::Taken,
            true => Place::Waiting,
            false => Place::Aside,
        };
        let gives_back = own.place.counts() && !place.counts();
        if let Some(own) = all.get_mut(&uid) {
            own.place = place;
        }
        if gives_back {
            self.wake_next(&all, &own.namespace, free(&all, &own.namespace, most));
        }
        (place == Place::Waiting).then_some(before + 1)
    }

    /// Whether another run in the namespace waits for the slot that this run has.
    pub fn is_wanted(&self, run: &BenchmarkRun, policy: &Policy) -> bool {
        let (uid, namespace) = (run.uid().unwrap_or_default(), run.namespace().unwrap_or_default());
        let Some(most) = policy.max_concurrent_attempts(&namespace) else { return false };
        let all = self.lock();
        let waits = |(other, it): (&String, &Entry)| {
            // A run that needs the same queue could not start either if it had the slot.
            let has_same_queue = it.queue.is_some() && it.queue == run.spec.queue_name;
            *other != uid && it.namespace == namespace && it.place == Place::Waiting && !has_same_queue
        };
        free(&all, &namespace, most) == 0 && all.iter().any(waits)
    }

    /// Removes the entry of a deleted run.
    pub fn forget(&self, uid: &str) {
        let mut all = self.lock();
        let Some(gone) = all.remove(uid).filter(|it| it.place.counts()) else { return };
        self.wake_next(&all, &gone.namespace, 1);
    }

    /// Removes the entries of runs that the watch no longer lists, in one namespace or in all.
    pub fn retain(&self, namespace: Option<&str>, known: &HashSet<String>) {
        let other = |it: &Entry| namespace.is_some_and(|namespace| namespace != it.namespace);
        self.lock().retain(|uid, it| other(it) || known.contains(uid));
    }

    /// Number of entries.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        // If another thread has panicked, the lock is poisoned, but it is used nevertheless: every operation leaves the map in a valid state.
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Number of free slots in a namespace.
fn free(all: &HashMap<String, Entry>, namespace: &str, most: u32) -> usize {
    let counted = all.values().filter(|it| it.namespace == namespace && it.place.counts()).count();
    usize::try_from(most).unwrap_or(usize::MAX).saturating_sub(counted)
}

/// Whether the run has an attempt, or is about to retry its last attempt. A run that was paused, or that waits, must request a slot again. A run
/// whose attempt is in a queue keeps its slot, because the queue can start the attempt at any time.
fn has_attempts(run: &BenchmarkRun) -> bool {
    let Some(status) = &run.status else { return false };
    if status.attempts.last().is_some_and(|it| it.end_time.is_some() && it.reason == Reason::Suspended) {
        return false;
    }
    let is_queued = status.phase == Some(Phase::Suspended) && !run.spec.suspend && current_attempt(status).is_some();
    is_queued || !status.attempts.is_empty() && !matches!(status.phase, Some(Phase::Suspended | Phase::Pending))
}

fn is_stopped(run: &BenchmarkRun) -> bool {
    run.spec.suspend || run.spec.cancel.is_some()
}

/// Whether a run requests a slot: the plan would begin its first attempt, or the first attempt after a pause. A retry keeps the slot of the previous
/// attempt.
pub fn asks(run: &BenchmarkRun, observed: &Observed) -> bool {
    would_begin(run, observed) && observed.wait.is_none() && !has_attempts(run)
}

#[cfg(test)]
mod tests;
