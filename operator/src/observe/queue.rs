//! [I/O] What Kueue reports about a waiting Job. Reads the Job's LocalQueue and its Workload.

use kube::{
    Api,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams},
};
use serde_json::Value;

use super::reader::{Reader, Request};
use crate::{
    cached_run::PAGE,
    context::Context,
    error::Error,
    plan::{QueueState, What},
};

/// Kueue's label on a Workload with the UID of its Job.
const JOB_UID: &str = "kueue.x-k8s.io/job-uid";
/// The HTTP status code if the object, or its kind, does not exist.
const NOT_FOUND: u16 = 404;

/// Reads the queue of a Job, and the Workload that Kueue created for the Job. `None` if the queue could not be read.
pub(super) async fn read(
    context: &Context,
    namespace: &str,
    queue: &str,
    job_uid: &str,
    reader: &mut Reader,
) -> Result<Option<QueueState>, Error> {
    let queues = api(context, namespace, "LocalQueue", "localqueues");
    let request = Request::get("localqueues", queue);
    let found = async { or_absent(queues.get(queue).await.map(|_| true), false) };
    let Some(exists) = reader.read(What::Queue, request, found).await? else { return Ok(None) };
    let workloads = api(context, namespace, "Workload", "workloads");
    let of_job = format!("{JOB_UID}={job_uid}");
    let request = Request { verb: "list", resource: "workloads", name: of_job.clone() };
    let params = ListParams::default().labels(&of_job).limit(PAGE);
    let found = async { or_absent(workloads.list(&params).await.map(|it| it.items), Vec::new()) };
    let found = reader.read(What::Queue, request, found).await?.unwrap_or_default();
    let message = found.first().map(|it| waits_for(&it.data)).unwrap_or_default();
    Ok(Some(QueueState { exists, message }))
}

/// Replaces the error for a missing object or kind with the value `absent`.
fn or_absent<T>(answer: Result<T, kube::Error>, absent: T) -> Result<T, kube::Error> {
    match answer {
        Err(kube::Error::Api(status)) if status.code == NOT_FOUND => Ok(absent),
        answer => answer,
    }
}

fn api(context: &Context, namespace: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("kueue.x-k8s.io", "v1beta1", kind);
    Api::namespaced_with(context.client.clone(), namespace, &ApiResource::from_gvk_with_plural(&kind, plural))
}

/// The reason that Kueue reports for a Workload without quota. Empty if it reports none.
fn waits_for(workload: &Value) -> String {
    let conditions = workload["status"]["conditions"].as_array().into_iter().flatten();
    let refused = conditions.filter(|it| it["type"] == "QuotaReserved" && it["status"] == "False");
    refused.filter_map(|it| it["message"].as_str()).next_back().unwrap_or_default().to_owned()
}
