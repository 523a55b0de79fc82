//! The observed state of a launcher's pod.

use jiff::Timestamp;

/// The pod of the current attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodState {
    /// The name of the pod. `None` if it does not exist.
    pub name: Option<String>,
    /// The UID of the pod.
    pub uid: Option<String>,
    /// The node of the pod. Empty if it has not been assigned to one.
    pub node: String,
    /// The image of the container, as reported by the node. Empty before the container has run.
    pub image_id: String,
    /// Whether the launcher's container is ready, which means that the launcher is measuring.
    pub ready: bool,
    /// Whether the launcher's container is running.
    pub running: bool,
    /// Whether the launcher's container has ended, but the pod has not: another container is still running, or the kubelet has not reported the end
    /// of the pod yet.
    pub held: bool,
    /// Whether another container is still running after the launcher's container has ended.
    pub kept: bool,
    /// When the launcher's container ended, by the clock of its node.
    pub ended_at: Option<Timestamp>,
    /// When the kubelet accepted the pod.
    pub accepted: Option<Timestamp>,
    /// Whether the node has not yet mounted the pod's volumes or set up its network.
    pub without_sandbox: bool,
    /// The end of the grace period. `None` if the pod is not being deleted.
    pub deleting: Option<Timestamp>,
    /// The scheduler's message. `None` if the pod has a node.
    pub unschedulable: Option<String>,
    /// The kubelet's reason and message. `None` unless the launcher's container is waiting.
    pub waiting: Option<(String, String)>,
}

/// How the launcher's container ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// The exit code of the container, or -1 if none was reported.
    pub exit_code: i32,
    /// The kubelet's reason, such as `OOMKilled`.
    pub reason: String,
    /// The termination message: the launcher's envelope, or the end of the log if the launcher wrote none.
    pub message: String,
    /// Reason and message, if the pod was evicted, preempted or lost with its node.
    pub disrupted: Option<String>,
}
