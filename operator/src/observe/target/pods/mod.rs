//! [I/O] Finds pods that may still load a target although their run has ended or was deleted.

use crds::BenchmarkRun;
use jiff::Timestamp;
use k8s_openapi::api::{batch::v1::Job, core::v1::Pod};
use kube::{Api, Client, ResourceExt as _, api::ListParams};

use crate::{
    ended_pods,
    error::Error,
    observe::{
        MOST_PODS,
        reader::{Reader, Request},
    },
    plan::{What, exclusive::TargetKey, meta},
    targets::{Drain, LEEWAY},
};

/// Whether a pod of an ended or deleted run still works, or whether its Job may still create one. False also if the objects could not be read.
/// `reader` has then recorded the failure.
///
/// # Errors
/// The error of the API server.
pub(crate) async fn works(client: &Client, reader: &mut Reader, drain: &Drain, now: Timestamp) -> Result<bool, Error> {
    if !drain.job.is_empty() {
        let jobs: Api<Job> = Api::namespaced(client.clone(), &drain.namespace);
        let read = reader.read(What::Job, Request::get("jobs", &drain.job), jobs.get_opt(&drain.job)).await?;
        if let Some(job) = read.flatten().filter(|it| it.metadata.deletion_timestamp.is_none()) {
            let conditions = job.status.iter().flat_map(|it| it.conditions.iter().flatten());
            let mut ended = conditions.filter(|it| {
                ["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"].contains(&it.type_.as_str())
            });
            if !ended.any(|it| it.status == "True") {
                return Ok(true);
            }
        }
    }
    let pods: Api<Pod> = Api::namespaced(client.clone(), &drain.namespace);
    let found = list(reader, &pods, format!("{}={}", meta::RUN_UID, drain.uid)).await?;
    Ok(found.iter().any(|it| meta::is_of_any_job(&it.metadata) && is_at_work(it, now)))
}

/// The name of an unknown run in this namespace that has a pod which loads the target. Such a run was deleted while the operator was not running.
/// Pods in other namespaces are ignored, because their users could set the label to block this run.
///
/// # Errors
/// The error of the API server.
pub(crate) async fn of_unknown_run(
    client: &Client,
    reader: &mut Reader,
    run: &BenchmarkRun,
    key: TargetKey,
    is_known: impl Fn(&str) -> bool,
    now: Timestamp,
) -> Result<Option<Drain>, Error> {
    let namespace = run.namespace().unwrap_or_default();
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let found = list(reader, &pods, format!("{}={key}", meta::TARGET)).await?;
    let label = |pod: &Pod, key: &str| pod.labels().get(key).cloned().unwrap_or_default();
    let own = run.uid().unwrap_or_default();
    let other = found.into_iter().find(|it| {
        let uid = label(it, meta::RUN_UID);
        uid != own && !is_known(&uid) && meta::is_of_any_job(&it.metadata) && is_at_work(it, now)
    });
    Ok(other.map(|it| Drain {
        uid: label(&it, meta::RUN_UID),
        namespace,
        name: label(&it, meta::RUN),
        job: String::new(),
    }))
}

/// Lists the pods with a label. Empty if they could not be read.
async fn list(reader: &mut Reader, pods: &Api<Pod>, label: String) -> Result<Vec<Pod>, Error> {
    let params = ListParams::default().labels(&label).limit(MOST_PODS);
    let request = Request { verb: "list", resource: "pods", name: label };
    Ok(reader.read(What::Pods, request, pods.list(&params)).await?.map(|it| it.items).unwrap_or_default())
}

/// Whether the launcher in a pod can still run. A pod on a node that stopped reporting does not count forever.
fn is_at_work(pod: &Pod, now: Timestamp) -> bool {
    let succeeded = pod.status.as_ref().is_some_and(|it| it.phase.as_deref() == Some("Succeeded"));
    let lost = pod.metadata.deletion_timestamp.as_ref().is_some_and(|it| now.duration_since(it.0) > LEEWAY);
    !succeeded && !lost && ended_pods::ended(pod).is_none()
}

#[cfg(test)]
mod tests;
