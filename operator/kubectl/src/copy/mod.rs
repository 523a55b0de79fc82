//! [I/O] Copies files of a run's results folder to this machine, through a temporary pod. It uses the user's rights, because the operator has no
//! right to exec, and must not mount a claim for other users.

mod folder;
mod pod;
mod source;
mod start;
mod stream;

use archive::Received;
use crds::wording::one_line;
use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{PersistentVolumeClaim, Pod},
};
use kube::{
    Api,
    api::{DeleteParams, ListParams, PostParams},
};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    connection::Connection,
    console::say,
    deadline::Deadline,
    failure::{self, Failure, INTERRUPTED, Right, TERMINATED, TIMEOUT},
};
pub(crate) use folder::Partial;
pub(crate) use source::Source;
pub(crate) use start::GET_POD;
pub(crate) use stream::EXEC;

pub(crate) const CREATE_POD: Right = Right::new("create", "", "pods", "edit");
pub(crate) const DELETE_POD: Right = Right::new("delete", "", "pods", "edit");
const READ_ONCE_POD: &str = "ReadWriteOncePod";
const READ_ONCE: &str = "ReadWriteOnce";

/// Copies the named files, or all files if none is named, into a folder. In the end the pod is deleted, even after an error.
pub(crate) async fn copy(
    connection: &Connection,
    source: &Source,
    only: &[&str],
    folder: Partial,
    deadline: &Deadline,
) -> Result<(Partial, Vec<Received>), Failure> {
    let name = pod::name(&source.run);
    let mut made = Made::No;
    let ended = tokio::select! {
        done = copy_by(connection, source, only, folder, deadline, &name, &mut made) => done,
        () = deadline.passed() => Err(Failure::ended(TIMEOUT, format!(
            "the results of {} were not copied within --timeout {}; give a longer one",
            source.run, deadline.limit()
        ))),
        failure = ended_by_signal() => Err(failure),
    };
    if made != Made::No {
        delete(connection, &name, made).await;
    }
    ended
}

/// Whether the pod was created.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Made {
    No,
    /// The API server did not answer, so the pod can exist.
    Perhaps,
    Yes,
}

async fn copy_by(
    connection: &Connection,
    source: &Source,
    only: &[&str],
    folder: Partial,
    deadline: &Deadline,
    name: &str,
    made: &mut Made,
) -> Result<(Partial, Vec<Received>), Failure> {
    let node = usable_on(connection, source).await?;
    let job = of_job(connection, source).await;
    let pods: Api<Pod> = Api::namespaced(connection.client.clone(), &connection.namespace);
    let pod = pod::build(source, name, &node, job, deadline.limit().0);
    let Connection { namespace, .. } = connection;
    *made = Made::Perhaps;
    if let Err(error) = pods.create(&PostParams::default(), &pod).await {
        if failure::code_of(&error).is_some() {
            *made = Made::No;
        }
        return Err(failure::refused(&error, CREATE_POD, name, namespace));
    }
    *made = Made::Yes;
    say(format_args!("pod {name} created in namespace {namespace}: it reads claim {}", source.claim));
    start::wait(connection, name).await?;
    stream::receive(connection, source, name, only, folder).await
}

/// Deletes the pod. An error is only printed, because at this point the copy either is complete or has failed for another reason.
async fn delete(connection: &Connection, name: &str, made: Made) {
    let pods: Api<Pod> = Api::namespaced(connection.client.clone(), &connection.namespace);
    let Err(error) = pods.delete(name, &DeleteParams::default()).await else { return };
    if failure::code_of(&error) == Some(404) || made == Made::Perhaps {
        return;
    }
    let namespace = &connection.namespace;
    say(format_args!(
        "pod {name} was not deleted: {}; it ends by itself, and `kubectl delete pod {name} -n {namespace}` deletes it",
        failure::refused(&error, DELETE_POD, name, namespace)
    ));
}

/// Checks that a pod can mount the claim, and returns the best node for the pod: a node on which a pod already uses the claim, or else the launcher's
/// node. If the user may not read claims or pods, problems only appear when the copy pod starts.
async fn usable_on(connection: &Connection, source: &Source) -> Result<String, Failure> {
    let Connection { client, namespace, .. } = connection;
    let Source { run, claim, .. } = source;
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), namespace);
    let found = match claims.get(claim).await {
        Ok(found) => found,
        Err(error) if failure::code_of(&error) == Some(404) => {
            return Err(Failure::error(format!(
                "the results of {run} are gone: claim {claim} does not exist in namespace {namespace} any more"
            )));
        }
        Err(_) => return Ok(source.node.clone()),
    };
    if found.metadata.deletion_timestamp.is_some() {
        return Err(Failure::error(format!(
            "claim {claim} with the results of {run} is being deleted; no new pod can mount it"
        )));
    }
    if found.status.as_ref().and_then(|it| it.phase.as_deref()) == Some("Lost") {
        return Err(Failure::error(format!(
            "claim {claim} with the results of {run} has lost its volume; restore the volume"
        )));
    }
    let modes = found.spec.and_then(|it| it.access_modes).unwrap_or_default();
    let has = |mode: &str| modes.iter().any(|it| it == mode);
    if !has(READ_ONCE) && !has(READ_ONCE_POD) {
        return Ok(source.node.clone());
    }
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let Ok(pods) = pods.list(&ListParams::default()).await else { return Ok(source.node.clone()) };
    let user = pods.items.into_iter().find(|it| uses(it, claim));
    match user {
        Some(user) if has(READ_ONCE_POD) => Err(Failure::error(format!(
            "claim {claim} is {READ_ONCE_POD}, and pod {} uses it now; try again when that pod has ended",
            user.metadata.name.unwrap_or_default()
        ))),
        Some(user) => Ok(user.spec.and_then(|it| it.node_name).unwrap_or_default()),
        None => Ok(source.node.clone()),
    }
}

/// Whether a pod that is assigned to a node uses the claim.
fn uses(pod: &Pod, claim: &str) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let phase = pod.status.as_ref().and_then(|it| it.phase.as_deref());
    let mut claims = spec.volumes.iter().flatten().filter_map(|it| it.persistent_volume_claim.as_ref());
    spec.node_name.is_some()
        && !matches!(phase, Some("Succeeded" | "Failed"))
        && claims.any(|it| it.claim_name == claim)
}

/// The values of the launcher's pod that come from the operator's settings. They are read from the Job, if it still exists.
async fn of_job(connection: &Connection, source: &Source) -> pod::FromJob {
    let jobs: Api<Job> = Api::namespaced(connection.client.clone(), &connection.namespace);
    let job = jobs.get(&source.job).await.ok();
    let spec = job.and_then(|it| it.spec?.template.spec).unwrap_or_default();
    pod::FromJob { pull_secrets: spec.image_pull_secrets.unwrap_or_default(), security: spec.security_context }
}

/// Waits for Ctrl-C or SIGTERM, and returns the failure to report.
async fn ended_by_signal() -> Failure {
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut signals) => signals.recv().await,
            // If no handler can be installed, SIGTERM simply ends the process.
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => Failure::ended(INTERRUPTED, "interrupted; nothing was kept"),
        _ = terminated => Failure::ended(TERMINATED, "ended by SIGTERM; nothing was kept"),
    }
}

/// Compares the files with the checksums that the launcher reported, if the status has them. `only` lists the requested files; empty means all.
pub(crate) fn compare(source: &Source, received: &[Received], only: &[&str]) -> Result<(), Failure> {
    let mut problems = Vec::new();
    let expected = source.artifacts.iter().filter(|it| only.is_empty() || only.contains(&it.name.as_str()));
    for artifact in expected.filter(|it| !it.sha256.is_empty()) {
        let name = one_line(&artifact.name);
        match received.iter().find(|it| it.name == artifact.name) {
            None => problems.push(format!("{name} is missing")),
            Some(found) if found.sha256 != artifact.sha256 => problems.push(format!("{name} differs")),
            Some(_) => {}
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure::error(format!(
        "the folder on claim {} differs from what the launcher of {} stored: {}; --unverified copies the folder as it is now",
        source.claim,
        source.run,
        problems.join(", ")
    )))
}

/// Formats a number of bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests;
