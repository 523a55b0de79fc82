//! [I/O] The loop over BenchmarkSchedules. Each reconciliation reads the schedule and its runs from the API server, decides ([`decide`]) and writes.
//! A schedule gets a reconciliation when it changes, when one of its runs ends or is deleted, and when its next time is due.

pub mod decide;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use crds::{BenchmarkRun, BenchmarkSchedule, Reason, benchmark_schedule::status::Start, reason::Word as _};
use futures::{
    FutureExt as _, StreamExt as _, TryStreamExt as _,
    future::{BoxFuture, try_join_all},
};
use jiff::{RoundMode, Timestamp, TimestampRound, Unit};
use kube::{
    Api, Resource, ResourceExt as _,
    api::{DeleteParams, PostParams, Preconditions},
    core::{DeserializeGuard, PartialObjectMeta},
    runtime::{
        Controller, WatchStreamExt as _,
        controller::{Action, Config, Error as TurnError},
        reflector::{self, ObjectRef, store},
        watcher::{self, watcher},
    },
};
use tracing::{debug, info, warn};

use self::decide::{Decision, OwnRun, RunState, TRIGGERED, decide};
use crate::{
    apply::{REFUSALS, ignore_absent, patch_status, write_mark},
    cached_run::{Guarded, PAGE},
    connection::{NoBackoff, WatchBackoff},
    context::Context,
    error::Error,
    events::News,
    pages::each_metadata,
    plan::{PlannedEvent, meta, status::full_name},
    reconcile::{TURN_LIMIT, wait_after},
};

/// Several changes of a schedule within this time start only one reconciliation.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// Maximum number of decisions per reconciliation. A start needs three. The maximum stops an endless cycle.
const MAX_STEPS: usize = 6;
/// Maximum number of runs that a reconciliation reads concurrently.
const READS: usize = 8;
/// Delay before the next reconciliation if a reconciliation reached one of its limits, or found that the schedule had changed.
const AGAIN: Duration = Duration::from_secs(1);
/// Maximum number of runs that one reconciliation deletes. It is limited because a reconciliation has a time limit.
const MAX_DELETED: usize = 50;

/// The part of a schedule that is kept in memory: its metadata. Each reconciliation reads the whole schedule from the API server.
type Known = PartialObjectMeta<BenchmarkSchedule>;

/// The loop over the schedules of one namespace or of all. After `end` is ready, it finishes the reconciliations in progress and ends.
pub fn controller(
    namespace: Option<&str>,
    context: &Arc<Context>,
    end: impl Future<Output = ()> + Send + Sync + 'static,
) -> BoxFuture<'static, ()> {
    let (reader, writer) = store();
    let api: Api<Known> =
        namespace.map_or_else(|| Api::all(context.client.clone()), |it| Api::namespaced(context.client.clone(), it));
    context.health.expect(api.resource_url());
    let metrics = Arc::clone(&context.metrics);
    let config = watcher::Config::default().timeout(context.health.limits().watch_seconds).page_size(PAGE);
    let changes = watcher(api, config)
        .backoff(WatchBackoff::default())
        .inspect_err(move |_| metrics.watch_failed(&BenchmarkSchedule::plural(&())))
        .modify(|it: &mut Known| {
            it.metadata.annotations = None;
            it.metadata.labels = None;
            it.metadata.managed_fields = None;
        });
    let changes = reflector::reflector(writer, changes).applied_objects();
    let woken = context.schedules.subscribe(namespace).names();
    Controller::for_stream(changes, reader)
        .with_config(Config::default().debounce(DEBOUNCE))
        .trigger_backoff(NoBackoff)
        .reconcile_on(woken.map(|(namespace, name)| ObjectRef::new(&name).within(&namespace)))
        .graceful_shutdown_on(end)
        .run(turn, after_error, Arc::clone(context))
        .for_each(async |turn| match turn {
            Ok(_) => {}
            // The next watch event, or the timer of the backoff, starts another reconciliation.
            Err(error @ (TurnError::ObjectNotFound(_) | TurnError::ReconcilerFailed(..))) => {
                debug!(%error, "a turn of a schedule ended with an error")
            }
            Err(error) => {
                warn!(%error, "the watch on schedules failed and starts again; is their definition installed?")
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
    warn!(schedule = %full_name(known.as_ref()), %error, ?wait, "a turn of a schedule failed");
    Action::requeue(wait)
}

/// Decides and writes until no work is left that can be done immediately.
async fn run_turn(context: &Context, namespace: &str, known: &Known) -> Result<Action, Error> {
    let api: Api<DeserializeGuard<BenchmarkSchedule>> = Api::namespaced(context.client.clone(), namespace);
    let Some(found) = api.get_opt(&known.name_any()).await? else {
        context.failures.clear(&known.uid().unwrap_or_default());
        return Ok(Action::await_change());
    };
    let mut schedule = match found.0 {
        Ok(schedule) => schedule,
        Err(error) => {
            let message = format!("this release cannot read the schedule and leaves it alone: {}", error.error);
            warn!(schedule = %full_name(known), error = %error.error, "a schedule cannot be read and is left alone");
            let event = PlannedEvent { warning: true, reason: Reason::Unreadable, note: message };
            publish(context, known, &event, known.metadata.generation.unwrap_or_default().to_string());
            return Ok(Action::await_change());
        }
    };
    let mut refused = None;
    for _ in 0..MAX_STEPS {
        if schedule.metadata.deletion_timestamp.is_some() {
            return Ok(Action::await_change());
        }
        let runs = own_runs(context, &schedule).await?;
        let now = Timestamp::now().round(TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Trunc));
        let decision = decide(&schedule, &runs, refused.take().as_deref(), now.unwrap_or_default());
        schedule = write(context, schedule, &decision).await?;
        if let Some(start) = &decision.create {
            refused = create(context, &schedule, start).await?;
        } else if decision.status.starting.is_none() {
            delete(context, namespace, &decision).await?;
            return Ok(decision.next_look.map_or_else(Action::await_change, Action::requeue));
        }
    }
    Ok(Action::requeue(AGAIN))
}

/// The runs that the schedule controls. The owner reference is decisive, because every user can copy the labels. Only runs with this owner reference
/// are read in full.
async fn own_runs(context: &Context, schedule: &BenchmarkSchedule) -> Result<Vec<OwnRun>, Error> {
    let api: Api<Guarded> = Api::namespaced(context.client.clone(), &schedule.namespace().unwrap_or_default());
    let mut all = Vec::new();
    for names in own_names(&api, schedule).await?.chunks(READS) {
        let found = try_join_all(names.iter().map(|it| api.get_opt(it))).await?;
        let own = found.iter().flatten().filter(|it| meta::is_of_schedule(schedule, it.meta()));
        all.extend(own.map(own_run));
    }
    Ok(all)
}

async fn own_names(api: &Api<Guarded>, schedule: &BenchmarkSchedule) -> Result<Vec<String>, Error> {
    let mut all = Vec::new();
    each_metadata(api, &format!("{}={}", meta::SCHEDULE, schedule.name_any()), |it| {
        all.extend(it.name.clone().filter(|_| meta::is_of_schedule(schedule, &it)));
    })
    .await?;
    Ok(all)
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
            }
        }
    };
    OwnRun {
        name: metadata.name.clone().unwrap_or_default(),
        uid: metadata.uid.clone().unwrap_or_default(),
        created: metadata.creation_timestamp.as_ref().map(|it| it.0),
        is_going: metadata.deletion_timestamp.is_some(),
        state,
    }
}

/// Writes the status and then the annotation, and publishes the events. Returns the updated schedule.
async fn write(
    context: &Context,
    schedule: BenchmarkSchedule,
    decision: &Decision,
) -> Result<BenchmarkSchedule, Error> {
    let api: Api<BenchmarkSchedule> =
        Api::namespaced(context.client.clone(), &schedule.namespace().unwrap_or_default());
    let mut after = schedule;
    if after.status.as_ref() != Some(&decision.status) {
        after = patch_status(context, &api, &after, &decision.status).await?;
    }
    for event in &decision.events {
        info!(schedule = %full_name(&after), reason = event.reason.name(), note = event.note, "schedule");
        publish(context, &after, event, after.resource_version().unwrap_or_default());
    }
    if let Some(mark) = &decision.mark {
        after = write_mark(context, &api, &after, TRIGGERED, mark).await?;
    }
    Ok(after)
}

/// Creates the run. Returns the message if the API server refused it.
async fn create(context: &Context, schedule: &BenchmarkSchedule, start: &Start) -> Result<Option<String>, Error> {
    let api: Api<BenchmarkRun> = Api::namespaced(context.client.clone(), &schedule.namespace().unwrap_or_default());
    context.metrics.write("create", "benchmarkruns");
    match api.create(&PostParams::default(), &run(schedule, start)).await {
        Ok(_) => Ok(None),
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            let found = api.get_metadata_opt(&start.name).await?;
            let is_other = found.is_some_and(|it| !meta::is_of_schedule(schedule, &it.metadata));
            Ok(is_other.then(|| {
                format!("a BenchmarkRun of this name exists already and is not of this schedule ({})", status.message)
            }))
        }
        Err(kube::Error::Api(status)) if REFUSALS.contains(&status.code) => Ok(Some(status.message)),
        Err(error) => Err(error.into()),
    }
}

/// Builds the run for a start.
pub fn run(schedule: &BenchmarkSchedule, start: &Start) -> BenchmarkRun {
    let template = &schedule.spec.run_template;
    let mut run = BenchmarkRun::new(&start.name, template.spec.clone());
    run.metadata = meta::of_schedule(schedule, start);
    run
}

async fn delete(context: &Context, namespace: &str, decision: &Decision) -> Result<(), Error> {
    let api: Api<BenchmarkRun> = Api::namespaced(context.client.clone(), namespace);
    for (name, uid) in decision.delete.iter().take(MAX_DELETED) {
        let exactly = Preconditions { uid: Some(uid.clone()), resource_version: None };
        context.metrics.write("delete", "benchmarkruns");
        let deleted = api.delete(name, &DeleteParams::background().preconditions(exactly)).await.map(drop);
        match deleted {
            // The run with this UID is gone; another run has its name now.
            Err(kube::Error::Api(status)) if status.is_conflict() => {}
            deleted => {
                ignore_absent(deleted)?;
                info!(run = %format!("{namespace}/{name}"), "deleted a finished run beyond the history of its schedule");
            }
        }
    }
    Ok(())
}

fn publish(context: &Context, schedule: &impl Resource<DynamicType = ()>, event: &PlannedEvent, occasion: String) {
    context.events.publish(News {
        about: schedule.object_ref(&()),
        warning: event.warning,
        reason: event.reason.name().to_owned(),
        note: event.note.clone(),
        occasion,
    });
}
