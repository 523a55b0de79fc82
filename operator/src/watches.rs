//! [I/O] The watches on one namespace or on all, and the loop that they drive. What they keep in memory is small: runs
//! without what is read live anyway, and no Jobs and pods at all, which only tell that there is something to look at.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crds::{BenchmarkRun, status::Phase};
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, future::BoxFuture};
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
        reflector::{ObjectRef, Store, store},
        watcher::{self, Event, watcher},
    },
};
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

/// Runs at once: enough for a burst, few enough for any API server.
const CONCURRENCY: u16 = 16;
/// Several changes of one run become one turn.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// Where `kubectl apply` keeps the whole object a second time.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A run, or one that this release cannot read: it must not keep the others from being read.
type Guarded = DeserializeGuard<BenchmarkRun>;

/// The runs that a watch knows.
#[derive(Clone)]
pub struct Runs {
    store: Store<Guarded>,
    /// Not asked of the store: it wakes one waiter alone, and that is the controller.
    filled: Arc<AtomicBool>,
}

impl Runs {
    /// Whether the watch has seen all that was there when it began.
    pub fn is_filled(&self) -> bool {
        self.filled.load(Ordering::Acquire)
    }

    /// The phase of each.
    pub fn phases(&self) -> Vec<Option<Phase>> {
        self.store.state().iter().map(|it| it.0.as_ref().ok().and_then(phase)).collect()
    }

    /// Keeps the last word of a pod whose run is under way. A run that the watch has not told of yet is read live anyway.
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

/// The loop over the runs of a namespace, or of all of them. It ends after `end`, when the turns under way are finished.
pub fn controller(
    namespace: Option<&str>,
    context: &Arc<Context>,
    end: impl Future<Output = ()> + Send + Sync + 'static,
) -> (BoxFuture<'static, ()>, Runs) {
    let client = &context.client;
    let (reader, writer) = store();
    let runs = Runs { store: reader.clone(), filled: Arc::default() };
    let (forget, filled) = (Arc::clone(context), Arc::clone(&runs.filled));
    let place = namespace.unwrap_or("all").to_owned();
    let watched = watcher::Config::default().timeout(context.health.limits().watch_seconds);
    let all_runs = api::<Guarded>(client, namespace);
    context.health.expect(all_runs.resource_url());
    let changed = watcher(all_runs, watched.clone())
        .backoff(WatchBackoff::default())
        .modify(slim_run)
        .reflect(writer)
        .inspect_ok(move |event| match event {
            Event::Delete(run) => forget.forget(&run.uid().unwrap_or_default()),
            Event::InitDone if !filled.swap(true, Ordering::AcqRel) => {
                info!(namespace = place, "the cache of runs is filled")
            }
            _ => {}
        })
        .applied_objects()
        // Our own writes of the status are no news.
        .predicate_filter(predicates::generation, PredicateConfig::default());
    let children = watched.labels(meta::MANAGED);
    let (all_jobs, all_pods) = (api::<Job>(client, namespace), api::<Pod>(client, namespace));
    context.health.expect(all_jobs.resource_url());
    context.health.expect(all_pods.resource_url());
    let jobs = watcher(all_jobs, children.clone()).backoff(WatchBackoff::default()).touched_objects();
    let pods = watcher(all_pods, children).backoff(WatchBackoff::default()).touched_objects();
    let (ended_pods, of_pods) = (Arc::clone(&context.ended_pods), runs.clone());
    let turns = Controller::for_stream(changed, reader)
        .with_config(Config::default().concurrency(CONCURRENCY).debounce(DEBOUNCE))
        .trigger_backoff(NoBackoff)
        .watches_stream(jobs, |job| run_of(&job))
        .watches_stream(pods, move |pod| {
            let run = run_of(&pod);
            // A pod goes a moment after its end; the event of its deletion may be all that is left to read.
            if let Some(run) = &run {
                of_pods.note(run, &pod, &ended_pods);
            }
            run
        })
        .graceful_shutdown_on(end)
        .run(turn, after_error, Arc::clone(context))
        .for_each(async |turn| match turn {
            Ok(_) => {}
            // The next watch event or the backoff brings it up again.
            Err(error @ (TurnError::ObjectNotFound(_) | TurnError::ReconcilerFailed(..))) => {
                debug!(%error, "the loop goes on")
            }
            Err(error) => warn!(%error, "a watch broke off and begins again"),
        });
    (turns.boxed(), runs)
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
            warn!(run = %format!("{namespace}/{name}"), %error, "it could not be told that a run cannot be read");
            Action::requeue(unreadable::RETRY)
        }
    }
}

/// Namespace and name.
fn place(metadata: &ObjectMeta) -> (&str, &str) {
    (metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
}

/// The run that an object says it belongs to.
fn run_of<K: ResourceExt>(child: &K) -> Option<ObjectRef<Guarded>> {
    let name = child.labels().get(meta::RUN)?;
    Some(ObjectRef::new(name).within(&child.namespace()?))
}

/// Takes out what fills memory and is not used: a run that has not finished is read live at every turn.
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
