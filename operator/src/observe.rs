//! [I/O] Reads all that a decision needs. Live reads, not the cache's: a decision on a stale view would make a second Job.

use crds::{
    BenchmarkRun, Reason, Settings, any_value,
    benchmark_run::{KeyRef, is_object_name},
    hex,
    resolve::{FieldError, ProfileSource, claim, resolve},
    status::{Attempt, Phase},
};
use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{ConfigMap, PersistentVolumeClaim, Pod},
};
use kube::{Api, Client, ResourceExt as _, api::ListParams};
use sha2::{Digest as _, Sha256};

use crate::{
    ended_pods::{self, EndedPods},
    error::Error,
    plan::{
        ClaimState, InputError, JobState, LauncherInput, Observed, PodState, Presence, current_attempt, job::CONTAINER,
        meta,
    },
};

/// Reads what belongs to a run.
///
/// # Errors
/// What the API server says.
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
        let jobs: Api<Job> = Api::namespaced(client.clone(), &namespace);
        if let Some(found) = jobs.get_opt(&last.job_name).await? {
            observed.job = job_state(run, last, &found);
        }
        let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
        let uid = run.uid().unwrap_or_default();
        let of_attempt = format!("{}={uid},{}={}", meta::RUN_UID, meta::ATTEMPT, last.number);
        let found = pods.list(&ListParams::default().labels(&of_attempt)).await?;
        let pods = pods_of(last, observed.job.uid.as_deref(), found.items);
        (observed.other_pods, observed.ambiguous) = (pods.others, pods.ambiguous);
        match pods.own {
            Some(pod) => {
                observed.ended = ended_pods::ended(&pod);
                observed.pod = pod_state(&pod);
            }
            // What the watch saw counts only when the pod itself is gone.
            None => observed.ended = ended_pods.get(&uid, last),
        }
    }
    if let Some(pvc) = claim(&run.spec) {
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), &namespace);
        let found = claims.get_opt(&pvc.claim_name).await?;
        observed.claim = found.map(|it| claim_state(&it)).unwrap_or_default();
    }
    let current = current_attempt(&status);
    if current.is_none() || status.phase == Some(Phase::Preparing) {
        let number = current.map_or_else(|| status.attempts.last().map_or(1, |it| it.number + 1), |it| it.number);
        let name = meta::attempt_name(run, number);
        let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
        let found = config_maps.get_opt(&name).await?;
        observed.config_map = presence(found.as_ref().map(|it| meta::is_ours(run, &it.metadata)));
        observed.input = Some(input(&config_maps, run, number, settings).await?);
    }
    Ok(observed)
}

fn presence(ours: Option<bool>) -> Presence {
    match ours {
        None => Presence::Absent,
        Some(true) => Presence::Ours,
        Some(false) => Presence::Foreign,
    }
}

/// The pods with the labels of an attempt.
#[derive(Default)]
struct Pods {
    /// The launcher's.
    own: Option<Pod>,
    /// Those that the Job has beside it, or left behind, and that have not ended.
    others: Vec<String>,
    /// It cannot be told which one is the launcher's.
    ambiguous: bool,
}

/// Finds the pod of an attempt. The one that the status names is known by its UID alone, because a Job that is deleted with
/// `--cascade=orphan` takes its owner references with it. Else it is the first that this very Job made: the Job makes one
/// pod, and a later one is somebody else's. Times are whole seconds, so that two pods can be first; then neither is taken.
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
    // Another Job of the name, made after ours was deleted, is not ours whatever it says.
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

/// What the launcher would be given, or why it cannot be.
async fn input(
    config_maps: &Api<ConfigMap>,
    run: &BenchmarkRun,
    attempt: u32,
    settings: &Settings,
) -> Result<Result<LauncherInput, InputError>, Error> {
    let resolved = match resolve(meta::identity(run, attempt), &run.spec, settings) {
        Ok(resolved) => resolved,
        Err(errors) => {
            let message = errors.iter().map(FieldError::to_string).collect::<Vec<_>>().join("\n");
            return Ok(Err(InputError { reason: Reason::InvalidSpec, message }));
        }
    };
    let invalid = |error: &workload_profiles::ProfileError| InputError {
        reason: Reason::ProfileInvalid,
        message: error.to_string(),
    };
    let template = match ProfileSource::of(&run.spec) {
        ProfileSource::Inline(text) => text,
        ProfileSource::Shipped(name) => match workload_profiles::shipped(resolved.harness, &name) {
            Ok(text) => text.to_owned(),
            Err(error) => return Ok(Err(invalid(&error))),
        },
        ProfileSource::ConfigMap(key) => match data_of(config_maps, "spec.profile.configMapRef", &key).await? {
            Ok(Some(text)) => text,
            Ok(None) => {
                let message = format!(
                    "spec.profile.configMapRef.key: {:?} of ConfigMap {:?} is binary; put the profile's text under data",
                    key.key, key.name
                );
                return Ok(Err(InputError { reason: Reason::ProfileInvalid, message }));
            }
            Err(message) => return Ok(Err(InputError { reason: Reason::ProfileNotFound, message })),
        },
    };
    let mut missing = Vec::new();
    for (index, file) in run.spec.profile.files.iter().enumerate() {
        let Some(key) = &file.config_map_ref else { continue };
        let field = format!("spec.profile.files[{index}].configMapRef");
        missing.extend(data_of(config_maps, &field, key).await?.err());
    }
    if !missing.is_empty() {
        return Ok(Err(InputError { reason: Reason::ProfileNotFound, message: missing.join("\n") }));
    }
    let profile = run.spec.profile.clone();
    // Rendering is bounded, but not short enough for a thread that other runs wait for.
    let prepared = tokio::task::spawn_blocking(move || {
        let variables = workload_profiles::variables(&resolved, &profile.variables)?;
        let prepared =
            workload_profiles::prepare(&resolved, &template, &variables, &any_value::texts(&profile.overrides))?;
        Ok((resolved, prepared))
    });
    Ok(match prepared.await.map_err(Error::Render)? {
        Ok((run, prepared)) => {
            let profile_sha256 = hex(&Sha256::digest(prepared.text.as_bytes()));
            Ok(LauncherInput { run, profile: prepared.text, profile_sha256 })
        }
        Err(error) => Err(invalid(&error)),
    })
}

/// What is under a key of a ConfigMap, `None` where that is binary; or why there is nothing.
async fn data_of(
    config_maps: &Api<ConfigMap>,
    field: &str,
    key: &KeyRef,
) -> Result<Result<Option<String>, String>, Error> {
    let name = &key.name;
    if !is_object_name(name) {
        // It would become part of a URL.
        return Ok(Err(format!("{field}.name: {name:?} is no name of a ConfigMap; use a-z, 0-9, - and .")));
    }
    let Some(found) = config_maps.get_opt(name).await? else {
        return Ok(Err(format!("{field}.name: there is no ConfigMap {name:?} in this namespace; create it")));
    };
    let (mut texts, binaries) = (found.data.unwrap_or_default(), found.binary_data.unwrap_or_default());
    if let Some(text) = texts.remove(&key.key) {
        return Ok(Ok(Some(text)));
    }
    if binaries.contains_key(&key.key) {
        return Ok(Ok(None));
    }
    let known = texts.into_keys().chain(binaries.into_keys()).collect::<Vec<_>>().join(", ");
    Ok(Err(format!("{field}.key: ConfigMap {name:?} has no key {:?}; it has {known}", key.key)))
}
