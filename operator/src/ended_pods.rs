//! How the launcher's containers ended: read from a pod, and kept from the watch after the pod is gone.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crds::{BenchmarkRun, status::Attempt};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;

use crate::plan::{Ended, current_attempt, job::CONTAINER};

/// How the launcher's container in a pod ended; `None` while it runs.
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
        // A lost node, or an eviction before the start, ends a pod without a container status.
        None if status.phase.as_deref() == Some("Failed") => Some(Ended {
            exit_code: -1,
            reason: status.reason.clone().unwrap_or_default(),
            message: String::new(),
            disrupted: disrupted.or_else(|| status.message.clone()).or_else(|| Some("the pod failed".into())),
        }),
        None => None,
    }
}

/// Why Kubernetes disrupted a pod: an eviction, a preemption or a lost node. The kubelet sets no condition on a pod that it evicts because
/// the pod exceeded its own limit, such as the ephemeral storage limit.
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

/// How the pods of unfinished runs ended, by UID of the run. The watch on pods fills it, because a deleted pod may be gone before the next
/// turn. The entry is removed when the run finishes or is deleted.
#[derive(Debug, Default)]
pub struct EndedPods(Mutex<HashMap<String, EndedPod>>);

#[derive(Debug)]
struct EndedPod {
    pod_uid: String,
    ended: Ended,
}

impl EndedPods {
    /// Records how a pod ended, if it has ended and the run's status names it. The operator has read that pod live and found the attempt's
    /// Job as its controller. Other pods may carry copied labels and owner references.
    pub fn note(&self, run: &BenchmarkRun, pod: &Pod) {
        let attempt = run.status.as_ref().and_then(current_attempt);
        let (Some(run_uid), Some(attempt), Some(pod_uid)) = (run.uid(), attempt, pod.uid()) else { return };
        if attempt.pod_uid.as_ref() == Some(&pod_uid)
            && let Some(ended) = ended(pod)
        {
            self.lock().insert(run_uid, EndedPod { pod_uid, ended });
        }
    }

    /// How the pod of an attempt ended.
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
        // Each operation leaves the map valid, so that a panic elsewhere does not invalidate it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
