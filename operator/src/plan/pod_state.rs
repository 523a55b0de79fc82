//! The observed state of a launcher's pod.

use jiff::Timestamp;

/// The pod of the current attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodState {
    /// The name of the pod; `None` if there is no pod.
    pub name: Option<String>,
    /// The UID of the pod.
    pub uid: Option<String>,
    /// The node of the pod; empty while it has none.
    pub node: String,
    /// The image of the container as the node reports it; empty before the container has run.
    pub image_id: String,
    /// Whether its container is ready, which means that the launcher measures.
    pub ready: bool,
    /// Whether its container runs.
    pub running: bool,
    /// Whether the container has ended but the pod has not: another container keeps it, or the kubelet has not reported its end yet.
    pub held: bool,
    /// Whether another container still runs after the launcher's container has ended.
    pub kept: bool,
    /// When its container ended, by the clock of its node.
    pub ended_at: Option<Timestamp>,
    /// When the kubelet accepted it.
    pub accepted: Option<Timestamp>,
    /// Whether its node has not mounted its volumes or set up its network yet.
    pub without_sandbox: bool,
    /// If it is being deleted, the end of its grace period.
    pub deleting: Option<Timestamp>,
    /// If it has no node, the scheduler's message.
    pub unschedulable: Option<String>,
    /// If its container waits, the kubelet's reason and message.
    pub waiting: Option<(String, String)>,
}

/// How the launcher's container ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// The exit code of the container; -1 if the container left none.
    pub exit_code: i32,
    /// The kubelet's reason, such as `OOMKilled`.
    pub reason: String,
    /// The termination message: the envelope, or the end of the log if the launcher wrote no envelope.
    pub message: String,
    /// If the pod was evicted, preempted or lost with its node: reason and message.
    pub disrupted: Option<String>,
}
