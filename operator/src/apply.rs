//! [I/O] Writes a plan to the API server, in this order: deletions, new objects, one status patch, the event. A finished run also gets a mark. This
//! annotation remains if a backup tool restores the run without its status.

use std::fmt::Debug;

use crds::{
    BenchmarkRun, BenchmarkRunStatus,
    status::{Attempt, Phase},
};
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        batch::v1::Job,
        core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Service},
        networking::v1::NetworkPolicy,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api, Resource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tracing::{debug, info, warn};

use crate::{
    context::Context,
    error::{Error, FORBIDDEN},
    events::News,
    plan::{Child, Plan, Stop, config_map, finished::FINISHED, meta, pvc, server::MAX_STOPPED_PODS, status::full_name},
    servers::{stop_deleted_server, stop_server},
};

/// HTTP status codes with which the API server refuses an object: malformed, forbidden (by RBAC, a webhook or a quota), too large, invalid.
pub(crate) const REFUSALS: [u16; 4] = [400, 403, 413, 422];
/// Grace period in seconds for an immediate end. With 0 the pod object would disappear before its process has ended, and the next attempt would share
/// the volume with that process.
const IMMEDIATE_GRACE_SECONDS: u32 = 1;
/// The field manager that owns the status.
pub(crate) const STATUS_MANAGER: &str = "benchwright-operator/status";
/// The field manager that owns the annotations that [`write_mark`] writes.
const MARK_MANAGER: &str = "benchwright-operator/mark";

/// Writes a plan to the API server. Returns the updated run, or `None` if it was deleted.
///
/// # Errors
/// The error of the API server, or [`Error::Outdated`] if the run has changed since it was read. Objects that were written before the error stay, and
/// the next reconciliation continues from there. If this call created a ConfigMap, `config_map_uid` contains its UID even after an error.
pub async fn apply(
    context: &Context,
    run: &BenchmarkRun,
    plan: &Plan,
    config_map_uid: &mut Option<String>,
) -> Result<Option<BenchmarkRun>, Error> {
    let namespace = run.namespace().unwrap_or_default();
    if let Some(what) = &plan.stop {
        debug!(run = %full_name(run), ?what, "stops the attempt");
        let stopped = stop(context, &namespace, what, &plan.status.attempts).await;
        allow_terminal(run, plan, stopped)?;
    }
    for pod in plan.stop_pods.iter().take(MAX_STOPPED_PODS) {
        debug!(run = %full_name(run), pod, "stops another pod of the Job");
        let stopped = stop(context, &namespace, &Stop::Pod(pod.clone()), &plan.status.attempts).await;
        allow_terminal(run, plan, stopped)?;
    }
    delete_jobs(context, run, &namespace, plan).await?;
    delete_policies(context, run, &namespace, &plan.delete_policies).await?;
    for (name, uid) in &plan.delete_config_maps {
        delete_config_map(context, run, &namespace, name, uid).await?;
    }
    if let Some(what) = &plan.stop_server {
        stop_server(context, &namespace, what).await?;
    }
    let mut status = plan.status.clone();
    for child in &plan.create {
        let uid = create(context, run, &namespace, child).await?;
        match (child, status.attempts.last_mut()) {
            (Child::Job(_), Some(attempt)) => attempt.job_uid = uid,
            (Child::ConfigMap(_), Some(attempt)) => {
                attempt.config_map_uid.clone_from(&uid);
                *config_map_uid = uid;
            }
            _ => {}
        }
    }
    let runs: Api<BenchmarkRun> = Api::namespaced(context.client.clone(), &namespace);
    if plan.delete_run {
        delete_run(context, &runs, run).await?;
        return Ok(None);
    }
    let before = run.status.clone().unwrap_or_default();
    let mut after = run.clone();
    if status != before {
        after = patch_status(context, &runs, run, &status).await?;
        record_changes(context, run, &before, &status);
        publish_event(context, run, &after, plan);
    }
    if let Some(mark) = &plan.mark {
        after = match write_mark(context, &runs, &after, FINISHED, mark).await {
            Err(Error::Api(kube::Error::Api(status))) if REFUSALS.contains(&status.code) => {
                // An error here would repeat the request every few minutes for a finished run, so it is only logged.
                warn!(run = %full_name(run), error = %status.message, "the finished run could not be marked as finished; a copy restored from a backup would run again");
                after
            }
            marked => marked?,
        };
    }
    Ok(Some(after))
}

/// Ignores the error if the API server refused a deletion, by RBAC, an admission policy or a webhook. `of` is the namespace and name for the log: of
/// the object, or of the run or server that owns it.
pub(crate) fn allow_refused(of: &str, done: Result<(), Error>) -> Result<(), Error> {
    match done {
        Err(Error::Api(kube::Error::Api(status))) if REFUSALS.contains(&status.code) => {
            warn!(of, error = %status.message, "the API server refuses the deletion of an object that is no longer needed");
            Ok(())
        }
        done => done,
    }
}

/// Deletes the Jobs of a finished run after their retention time. If the API server refuses to delete a Job, it is deleted together with the run.
async fn delete_jobs(context: &Context, run: &BenchmarkRun, namespace: &str, plan: &Plan) -> Result<(), Error> {
    let jobs: Api<Job> = Api::namespaced(context.client.clone(), namespace);
    for job in &plan.delete_jobs {
        info!(run = %full_name(run), job = job.name, "deletes a Job of a finished run: its retention time has passed");
        let deleted = delete_job(context, &jobs, &job.name, job.uid.clone(), DeleteParams::foreground()).await;
        allow_terminal(run, plan, deleted)?;
    }
    Ok(())
}

/// Deletes the NetworkPolicies of ended attempts, and checks that they belong to this run. If the API server refuses to delete one, it is deleted
/// together with the run.
async fn delete_policies(
    context: &Context,
    run: &BenchmarkRun,
    namespace: &str,
    names: &[String],
) -> Result<(), Error> {
    for name in names {
        let deleted = delete_policy(context, namespace, name, |it| meta::is_ours(run, &it.metadata)).await;
        allow_refused(&full_name(run), deleted)?;
    }
    Ok(())
}

/// Deletes the ConfigMap with this UID. If the API server refuses, the ConfigMap is deleted together with the run.
async fn delete_config_map(
    context: &Context,
    run: &BenchmarkRun,
    namespace: &str,
    name: &str,
    uid: &str,
) -> Result<(), Error> {
    let config_maps: Api<ConfigMap> = Api::namespaced(context.client.clone(), namespace);
    let exactly = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
    context.metrics.write("delete", "configmaps");
    let deleted = config_maps.delete(name, &DeleteParams::background().preconditions(exactly)).await.map(drop);
    match deleted {
        // The ConfigMap with this UID is gone; another object has its name now.
        Err(kube::Error::Api(status)) if status.is_conflict() => Ok(()),
        deleted => allow_refused(&full_name(run), ignore_absent(deleted)),
    }
}

/// Deletes the NetworkPolicy with this name if `is_its` returns true for it.
pub(crate) async fn delete_policy(
    context: &Context,
    namespace: &str,
    name: &str,
    is_its: impl Fn(&NetworkPolicy) -> bool,
) -> Result<(), Error> {
    let policies: Api<NetworkPolicy> = Api::namespaced(context.client.clone(), namespace);
    let Some(found) = policies.get_opt(name).await?.filter(is_its) else { return Ok(()) };
    let exactly = Preconditions { uid: found.uid(), resource_version: None };
    context.metrics.write("delete", "networkpolicies");
    ignore_absent(policies.delete(name, &DeleteParams::background().preconditions(exactly)).await.map(drop))
}

/// Deletes the run if it is unchanged since it was read. Otherwise the API server returns a conflict.
async fn delete_run(context: &Context, runs: &Api<BenchmarkRun>, run: &BenchmarkRun) -> Result<(), Error> {
    let exactly = Preconditions { uid: run.uid(), resource_version: run.resource_version() };
    context.metrics.write("delete", "benchmarkruns");
    let deleted = runs.delete(&run.name_any(), &DeleteParams::background().preconditions(exactly)).await;
    ignore_absent(deleted.map(drop).map_err(outdated))?;
    info!(run = %full_name(run), "deleted the finished run: its retention time has passed");
    Ok(())
}

/// Writes the status of an object that the operator owns, unless the object has changed since it was read.
pub(crate) async fn patch_status<K>(
    context: &Context,
    api: &Api<K>,
    object: &K,
    status: &impl Serialize,
) -> Result<K, Error>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let patch = json!({
        "apiVersion": K::api_version(&()),
        "kind": K::kind(&()),
        "metadata": exactly(object),
        "status": status,
    });
    context.metrics.write("patch", &format!("{}/status", K::plural(&())));
    let params = PatchParams::apply(STATUS_MANAGER).force();
    api.patch_status(&object.name_any(), &params, &Patch::Apply(&patch)).await.map_err(outdated)
}

/// Writes the mark: an annotation that prevents an object from starting again after a restore without its status.
pub(crate) async fn write_mark<K>(
    context: &Context,
    api: &Api<K>,
    object: &K,
    annotation: &str,
    mark: &str,
) -> Result<K, Error>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let mut metadata = exactly(object);
    metadata["annotations"] = json!({annotation: mark});
    let params = PatchParams { field_manager: Some(MARK_MANAGER.into()), ..PatchParams::default() };
    context.metrics.write("patch", &K::plural(&()));
    let patch = Patch::Merge(json!({"metadata": metadata}));
    api.patch(&object.name_any(), &params, &patch).await.map_err(outdated)
}

/// Metadata that makes the API server refuse a write if the run has changed since it was read, or if another run has the same name now. So a delayed
/// write cannot overwrite a newer one.
pub(crate) fn exactly(run: &impl ResourceExt) -> Value {
    json!({"name": run.name_any(), "uid": run.uid(), "resourceVersion": run.resource_version()})
}

pub(crate) fn outdated(error: kube::Error) -> Error {
    match error {
        kube::Error::Api(status) if status.is_conflict() => Error::Outdated,
        error => error.into(),
    }
}

/// Logs and counts a change of the phase and the end of an attempt.
fn record_changes(context: &Context, run: &BenchmarkRun, before: &BenchmarkRunStatus, status: &BenchmarkRunStatus) {
    if before.phase != status.phase {
        let name = |status: &BenchmarkRunStatus| status.phase.map_or("", Phase::name);
        info!(run = %full_name(run), from = name(before), to = name(status), reason = %status.reason, "phase changed");
        context.metrics.phase_changed(status.phase);
        let left = status.phase.and_then(|it| context.phase_times.enter(&run.uid().unwrap_or_default(), it));
        if let Some((phase, after)) = left {
            context.metrics.phase_left(phase, after);
        }
    }
    let ended = |status: &BenchmarkRunStatus| status.attempts.last().filter(|it| it.end_time.is_some()).cloned();
    let newly_ended = ended(status).filter(|it| ended(before).is_none_or(|before| before.number != it.number));
    if let Some(reason) = newly_ended.and_then(|it| it.reason.known()) {
        context.metrics.attempt_ended(reason);
    }
}

/// Queues the event of a plan. A separate task writes it, so that it does not delay the reconciliation.
fn publish_event(context: &Context, run: &BenchmarkRun, after: &BenchmarkRun, plan: &Plan) {
    let Some(planned) = &plan.event else { return };
    context.events.publish(News {
        about: run.object_ref(&()),
        warning: planned.warning,
        reason: planned.reason.to_string(),
        note: planned.note.clone(),
        occasion: after.resource_version().unwrap_or_default(),
    });
}

/// Ignores the error if the operator has no right to delete a Job or pod of a run that ends now. Kubernetes ends the Job at the Job's deadline.
fn allow_terminal(run: &BenchmarkRun, plan: &Plan, stopped: Result<(), Error>) -> Result<(), Error> {
    match stopped {
        Err(Error::Api(kube::Error::Api(status))) if status.code == FORBIDDEN && has_ended(&plan.status) => {
            warn!(run = %full_name(run), error = %status.message, "a Job or pod of a finished run is left, because the operator may not delete it");
            Ok(())
        }
        stopped => stopped,
    }
}

/// Whether the run has ended, or only waits for the removal of its server.
fn has_ended(status: &BenchmarkRunStatus) -> bool {
    let waits = status.server.as_ref().is_some_and(|it| it.held_end.is_some());
    waits || status.phase.is_some_and(Phase::is_terminal)
}

pub(crate) async fn stop(context: &Context, namespace: &str, stop: &Stop, attempts: &[Attempt]) -> Result<(), Error> {
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), namespace);
    let jobs: Api<Job> = Api::namespaced(context.client.clone(), namespace);
    let uid = |job: &str| attempts.iter().find(|it| it.job_name == job).and_then(|it| it.job_uid.clone());
    match stop {
        Stop::Pod(pod) => {
            context.metrics.write("delete", "pods");
            ignore_absent(pods.delete(pod, &DeleteParams::default()).await.map(drop))
        }
        Stop::PodAndJobNow { pod, job } => {
            // The Job is deleted before the pod, so that it cannot create another pod.
            delete_job(context, &jobs, job, uid(job), DeleteParams::background()).await?;
            let Some(pod) = pod else { return Ok(()) };
            context.metrics.write("delete", "pods");
            ignore_absent(
                pods.delete(pod, &DeleteParams::default().grace_period(IMMEDIATE_GRACE_SECONDS)).await.map(drop),
            )
        }
        Stop::Job(job) => delete_job(context, &jobs, job, uid(job), DeleteParams::foreground()).await,
    }
}

/// Deletes the Job of a deleted run's last attempt, and the run's server, if they still exist.
///
/// # Errors
/// The error of the API server.
pub async fn stop_deleted(context: &Context, run: &BenchmarkRun) -> Result<(), Error> {
    if run.is_finished() {
        return Ok(());
    }
    // Both are deleted independently: the load must end even if the server cannot be removed.
    let server = stop_deleted_server(context, run).await;
    let job = stop_deleted_job(context, run).await;
    server.and(job)
}

async fn stop_deleted_job(context: &Context, run: &BenchmarkRun) -> Result<(), Error> {
    let Some(attempt) = run.status.as_ref().and_then(|it| it.attempts.last()) else { return Ok(()) };
    let namespace = run.namespace().unwrap_or_default();
    let jobs: Api<Job> = Api::namespaced(context.client.clone(), &namespace);
    let Some(job) = jobs.get_opt(&attempt.job_name).await? else { return Ok(()) };
    // After a deletion with `--cascade=orphan`, the Job has no owner reference to the run, but still the recorded UID.
    let is_its = meta::is_ours(run, &job.metadata) || (job.uid().is_some() && job.uid() == attempt.job_uid);
    if !is_its || job.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    debug!(run = %full_name(run), job = attempt.job_name, "deletes the Job of a deleted run");
    delete_job(context, &jobs, &attempt.job_name, job.uid(), DeleteParams::foreground()).await
}

/// Deletes the Job with this UID, but not another Job with the same name.
async fn delete_job(
    context: &Context,
    jobs: &Api<Job>,
    job: &str,
    uid: Option<String>,
    params: DeleteParams,
) -> Result<(), Error> {
    let exactly = Preconditions { uid: uid.clone(), resource_version: None };
    context.metrics.write("delete", "jobs");
    let deleted = jobs.delete(job, &params.preconditions(exactly)).await.map(drop);
    if let Err(kube::Error::Api(status)) = &deleted
        && status.is_conflict()
        && jobs.get_opt(job).await?.is_none_or(|it| it.uid() != uid)
    {
        return Ok(());
    }
    ignore_absent(deleted)
}

/// Creates a child object of the run, and returns its UID.
async fn create(
    context: &Context,
    run: &BenchmarkRun,
    namespace: &str,
    child: &Child,
) -> Result<Option<String>, Error> {
    match child {
        Child::ConfigMap(it) => {
            let accepts = |found: &ConfigMap| config_map::is_as_built(found, it, run);
            create_one(context, run, namespace, it.as_ref(), accepts).await
        }
        Child::ChartValues(it) => {
            // The chart values are only for people and their tools. Without them the run still works.
            let created = create_one(context, run, namespace, it.as_ref(), |_: &ConfigMap| true).await;
            created.map_err(|error| Error::NoChartValues(Box::new(error)))
        }
        Child::NetworkPolicy(it) => {
            let accepts = |found: &NetworkPolicy| {
                meta::is_ours(run, &found.metadata) || is_same_server(&found.metadata, &it.metadata)
            };
            create_one(context, run, namespace, it.as_ref(), accepts).await
        }
        Child::Claim(it) => {
            let accepts = |found: &PersistentVolumeClaim| pvc::is_for_results(&found.metadata);
            create_one(context, run, namespace, it.as_ref(), accepts).await
        }
        Child::Job(it) => {
            let accepts = |found: &Job| meta::is_ours(run, &found.metadata);
            create_one(context, run, namespace, it.as_ref(), accepts).await
        }
        Child::Service(it) => {
            let accepts = |found: &Service| is_same_server(&found.metadata, &it.metadata);
            create_one(context, run, namespace, it.as_ref(), accepts).await
        }
        Child::Deployment(it) => {
            let accepts = |found: &Deployment| is_same_server(&found.metadata, &it.metadata);
            create_one(context, run, namespace, it.as_ref(), accepts).await
        }
    }
}

/// Whether an existing object belongs to the same server: it has the same owner, or, for a shared server, the same labels.
fn is_same_server(found: &ObjectMeta, wanted: &ObjectMeta) -> bool {
    let owners = |it: &ObjectMeta| it.owner_references.iter().flatten().map(|it| it.uid.clone()).collect::<Vec<_>>();
    let labels = wanted.labels.iter().flatten();
    let mut same = labels.map(|(key, value)| found.labels.as_ref().and_then(|it| it.get(key)) == Some(value));
    owners(found) == owners(wanted) && same.all(|it| it)
}

/// Creates an object and returns its UID. If the object exists, `accepts` decides whether it can be used.
async fn create_one<K>(
    context: &Context,
    run: &BenchmarkRun,
    namespace: &str,
    object: &K,
    accepts: impl Fn(&K) -> bool,
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
                Some(found) if accepts(&found) => Ok(found.uid()),
                Some(_) => Err(Error::Conflict { kind: K::kind(&()).into_owned(), name: object.name_any() }),
                // The object was deleted between the two requests. The next reconciliation creates it.
                None => Err(Error::Api(kube::Error::Api(status))),
            }
        }
        Err(kube::Error::Api(status)) if REFUSALS.contains(&status.code) => Err(Error::Refused {
            kind: K::kind(&()).into_owned(),
            name: object.name_any(),
            code: status.code,
            message: status.message,
        }),
        Err(source) => Err(Error::NotCreated { kind: K::kind(&()).into_owned(), name: object.name_any(), source }),
    }
}

pub(crate) fn ignore_absent(done: Result<(), impl Into<Error>>) -> Result<(), Error> {
    match done.map_err(Into::into) {
        Err(Error::Api(kube::Error::Api(status))) if status.is_not_found() => Ok(()),
        done => done,
    }
}
