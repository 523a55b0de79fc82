//! Records when the pod and the status of each run change, as a client of the API server sees it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crds::{BenchmarkRun, status::Phase};
use futures::{StreamExt as _, stream::BoxStream};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client, ResourceExt as _,
    runtime::{WatchStreamExt as _, watcher},
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

/// The label on a pod with the name of its run.
const RUN: &str = "benchwright.dev/run";

/// The times at which one run changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// When the run got its first phase.
    pub accepted: Option<Instant>,
    /// When the run's pod became ready.
    pub pod_ready: Option<Instant>,
    /// When the run's phase became `Running`.
    pub running: Option<Instant>,
    /// When the run's pod ended.
    pub pod_ended: Option<Instant>,
    /// When the run finished.
    pub finished: Option<Instant>,
}

/// Watches the runs and pods of a namespace.
pub struct Observer {
    times: Arc<Mutex<HashMap<String, Times>>>,
    watches: [JoinHandle<()>; 2],
}

impl Observer {
    /// Starts watching.
    pub fn start(client: &Client, namespace: &str) -> Observer {
        let times: Arc<Mutex<HashMap<String, Times>>> = Arc::default();
        let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), namespace);
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let runs = watcher(runs, watcher::Config::default()).default_backoff().applied_objects().boxed();
        let pods = watcher(pods, watcher::Config::default()).default_backoff().applied_objects().boxed();
        let watches = [
            tokio::spawn(note(runs, Arc::clone(&times), note_run)),
            tokio::spawn(note(pods, Arc::clone(&times), note_pod)),
        ];
        Observer { times, watches }
    }

    /// The times of all runs, as recorded so far.
    pub fn times(&self) -> Vec<Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner).values().copied().collect()
    }

    /// Waits until `reached` is true for at least `count` runs.
    ///
    /// # Errors
    /// It is not true within `limit`.
    pub async fn wait(&self, count: usize, limit: Duration, reached: impl Fn(&Times) -> bool) -> anyhow::Result<()> {
        let deadline = Instant::now() + limit;
        loop {
            let found = self.times().iter().filter(|it| reached(it)).count();
            if found >= count {
                return Ok(());
            }
            anyhow::ensure!(Instant::now() < deadline, "only {found} of {count} runs came so far within {limit:?}");
            sleep(Duration::from_millis(200)).await;
        }
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.watches.iter().for_each(JoinHandle::abort);
    }
}

async fn note<K>(
    mut changes: BoxStream<'static, Result<K, watcher::Error>>,
    times: Arc<Mutex<HashMap<String, Times>>>,
    note_one: fn(&K, &mut HashMap<String, Times>),
) {
    while let Some(change) = changes.next().await {
        // A failed watch restarts on its own, so its error is ignored.
        if let Ok(object) = change {
            note_one(&object, &mut times.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

fn note_run(run: &BenchmarkRun, times: &mut HashMap<String, Times>) {
    let Some(phase) = run.status.as_ref().and_then(|it| it.phase) else { return };
    let now = Instant::now();
    let times = times.entry(run.name_any()).or_default();
    times.accepted.get_or_insert(now);
    if phase == Phase::Running {
        times.running.get_or_insert(now);
    }
    if phase.is_terminal() {
        times.finished.get_or_insert(now);
    }
}

fn note_pod(pod: &Pod, times: &mut HashMap<String, Times>) {
    let Some(run) = pod.labels().get(RUN) else { return };
    let now = Instant::now();
    let times = times.entry(run.clone()).or_default();
    let mut containers = pod.status.iter().flat_map(|it| it.container_statuses.iter().flatten());
    if let Some(container) = containers.next() {
        if container.ready {
            times.pod_ready.get_or_insert(now);
        }
        if container.state.as_ref().is_some_and(|it| it.terminated.is_some()) {
            times.pod_ended.get_or_insert(now);
        }
    }
}

/// Median, 99th percentile and maximum of the delays, in seconds. If a status was seen before its cause, the delay counts as 0.
pub fn quantiles(
    times: &[Times],
    cause: fn(&Times) -> Option<Instant>,
    effect: fn(&Times) -> Option<Instant>,
) -> [f64; 3] {
    let pairs = times.iter().filter_map(|it| Some((cause(it)?, effect(it)?)));
    let mut all: Vec<f64> =
        pairs.map(|(cause, effect)| effect.saturating_duration_since(cause).as_secs_f64()).collect();
    all.sort_by(f64::total_cmp);
    let at = |share: f64| all.get(((all.len() as f64 * share).ceil() as usize).max(1) - 1).copied().unwrap_or(f64::NAN);
    [at(0.5), at(0.99), at(1.0)]
}
