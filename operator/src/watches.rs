//! [I/O] The watches on one namespace or on all, and the loop that they drive. They keep little in memory. Runs are kept without their large fields,
//! which each reconciliation reads from the API server. Jobs and pods are not kept, because their events only start reconciliations.

use std::{
    collections::{HashMap, HashSet},
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crds::{BenchmarkRun, Outcome, status::Phase};
use futures::{FutureExt as _, Stream, StreamExt as _, TryStreamExt as _, future::BoxFuture, stream};
use jiff::Timestamp;
use k8s_openapi::{
    NamespaceResourceScope,
    api::{batch::v1::Job, core::v1::Pod},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    core::DeserializeGuard,
    runtime::{
        Controller, WatchStreamExt as _,
        controller::{Action, Config, Error as TurnError},
        reflector::{ObjectRef, Store, store, store::Writer},
        watcher::{self, Event, watcher},
    },
};
use serde::de::DeserializeOwned;
use tracing::{debug, info, warn};

use crate::{
    apply::stop_deleted,
    cached_run::{self, CachedRun, Guarded},
    connection::{NoBackoff, WatchBackoff},
    context::Context,
    ended_pods::EndedPods,
    error::Error,
    plan::{meta, status::full_name},
    reconcile::{TURN_LIMIT, backoff, on_error, reconcile},
    servers, traces, unreadable,
};

/// 0 means that kube does not limit concurrent reconciliations. [`crate::turns`] limits them instead, because a reconciliation that waits there for
/// its namespace takes no slot.
const CONCURRENCY: u16 = 0;
/// Several changes of a run within this time start only one reconciliation.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// Maximum number of attempts to remove a server that no run uses. With the delays after failures, they take about an hour.
const END_SERVER_TRIES: u32 = 20;

/// The cache that a watch on runs fills.
#[derive(Clone)]
pub struct Runs {
    store: Store<CachedRun>,
    /// Whether the store is filled. This flag is kept separately, because the store itself wakes only one waiter, and that waiter must be the
    /// controller.
    filled: Arc<AtomicBool>,
}

impl Runs {
    /// Whether the cache contains all runs that existed when the watch began.
    pub fn is_filled(&self) -> bool {
        self.filled.load(Ordering::Acquire)
    }

    /// The UIDs of all runs.
    fn uids(&self) -> HashSet<String> {
        self.store.state().iter().filter_map(|it| it.uid()).collect()
    }

    /// All runs, by UID.
    fn by_uid(&self) -> HashMap<String, Arc<CachedRun>> {
        self.store.state().into_iter().filter_map(|it| Some((it.uid()?, it))).collect()
    }

    /// Phase and outcome of each run.
    pub fn states(&self) -> Vec<(Option<Phase>, Option<Outcome>)> {
        self.store.state().iter().map(|it| it.state()).collect()
    }

    /// The cached run with the name and UID of `run`.
    fn known(&self, run: &CachedRun) -> Option<Arc<CachedRun>> {
        self.store.get(&ObjectRef::from_obj(run)).filter(|it| it.uid() == run.uid())
    }

    /// Records how a pod ended, if its run is in the cache and has not finished.
    fn note(&self, reference: &ObjectRef<CachedRun>, pod: &Pod, ended_pods: &EndedPods) {
        if let Some(run) = self.store.get(reference)
            && let Some(run) = run.run()
            && !run.is_finished()
        {
            ended_pods.note(&run, pod);
        }
    }
}

/// The loop over the runs of one namespace or of all. After `end` is ready, it finishes the reconciliations in progress and ends.
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
    let (known_to_turns, known_to_errors) = (runs.clone(), runs.clone());
    let turns = Controller::for_stream(run_changes(namespace, context, writer, &runs), reader)
        .with_config(Config::default().concurrency(CONCURRENCY).debounce(DEBOUNCE))
        .trigger_backoff(NoBackoff)
        .reconcile_on(
            stream::select(context.targets.woken(namespace).names(), context.namespaces.woken(namespace).names())
                .map(|(namespace, name)| ObjectRef::new(&name).within(&namespace)),
        )
        .watches_stream(jobs, |job| run_of(&job))
        .watches_stream(pods, move |pod| {
            let run = run_of(&pod);
            // The pod's end is recorded here, because a pod can be deleted shortly after its end. Then only its last event contains its status.
            if let (Some(run), Ok(pod)) = (&run, &pod.0) {
                known.note(run, pod, &ended_pods);
            }
            run
        })
        .graceful_shutdown_on(end)
        .run(
            move |run, context| turn(run, context, known_to_turns.clone()),
            move |run, error, context| {
                let next = after_error(&run, error, &context);
                forget_unknown(&run, &context, &known_to_errors);
                next
            },
            Arc::clone(context),
        )
        .for_each(async |turn| match turn {
            Ok(_) => {}
            // The next watch event, or the timer of the backoff, starts another reconciliation.
            Err(error @ (TurnError::ObjectNotFound(_) | TurnError::ReconcilerFailed(..))) => {
                debug!(%error, "a turn ended with an error")
            }
            Err(error) => warn!(%error, "a watch failed and starts again"),
        });
    (turns.boxed(), runs)
}

/// The stream of runs that need a reconciliation because they changed. It also fills the cache, and removes deleted runs from memory.
fn run_changes(
    namespace: Option<&str>,
    context: &Arc<Context>,
    writer: Writer<CachedRun>,
    runs: &Runs,
) -> impl Stream<Item = Result<CachedRun, watcher::Error>> + Send + 'static {
    let api = api::<Guarded>(&context.client, namespace);
    context.health.expect(api.resource_url());
    let mut intake = Intake {
        namespace: namespace.map(str::to_owned),
        context: Arc::clone(context),
        writer,
        runs: runs.clone(),
        before: HashMap::new(),
    };
    let metrics = Arc::clone(&context.metrics);
    let noting = Arc::clone(context);
    context.targets.filling();
    watcher(api, watch_config(context))
        .backoff(WatchBackoff::default())
        .map_ok(move |event| noted(event, &noting))
        .inspect_err(move |_| metrics.watch_failed(&BenchmarkRun::plural(&())))
        .flat_map(move |event| match event {
            Ok(event) => stream::iter(intake.take(&event)).map(|it| Ok(CachedRun::clone(&it))).left_stream(),
            Err(error) => stream::iter([Err(error)]).right_stream(),
        })
}

/// Updates the records that decisions about other runs need. Reduces the run in the event to the fields that the cache keeps.
fn noted(event: Event<Guarded>, context: &Context) -> Event<CachedRun> {
    let note = |run: Guarded| {
        if let Ok(run) = &run.0 {
            context.targets.note(run, &context.settings, Timestamp::now());
            context.namespaces.note(run, &context.policy);
        }
        CachedRun::from(run)
    };
    match event {
        Event::Apply(run) => {
            if run.0.as_ref().is_ok_and(BenchmarkRun::is_finished) {
                wake_owner(run.meta(), context);
            }
            Event::Apply(note(run))
        }
        Event::InitApply(run) => Event::InitApply(note(run)),
        Event::Delete(run) => {
            wake_owner(run.meta(), context);
            Event::Delete(note(run))
        }
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    }
}

/// Wakes the schedule or sweep of a run that has ended or is gone, because its next run may start.
fn wake_owner(run: &ObjectMeta, context: &Context) {
    for (label, wakes) in [(meta::SCHEDULE, &context.schedules), (meta::SWEEP, &context.sweeps)] {
        if let Some(owner) = run.labels.as_ref().and_then(|it| it.get(label)) {
            wakes.wake(place(run).0, owner);
        }
    }
}

/// Applies the watch events of runs to the cache.
struct Intake {
    namespace: Option<String>,
    context: Arc<Context>,
    writer: Writer<CachedRun>,
    runs: Runs,
    /// The content of the cache when the current list began. Only set while a list is being read.
    before: HashMap<String, Arc<CachedRun>>,
}

impl Intake {
    /// Returns the runs that need a reconciliation: new runs, and runs with a new generation. The operator's own status writes do not change the
    /// generation. The runs of a list are returned only at its end. Before that the cache does not contain them, and a reconciliation of a run that
    /// is not in the cache does nothing.
    fn take(&mut self, event: &Event<CachedRun>) -> Vec<Arc<CachedRun>> {
        let is_known =
            |run: &CachedRun| self.runs.known(run).is_some_and(|it| it.meta().generation == run.meta().generation);
        let changed = matches!(event, Event::Apply(run) if !is_known(run));
        self.writer.apply_watcher_event(event);
        match event {
            Event::Apply(run) if changed => self.runs.known(run).into_iter().collect(),
            Event::Apply(_) | Event::InitApply(_) => Vec::new(),
            Event::Delete(run) => {
                self.gone(run);
                Vec::new()
            }
            Event::Init => {
                self.before = self.runs.by_uid();
                Vec::new()
            }
            Event::InitDone => self.listed(),
        }
    }

    /// Handles the end of a list of all runs. Returns the runs that need a reconciliation.
    fn listed(&mut self) -> Vec<Arc<CachedRun>> {
        let before = std::mem::take(&mut self.before);
        let now_known = self.runs.uids();
        self.context.targets.retain(self.namespace.as_deref(), &now_known, Timestamp::now());
        self.context.namespaces.retain(self.namespace.as_deref(), &now_known);
        // For runs that were deleted while the watch was interrupted there is no event, so they are found by comparison.
        before.iter().filter(|(uid, _)| !now_known.contains(*uid)).for_each(|(_, run)| self.gone(run));
        if !self.runs.filled.swap(true, Ordering::AcqRel) {
            self.context.targets.filled();
            if self.context.settings.managed_servers {
                tokio::spawn(end_unused_servers(Arc::clone(&self.context), self.namespace.clone()));
            }
            info!(namespace = self.namespace.as_deref().unwrap_or("all"), "the cache of runs is filled");
        }
        let mut runs = self.runs.store.state();
        let is_as_before = |run: &CachedRun| {
            let before = before.get(&run.uid().unwrap_or_default());
            before.is_some_and(|it| it.meta().generation == run.meta().generation)
        };
        runs.retain(|it| !is_as_before(it));
        runs
    }

    /// Handles a deleted run.
    fn gone(&self, run: &CachedRun) {
        self.context.forget(&run.uid().unwrap_or_default());
        if let Some(run) = run.run().filter(|it| it.status.as_ref().is_some_and(|it| it.server.is_some())) {
            tokio::spawn(end_server(Arc::clone(&self.context), run));
        }
    }
}

/// Removes the server of a deleted run. It is needed because the run might have had no reconciliation since its deletion, and because after
/// `--cascade=orphan` nothing else removes the server. A shared server is removed with the last run that used it.
async fn end_server(context: Arc<Context>, run: BenchmarkRun) {
    let (context, run) = (context.as_ref(), &run);
    let namespace = place(&run.metadata).0;
    let end = || async {
        let own = stop_deleted(context, run).await;
        let name = run.status.as_ref().and_then(|it| it.server.as_ref()).map(|it| it.name.as_str());
        own.and(servers::stop_unused(context, namespace, name.unwrap_or_default()).await)
    };
    if let Err(error) = retried(context, namespace, || end().boxed()).await {
        warn!(run = %full_name(run), %error, "the server of a deleted run may be left and still hold its GPUs; delete the Deployments and Services with the label benchwright.dev/run");
    }
}

/// Removes the shared servers whose last run was deleted while no operator was running. Each namespace has a task of its own, so that a namespace
/// with many runs does not delay the others.
async fn end_unused_servers(context: Arc<Context>, namespace: Option<String>) {
    let (client, of) = (&context.client, namespace.as_deref());
    let find = || servers::shared(client, of).boxed();
    let found = match retried(&context, of.unwrap_or_default(), find).await {
        Ok(found) => found,
        Err(error) => {
            warn!(%error, "shared servers that no run uses may be left; the operator looks for them at its next start");
            return;
        }
    };
    for (namespace, names) in found {
        let context = Arc::clone(&context);
        tokio::spawn(async move {
            let context = context.as_ref();
            for name in &names {
                let end = || servers::stop_unused(context, &namespace, name).boxed();
                if let Err(error) = retried(context, &namespace, end).await {
                    warn!(namespace, server = name, %error, "a shared server that no run uses could not be removed; if its Deployment still exists, delete it");
                }
            }
        });
    }
}

/// Calls `what` until it succeeds, at most [`END_SERVER_TRIES`] times. Each call takes one of the namespace's slots for reconciliations. Returns the
/// last error if all calls fail.
async fn retried<'a, T>(
    context: &Context,
    namespace: &str,
    what: impl Fn() -> BoxFuture<'a, Result<T, Error>>,
) -> Result<T, Error> {
    let mut failures = 0;
    loop {
        let place = context.turns.enter(namespace).await;
        let done = tokio::time::timeout(TURN_LIMIT, what()).await;
        drop(place);
        failures += 1;
        match done.unwrap_or(Err(Error::Timeout(TURN_LIMIT))) {
            Err(error) if failures < END_SERVER_TRIES => {
                debug!(namespace, %error, "removing unused servers failed; the operator tries again");
                tokio::time::sleep(backoff(failures)).await;
            }
            done => return done,
        }
    }
}

/// The stream of changes and deletions of Jobs or pods that the operator created. Other objects with the same labels are ignored. An object that
/// cannot be parsed does not stop the watch.
fn child_changes<K>(
    namespace: Option<&str>,
    context: &Context,
) -> impl Stream<Item = Result<DeserializeGuard<K>, watcher::Error>> + Send + 'static
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let api = api::<DeserializeGuard<K>>(&context.client, namespace);
    context.health.expect(api.resource_url());
    let metrics = Arc::clone(&context.metrics);
    watcher(api, watch_config(context).labels(meta::MANAGED))
        .backoff(WatchBackoff::default())
        .touched_objects()
        .inspect_err(move |_| metrics.watch_failed(&K::plural(&())))
}

fn watch_config(context: &Context) -> watcher::Config {
    watcher::Config::default().timeout(context.health.limits().watch_seconds).page_size(cached_run::PAGE)
}

async fn turn(run: Arc<CachedRun>, context: Arc<Context>, known: Runs) -> Result<Action, Error> {
    if run.run().is_some_and(|it| cached_run::is_settled(&it)) {
        return Ok(Action::await_change());
    }
    let _place = context.turns.enter(place(run.meta()).0).await;
    // The future is boxed to keep a waiting reconciliation small, because there can be one per run.
    let done = Box::pin(traces::turn(run.meta(), begin(&run, &context))).await;
    forget_unknown(&run, &context, &known);
    done
}

async fn begin(run: &CachedRun, context: &Arc<Context>) -> Result<Action, Error> {
    match run.run() {
        Some(run) => reconcile(Arc::new(run), Arc::clone(context)).await,
        None => {
            let (namespace, name) = place(run.meta());
            let done = tokio::time::timeout(TURN_LIMIT, unreadable::leave_alone(context, namespace, name)).await;
            done.unwrap_or(Err(Error::Timeout(TURN_LIMIT)))
        }
    }
}

/// Removes a run from memory if it was deleted during its reconciliation, because no further reconciliation or event would do this.
fn forget_unknown(run: &CachedRun, context: &Context, known: &Runs) {
    if known.known(run).is_none() {
        context.forget(&run.uid().unwrap_or_default());
    }
}

fn after_error(run: &CachedRun, error: &Error, context: &Arc<Context>) -> Action {
    match run.run() {
        Some(run) => on_error(Arc::new(run), error, Arc::clone(context)),
        None => {
            let (namespace, name) = place(run.meta());
            warn!(run = %format!("{namespace}/{name}"), %error, "the user could not be told that a run cannot be read");
            Action::requeue(unreadable::RETRY)
        }
    }
}

/// Namespace and name of an object.
fn place(metadata: &ObjectMeta) -> (&str, &str) {
    (metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
}

/// The run in the labels of an object.
fn run_of(child: &impl ResourceExt) -> Option<ObjectRef<CachedRun>> {
    let name = child.labels().get(meta::RUN)?;
    Some(ObjectRef::new(name).within(&child.namespace()?))
}

fn api<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    namespace.map_or_else(|| Api::all(client.clone()), |it| Api::namespaced(client.clone(), it))
}
