//! [I/O] Reads all that a decision needs. It reads from the API server and not from the cache, because a decision on outdated
//! objects could create a second Job.

mod baseline;
mod input;

use crds::{
    BenchmarkRun, Settings,
    resolve::claim,
    status::{Attempt, Phase},
};
use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{ConfigMap, PersistentVolumeClaim, Pod},
};
use kube::{Api, Client, ResourceExt as _, api::ListParams};

use self::input::{Sources, launcher_input};
use crate::{
    ended_pods::{self, EndedPods},
    error::Error,
    plan::{ClaimState, JobState, Observed, PodState, Presence, current_attempt, given_spec, job::CONTAINER, meta},
};

/// Reads what belongs to a run.
///
/// # Errors
/// The API server's error, or a rendering that broke off.
pub async fn observe(
    client: &Client,
    run: &BenchmarkRun,
    settings: &Settings,
    ended_pods: &EndedPods,
) -> Result<Observed, Error> {
    let status = run.status.clone().unwrap_or_default();
    let mut observed = Observed::default();
    if run.is_finished() {
        return Ok(observed);
    }
    let namespace = run.namespace().unwrap_or_default();
    if let Some(last) = status.attempts.last() {
        observe_attempt(client, run, last, ended_pods, &mut observed).await?;
    }
    let current = current_attempt(&status);
    if current.is_none() || status.phase == Some(Phase::Preparing) {
        let number = current.map_or_else(|| status.attempts.last().map_or(1, |it| it.number + 1), |it| it.number);
        let name = meta::attempt_name(run, number);
        let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
        let found = config_maps.get_opt(&name).await?;
        observed.config_map = presence(found.as_ref().map(|it| meta::is_ours(run, &it.metadata)));
        let sources = Sources { config_maps, runs: Api::namespaced(client.clone(), &namespace) };
        observed.input = Some(launcher_input(&sources, run, number, settings).await?);
    }
    let given = given_spec(&status, observed.config_map);
    if let Some(pvc) = given.map_or_else(|| claim(&run.spec.storage), |it| it.storage.pvc.clone()) {
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), &namespace);
        let found = claims.get_opt(&pvc.claim_name).await?;
        observed.claim = found.map(|it| claim_state(&it)).unwrap_or_default();
    }
    Ok(observed)
}

/// Reads the Job and the pods of an attempt.
async fn observe_attempt(
    client: &Client,
    run: &BenchmarkRun,
    attempt: &Attempt,
    ended_pods: &EndedPods,
    observed: &mut Observed,
) -> Result<(), Error> {
    let namespace = run.namespace().unwrap_or_default();
    let jobs: Api<Job> = Api::namespaced(client.clone(), &namespace);
    if let Some(found) = jobs.get_opt(&attempt.job_name).await? {
        observed.job = job_state(run, attempt, &found);
    }
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let uid = run.uid().unwrap_or_default();
    let of_attempt = format!("{}={uid},{}={}", meta::RUN_UID, meta::ATTEMPT, attempt.number);
    let found = pods.list(&ListParams::default().labels(&of_attempt)).await?;
    let pods = pods_of(attempt, observed.job.uid.as_deref(), found.items);
    (observed.other_pods, observed.ambiguous) = (pods.others, pods.ambiguous);
    match pods.own {
        Some(pod) => {
            observed.ended = ended_pods::ended(&pod);
            observed.pod = pod_state(&pod);
        }
        // What the watch saw is used only when the pod itself is gone.
        None => observed.ended = ended_pods.get(&uid, attempt),
    }
    Ok(())
}

fn presence(ours: Option<bool>) -> Presence {
    match ours {
        None => Presence::Absent,
        Some(true) => Presence::Ours,
        Some(false) => Presence::Foreign,
    }
}

/// The pods of an attempt.
#[derive(Default)]
struct Pods {
    /// The launcher's pod.
    own: Option<Pod>,
    /// Names of other pods that the Job controls or left behind and that have not ended.
    others: Vec<String>,
    /// Two pods could be the launcher's.
    ambiguous: bool,
}

/// Finds the pod of an attempt. If the status names a pod, its UID alone decides: deleting a Job with `--cascade=orphan`
/// removes the owner references of its pods. Otherwise it is the earliest pod that this Job controls, because a Job creates
/// one pod and a later one has another creator. Creation times are whole seconds: if two pods share the earliest, neither is
/// taken.
fn pods_of(attempt: &Attempt, job_uid: Option<&str>, found: Vec<Pod>) -> Pods {
    let job_uid = attempt.job_uid.as_deref().or(job_uid).unwrap_or_default();
    let created = |pod: &Pod| pod.creation_timestamp().map(|it| it.0);
    let mut pods = Pods::default();
    let own_uid = if attempt.pod_uid.is_some() {
        attempt.pod_uid.clone()
    } else {
        let of_job: Vec<_> =
            found.iter().filter(|it| meta::is_of_job(&it.metadata, &attempt.job_name, job_uid)).collect();
        let earliest = of_job.iter().map(|it| created(it)).min();
        let first: Vec<_> = of_job.into_iter().filter(|it| Some(created(it)) == earliest).collect();
        pods.ambiguous = first.len() > 1;
        first.first().filter(|_| !pods.ambiguous).and_then(|it| it.uid())
    };
    for pod in found {
        if own_uid.is_some() && pod.metadata.uid == own_uid {
            pods.own = Some(pod);
        } else if (meta::is_of_job(&pod.metadata, &attempt.job_name, job_uid)
            || meta::is_left_by(&pod.metadata, job_uid))
            && pod.metadata.deletion_timestamp.is_none()
            && ended_pods::ended(&pod).is_none()
        {
            pods.others.push(pod.name_any());
        }
    }
    pods
}

fn job_state(run: &BenchmarkRun, attempt: &Attempt, job: &Job) -> JobState {
    let conditions = job.status.iter().flat_map(|it| it.conditions.iter().flatten());
    let holds = |kind: &str| conditions.clone().find(|it| it.type_ == kind && it.status == "True");
    // A Job of this name with another UID was created after ours was deleted, and is not ours.
    let same = attempt.job_uid.is_none() || attempt.job_uid == job.metadata.uid;
    let ours = same && meta::is_ours(run, &job.metadata);
    JobState {
        presence: presence(Some(ours)),
        uid: job.metadata.uid.clone().filter(|_| ours),
        failed: holds("Failed").map(|it| it.reason.clone().unwrap_or_default()),
        complete: holds("Complete").is_some(),
        deleting: job.metadata.deletion_timestamp.is_some(),
        created: job.metadata.creation_timestamp.as_ref().map(|it| it.0),
        ended_at: holds("Failed").or(holds("Complete")).and_then(|it| it.last_transition_time.as_ref()).map(|it| it.0),
    }
}

fn pod_state(pod: &Pod) -> PodState {
    let conditions = pod.status.iter().flat_map(|it| it.conditions.iter().flatten());
    let scheduled = conditions.into_iter().find(|it| it.type_ == "PodScheduled" && it.status == "False");
    let containers = pod.status.iter().flat_map(|it| it.container_statuses.iter().flatten());
    let container = containers.into_iter().find(|it| it.name == CONTAINER);
    let state = container.and_then(|it| it.state.as_ref());
    PodState {
        name: pod.metadata.name.clone(),
        uid: pod.metadata.uid.clone(),
        node: pod.spec.as_ref().and_then(|it| it.node_name.clone()).unwrap_or_default(),
        image_id: container.map(|it| it.image_id.clone()).unwrap_or_default(),
        ready: container.is_some_and(|it| it.ready),
        running: state.is_some_and(|it| it.running.is_some()),
        deleting: pod.metadata.deletion_timestamp.as_ref().map(|it| it.0),
        unschedulable: scheduled.map(|it| it.message.clone().unwrap_or_default()),
        waiting: state
            .and_then(|it| it.waiting.as_ref())
            .map(|it| (it.reason.clone().unwrap_or_default(), it.message.clone().unwrap_or_default())),
    }
}

fn claim_state(claim: &PersistentVolumeClaim) -> ClaimState {
    ClaimState {
        exists: true,
        bound: claim.status.as_ref().and_then(|it| it.phase.as_deref()) == Some("Bound"),
        class: claim.spec.as_ref().and_then(|it| it.storage_class_name.clone()).unwrap_or_default(),
    }
}
