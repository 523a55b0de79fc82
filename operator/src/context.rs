//! What all turns of the loop share.

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
    targets::Targets,
    turns::{Looks, Turns},
    wakes::Wakes,
};

/// What all turns of the loop share.
pub struct Context {
    /// Client of the API server.
    pub client: Client,
    /// Defaults that this installation sets.
    pub settings: Settings,
    /// What the administrators allow.
    pub policy: Policy,
    /// Writes events.
    pub events: Events,
    /// The operator's own metrics.
    pub metrics: Arc<Metrics>,
    /// Who may have a turn.
    pub turns: Arc<Turns>,
    /// The runs that are looked at again soon.
    pub looks: Looks,
    /// Since when each run is in its phase.
    pub phase_times: PhaseTimes,
    /// How pods ended, as the watch saw it.
    pub ended_pods: Arc<EndedPods>,
    /// When each watch last asked and was last answered.
    pub health: Arc<Health>,
    /// Failed turns.
    pub failures: Failures,
    /// Which run has which target.
    pub targets: Targets,
    /// The attempts of namespaces that have a limit.
    pub namespaces: Namespaces,
    /// Schedules one of whose runs ended.
    pub schedules: Wakes,
    /// Held by a turn while it begins to use a shared server, or removes it.
    pub shared_servers: SharedServers,
    /// Since when others wait for runs that wait for their queues.
    pub wanted: WantedSince,
}

impl Context {
    /// A context whose memory is empty.
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
            shared_servers: SharedServers::default(),
            wanted: WantedSince::default(),
        }
    }

    /// The same context with another policy.
    pub fn with_policy(self, policy: Policy) -> Self {
        Context { policy, ..self }
    }

    /// Removes a run that is gone from memory. A deleted run has no further turn that could do this.
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

/// A lock for each shared server, by namespace and name.
#[derive(Debug, Default)]
pub struct SharedServers(Mutex<HashMap<(String, String), ServerLock>>);

impl SharedServers {
    /// Waits until no other turn begins to use this server or removes it.
    pub async fn lock(&self, namespace: &str, server: &str) -> tokio::sync::OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // A lock that is held or waited for has another owner beside the map.
            locks.retain(|_, it| Arc::strong_count(it) > 1);
            Arc::clone(locks.entry((namespace.to_owned(), server.to_owned())).or_default())
        };
        lock.lock_owned().await
    }
}

/// Since when another run has waited for what a run in a queue has, by UID of that run. It holds runs that are wanted alone.
#[derive(Debug, Default)]
pub struct WantedSince(Mutex<HashMap<String, Timestamp>>);

impl WantedSince {
    /// Notes whether a run is wanted, and returns since when it has been.
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

/// Number of failed turns in a row, by UID of the run. A turn that succeeds removes the entry of its run.
#[derive(Debug, Default)]
pub struct Failures(Mutex<HashMap<String, u32>>);

impl Failures {
    /// Counts a failed turn and returns the new number.
    pub fn add(&self, run_uid: &str) -> u32 {
        let mut counts = self.lock();
        let count = counts.entry(run_uid.to_owned()).or_default();
        *count = count.saturating_add(1);
        *count
    }

    /// The number of failed turns in a row.
    pub fn count(&self, run_uid: &str) -> u32 {
        self.lock().get(run_uid).copied().unwrap_or(0)
    }

    /// Removes the entry of a run.
    pub fn clear(&self, run_uid: &str) {
        self.lock().remove(run_uid);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, u32>> {
        // Each operation leaves the map valid, so that a panic elsewhere does not invalidate it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
