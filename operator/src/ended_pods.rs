//! How the launcher's containers ended. This is read from the pod, or, after the pod was deleted, from what the watch on pods recorded.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crds::{BenchmarkRun, status::Attempt};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;

use crate::plan::{Ended, current_attempt, job::CONTAINER};

/// How the launcher's container in a pod ended. `None` while it runs.
pub fn ended(pod: &Pod) -> Option<Ended> {
    let status = pod.status.as_ref()?;
    let disrupted = disruption(pod);
    let containers = status.container_statuses.iter().flatten();
    let terminated = containers
        .filter(|it| it.name == CONTAINER)
        .find_map(|it| it.state.as_ref().and_then(|state| state.terminated.as_ref()));
    match terminated {
        Some(terminated) => Some(Ended {
            exit_code: terminated.exit_code,
            reason: terminated.reason.clone().unwrap_or_default(),
            message: terminated.message.clone().unwrap_or_default(),
            disrupted,
        }),
        // If a node is lost, or a pod is evicted before its start, the pod ends without a container status.
        None if status.phase.as_deref() == Some("Failed") => Some(Ended {
            exit_code: -1,
            reason: status.reason.clone().unwrap_or_default(),
            message: String::new(),
            disrupted: disrupted.or_else(|| status.message.clone()).or_else(|| Some("the pod failed".into())),
        }),
        None => None,
    }
}

/// Why Kubernetes disrupted a pod: an eviction, a preemption or a lost node. `None` if it did not. If the kubelet evicts a pod
/// because the pod exceeded a limit of its own, such as its ephemeral storage, Kubernetes sets no condition.
pub(crate) fn disruption(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let condition = status.conditions.iter().flatten().find(|it| it.type_ == "DisruptionTarget" && it.status == "True");
    let (reason, message) = match condition {
        Some(condition) => (&condition.reason, &condition.message),
        None if status.reason.as_deref() == Some("Evicted") => (&status.reason, &status.message),
        None => return None,
    };
    let [reason, message] = [reason, message].map(|it| it.as_deref().unwrap_or_default().trim());
    Some(format!("{reason}: {message}"))
}

/// How the pods of unfinished runs ended, by the run's UID. The watch on pods records it, because a deleted pod can be gone before the next
/// reconciliation. The entry is removed when the run finishes or is deleted.
#[derive(Debug, Default)]
pub struct EndedPods(Mutex<HashMap<String, EndedPod>>);

#[derive(Debug)]
struct EndedPod {
    pod_uid: String,
    ended: Ended,
}

impl EndedPods {
    /// Records how a pod ended, if it is the pod in the run's status. Only that pod is trusted: the operator has read it from the API server, and
    /// verified that the attempt's Job controls it. Other pods might have copied labels and owner references.
    pub fn note(&self, run: &BenchmarkRun, pod: &Pod) {
        let attempt = run.status.as_ref().and_then(current_attempt);
        let (Some(run_uid), Some(attempt), Some(pod_uid)) = (run.uid(), attempt, pod.uid()) else { return };
        if attempt.pod_uid.as_ref() == Some(&pod_uid)
            && let Some(ended) = ended(pod)
        {
            self.lock().insert(run_uid, EndedPod { pod_uid, ended });
        }
    }

    /// How the pod of an attempt ended, if that is known.
    pub fn get(&self, run_uid: &str, attempt: &Attempt) -> Option<Ended> {
        let pods = self.lock();
        let of_pod = pods.get(run_uid).filter(|it| Some(&it.pod_uid) == attempt.pod_uid.as_ref());
        of_pod.map(|it| it.ended.clone())
    }

    /// Removes the entry of a run.
    pub fn forget(&self, run_uid: &str) {
        self.lock().remove(run_uid);
    }

    /// Number of entries.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, EndedPod>> {
        // If another thread has panicked, the lock is poisoned, but it is used nevertheless: every operation leaves the map in a valid state.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
