//! Simulates the Job controller, the garbage collector, the kubelet and the launcher, one step at a time.

use crds::{Envelope, Outcome, ResolvedRun};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::server::{State, now};
use crate::behaviour::fixture::{envelope, said};

/// Duration of a measurement in steps. It is long enough for an operator that was killed once to return before its end.
const MEASURING_STEPS: u64 = 3;

/// The event that occurs in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Story {
    /// Nothing.
    Plain,
    /// The pod of the first attempt is evicted while it measures.
    Evicted,
    /// The user cancels the run gracefully while it measures.
    Cancelled,
    /// The user cancels the run immediately while it measures.
    CancelledAtOnce,
    /// The user suspends the run while it measures, and resumes it later.
    Suspended,
    /// Somebody deletes the Job with its pod while the run measures.
    JobDeleted,
    /// Somebody deletes the Job without its pod (`--cascade=orphan`) while the run measures.
    JobOrphaned,
    /// Like `JobOrphaned`, but before the operator has seen the pod.
    JobOrphanedEarly,
}

/// Moves everything except the operator by one step. Returns the pods that have changed.
pub fn step(state: &mut State, story: Story) -> Vec<Pod> {
    befall(state, story);
    collect_garbage(state);
    step_servers(state);
    let names = |state: &State, plural: &str| -> Vec<String> { state.all(plural).map(name).collect() };
    for job in names(state, "jobs") {
        step_job(state, &job);
    }
    let pods = names(state, "pods");
    pods.iter().filter_map(|it| step_pod(state, it)).collect()
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

pub fn change(state: &mut State, plural: &str, name: &str, change: impl FnOnce(&mut Value)) {
    if let Some(mut object) = state.find(plural, name).cloned() {
        change(&mut object);
        state.put(plural, name, object);
    }
}

fn befall(state: &mut State, story: Story) {
    let Some(run) = state.find("benchmarkruns", "chat").cloned() else { return };
    let running = run["status"]["phase"] == "Running";
    let spec = |state: &mut State, field: &str, value: Value| {
        change(state, "benchmarkruns", "chat", |it| {
            it["spec"][field] = value;
            it["metadata"]["generation"] = json!(it["metadata"]["generation"].as_i64().unwrap_or(1) + 1);
        });
    };
    match story {
        Story::Cancelled if running && run["spec"]["cancel"].is_null() => spec(state, "cancel", json!("Graceful")),
        Story::CancelledAtOnce if running && run["spec"]["cancel"].is_null() => {
            spec(state, "cancel", json!("Immediate"))
        }
        Story::Suspended if running && run["metadata"]["generation"] == 1 => spec(state, "suspend", json!(true)),
        Story::Suspended if run["status"]["phase"] == "Suspended" && run["spec"]["suspend"] == true => {
            spec(state, "suspend", json!(false))
        }
        Story::JobDeleted if running => state.remove("jobs", "chat-2db482-a1"),
        Story::JobOrphaned if running => orphan(state),
        Story::JobOrphanedEarly if state.all("pods").next().is_some() => orphan(state),
        Story::Evicted if running => change(state, "pods", "chat-2db482-a1-0", |it| {
            it["metadata"]["deletionTimestamp"] = json!(now());
            it["status"]["conditions"] = json!([
                {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "drained"},
            ]);
        }),
        _ => {}
    }
}

/// Does what the garbage collector does for a deletion with `--cascade=orphan`: removes the owner references of the pods.
fn orphan(state: &mut State) {
    let pods: Vec<_> = state.all("pods").map(name).collect();
    for pod in pods {
        change(state, "pods", &pod, |it| it["metadata"]["ownerReferences"] = json!([]));
    }
    state.remove("jobs", "chat-2db482-a1");
}

/// Deletes the pods of Jobs that are gone or being deleted. A Job that is being deleted disappears after its pods.
fn collect_garbage(state: &mut State) {
    let owner = |pod: &Value| {
        let owner = &pod["metadata"]["ownerReferences"][0];
        (owner["kind"] == "Job").then(|| owner["name"].as_str().unwrap_or_default().to_owned())
    };
    let pods: Vec<_> = state.all("pods").filter_map(|it| Some((name(it), owner(it)?))).collect();
    for (pod, job) in &pods {
        if state.find("jobs", job).is_none_or(is_going) {
            change(state, "pods", pod, |it| {
                if !is_going(it) {
                    it["metadata"]["deletionTimestamp"] = json!(now());
                }
            });
        }
    }
    let going: Vec<_> = state.all("jobs").filter(|it| is_going(it)).map(name).collect();
    for job in going {
        if !pods.iter().any(|(_, owner)| *owner == job) {
            state.remove("jobs", &job);
        }
    }
}

/// Simulates the Deployment controller and the kubelet: pods start to run, and then become ready. A Deployment that is being deleted disappears after
/// its pods.
fn step_servers(state: &mut State) {
    let deployments: Vec<_> = state.all("deployments").cloned().collect();
    for deployment in deployments {
        let server = name(&deployment);
        let is_its = |it: &&Value| it["metadata"]["labels"]["benchwright.dev/server"] == server;
        let pods: Vec<_> = state.all("pods").filter(is_its).map(name).collect();
        if is_going(&deployment) {
            if pods.is_empty() {
                state.remove("deployments", &server);
            }
            for pod in pods {
                change(state, "pods", &pod, |it| it["metadata"]["deletionTimestamp"] = json!(now()));
            }
            continue;
        }
        for number in 0..deployment["spec"]["replicas"].as_u64().unwrap_or(1) {
            let pod = format!("{server}-abc-{number}");
            if state.find("pods", &pod).is_none() {
                let mut metadata = deployment["spec"]["template"]["metadata"].clone();
                (metadata["name"], metadata["namespace"]) = (json!(pod), json!("bench"));
                (metadata["uid"], metadata["creationTimestamp"]) = (json!(format!("uid-of-{pod}")), json!(now()));
                let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{server}-abc"), "uid": "r", "controller": true});
                metadata["ownerReferences"] = json!([owner]);
                state.put(
                    "pods",
                    &pod,
                    json!({"metadata": metadata, "spec": {"containers": []}, "status": {"phase": "Pending"}}),
                );
                continue;
            }
            change(state, "pods", &pod, |it| {
                let container = &it["status"]["containerStatuses"][0];
                if !is_going(it) && container["restartCount"].as_u64().unwrap_or(0) == 0 {
                    let ready = !container["state"]["running"].is_null();
                    it["status"] = json!({"phase": "Running", "containerStatuses": [{
                        "name": "server", "ready": ready, "state": {"running": {"startedAt": now()}}, "image": "i",
                        "imageID": "i", "restartCount": 0,
                    }]});
                }
            });
        }
    }
}

fn is_going(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

fn step_job(state: &mut State, job: &str) {
    let Some(object) = state.find("jobs", job).cloned() else { return };
    let ended = !object["status"]["conditions"].is_null();
    if is_going(&object) || ended {
        return;
    }
    let pod_name = format!("{job}-0");
    let Some(pod) = state.find("pods", &pod_name) else {
        if state.no_pods {
            return;
        }
        if object["status"]["active"].is_null() {
            let mut metadata = object["spec"]["template"]["metadata"].clone();
            metadata["name"] = json!(pod_name);
            metadata["namespace"] = object["metadata"]["namespace"].clone();
            metadata["job"] = json!(job);
            metadata["labels"]["batch.kubernetes.io/controller-uid"] = object["metadata"]["uid"].clone();
            metadata["creationTimestamp"] = json!(now());
            metadata["uid"] = json!(format!("uid-of-pods-{pod_name}"));
            metadata["ownerReferences"] = json!([owner(job, &format!("uid-of-jobs-{job}"))]);
            state.put(
                "pods",
                &pod_name,
                json!({"metadata": metadata, "spec": {"containers": []}, "status": {"phase": "Pending"}}),
            );
            change(state, "jobs", job, |it| it["status"]["active"] = json!(1));
        } else {
            end_job(state, job, "Failed", "BackoffLimitExceeded");
        }
        return;
    };
    match pod["status"]["phase"].as_str() {
        Some("Succeeded") => end_job(state, job, "Complete", "CompletionsReached"),
        Some("Failed") => end_job(state, job, "Failed", "BackoffLimitExceeded"),
        _ => {}
    }
}

/// The owner reference that the Job controller sets on its pods.
pub fn owner(job: &str, uid: &str) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": uid, "controller": true, "blockOwnerDeletion": true})
}

fn end_job(state: &mut State, job: &str, kind: &str, reason: &str) {
    change(state, "jobs", job, |it| {
        it["status"]["conditions"] =
            json!([{"type": kind, "status": "True", "reason": reason, "lastTransitionTime": now()}]);
    });
}

/// Moves a pod by one step: pending, running, ready, ended. A pod that is being deleted drains, writes its last report, and disappears.
fn step_pod(state: &mut State, pod: &str) -> Option<Pod> {
    let object = state.find("pods", pod)?.clone();
    // This fake kubelet only runs launchers.
    if object["metadata"]["job"].is_null() {
        if is_going(&object) {
            state.remove("pods", pod);
        }
        return None;
    }
    let container = &object["status"]["containerStatuses"][0];
    let steps = object["metadata"]["steps"].as_u64().unwrap_or(0);
    let status = if !container["state"]["terminated"].is_null() {
        if is_going(&object) {
            state.remove("pods", pod);
        }
        return None;
    } else if is_going(&object) && container["state"]["running"].is_null() {
        state.remove("pods", pod);
        return None;
    } else if is_going(&object) {
        last_word(state, &object, Outcome::Cancelled)
    } else if container["ready"] == true && steps < MEASURING_STEPS {
        change(state, "pods", pod, |it| it["metadata"]["steps"] = json!(steps + 1));
        return None;
    } else if container["ready"] == true {
        last_word(state, &object, Outcome::Passed)
    } else {
        let running = !container["state"]["running"].is_null();
        container_status("Running", running, json!({"running": {"startedAt": now()}}))
    };
    change(state, "pods", pod, |it| {
        let conditions = it["status"]["conditions"].clone();
        it["status"] = status;
        if !conditions.is_null() {
            it["status"]["conditions"] = conditions;
        }
    });
    serde_json::from_value(state.find("pods", pod)?.clone()).ok()
}

/// The status of a pod whose launcher has just ended with this outcome.
pub fn last_word(state: &State, pod: &Value, outcome: Outcome) -> Value {
    let reason = if outcome == Outcome::Passed { "RunSucceeded" } else { "Cancelled" };
    let job = pod["metadata"]["job"].as_str().unwrap();
    // The launcher only knows the input that the operator has written.
    let input = state.find("configmaps", job).expect("the ConfigMap is made before the Job");
    let run: ResolvedRun = serde_saphyr::from_str(input["data"]["run.yaml"].as_str().unwrap()).unwrap();
    let mut envelope: Envelope = envelope(outcome, reason);
    envelope.core.folder = Some(run.run.attempt_name());
    envelope.core.run_uid = run.run.uid;
    envelope.core.attempt = run.run.attempt;
    let ended = said(&envelope);
    let sidecar = pod["metadata"]["sidecar"] == true;
    let phase = match ended.exit_code {
        _ if sidecar => "Running",
        0 => "Succeeded",
        _ => "Failed",
    };
    let terminated =
        json!({"exitCode": ended.exit_code, "reason": ended.reason, "message": ended.message, "finishedAt": now()});
    let mut status = container_status(phase, false, json!({"terminated": terminated}));
    if sidecar {
        let mut other = status["containerStatuses"][0].clone();
        (other["name"], other["state"]) = (json!("sidecar"), json!({"running": {}}));
        status["containerStatuses"].as_array_mut().unwrap().push(other);
    }
    status
}

fn container_status(phase: &str, ready: bool, state: Value) -> Value {
    json!({"phase": phase, "containerStatuses": [{
        "name": "launcher", "ready": ready, "state": state, "image": "i", "imageID": "i", "restartCount": 0,
    }]})
}
