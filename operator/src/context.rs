//! State that all reconciliations of the loop share.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crds::Settings;
use jiff::Timestamp;
use kube::{Client, runtime::events::Reporter};

use crate::{
    connection::Health,
    ended_pods::EndedPods,
    events::Events,
    metrics::Metrics,
    namespaces::Namespaces,
    phase_times::PhaseTimes,
    plan::policy::Policy,
    sweeps::FinishedRuns,
    targets::Targets,
    turns::{Looks, Turns},
    wakes::Wakes,
};

/// State that all reconciliations of the loop share.
pub struct Context {
    /// Client of the API server.
    pub client: Client,
    /// Defaults that this installation sets for runs.
    pub settings: Settings,
    /// Limits that the administrators set.
    pub policy: Policy,
    /// Writes events.
    pub events: Events,
    /// The operator's own metrics.
    pub metrics: Arc<Metrics>,
    /// Decides which runs can have a reconciliation now.
    pub turns: Arc<Turns>,
    /// The runs that get another reconciliation soon.
    pub looks: Looks,
    /// The time at which each run entered its phase.
    pub phase_times: PhaseTimes,
    /// How pods ended, as seen by the watch on pods.
    pub ended_pods: Arc<EndedPods>,
    /// The times of each watch's last request and last answer.
    pub health: Arc<Health>,
    /// Number of consecutive failed reconciliations, per run.
    pub failures: Failures,
    /// Which run occupies which target.
    pub targets: Targets,
    /// The running attempts in namespaces that limit their number.
    pub namespaces: Namespaces,
    /// Schedules that need a reconciliation because one of their runs has ended.
    pub schedules: Wakes,
    /// Sweeps that need a reconciliation because one of their runs has ended.
    pub sweeps: Wakes,
    /// The finished runs of sweeps in progress.
    pub finished_runs: FinishedRuns,
    /// Locks for shared servers. A reconciliation holds the lock while it begins to use a server, or removes one.
    pub shared_servers: SharedServers,
    /// For each run that waits in a queue: when other runs began to wait for its target or slot.
    pub wanted: WantedSince,
}

impl Context {
    /// Creates a context in which no run is known yet.
    pub fn new(client: Client, settings: Settings, reporter: Reporter, health: Arc<Health>) -> Self {
        let metrics = Arc::<Metrics>::default();
        Context {
            events: Events::new(client.clone(), reporter, Arc::clone(&metrics)),
            client,
            settings,
            policy: Policy::default(),
            metrics,
            turns: Arc::default(),
            looks: Looks::default(),
            phase_times: PhaseTimes::default(),
            ended_pods: Arc::default(),
            health,
            failures: Failures::default(),
            targets: Targets::default(),
            namespaces: Namespaces::default(),
            schedules: Wakes::default(),
            sweeps: Wakes::default(),
            finished_runs: FinishedRuns::default(),
            shared_servers: SharedServers::default(),
            wanted: WantedSince::default(),
        }
    }

    /// Returns the same context with another policy.
    pub fn with_policy(self, policy: Policy) -> Self {
        Context { policy, ..self }
    }

    /// Removes everything that is remembered about a deleted run. Otherwise it would stay in memory, because a deleted run gets no further
    /// reconciliation.
    pub fn forget(&self, run_uid: &str) {
        self.ended_pods.forget(run_uid);
        self.failures.clear(run_uid);
        self.targets.forget(run_uid, Timestamp::now());
        self.namespaces.forget(run_uid);
        self.looks.forget(run_uid);
        self.wanted.forget(run_uid);
        self.phase_times.forget(run_uid);
    }
}

type ServerLock = Arc<tokio::sync::Mutex<()>>;

/// One lock per shared server, by namespace and name.
#[derive(Debug, Default)]
pub struct SharedServers(Mutex<HashMap<(String, String), ServerLock>>);

impl SharedServers {
    /// Locks a server for the caller, after every other reconciliation has released the lock.
    pub async fn lock(&self, namespace: &str, server: &str) -> tokio::sync::OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Drops unused locks. A lock that a reconciliation holds or waits for has another owner besides the map.
            locks.retain(|_, it| Arc::strong_count(it) > 1);
            Arc::clone(locks.entry((namespace.to_owned(), server.to_owned())).or_default())
        };
        lock.lock_owned().await
    }
}

/// For each run in a queue, by its UID: when another run began to wait for the target or the slot that the queued run occupies. If no other run waits
/// for it, it has no entry.
#[derive(Debug, Default)]
pub struct WantedSince(Mutex<HashMap<String, Timestamp>>);

impl WantedSince {
    /// Records whether other runs wait for this run. Returns when they began to wait. `None` if none waits.
    pub fn since(&self, run_uid: &str, is_wanted: bool, now: Timestamp) -> Option<Timestamp> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_wanted {
            all.remove(run_uid);
            return None;
        }
        Some(*all.entry(run_uid.to_owned()).or_insert(now))
    }

    /// Removes the entry of a run.
    pub fn forget(&self, run_uid: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(run_uid);
    }
}

/// Number of consecutive failed reconciliations, by the run's UID. A successful reconciliation removes the entry.
#[derive(Debug, Default)]
pub struct Failures(Mutex<HashMap<String, u32>>);

impl Failures {
    /// Counts one more failed reconciliation, and returns the new number.
    pub fn add(&self, run_uid: &str) -> u32 {
        let mut counts = self.lock();
        let count = counts.entry(run_uid.to_owned()).or_default();
        *count = count.saturating_add(1);
        *count
    }

    /// Number of consecutive failed reconciliations of a run.
    pub fn count(&self, run_uid: &str) -> u32 {
        self.lock().get(run_uid).copied().unwrap_or(0)
    }

    /// Removes the entry of a run.
    pub fn clear(&self, run_uid: &str) {
        self.lock().remove(run_uid);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, u32>> {
        // If another thread has panicked, the lock is poisoned, but it is used nevertheless: every operation leaves the map in a valid state.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
