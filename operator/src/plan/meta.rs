//! Names, labels and owner references of all objects that belong to a run. They are only created in this module.

use std::collections::BTreeMap;

use crds::{
    BenchmarkRun, BenchmarkSchedule, BenchmarkSweep, RunIdentity, benchmark_schedule::status::Start,
    resolve::ServerNames,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::{Resource as _, ResourceExt as _};

/// The value of `app.kubernetes.io/managed-by` on the operator's objects, and the prefix of its field managers.
pub const MANAGER: &str = "benchwright-operator";
/// The label with the UID of the run. Selectors use the UID because a later run can have the same name.
pub const RUN_UID: &str = "benchwright.dev/run-uid";
/// The label with the name of the run, for users.
pub const RUN: &str = "benchwright.dev/run";
/// The label with the number of the attempt.
pub const ATTEMPT: &str = "benchwright.dev/attempt";
/// The label with the key of the target that a Job and its pod load.
pub const TARGET: &str = "benchwright.dev/target";
/// The label with the name of a server, on all objects that belong to it.
pub const SERVER: &str = "benchwright.dev/server";
/// The label of a run with the name of the schedule that started it.
pub const SCHEDULE: &str = "benchwright.dev/schedule";
/// The annotation with the scheduled time that started the run.
const SCHEDULE_TIME: &str = "benchwright.dev/schedule-time";
/// The annotation with the text of the trigger that started the run.
const TRIGGER: &str = "benchwright.dev/trigger";
/// The label of a run with the name of the sweep that started it.
pub const SWEEP: &str = "benchwright.dev/sweep";
/// The label of a sweep's run with the number of its cell, from 1.
const CELL: &str = "benchwright.dev/cell";
/// The label of a sweep's run with the number of the repeat, from 1.
const REPEAT: &str = "benchwright.dev/repeat";
/// The annotation of a sweep's run with the levels of its cell, such as `server=a,rate=10`.
const LEVELS: &str = "benchwright.dev/levels";
/// The annotation on a server's Deployment with the bearer token for its log. The annotation is needed because the operator does not read the
/// environment of pods.
pub const LOG_TOKEN: &str = "benchwright.dev/log-token";
/// The label with the UID of a pod's Job. The Job controller sets it.
const JOB_UID: &str = "batch.kubernetes.io/controller-uid";
/// The label selector of the watches on Jobs and pods.
pub const MANAGED: &str = "app.kubernetes.io/managed-by=benchwright-operator";

/// The identity of an attempt.
pub fn identity(run: &BenchmarkRun, attempt: u32) -> RunIdentity {
    RunIdentity {
        attempt,
        ..RunIdentity::first_attempt(run.name_any(), run.namespace().unwrap_or_default(), run.uid().unwrap_or_default())
    }
}

/// The name of the Job and the ConfigMap of an attempt.
pub fn attempt_name(run: &BenchmarkRun, attempt: u32) -> String {
    identity(run, attempt).attempt_name()
}

/// The labels of an object that belongs to a run.
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

/// Metadata of an object that is deleted together with its run.
pub fn owned(run: &BenchmarkRun, attempt: u32, name: String) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: run.namespace(),
        labels: Some(labels(run, attempt)),
        owner_references: run.controller_owner_ref(&()).map(|it| vec![it]),
        ..ObjectMeta::default()
    }
}

/// The labels that select the pods of a server. For a server that belongs to a run, the labels include the run's UID, because a later run can have
/// the same name. A shared server belongs to no run.
pub fn server_selector(run: &BenchmarkRun, names: &ServerNames) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::from([(SERVER.to_owned(), names.server.clone())]);
    if names.key.is_none() {
        labels.insert(RUN_UID.to_owned(), run.uid().unwrap_or_default());
    }
    labels
}

/// The labels of all objects that belong to a server.
pub fn server_labels(run: &BenchmarkRun, names: &ServerNames) -> BTreeMap<String, String> {
    let fixed = [
        ("app.kubernetes.io/name", "benchwright"),
        ("app.kubernetes.io/part-of", "benchwright"),
        ("app.kubernetes.io/component", "server"),
        ("app.kubernetes.io/managed-by", MANAGER),
    ];
    let mut labels = server_selector(run, names);
    labels.extend(fixed.map(|(key, value)| (key.to_owned(), value.to_owned())));
    if names.key.is_none() {
        labels.insert(RUN.to_owned(), run.name_any());
    }
    labels
}

/// The labels of the launchers that use a server: launchers of one run, or, if the server is shared, launchers of all runs in the namespace.
pub fn launcher_selector(run: &BenchmarkRun, names: &ServerNames) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::from([
        ("app.kubernetes.io/component".to_owned(), "launcher".to_owned()),
        ("app.kubernetes.io/managed-by".to_owned(), MANAGER.to_owned()),
    ]);
    if names.key.is_none() {
        labels.insert(RUN_UID.to_owned(), run.uid().unwrap_or_default());
    }
    labels
}

/// Metadata of an object of a server. The run owns it, or, if the server is shared, it has no owner.
pub fn of_server(run: &BenchmarkRun, names: &ServerNames, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: run.namespace(),
        labels: Some(server_labels(run, names)),
        owner_references: run.controller_owner_ref(&()).filter(|_| names.key.is_none()).map(|it| vec![it]),
        ..ObjectMeta::default()
    }
}

/// Metadata of an object with information about a run's server for users and tools. It is deleted together with the run.
pub fn about_server(run: &BenchmarkRun, name: String) -> ObjectMeta {
    let fixed = [
        ("app.kubernetes.io/name", "benchwright".to_owned()),
        ("app.kubernetes.io/part-of", "benchwright".to_owned()),
        ("app.kubernetes.io/component", "server".to_owned()),
        ("app.kubernetes.io/managed-by", MANAGER.to_owned()),
        (RUN, run.name_any()),
        (RUN_UID, run.uid().unwrap_or_default()),
    ];
    ObjectMeta {
        name: Some(name),
        namespace: run.namespace(),
        labels: Some(fixed.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        owner_references: run.controller_owner_ref(&()).map(|it| vec![it]),
        ..ObjectMeta::default()
    }
}

/// Whether an object belongs to the server of the run, or to the shared server with these names.
pub fn is_of_server(run: &BenchmarkRun, names: &ServerNames, metadata: &ObjectMeta) -> bool {
    let label = |key: &str| metadata.labels.as_ref().and_then(|it| it.get(key)).map(String::as_str);
    let named = label(SERVER) == Some(&names.server);
    match names.key {
        None => is_ours(run, metadata),
        Some(_) => named && label("app.kubernetes.io/managed-by") == Some(MANAGER),
    }
}

/// Whether the Deployment with this name created the pod, even if the pod no longer has an owner. The check uses names, because the UID of the
/// ReplicaSet in between is not known.
pub fn is_pod_of_server(pod: &ObjectMeta, deployment: &str) -> bool {
    let mut owners = pod.owner_references.iter().flatten().filter(|it| it.controller == Some(true)).peekable();
    let of_deployment = |it: &OwnerReference| {
        it.kind == "ReplicaSet" && it.name.strip_prefix(deployment).is_some_and(|rest| rest.starts_with('-'))
    };
    owners.peek().is_none() || owners.any(of_deployment)
}

/// Metadata of a run that a schedule starts. The run is deleted together with the schedule.
pub fn of_schedule(schedule: &BenchmarkSchedule, start: &Start) -> ObjectMeta {
    let template = &schedule.spec.run_template.metadata;
    let mut labels = template.labels.clone();
    labels.insert(SCHEDULE.to_owned(), schedule.name_any());
    let mut annotations = template.annotations.clone();
    let time = start.schedule_time.map(|it| (SCHEDULE_TIME, it.to_string()));
    let trigger = start.trigger.clone().map(|it| (TRIGGER, it));
    annotations.extend(time.into_iter().chain(trigger).map(|(key, value)| (key.to_owned(), value)));
    ObjectMeta {
        name: Some(start.name.clone()),
        namespace: schedule.namespace(),
        labels: Some(labels),
        annotations: Some(annotations),
        owner_references: schedule.controller_owner_ref(&()).map(|it| vec![it]),
        ..ObjectMeta::default()
    }
}

/// Whether a schedule controls an object. It checks the owner reference, because labels can be copied.
pub fn is_of_schedule(schedule: &BenchmarkSchedule, metadata: &ObjectMeta) -> bool {
    is_controlled_by(&schedule.metadata, metadata)
}

/// Labels of a run that a sweep starts, beside the labels of its template. `cell` counts from 0, `repeat` from 1.
pub fn labels_of_sweep(sweep: &BenchmarkSweep, cell: usize, repeat: u32) -> BTreeMap<String, String> {
    [(SWEEP, sweep.name_any()), (CELL, (cell + 1).to_string()), (REPEAT, repeat.to_string())]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// Metadata of a run that a sweep starts. The run is deleted together with the sweep. `levels` is the name of the cell.
pub fn of_sweep(sweep: &BenchmarkSweep, name: String, (cell, repeat): (usize, u32), levels: &str) -> ObjectMeta {
    let template = &sweep.spec.run_template.metadata;
    let mut labels = template.labels.clone();
    labels.extend(labels_of_sweep(sweep, cell, repeat));
    let mut annotations = template.annotations.clone();
    annotations.insert(LEVELS.to_owned(), levels.to_owned());
    ObjectMeta {
        name: Some(name),
        namespace: sweep.namespace(),
        labels: Some(labels),
        annotations: Some(annotations),
        owner_references: sweep.controller_owner_ref(&()).map(|it| vec![it]),
        ..ObjectMeta::default()
    }
}

/// Whether a sweep controls an object, by the same criteria as [`is_of_schedule`].
pub fn is_of_sweep(sweep: &BenchmarkSweep, metadata: &ObjectMeta) -> bool {
    is_controlled_by(&sweep.metadata, metadata)
}

fn is_controlled_by(owner: &ObjectMeta, metadata: &ObjectMeta) -> bool {
    let mut owners = metadata.owner_references.iter().flatten();
    owners.any(|it| it.controller == Some(true) && Some(&it.uid) == owner.uid.as_ref())
}

/// Whether the Job with this UID controls a pod. Labels are no proof, because they can be copied, and another Job can have the same name. The owner
/// reference must also have `blockOwnerDeletion`, as set by the Job controller, because the admission plugin OwnerReferencesPermissionEnforcement
/// forbids other users to set it.
pub fn is_of_job(pod: &ObjectMeta, job_name: &str, job_uid: &str) -> bool {
    owning_jobs(pod).any(|it| it.name == job_name && it.uid == job_uid)
}

/// Whether any Job controls a pod, by the same criteria as [`is_of_job`].
pub fn is_of_any_job(pod: &ObjectMeta) -> bool {
    owning_jobs(pod).next().is_some()
}

fn owning_jobs(pod: &ObjectMeta) -> impl Iterator<Item = &OwnerReference> {
    pod.owner_references.iter().flatten().filter(|it| {
        it.controller == Some(true)
            && it.block_owner_deletion == Some(true)
            && it.api_version == "batch/v1"
            && it.kind == "Job"
    })
}

/// Whether a pod has no owner, but the label with the UID of this Job, as after a deletion with `--cascade=orphan`. As labels can be copied, this
/// suffices to delete a pod, but not to trust its result.
pub fn is_left_by(pod: &ObjectMeta, job_uid: &str) -> bool {
    let alone = pod.owner_references.as_ref().is_none_or(Vec::is_empty);
    let label = pod.labels.as_ref().and_then(|it| it.get(JOB_UID));
    alone && !job_uid.is_empty() && label.is_some_and(|it| it == job_uid)
}

/// Whether the labels mark the object as managed by the operator.
pub fn is_managed(metadata: &ObjectMeta) -> bool {
    let label = metadata.labels.as_ref().and_then(|it| it.get("app.kubernetes.io/managed-by"));
    label.is_some_and(|it| it == MANAGER)
}

/// Whether an object belongs to this run, and not to another run with the same name.
pub fn is_ours(run: &BenchmarkRun, metadata: &ObjectMeta) -> bool {
    let owners = metadata.owner_references.iter().flatten();
    owners.into_iter().any(|it| Some(&it.uid) == run.metadata.uid.as_ref())
}
