//! [I/O] The watches on one namespace or on all, and the loop that they drive. They keep little in memory: runs without their
//! large fields, which each turn reads live, and no Jobs or pods, whose events only start a turn.

use std::{
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crds::{BenchmarkRun, status::Phase};
use futures::{FutureExt as _, Stream, StreamExt as _, TryStreamExt as _, future::BoxFuture};
use k8s_openapi::{
    NamespaceResourceScope,
    api::{batch::v1::Job, core::v1::Pod},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    core::DeserializeGuard,
    runtime::{
        Controller, PredicateConfig, WatchStreamExt as _,
        controller::{Action, Config, Error as TurnError},
        predicates,
        reflector::{ObjectRef, Store, store, store::Writer},
        watcher::{self, Event, watcher},
    },
};
use serde::de::DeserializeOwned;
use tracing::{debug, info, warn};

use crate::{
    connection::{NoBackoff, WatchBackoff},
    context::Context,
    ended_pods::EndedPods,
    error::Error,
    plan::meta,
    reconcile::{on_error, reconcile},
    unreadable,
};

/// The most turns at the same time: enough for a burst of runs, few enough for the API server.
const CONCURRENCY: u16 = 16;
/// Changes of one run within this time start one turn.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// The annotation in which `kubectl apply` keeps a copy of the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A run, or the error of one that this release cannot read: that run must not stop the watch on the others.
type Guarded = DeserializeGuard<BenchmarkRun>;

/// The cache of a watch on runs.
#[derive(Clone)]
pub struct Runs {
    store: Store<Guarded>,
    /// Kept beside the store, which wakes only one waiter, and that is the controller.
    filled: Arc<AtomicBool>,
}

impl Runs {
    /// Whether the cache holds all runs that existed when the watch began.
    pub fn is_filled(&self) -> bool {
        self.filled.load(Ordering::Acquire)
    }

    /// The phase of each run.
    pub fn phases(&self) -> Vec<Option<Phase>> {
        self.store.state().iter().map(|it| it.0.as_ref().ok().and_then(phase)).collect()
    }

    /// Keeps how a pod ended, if its run is in the cache and unfinished.
    fn note(&self, reference: &ObjectRef<Guarded>, pod: &Pod, ended_pods: &EndedPods) {
        if let Some(run) = self.store.get(reference)
            && let Ok(run) = &run.0
            && !run.is_finished()
        {
            ended_pods.note(run, pod);
        }
    }
}

fn phase(run: &BenchmarkRun) -> Option<Phase> {
    run.status.as_ref()?.phase
}

/// The loop over the runs of one namespace or of all. It ends after `end`, when the turns in progress are done.
pub fn controller(
    namespace: Option<&str>,
    context: &Arc<Context>,
    end: impl Future<Output = ()> + Send + Sync + 'static,
) -> (BoxFuture<'static, ()>, Runs) {
    let (reader, writer) = store();
    let runs = Runs { store: reader.clone(), filled: Arc::default() };
    let jobs = child_changes::<Job>(namespace, context);
    let pods = child_changes::<Pod>(namespace, context);
    let (ended_pods, known) = (Arc::clone(&context.ended_pods), runs.clone());
    let turns = Controller::for_stream(run_changes(namespace, context, writer, &runs), reader)
        .with_config(Config::default().concurrency(CONCURRENCY).debounce(DEBOUNCE))
        .trigger_backoff(NoBackoff)
        .watches_stream(jobs, |job| run_of(&job))
        .watches_stream(pods, move |pod| {
            let run = run_of(&pod);
            // A pod may be gone shortly after its end, so that the event of its deletion is the last copy of its status.
            if let Some(run) = &run {
                known.note(run, &pod, &ended_pods);
            }
            run
        })
        .graceful_shutdown_on(end)
        .run(turn, after_error, Arc::clone(context))
        .for_each(async |turn| match turn {
            Ok(_) => {}
            // The next watch event or the backoff starts another turn.
            Err(error @ (TurnError::ObjectNotFound(_) | TurnError::ReconcilerFailed(..))) => {
                debug!(%error, "a turn ended with an error")
            }
            Err(error) => warn!(%error, "a watch failed and starts again"),
        });
    (turns.boxed(), runs)
}

/// Changes of runs that need a turn. Fills the cache, and removes deleted runs from memory.
fn run_changes(
    namespace: Option<&str>,
    context: &Arc<Context>,
    writer: Writer<Guarded>,
    runs: &Runs,
) -> impl Stream<Item = Result<Guarded, watcher::Error>> + Send + 'static {
    let api = api::<Guarded>(&context.client, namespace);
    context.health.expect(api.resource_url());
    let (context, filled) = (Arc::clone(context), Arc::clone(&runs.filled));
    let place = namespace.unwrap_or("all").to_owned();
    watcher(api, watch_config(&context))
        .backoff(WatchBackoff::default())
        .modify(slim_run)
        .reflect(writer)
        .inspect_ok(move |event| match event {
            Event::Delete(run) => context.forget(&run.uid().unwrap_or_default()),
            Event::InitDone if !filled.swap(true, Ordering::AcqRel) => {
                info!(namespace = place, "the cache of runs is filled")
            }
            _ => {}
        })
        .applied_objects()
        // The operator's own status writes do not change the generation and need no turn.
        .predicate_filter(predicates::generation, PredicateConfig::default())
}

/// Changes and deletions of Jobs or pods that the operator created.
fn child_changes<K>(
    namespace: Option<&str>,
    context: &Context,
) -> impl Stream<Item = Result<K, watcher::Error>> + Send + 'static
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let api = api::<K>(&context.client, namespace);
    context.health.expect(api.resource_url());
    watcher(api, watch_config(context).labels(meta::MANAGED)).backoff(WatchBackoff::default()).touched_objects()
}

fn watch_config(context: &Context) -> watcher::Config {
    watcher::Config::default().timeout(context.health.limits().watch_seconds)
}

async fn turn(run: Arc<Guarded>, context: Arc<Context>) -> Result<Action, Error> {
    match &run.0 {
        Ok(run) => reconcile(Arc::new(run.clone()), context).await,
        Err(invalid) => {
            let (namespace, name) = place(&invalid.metadata);
            unreadable::leave_alone(&context, namespace, name).await
        }
    }
}

fn after_error(run: Arc<Guarded>, error: &Error, context: Arc<Context>) -> Action {
    match &run.0 {
        Ok(run) => on_error(Arc::new(run.clone()), error, context),
        Err(invalid) => {
            let (namespace, name) = place(&invalid.metadata);
            warn!(run = %format!("{namespace}/{name}"), %error, "the user could not be told that a run cannot be read");
            Action::requeue(unreadable::RETRY)
        }
    }
}

/// Namespace and name.
fn place(metadata: &ObjectMeta) -> (&str, &str) {
    (metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
}

/// The run that the labels of an object name.
fn run_of<K: ResourceExt>(child: &K) -> Option<ObjectRef<Guarded>> {
    let name = child.labels().get(meta::RUN)?;
    Some(ObjectRef::new(name).within(&child.namespace()?))
}

/// Removes large fields that are not used: each turn reads an unfinished run live.
fn slim_run(run: &mut Guarded) {
    run.managed_fields_mut().clear();
    run.annotations_mut().remove(LAST_APPLIED);
    if let Ok(run) = &mut run.0 {
        run.spec.profile.inline = None;
        run.spec.profile.variables.clear();
        run.spec.profile.overrides.clear();
    }
}

fn api<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    namespace.map_or_else(|| Api::all(client.clone()), |it| Api::namespaced(client.clone(), it))
}
