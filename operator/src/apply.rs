//! [I/O] Writes a plan to the API server: first deletions, then new objects, then one status patch, then the event.

use std::fmt::Debug;

use crds::{BenchmarkRun, BenchmarkRunStatus, benchmark_run, status::Phase};
use k8s_openapi::api::{batch::v1::Job, core::v1::Pod};
use kube::{
    Api, Resource, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
    runtime::events::{Event, EventType},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;
use tracing::{debug, info, warn};

use crate::{
    context::Context,
    error::Error,
    plan::{Child, Plan, Stop, meta, status::full_name},
};

/// Statuses by which the API server refuses an object: malformed, forbidden (by RBAC, a webhook or a quota), invalid.
const REFUSALS: [u16; 3] = [400, 403, 422];
/// Not 0: the pod object would be gone before its process, and the next attempt would share the volume with that process.
const IMMEDIATE_GRACE_SECONDS: u32 = 1;
/// The most other pods of a Job that one turn deletes: a turn has a time limit.
const MAX_STOPPED_PODS: usize = 64;
/// The field manager that owns the status.
pub(crate) const STATUS_MANAGER: &str = "benchwright-operator/status";

/// Writes a plan to the API server. Returns the run as it is afterwards, or `None` if it was deleted.
///
/// # Errors
/// The API server's error. Whatever was written before the error stays; the next turn continues from there.
pub async fn apply(context: &Context, run: &BenchmarkRun, plan: &Plan) -> Result<Option<BenchmarkRun>, Error> {
    let namespace = run.namespace().unwrap_or_default();
    if let Some(what) = &plan.stop {
        debug!(run = %full_name(run), ?what, "stops the attempt");
        stop(context, &namespace, what).await?;
    }
    for pod in plan.stop_pods.iter().take(MAX_STOPPED_PODS) {
        debug!(run = %full_name(run), pod, "stops another pod of the Job");
        stop(context, &namespace, &Stop::Pod(pod.clone())).await?;
    }
    let mut status = plan.status.clone();
    for child in &plan.create {
        let uid = create(context, run, &namespace, child).await?;
        if let (Child::Job(_), Some(attempt)) = (child, status.attempts.last_mut()) {
            attempt.job_uid = uid;
        }
    }
    let runs: Api<BenchmarkRun> = Api::namespaced(context.client.clone(), &namespace);
    if plan.delete_run {
        delete_run(context, &runs, run).await?;
        return Ok(None);
    }
    let before = run.status.clone().unwrap_or_default();
    if status == before {
        return Ok(Some(run.clone()));
    }
    let after = write_status(context, &runs, run, &status).await?;
    record_changes(context, run, &before, &status);
    publish_event(context, run, plan).await;
    Ok(Some(after))
}

/// Deletes the run if it is still the object that the plan was made for: otherwise the API server answers with a conflict.
async fn delete_run(context: &Context, runs: &Api<BenchmarkRun>, run: &BenchmarkRun) -> Result<(), Error> {
    let exactly = Preconditions { uid: run.uid(), resource_version: run.resource_version() };
    context.metrics.write("delete", "benchmarkruns");
    let deleted = runs.delete(&run.name_any(), &DeleteParams::background().preconditions(exactly)).await;
    ignore_absent(deleted.map(drop))?;
    info!(run = %full_name(run), "deleted the finished run: its retention time has passed");
    Ok(())
}

async fn write_status(
    context: &Context,
    runs: &Api<BenchmarkRun>,
    run: &BenchmarkRun,
    status: &BenchmarkRunStatus,
) -> Result<BenchmarkRun, Error> {
    let patch = json!({
        "apiVersion": format!("{}/{}", benchmark_run::GROUP, benchmark_run::VERSION),
        "kind": benchmark_run::KIND,
        // The UID makes the API server refuse the status for another run of the same name.
        "metadata": {"name": run.name_any(), "uid": run.uid()},
        "status": status,
    });
    context.metrics.write("patch", "benchmarkruns/status");
    let params = PatchParams::apply(STATUS_MANAGER).force();
    Ok(runs.patch_status(&run.name_any(), &params, &Patch::Apply(&patch)).await?)
}

/// Logs and counts a new phase and the end of an attempt.
fn record_changes(context: &Context, run: &BenchmarkRun, before: &BenchmarkRunStatus, status: &BenchmarkRunStatus) {
    if before.phase != status.phase {
        let name = |status: &BenchmarkRunStatus| status.phase.map_or("", Phase::name);
        info!(run = %full_name(run), from = name(before), to = name(status), reason = %status.reason, "phase changed");
        context.metrics.phase_changed(status.phase);
    }
    let ended = |status: &BenchmarkRunStatus| status.attempts.last().filter(|it| it.end_time.is_some()).cloned();
    let newly_ended = ended(status).filter(|it| ended(before).is_none_or(|before| before.number != it.number));
    if let Some(reason) = newly_ended.and_then(|it| it.reason.known()) {
        context.metrics.attempt_ended(reason);
    }
}

/// Events inform people. A turn does not fail when one cannot be written.
async fn publish_event(context: &Context, run: &BenchmarkRun, plan: &Plan) {
    let Some(planned) = &plan.event else { return };
    let event = Event {
        type_: if planned.warning { EventType::Warning } else { EventType::Normal },
        reason: planned.reason.to_string(),
        note: Some(planned.note.clone()),
        action: "Reconcile".into(),
        secondary: None,
    };
    context.metrics.write("create", "events");
    if let Err(error) = context.recorder.publish(&event, &run.object_ref(&())).await {
        warn!(run = %full_name(run), %error, "an event was not written");
    }
}

async fn stop(context: &Context, namespace: &str, stop: &Stop) -> Result<(), Error> {
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), namespace);
    let jobs: Api<Job> = Api::namespaced(context.client.clone(), namespace);
    match stop {
        Stop::Pod(pod) => {
            context.metrics.write("delete", "pods");
            ignore_absent(pods.delete(pod, &DeleteParams::default()).await.map(drop))
        }
        Stop::PodAndJobNow { pod, job } => {
            // The Job first: it must not create another pod.
            context.metrics.write("delete", "jobs");
            ignore_absent(jobs.delete(job, &DeleteParams::background()).await.map(drop))?;
            let Some(pod) = pod else { return Ok(()) };
            context.metrics.write("delete", "pods");
            ignore_absent(
                pods.delete(pod, &DeleteParams::default().grace_period(IMMEDIATE_GRACE_SECONDS)).await.map(drop),
            )
        }
        Stop::Job(job) => {
            context.metrics.write("delete", "jobs");
            ignore_absent(jobs.delete(job, &DeleteParams::foreground()).await.map(drop))
        }
    }
}

/// Creates a child, and returns its UID.
async fn create(
    context: &Context,
    run: &BenchmarkRun,
    namespace: &str,
    child: &Child,
) -> Result<Option<String>, Error> {
    match child {
        Child::ConfigMap(it) => create_one(context, run, namespace, it.as_ref(), true).await,
        Child::Claim(it) => create_one(context, run, namespace, it.as_ref(), false).await,
        Child::Job(it) => create_one(context, run, namespace, it.as_ref(), true).await,
    }
}

/// Creates an object and returns its UID. An existing object is accepted if it belongs to this run, or need not.
async fn create_one<K>(
    context: &Context,
    run: &BenchmarkRun,
    namespace: &str,
    object: &K,
    must_be_ours: bool,
) -> Result<Option<String>, Error>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize,
{
    let api: Api<K> = Api::namespaced(context.client.clone(), namespace);
    context.metrics.write("create", &K::plural(&()));
    match api.create(&PostParams::default(), object).await {
        Ok(created) => {
            debug!(run = %full_name(run), kind = %K::kind(&()), name = %created.name_any(), "created");
            Ok(created.uid())
        }
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            match api.get_opt(&object.name_any()).await? {
                Some(found) if !must_be_ours || meta::is_ours(run, found.meta()) => Ok(found.uid()),
                Some(_) => Err(Error::Conflict { kind: K::kind(&()).into_owned(), name: object.name_any() }),
                // It was deleted meanwhile: the next turn creates it.
                None => Err(kube::Error::Api(status).into()),
            }
        }
        Err(kube::Error::Api(status)) if REFUSALS.contains(&status.code) => Err(Error::Refused {
            kind: K::kind(&()).into_owned(),
            name: object.name_any(),
            code: status.code,
            message: status.message,
        }),
        Err(error) => Err(error.into()),
    }
}

fn ignore_absent(done: Result<(), kube::Error>) -> Result<(), Error> {
    match done {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        done => Ok(done?),
    }
}
