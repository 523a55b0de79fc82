//! Names, labels and owner references of everything that belongs to a run; nothing else makes them up.

use std::collections::BTreeMap;

use crds::{BenchmarkRun, RunIdentity};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource as _, ResourceExt as _};

/// What the operator is in `app.kubernetes.io/managed-by`, and the prefix of its field managers.
pub const MANAGER: &str = "benchwright-operator";
/// The label that holds the UID of the run: selectors use it, because a name may come again.
pub const RUN_UID: &str = "benchwright.dev/run-uid";
/// The label that holds the name of the run, for people.
pub const RUN: &str = "benchwright.dev/run";
/// The label that holds the attempt's number.
pub const ATTEMPT: &str = "benchwright.dev/attempt";
/// The label in which Kubernetes keeps the UID of a pod's Job.
const JOB_UID: &str = "batch.kubernetes.io/controller-uid";
/// What a watch on children selects.
pub const MANAGED: &str = "app.kubernetes.io/managed-by=benchwright-operator";

/// Who an attempt of a run is.
pub fn identity(run: &BenchmarkRun, attempt: u32) -> RunIdentity {
    RunIdentity {
        name: run.name_any(),
        namespace: run.namespace().unwrap_or_default(),
        uid: run.uid().unwrap_or_default(),
        attempt,
    }
}

/// The name of the Job and the ConfigMap of an attempt.
pub fn attempt_name(run: &BenchmarkRun, attempt: u32) -> String {
    identity(run, attempt).attempt_name()
}

/// The labels of a child.
pub fn labels(run: &BenchmarkRun, attempt: u32) -> BTreeMap<String, String> {
    [
        ("app.kubernetes.io/name", "benchwright".to_owned()),
        ("app.kubernetes.io/part-of", "benchwright".to_owned()),
        ("app.kubernetes.io/component", "launcher".to_owned()),
        ("app.kubernetes.io/managed-by", MANAGER.to_owned()),
        (RUN, run.name_any()),
        (RUN_UID, run.uid().unwrap_or_default()),
        (ATTEMPT, attempt.to_string()),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect()
}

/// Metadata of a child that goes with its run.
pub fn owned(run: &BenchmarkRun, attempt: u32, name: String) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: run.namespace(),
        labels: Some(labels(run, attempt)),
        owner_references: run.controller_owner_ref(&()).map(|it| vec![it]),
        ..ObjectMeta::default()
    }
}

/// Whether this very Job controls a pod. Labels can be copied, and a name can be taken again. The Job controller also asks to
/// block the owner's deletion, which others may not write where OwnerReferencesPermissionEnforcement is on.
pub fn is_of_job(pod: &ObjectMeta, job_name: &str, job_uid: &str) -> bool {
    let mut owners = pod.owner_references.iter().flatten();
    owners.any(|it| {
        it.controller == Some(true)
            && it.block_owner_deletion == Some(true)
            && it.api_version == "batch/v1"
            && it.kind == "Job"
            && it.name == job_name
            && it.uid == job_uid
    })
}

/// Whether a pod has no owner and the label of this Job, which the Job controller writes: so is a pod that is left when its Job
/// is deleted with `--cascade=orphan`. A label can be copied: it is reason enough to end a pod, not to believe it.
pub fn is_left_by(pod: &ObjectMeta, job_uid: &str) -> bool {
    let alone = pod.owner_references.as_ref().is_none_or(Vec::is_empty);
    let label = pod.labels.as_ref().and_then(|it| it.get(JOB_UID));
    alone && !job_uid.is_empty() && label.is_some_and(|it| it == job_uid)
}

/// Whether an object belongs to this very run, not to another one of the same name.
pub fn is_ours(run: &BenchmarkRun, metadata: &ObjectMeta) -> bool {
    let owners = metadata.owner_references.iter().flatten();
    owners.into_iter().any(|it| Some(&it.uid) == run.metadata.uid.as_ref())
}
