//! [I/O] Reads the objects of a run's server: its Deployment, its Services and its pods.

use std::collections::HashMap;

use crds::{
    BenchmarkRun, BenchmarkRunSpec, BenchmarkRunStatus, hex,
    resolve::{ServerNames, managed_server},
    status::Phase,
};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ContainerStateTerminated, ContainerStatus, Pod, Service},
};
use kube::{
    Api, ResourceExt as _,
    api::{ApiResource, DynamicObject, ListParams},
};
use serde_json::Value;
use tracing::{info, warn};

use super::{
    MOST_PODS, pod_state_of,
    reader::{Reader, Request},
};
use crate::{
    cached_run::PAGE,
    context::Context,
    ended_pods,
    error::Error,
    plan::{
        Ended, Presence, What, meta,
        server::{OtherUse, ServerPod, ServerState, objects::CONTAINER, wrapper},
        status::full_name,
    },
};

/// Reads the server of a run, if the status names one. For a run without a server, it sends no request.
pub(super) async fn observe(
    context: &Context,
    run: &BenchmarkRun,
    status: &BenchmarkRunStatus,
    reader: &mut Reader,
) -> Result<ServerState, Error> {
    let (Some(server), Some(noted)) = (managed_server(&run.spec), &status.server) else {
        return Ok(ServerState::default());
    };
    let names = ServerNames::new(&meta::identity(run, 1), server, &context.settings);
    // The name in the status is used, because a name depends on the image and another release of the operator can have chosen a different one.
    let names = ServerNames { server: noted.name.clone(), ..names };
    let namespace = run.namespace().unwrap_or_default();
    let mut state = ServerState::default();
    let deployments: Api<Deployment> = Api::namespaced(context.client.clone(), &namespace);
    let request = Request::get("deployments", &names.server);
    match reader.read(What::Server, request, deployments.get_opt(&names.server)).await? {
        Some(Some(found)) => take_deployment(run, &names, &found, &mut state),
        Some(None) => state.log_token = new_token(),
        None => state.deployment = Presence::Unknown,
    }
    let of_server = format!("{}={}", meta::SERVER, names.server);
    let services: Api<Service> = Api::namespaced(context.client.clone(), &namespace);
    let request = Request { verb: "list", resource: "services", name: of_server.clone() };
    let params = ListParams::default().labels(&of_server).limit(PAGE);
    let found = reader.read(What::Server, request, services.list(&params)).await?;
    let own = found.into_iter().flat_map(|it| it.items).filter(|it| meta::is_of_server(run, &names, &it.metadata));
    state.services = own.filter(|it| it.metadata.deletion_timestamp.is_none()).map(|it| it.name_any()).collect();
    let selector: Vec<_> =
        meta::server_selector(run, &names).into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    let selector = selector.join(",");
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), &namespace);
    let request = Request { verb: "list", resource: "pods", name: selector.clone() };
    let found = reader
        .read(What::Server, request, pods.list(&ListParams::default().labels(&selector).limit(MOST_PODS)))
        .await?;
    let own = found.into_iter().flat_map(|it| it.items);
    let own = own.filter(|it| meta::is_pod_of_server(&it.metadata, &names.server));
    state.pods = own.map(|it| server_pod(&it)).collect();
    Ok(state)
}

/// Returns how other runs use the shared server of a run. It reads from the API server and not from a cache, so that no run is missing that has
/// recorded the server in its status. It only parses the statuses, because a newer release might have written a spec that this release cannot parse.
pub(super) async fn other_use(
    context: &Context,
    run: &BenchmarkRun,
    status: &BenchmarkRunStatus,
    reader: &mut Reader,
) -> Result<OtherUse, Error> {
    let Some(server) = &status.server else { return Ok(OtherUse::None) };
    let namespace = run.namespace().unwrap_or_default();
    let request = Request { verb: "list", resource: "benchmarkruns", name: String::new() };
    let all = async {
        let (mut found, mut by) = (OtherUse::None, String::new());
        let take = |other: DynamicObject| {
            let name = other.name_any();
            let other_use = use_of(run, &server.name, other);
            if other_use > found {
                (found, by) = (other_use, name);
            }
        };
        each_run(context, &namespace, take).await?;
        Ok((found, by))
    };
    let Some((found, by)) = reader.read(What::Server, request, all).await? else { return Ok(OtherUse::Now) };
    match found {
        OtherUse::None => {}
        OtherUse::Now => {
            info!(run = %full_name(run), server = server.name, %by, "a shared server stays: a run uses it")
        }
        OtherUse::Later => {
            info!(run = %full_name(run), server = server.name, %by, "a shared server stays: a run that finished later will remove it")
        }
    }
    Ok(found)
}

/// How the runs of a namespace use a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Only finished runs have used the server. One of these runs will remove it.
    Past,
    /// An unfinished run uses the server.
    Now,
}

/// Returns how the runs of a namespace use servers, by the servers' names. A run does not count for a server that is gone, or that it handed over to
/// a later run.
///
/// # Errors
/// The error of the API server.
pub async fn uses(context: &Context, namespace: &str) -> Result<HashMap<String, Use>, Error> {
    let mut all = HashMap::new();
    let take = |it: DynamicObject| {
        let status = &it.data["status"];
        let server = &status["server"];
        if let Some(name) = server["name"].as_str()
            && server["goneTime"].is_null()
            && server["leftTime"].is_null()
        {
            let phase = Phase::ALL.into_iter().find(|it| status["phase"] == it.name());
            let found = if phase.is_some_and(Phase::is_terminal) { Use::Past } else { Use::Now };
            all.entry(name.to_owned()).and_modify(|it: &mut Use| *it = found.max(*it)).or_insert(found);
        }
    };
    each_run(context, namespace, take).await?;
    Ok(all)
}

/// Reads the runs of a namespace page by page as untyped objects, so that runs which this release cannot parse are included.
async fn each_run(context: &Context, namespace: &str, mut take: impl FnMut(DynamicObject)) -> Result<(), kube::Error> {
    let resource = ApiResource::erase::<BenchmarkRun>(&());
    let runs: Api<DynamicObject> = Api::namespaced_with(context.client.clone(), namespace, &resource);
    let mut params = ListParams::default().limit(PAGE);
    loop {
        let page = runs.list(&params).await?;
        page.items.into_iter().for_each(&mut take);
        match page.metadata.continue_.filter(|it| !it.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(()),
        }
    }
}

/// How another run uses the server with this name. If its status cannot be parsed, the run counts as using the server that the status names.
fn use_of(run: &BenchmarkRun, name: &str, mut other: DynamicObject) -> OtherUse {
    let status = other.data.get_mut("status").map(Value::take).unwrap_or_default();
    let server = &status["server"];
    if server["name"] != name || !server["goneTime"].is_null() {
        return OtherUse::None;
    }
    match serde_json::from_value(status) {
        Ok(status) => {
            let (metadata, spec) = (other.metadata, BenchmarkRunSpec::default());
            OtherUse::from_runs(run, name, &BenchmarkRun { metadata, spec, status: Some(status) })
        }
        Err(_) => OtherUse::Now,
    }
}

fn take_deployment(run: &BenchmarkRun, names: &ServerNames, deployment: &Deployment, state: &mut ServerState) {
    if !meta::is_of_server(run, names, &deployment.metadata) {
        state.deployment = Presence::Foreign;
        return;
    }
    state.deployment = Presence::Ours;
    state.uid = deployment.uid();
    state.deleting = deployment.metadata.deletion_timestamp.is_some();
    state.log_token = deployment.annotations().get(meta::LOG_TOKEN).cloned();
    let Some(status) = &deployment.status else { return };
    let mut conditions = status.conditions.iter().flatten();
    let refused = conditions.find(|it| it.type_ == "ReplicaFailure" && it.status == "True");
    state.refused = refused.map(|it| it.message.clone().unwrap_or_default());
}

/// Returns a random token of 128 bits, in hex.
fn new_token() -> Option<String> {
    let mut bytes = [0; 16];
    match rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes) {
        Ok(()) => Some(hex(&bytes)),
        Err(error) => {
            warn!(?error, "cannot generate a random token; the log of this server is readable without a token");
            None
        }
    }
}

/// Extracts the state of a server's pod that decisions need.
pub(super) fn server_pod(pod: &Pod) -> ServerPod {
    let status = pod.status.as_ref();
    let containers = status.and_then(|it| it.container_statuses.as_ref());
    let container = containers.and_then(|it| it.iter().find(|it| it.name == CONTAINER));
    let state = container.and_then(|it| it.state.as_ref());
    let last = container.and_then(|it| it.last_state.as_ref()).and_then(|it| it.terminated.as_ref());
    let init = status.and_then(|it| it.init_container_statuses.as_ref());
    let init = init.and_then(|it| it.iter().find(|it| it.name == wrapper::CONTAINER));
    let terminated = state.and_then(|it| it.terminated.as_ref()).or(last).or_else(|| failed(init?));
    let disrupted = ended_pods::disruption(pod);
    let over = status.is_some_and(|it| it.phase.as_deref() == Some("Failed"));
    let ended = match terminated {
        Some(terminated) => Some(how(terminated, disrupted.clone())),
        None if over => Some(Ended {
            exit_code: -1,
            reason: status.and_then(|it| it.reason.clone()).unwrap_or_default(),
            message: String::new(),
            disrupted: disrupted.clone().or_else(|| status.and_then(|it| it.message.clone())),
        }),
        None => None,
    };
    let mut conditions = status.into_iter().flat_map(|it| it.conditions.iter().flatten());
    let scheduled = conditions.find(|it| it.type_ == "PodScheduled" && it.status == "True");
    let mut pod_state = pod_state_of(pod, CONTAINER);
    // While the main container waits for the init container, the init container's reason is more informative.
    let init_waits = init.and_then(|it| it.state.as_ref()?.waiting.as_ref()).filter(|_| !pod_state.running);
    if let Some(waiting) = init_waits {
        let text = |it: &Option<String>| it.clone().unwrap_or_default();
        pod_state.waiting = Some((text(&waiting.reason), text(&waiting.message)));
    }
    ServerPod {
        state: pod_state,
        created: pod.creation_timestamp().map(|it| it.0),
        scheduled: scheduled.and_then(|it| it.last_transition_time.as_ref()).map(|it| it.0),
        running_since: state.and_then(|it| it.running.as_ref()?.started_at.as_ref()).map(|it| it.0),
        restarts: container.and_then(|it| u32::try_from(it.restart_count).ok()).unwrap_or(0),
        ended,
        disrupted,
        over,
    }
}

/// The failed end of the init container that installs the wrapper. `None` if it has not failed.
fn failed(init: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    let states = [init.state.as_ref(), init.last_state.as_ref()];
    let mut ends = states.into_iter().flatten().filter_map(|it| it.terminated.as_ref());
    ends.find(|it| it.exit_code != 0)
}

fn how(terminated: &ContainerStateTerminated, disrupted: Option<String>) -> Ended {
    // With some container runtimes the kubelet reports the signal in a separate field, and the exit code 0.
    let signal = terminated.signal.filter(|it| *it > 0 && terminated.exit_code == 0).map(|it| it + 128);
    Ended {
        exit_code: signal.unwrap_or(terminated.exit_code),
        reason: terminated.reason.clone().unwrap_or_default(),
        message: terminated.message.clone().unwrap_or_default(),
        disrupted,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(status: Value) -> ServerPod {
        server_pod(&serde_json::from_value(json!({"metadata": {"name": "s-0"}, "status": status})).unwrap())
    }

    fn container(restarts: u32, state: &Value, last: &Value) -> Value {
        json!({"phase": "Running", "containerStatuses": [
            {"name": "sidecar", "ready": true, "restartCount": 7, "image": "i", "imageID": "i", "state": {"running": {}}},
            {"name": "server", "ready": false, "restartCount": restarts, "image": "i", "imageID": "i", "state": state, "lastState": last},
        ]})
    }

    #[test]
    fn the_end_of_a_container_that_runs_again_is_kept() {
        let terminated = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled", "message": "the end"}});
        let again = pod(container(1, &json!({"running": {"startedAt": "2026-01-02T03:04:05Z"}}), &terminated));
        let ended = again.ended.unwrap();
        assert_eq!((ended.exit_code, ended.reason.as_str(), ended.message.as_str()), (137, "OOMKilled", "the end"));
        assert_eq!((again.restarts, again.state.running, again.running_since.is_some()), (1, true, true));
        let waits = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}});
        let waits = pod(container(3, &waits, &terminated));
        assert!(waits.ended.is_some() && !waits.state.running && waits.state.waiting.is_some());
    }

    #[test]
    fn what_holds_the_wrapper_up_holds_the_server_up() {
        let waiting = |reason: &str| json!({"waiting": {"reason": reason, "message": "why"}});
        let pod_with = |init: &Value| {
            pod(json!({
                "phase": "Pending",
                "initContainerStatuses":
                    [{"name": "install-wrapper", "ready": false, "restartCount": 0, "image": "i", "imageID": "i", "state": init}],
                "containerStatuses": [{"name": "server", "ready": false, "restartCount": 0, "image": "i", "imageID": "i",
                    "state": {"waiting": {"reason": "PodInitializing"}}}],
            }))
        };
        let pull = pod_with(&waiting("ImagePullBackOff"));
        assert_eq!((pull.state.waiting, pull.ended), (Some(("ImagePullBackOff".into(), "why".into())), None));
        let full = pod_with(&json!({"terminated": {"exitCode": 10, "reason": "Error", "message": "no space"}}));
        assert_eq!(full.ended.map(|it| (it.exit_code, it.message)), Some((10, "no space".into())));
        let done = pod_with(&json!({"terminated": {"exitCode": 0, "reason": "Completed"}}));
        assert_eq!((done.ended, done.state.waiting), (None, Some(("PodInitializing".into(), String::new()))));
    }

    #[test]
    fn a_run_that_cannot_be_read_uses_the_server_that_its_status_names_until_it_has_finished() {
        let run = |name: &str, spec: &Value, status: &Value| {
            json!({
                "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun", "spec": spec, "status": status,
                "metadata": {"name": name, "namespace": "bench", "uid": name},
            })
        };
        let server = json!({"name": "s", "replicas": 1, "startTime": "2026-01-02T03:04:05Z"});
        let finished = |server: &Value, time: &str| json!({"observedGeneration": 1, "phase": "Succeeded", "outcome": "Passed", "completionTime": time, "server": server});
        let spec = json!({"target": {"simulator": {}}});
        let this = run("this", &spec, &finished(&server, "2026-01-02T04:00:00Z"));
        let this: BenchmarkRun = serde_json::from_value(this).unwrap();
        let newer = json!({"target": {}, "harness": "harness-of-tomorrow"});
        let other = |status: Value| {
            let other = run("other", &newer, &status);
            assert!(serde_json::from_value::<BenchmarkRun>(other.clone()).is_err());
            use_of(&this, "s", serde_json::from_value(other).unwrap())
        };
        let with_server =
            |server: &Value, phase: &str| json!({"observedGeneration": 1, "phase": phase, "server": server});
        let mut another = server.clone();
        another["name"] = json!("t");
        let mut gone = server.clone();
        gone["goneTime"] = json!("2026-01-02T03:05:00Z");
        assert_eq!(other(Value::Null), OtherUse::None);
        assert_eq!(other(with_server(&another, "Running")), OtherUse::None);
        assert_eq!(other(with_server(&gone, "Running")), OtherUse::None);
        assert_eq!(other(with_server(&server, "Running")), OtherUse::Now);
        assert_eq!(other(with_server(&server, "PhaseOfTomorrow")), OtherUse::Now);
        assert_eq!(other(finished(&server, "2026-01-02T03:59:59Z")), OtherUse::None);
        assert_eq!(other(finished(&server, "2026-01-02T04:00:01Z")), OtherUse::Later);
    }

    #[test]
    fn a_container_that_has_not_ended_has_no_end_and_an_evicted_pod_has_one() {
        let runs = pod(container(0, &json!({"running": {"startedAt": "2026-01-02T03:04:05Z"}}), &json!({})));
        assert_eq!((runs.ended, runs.over), (None, false));
        let evicted = pod(json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}));
        assert!(evicted.over && evicted.disrupted.as_deref() == Some("Evicted: low on memory"), "{evicted:?}");
        assert_eq!(evicted.ended.map(|it| it.exit_code), Some(-1));
    }
}
