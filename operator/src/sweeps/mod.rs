//! [I/O] The loop over BenchmarkSweeps. Each turn reads the sweep and its runs from the API server, decides ([`decide`]), and creates one run or writes
//! the status. A sweep gets a turn when it changes, when one of its runs ends or is deleted, and when a pause or its time limit is over.
//!
//! The name of each run follows from cell, repeat and attempt. So a creation that is repeated after a crash, or by a second operator, is refused by the
//! API server, and nothing has to be stored before it.

pub mod decide;
mod finished_runs;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::Arc, time::Duration};

use crds::{
    BenchmarkRun, BenchmarkSweep, Reason, RunIdentity,
    benchmark_sweep::{ResolvedSweep, in_cluster, resolve},
    reason::Word as _,
    resolve::FieldError,
};
use futures::{
    FutureExt as _, StreamExt as _, TryStreamExt as _,
    future::{BoxFuture, try_join_all},
};
use jiff::{RoundMode, Timestamp, TimestampRound, Unit};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Api, Resource, ResourceExt as _,
    api::{Patch, PatchParams, PostParams},
    core::{DeserializeGuard, PartialObjectMeta},
    runtime::{
        Controller, WatchStreamExt as _,
        controller::{Action, Config, Error as TurnError},
        reflector::{self, ObjectRef, store},
        watcher::{self, watcher},
    },
};
use serde_json::json;
use tracing::{debug, info, warn};

use self::decide::{Figures, OwnRun, Plan, Refusal, RunState, Start, Wait, decide};
pub use self::finished_runs::FinishedRuns;
use crate::{
    apply::{REFUSALS, patch_status},
    cached_run::{Guarded, PAGE},
    connection::{NoBackoff, WatchBackoff},
    context::Context,
    error::Error,
    events::News,
    pages::each_metadata,
    plan::{PlannedEvent, meta, status::full_name},
    reconcile::{TURN_LIMIT, wait_after},
};

/// Several changes of a sweep within this time start only one turn.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// Maximum number of decisions per turn. A start needs two. The maximum stops an endless cycle.
const MAX_STEPS: usize = 6;
/// Maximum number of runs that a turn reads concurrently.
const READS: usize = 8;
/// Delay before the next turn if a turn reached one of its limits, or found that the sweep had changed.
const AGAIN: Duration = Duration::from_secs(1);
/// The field manager of the labels that [`restore_labels`] writes.
const LABEL_MANAGER: &str = "benchwright-operator/sweep";

/// The part of a sweep that is kept in memory: its metadata. Each turn reads the whole sweep from the API server.
type Known = PartialObjectMeta<BenchmarkSweep>;
/// A sweep with its defaults, or its wrong fields.
type Resolved = Result<ResolvedSweep, Vec<FieldError>>;

/// The loop over the sweeps of one namespace or of all. After `end` is ready, it finishes the turns in progress and ends.
pub fn controller(
    namespace: Option<&str>,
    context: &Arc<Context>,
    end: impl Future<Output = ()> + Send + Sync + 'static,
) -> BoxFuture<'static, ()> {
    let (reader, writer) = store();
    let api: Api<Known> =
        namespace.map_or_else(|| Api::all(context.client.clone()), |it| Api::namespaced(context.client.clone(), it));
    context.health.expect(api.resource_url());
    let (metrics, deleted) = (Arc::clone(&context.metrics), Arc::clone(context));
    let config = watcher::Config::default().timeout(context.health.limits().watch_seconds).page_size(PAGE);
    let changes = watcher(api, config)
        .backoff(WatchBackoff::default())
        .inspect_err(move |_| metrics.watch_failed(&BenchmarkSweep::plural(&())))
        .inspect_ok(move |event| {
            // A deleted sweep gets no further turn.
            if let watcher::Event::Delete(sweep) = event {
                deleted.finished_runs.forget(&sweep.uid().unwrap_or_default());
            }
        })
        .modify(|it: &mut Known| {
            it.metadata.annotations = None;
            it.metadata.labels = None;
            it.metadata.managed_fields = None;
        });
    let changes = reflector::reflector(writer, changes).applied_objects();
    let woken = context.sweeps.subscribe(namespace).names();
    Controller::for_stream(changes, reader)
        .with_config(Config::default().debounce(DEBOUNCE))
        .trigger_backoff(NoBackoff)
        .reconcile_on(woken.map(|(namespace, name)| ObjectRef::new(&name).within(&namespace)))
        .graceful_shutdown_on(end)
        .run(turn, after_error, Arc::clone(context))
        .for_each(async |turn| match turn {
            Ok(_) => {}
            // The next watch event, or the timer of the backoff, starts another turn.
            Err(error @ (TurnError::ObjectNotFound(_) | TurnError::ReconcilerFailed(..))) => {
                debug!(%error, "a turn of a sweep ended with an error")
            }
            Err(error) => {
                warn!(%error, "the watch on sweeps failed and starts again; is their definition installed?")
            }
        })
        .boxed()
}

async fn turn(known: Arc<Known>, context: Arc<Context>) -> Result<Action, Error> {
    let namespace = known.namespace().unwrap_or_default();
    let _place = context.turns.enter(&namespace).await;
    let done = tokio::time::timeout(TURN_LIMIT, Box::pin(run_turn(&context, &namespace, &known))).await;
    let done = done.unwrap_or(Err(Error::Timeout(TURN_LIMIT)));
    match done {
        Err(Error::Outdated) => Ok(Action::requeue(AGAIN)),
        Err(error) => Err(error),
        Ok(next) => {
            context.failures.clear(&known.uid().unwrap_or_default());
            Ok(next)
        }
    }
}

fn after_error(known: Arc<Known>, error: &Error, context: Arc<Context>) -> Action {
    let wait = wait_after(known.as_ref(), error, &context);
    warn!(sweep = %full_name(known.as_ref()), %error, ?wait, "a turn of a sweep failed");
    Action::requeue(wait)
}

/// Creates the runs that are due, and then writes the status.
async fn run_turn(context: &Arc<Context>, namespace: &str, known: &Known) -> Result<Action, Error> {
    let api: Api<DeserializeGuard<BenchmarkSweep>> = Api::namespaced(context.client.clone(), namespace);
    let uid = known.uid().unwrap_or_default();
    let Some(found) = api.get_opt(&known.name_any()).await? else {
        context.failures.clear(&uid);
        context.finished_runs.forget(&uid);
        return Ok(Action::await_change());
    };
    let sweep = match found.0 {
        Ok(sweep) => Arc::new(sweep),
        Err(error) => {
            let message = format!("this release cannot read the sweep and leaves it alone: {}", error.error);
            warn!(sweep = %full_name(known), error = %error.error, "a sweep cannot be read and is left alone");
            let event = PlannedEvent { warning: true, reason: Reason::Unreadable, note: message };
            publish(context, known, &event, known.metadata.generation.unwrap_or_default().to_string());
            return Ok(Action::await_change());
        }
    };
    if sweep.metadata.deletion_timestamp.is_some() || is_final(&sweep) {
        context.finished_runs.forget(&uid);
        return Ok(Action::await_change());
    }
    let mut runs = own_runs(context, &sweep).await?;
    let resolved = resolved(context, &sweep, runs.is_empty()).await?;
    let mut refusal = None;
    for _ in 0..MAX_STEPS {
        let now = Timestamp::now().round(TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Trunc));
        let by_ref = resolved.as_ref().map_err(Vec::as_slice);
        match (decide(&sweep, by_ref, &runs, refusal.as_ref(), now.unwrap_or_default()), &resolved) {
            (Plan::Create(start), Ok(resolved)) => {
                refusal = create(context, &sweep, resolved, &start).await?;
                runs = own_runs(context, &sweep).await?;
            }
            (Plan::Create(_), Err(_)) => break,
            (Plan::Wait(wait), _) => {
                write(context, &sweep, &wait).await?;
                return Ok(wait.next_look.map_or_else(Action::await_change, Action::requeue));
            }
        }
    }
    Ok(Action::requeue(AGAIN))
}

/// Whether the sweep has ended. It continues if an edit of the spec allows further runs, but not if a run is deleted.
fn is_final(sweep: &BenchmarkSweep) -> bool {
    let status = sweep.status.as_ref();
    status.is_some_and(|it| it.completion_time.is_some() && Some(it.observed_generation) == sweep.metadata.generation)
}

/// Resolves a sweep. Before its first run, checks all cells, so that a wrong cell is reported before any load. This runs on a thread of its own,
/// because a large sweep takes tens of milliseconds.
async fn resolved(context: &Arc<Context>, sweep: &Arc<BenchmarkSweep>, is_new: bool) -> Result<Resolved, Error> {
    let (context, sweep) = (Arc::clone(context), Arc::clone(sweep));
    let task = tokio::task::spawn_blocking(move || {
        let uid = sweep.uid().unwrap_or_default();
        let resolved = resolve(&sweep.name_any(), &sweep.spec, &uid)?;
        if is_new {
            let namespace = sweep.namespace().unwrap_or_default();
            in_cluster::check(&resolved, |name, spec| {
                let identity = RunIdentity::first_attempt(name, namespace.as_str(), uid.as_str());
                crds::resolve::resolve(identity, spec, &context.settings).map(drop)
            })?;
        }
        Ok(resolved)
    });
    task.await.map_err(Error::Render)
}

/// The runs that the sweep controls. The owner reference is decisive, because every user can copy the labels.
async fn own_runs(context: &Context, sweep: &BenchmarkSweep) -> Result<Vec<OwnRun>, Error> {
    let api: Api<Guarded> = Api::namespaced(context.client.clone(), &sweep.namespace().unwrap_or_default());
    let uid = sweep.uid().unwrap_or_default();
    let known = context.finished_runs.of(&uid);
    let (mut finished, mut others, mut unknown) = (HashMap::new(), Vec::new(), Vec::new());
    each_metadata(&api, &format!("{}={}", meta::SWEEP, sweep.name_any()), |it| {
        let (name, uid) = (it.name.clone().unwrap_or_default(), it.uid.clone().unwrap_or_default());
        match known.get(&uid) {
            Some(run) => drop(finished.insert(uid, run.clone())),
            None if meta::is_of_sweep(sweep, &it) => unknown.push(name),
            None => {}
        }
    })
    .await?;
    for names in unknown.chunks(READS) {
        let found = try_join_all(names.iter().map(|it| api.get_opt(it))).await?;
        for run in found.iter().flatten().filter(|it| meta::is_of_sweep(sweep, it.meta())) {
            let own = own_run(run);
            match own.state {
                RunState::Finished { .. } => drop(finished.insert(run.meta().uid.clone().unwrap_or_default(), own)),
                RunState::Active | RunState::Unreadable => others.push(own),
            }
        }
    }
    others.extend(finished.values().cloned());
    context.finished_runs.set(&uid, finished);
    Ok(others)
}

fn own_run(run: &Guarded) -> OwnRun {
    let metadata = run.meta();
    let state = match &run.0 {
        Err(_) => RunState::Unreadable,
        Ok(run) if !run.is_finished() => RunState::Active,
        Ok(run) => {
            let status = run.status.as_ref();
            RunState::Finished {
                outcome: status.and_then(|it| it.outcome),
                time: status.and_then(|it| it.completion_time),
                figures: status.and_then(|it| it.summary.as_ref()).map(Figures::from).unwrap_or_default(),
            }
        }
    };
    OwnRun {
        name: metadata.name.clone().unwrap_or_default(),
        created: metadata.creation_timestamp.as_ref().map(|it| it.0),
        state,
    }
}

/// Writes the status, and then publishes the events.
async fn write(context: &Context, sweep: &BenchmarkSweep, wait: &Wait) -> Result<(), Error> {
    let api: Api<BenchmarkSweep> = Api::namespaced(context.client.clone(), &sweep.namespace().unwrap_or_default());
    if sweep.status.as_ref() == Some(&wait.status) {
        return Ok(());
    }
    let after = patch_status(context, &api, sweep, &wait.status).await?;
    for event in &wait.events {
        info!(sweep = %full_name(&after), reason = event.reason.name(), note = event.note, "sweep");
        publish(context, &after, event, after.resource_version().unwrap_or_default());
    }
    Ok(())
}

/// Creates a run. Returns why, if it was not created.
async fn create(
    context: &Context,
    sweep: &BenchmarkSweep,
    resolved: &ResolvedSweep,
    start: &Start,
) -> Result<Option<Refusal>, Error> {
    let api: Api<BenchmarkRun> = Api::namespaced(context.client.clone(), &sweep.namespace().unwrap_or_default());
    let run = match run(sweep, resolved, start) {
        Ok(run) => run,
        Err(errors) => {
            let message = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            return Ok(Some(Refusal { reason: Reason::StartRefused, message }));
        }
    };
    context.metrics.write("create", "benchmarkruns");
    match api.create(&PostParams::default(), &run).await {
        Ok(_) => {
            info!(sweep = %full_name(sweep), run = start.name, "created a run of a sweep");
            Ok(None)
        }
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            let Some(found) = api.get_metadata_opt(&start.name).await? else { return Ok(None) };
            if meta::is_of_sweep(sweep, &found.metadata) {
                restore_labels(context, &api, sweep, start, &found.metadata).await?;
                return Ok(None);
            }
            let message = format!(
                "a BenchmarkRun with the name {} exists already and is not of this sweep; delete it, or create the sweep under another name",
                start.name
            );
            Ok(Some(Refusal { reason: Reason::NameConflict, message }))
        }
        Err(kube::Error::Api(status)) if REFUSALS.contains(&status.code) => {
            let message = format!(
                "run {} of cell {} was refused: {}; the operator tries again every minute; change what refuses it, or create another sweep",
                start.name, resolved.cells[start.cell].name, status.message
            );
            Ok(Some(Refusal { reason: Reason::StartRefused, message }))
        }
        Err(error) => Err(error.into()),
    }
}

/// Writes the sweep's labels to a run that exists but that the list of runs does not contain, because a user removed them.
async fn restore_labels(
    context: &Context,
    api: &Api<BenchmarkRun>,
    sweep: &BenchmarkSweep,
    start: &Start,
    found: &ObjectMeta,
) -> Result<(), Error> {
    let labels = meta::labels_of_sweep(sweep, start.cell, start.repeat);
    if labels.iter().all(|(key, value)| found.labels.as_ref().and_then(|it| it.get(key)) == Some(value)) {
        return Ok(());
    }
    context.metrics.write("patch", "benchmarkruns");
    let patch = Patch::Merge(json!({"metadata": {"uid": found.uid, "labels": labels}}));
    let params = PatchParams { field_manager: Some(LABEL_MANAGER.into()), ..PatchParams::default() };
    api.patch_metadata(&start.name, &params, &patch).await.map_err(crate::apply::outdated)?;
    warn!(run = %format!("{}/{}", sweep.namespace().unwrap_or_default(), start.name), "restored the labels of a sweep's run");
    Ok(())
}

/// Builds the run of a start.
///
/// # Errors
/// The fields of the cell that cannot be used.
pub fn run(sweep: &BenchmarkSweep, resolved: &ResolvedSweep, start: &Start) -> Result<BenchmarkRun, Vec<FieldError>> {
    let mut run = BenchmarkRun::new(&start.name, in_cluster::run_spec(resolved, start.cell, start.repeat)?);
    let levels = &resolved.cells[start.cell].name;
    run.metadata = meta::of_sweep(sweep, start.name.clone(), (start.cell, start.repeat), levels);
    Ok(run)
}

fn publish(context: &Context, sweep: &impl Resource<DynamicType = ()>, event: &PlannedEvent, occasion: String) {
    context.events.publish(News {
        about: sweep.object_ref(&()),
        warning: event.warning,
        reason: event.reason.name().to_owned(),
        note: event.note.clone(),
        occasion,
    });
}
