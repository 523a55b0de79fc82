//! [I/O] Reads everything that a decision needs. It reads from the API server and not from the cache, because a decision on outdated objects could
//! create a second Job.

mod baseline;
mod input;
mod kept;
mod queue;
pub(crate) mod reader;
pub mod server;
pub mod target;

use crds::{
    BenchmarkRun, BenchmarkRunStatus, Settings,
    resolve::{InferenceStack, claim},
    status::{Attempt, Phase},
};
use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{ConfigMap, PersistentVolumeClaim, Pod},
    networking::v1::NetworkPolicy,
};
use kube::{Api, ResourceExt as _, api::ListParams};

use self::{
    input::{Sources, launcher_input},
    kept::Kept,
    reader::{Reader, Request},
};
use crate::{
    cached_run::PAGE,
    context::Context,
    ended_pods,
    error::Error,
    plan::{
        ClaimState, JobState, Observed, OwnJob, PodState, Presence, What, config_map, current_attempt,
        finished::{Mark, jobs_are_due, restored},
        given_spec,
        job::CONTAINER,
        meta,
        network_policy::{self, Governed},
        pvc,
        server::retention::{is_shared, server_is_due},
    },
};

/// Maximum number of pods to read per label. It is bounded because pods of other owners may carry the label.
pub(crate) const MOST_PODS: u32 = 500;

/// Reads the objects of a run as they are at the time of the reconciliation.
///
/// Fails with the error of the API server, or if the task that renders a profile fails. A missing right does not make it fail. After
/// [`reader::PATIENCE`] failed reconciliations, no failed read does. Failed reads that do not make it fail are listed in [`Observed::unread`].
pub fn observe<'a>(
    context: &'a Context,
    run: &'a BenchmarkRun,
    now: Timestamp,
) -> BoxFuture<'a, Result<Observed, Error>> {
    Box::pin(async move {
        let status = run.status.clone().unwrap_or_default();
        let mut observed = Observed::default();
        let mut reader = Reader::of_turn(context, run);
        if jobs_are_due(run, now) {
            observed.own_jobs = own_jobs(context, run, &mut reader).await?;
        }
        if server_is_due(run, now) {
            observed.server = server::observe(context, run, &status, &mut reader).await?;
            if is_shared(run) {
                observed.other_use = server::other_use(context, run, &status, &mut reader).await?;
            }
        }
        if (run.is_finished() && Mark::read(run).is_some()) || restored(run).is_some() {
            observed.unread = reader.unread;
            return Ok(observed);
        }
        if let Some(last) = status.attempts.last() {
            observe_attempt(context, run, last, &mut reader, &mut observed).await?;
        }
        if !run.is_finished() {
            observed.server = server::observe(context, run, &status, &mut reader).await?;
        }
        // A run that only waits for the removal of its server needs no input any more.
        let has_ended = status.server.as_ref().is_some_and(|it| it.held_end.is_some());
        if !run.is_finished() && !has_ended {
            observe_input(context, run, &status, &mut reader, &mut observed).await?;
            observe_claim(context, run, &status, &mut reader, &mut observed).await?;
        }
        observed.unread = reader.unread;
        Ok(observed)
    })
}

/// All Jobs of a run. `None` if they could not be read.
async fn own_jobs(context: &Context, run: &BenchmarkRun, reader: &mut Reader) -> Result<Option<Vec<OwnJob>>, Error> {
    let jobs: Api<Job> = Api::namespaced(context.client.clone(), &run.namespace().unwrap_or_default());
    let of_run = format!("{}={}", meta::RUN_UID, run.uid().unwrap_or_default());
    let request = Request { verb: "list", resource: "jobs", name: of_run.clone() };
    let params = ListParams::default().labels(&of_run);
    let Some(found) = reader.read(What::Job, request, jobs.list(&params)).await? else { return Ok(None) };
    let ours = found.items.into_iter().filter(|it| meta::is_ours(run, &it.metadata));
    let own =
        |it: Job| OwnJob { name: it.name_any(), uid: it.uid(), deleting: it.metadata.deletion_timestamp.is_some() };
    Ok(Some(ours.map(own).collect()))
}

/// Reads the Job and the pods of an attempt.
async fn observe_attempt(
    context: &Context,
    run: &BenchmarkRun,
    attempt: &Attempt,
    reader: &mut Reader,
    observed: &mut Observed,
) -> Result<(), Error> {
    let namespace = run.namespace().unwrap_or_default();
    let jobs: Api<Job> = Api::namespaced(context.client.clone(), &namespace);
    let request = Request::get("jobs", &attempt.job_name);
    match reader.read(What::Job, request, jobs.get_opt(&attempt.job_name)).await? {
        Some(found) => observed.job = found.map(|it| job_state(run, attempt, &it)).unwrap_or_default(),
        None => observed.job.presence = Presence::Unknown,
    }
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), &namespace);
    let uid = run.uid().unwrap_or_default();
    let of_attempt = format!("{}={uid},{}={}", meta::RUN_UID, meta::ATTEMPT, attempt.number);
    let request = Request { verb: "list", resource: "pods", name: of_attempt.clone() };
    let params = ListParams::default().labels(&of_attempt).limit(MOST_PODS);
    let found = reader.read(What::Pods, request, pods.list(&params)).await?;
    let pods = pods_of(attempt, observed.job.uid.as_deref(), found.map(|it| it.items).unwrap_or_default());
    (observed.other_pods, observed.ambiguous) = (pods.others, pods.ambiguous);
    match pods.own {
        Some(pod) => {
            observed.ended = ended_pods::ended(&pod);
            observed.pod = pod_state(&pod);
        }
        // The end that the watch recorded is only used if the pod itself is gone or cannot be read.
        None => observed.ended = context.ended_pods.get(&uid, attempt),
    }
    if let (Some(name), true, Some(job)) = (&run.spec.queue_name, observed.job.suspended, &observed.job.uid) {
        observed.queue = queue::read(context, &namespace, name, job, reader).await?;
    }
    Ok(())
}

/// Reads the sources of the launcher's input, in phases that need it. The future is boxed, like that of [`observe`], so that the futures of its
/// callers stay small.
fn observe_input<'a>(
    context: &'a Context,
    run: &'a BenchmarkRun,
    status: &'a BenchmarkRunStatus,
    reader: &'a mut Reader,
    observed: &'a mut Observed,
) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        let current = current_attempt(status);
        if current.is_some() && status.phase != Some(Phase::Preparing) {
            return Ok(());
        }
        let last = status.attempts.last();
        let number = current.map_or_else(|| last.map_or(1, |it| it.number + 1), |it| it.number);
        let sources = Sources::new(context, run);
        if let Some(stack) = InferenceStack::new(&meta::identity(run, number), &run.spec, &context.settings) {
            let found = read_config_map(&sources, &stack.config_map(), reader).await?;
            observed.chart_values = presence(found.map(|it| meta::is_ours(run, &it.metadata)));
        }
        let own = read_config_map(&sources, &meta::attempt_name(run, number), reader).await?;
        let noted = current.is_some_and(|it| it.config_map_uid.is_some());
        let is_noted = |found: &ConfigMap, attempt: Option<&Attempt>| {
            let uid = attempt.and_then(|it| it.config_map_uid.as_ref());
            uid.is_some() && uid == found.metadata.uid.as_ref() && meta::is_ours(run, &found.metadata)
        };
        observed.config_map = match &own {
            None => Presence::Absent,
            Some(found) if is_noted(found, current) => Presence::Ours,
            // The operator might have created this ConfigMap without recording its UID. Only its content can show that.
            Some(found) if !noted && meta::is_ours(run, &found.metadata) => Presence::Unknown,
            Some(_) => Presence::Foreign,
        };
        let mut kept = Kept { own: None, last: None };
        let mut unnoted = None;
        match observed.config_map {
            Presence::Ours => kept.own = own,
            Presence::Unknown => unnoted = own,
            Presence::Absent | Presence::Foreign => {}
        }
        if let Some(before) = status.attempts.iter().rev().find(|it| it.number < number)
            && kept.own.is_none()
        {
            let found = read_config_map(&sources, &before.job_name, reader).await?;
            kept.last = found.filter(|it| is_noted(it, Some(before)));
        }
        if reader.unread.iter().any(|it| it.what == What::Input) {
            return Ok(());
        }
        let namespace = run.namespace().unwrap_or_default();
        let (settings, limits) =
            (context.policy.settings(&context.settings, &namespace), context.policy.limits(&namespace));
        observed.input = launcher_input(&sources, kept, run, number, &settings, &limits, reader).await?;
        if let (Some(found), Some(Ok(input))) = (unnoted, &observed.input) {
            let wanted = config_map::build(run, &input.run, &input.profile);
            let same = config_map::is_as_built(&found, &wanted, run);
            observed.config_map = presence(Some(same));
            observed.config_map_uid = found.metadata.uid.filter(|_| same);
        }
        if let (Some(Ok(input)), Some(_), Some(_)) = (&observed.input, current, &settings.network_policy) {
            let service = match &run.spec.target.service_ref {
                Some(asked) => {
                    let request = Request::get("services", &asked.name);
                    reader.read(What::Input, request, sources.services.get_opt(&asked.name)).await?.flatten()
                }
                None => None,
            };
            observed.reach = network_policy::reach(run, input, service.as_ref(), &settings);
            observed.governed = is_governed(context, run, number, &settings, reader).await?;
        }
        Ok(())
    })
}

/// Reads a ConfigMap. `None` if it does not exist or could not be read.
async fn read_config_map(sources: &Sources, name: &str, reader: &mut Reader) -> Result<Option<ConfigMap>, Error> {
    let request = Request::get("configmaps", name);
    Ok(reader.read(What::Input, request, sources.config_maps.get_opt(name)).await?.flatten())
}

/// Reads which traffic of the launcher and of its server the NetworkPolicies of the namespace already restrict.
async fn is_governed(
    context: &Context,
    run: &BenchmarkRun,
    attempt: u32,
    settings: &Settings,
    reader: &mut Reader,
) -> Result<Governed, Error> {
    let policies: Api<NetworkPolicy> = Api::namespaced(context.client.clone(), &run.namespace().unwrap_or_default());
    let mut params = ListParams::default().limit(PAGE);
    let mut governed = Governed::default();
    loop {
        let request = Request { verb: "list", resource: "networkpolicies", name: String::new() };
        let Some(page) = reader.read(What::Input, request, policies.list(&params)).await? else { return Ok(governed) };
        network_policy::note_governed(run, attempt, &page.items, settings, &mut governed);
        match page.metadata.continue_.filter(|it| !it.is_empty() && !governed.is_whole()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(governed),
        }
    }
}

/// Reads the claim for the results.
async fn observe_claim(
    context: &Context,
    run: &BenchmarkRun,
    status: &BenchmarkRunStatus,
    reader: &mut Reader,
    observed: &mut Observed,
) -> Result<(), Error> {
    let given = given_spec(status, observed.config_map);
    let pvc = given.map_or_else(|| claim(&run.spec.storage), |it| it.storage.pvc.clone());
    let Some(name) = pvc.map(|it| it.claim_name) else { return Ok(()) };
    let claims: Api<PersistentVolumeClaim> =
        Api::namespaced(context.client.clone(), &run.namespace().unwrap_or_default());
    let request = Request::get("persistentvolumeclaims", &name);
    let found = reader.read(What::Claim, request, claims.get_opt(&name)).await?.flatten();
    observed.claim = found.map(|it| claim_state(&it)).unwrap_or_default();
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
    /// Names of other pods of the Job that have not ended. The Job controls them, or its deletion left them behind.
    others: Vec<String>,
    /// Whether two pods could be the launcher's pod.
    ambiguous: bool,
}

/// Finds the pod of an attempt. If the status contains the UID of the pod, only the UID decides, because a deletion of the Job with
/// `--cascade=orphan` removes the owner references of its pods. Otherwise it is the earliest pod that this Job controls: a Job creates only one pod,
/// so somebody else created later pods. Creation times are in whole seconds. If two pods share the earliest time, neither is chosen.
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
    // A Job with the same name but another UID was created after the attempt's Job had been deleted. It does not belong to the attempt.
    let same = attempt.job_uid.is_none() || attempt.job_uid == job.metadata.uid;
    let ours = same && meta::is_ours(run, &job.metadata);
    JobState {
        presence: presence(Some(ours)),
        uid: job.metadata.uid.clone().filter(|_| ours),
        failed: holds("Failed").map(|it| it.reason.clone().unwrap_or_default()),
        complete: holds("Complete").is_some(),
        suspended: job.spec.as_ref().and_then(|it| it.suspend) == Some(true),
        started: job.status.as_ref().and_then(|it| it.start_time.as_ref()).map(|it| it.0),
        deleting: job.metadata.deletion_timestamp.is_some(),
        created: job.metadata.creation_timestamp.as_ref().map(|it| it.0),
        ended_at: holds("Failed").or(holds("Complete")).and_then(|it| it.last_transition_time.as_ref()).map(|it| it.0),
    }
}

fn pod_state(pod: &Pod) -> PodState {
    pod_state_of(pod, CONTAINER)
}

/// Extracts what decisions need from the status of a pod and of one of its containers.
fn pod_state_of(pod: &Pod, name: &str) -> PodState {
    let conditions = pod.status.iter().flat_map(|it| it.conditions.iter().flatten());
    let denies = |kind: &str| conditions.clone().find(|it| it.type_ == kind && it.status == "False");
    let scheduled = denies("PodScheduled");
    let phase = pod.status.as_ref().and_then(|it| it.phase.as_deref()).unwrap_or_default();
    let containers = pod.status.iter().flat_map(|it| it.container_statuses.iter().flatten());
    let container = containers.clone().find(|it| it.name == name);
    let mut others = containers.filter(|it| it.name != name);
    let state = container.and_then(|it| it.state.as_ref());
    let terminated = state.and_then(|it| it.terminated.as_ref());
    PodState {
        name: pod.metadata.name.clone(),
        uid: pod.metadata.uid.clone(),
        node: pod.spec.as_ref().and_then(|it| it.node_name.clone()).unwrap_or_default(),
        image_id: container.map(|it| it.image_id.clone()).unwrap_or_default(),
        ready: container.is_some_and(|it| it.ready),
        running: state.is_some_and(|it| it.running.is_some()),
        held: terminated.is_some() && !["Succeeded", "Failed"].contains(&phase),
        kept: terminated.is_some() && others.any(|it| it.state.as_ref().is_some_and(|state| state.running.is_some())),
        ended_at: terminated.and_then(|it| it.finished_at.as_ref()).map(|it| it.0),
        accepted: pod.status.as_ref().and_then(|it| it.start_time.as_ref()).map(|it| it.0),
        without_sandbox: denies("PodReadyToStartContainers").is_some(),
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
        of_others: !pvc::is_for_results(&claim.metadata),
    }
}
