//! What the operator reports of the model server that it started for a run.

use jiff::Timestamp;
#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::{
    outcome::Outcome,
    phase::Phase,
    reason::{Reason, Reported},
    resolve::PodTimes,
};

/// The longest text of [`ServerStatus::last_failure`], in bytes.
pub const MAX_SERVER_FAILURE: usize = 1_200;

/// The model server of a run. Its times are those at which the operator saw something, unless they say otherwise.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct ServerStatus {
    /// The name of its Deployment and of its Service.
    #[cfg_attr(feature = "kube", schemars(length(max = 63)))]
    pub name: String,
    /// How many replicas it has.
    pub replicas: u32,
    /// How many of them are ready.
    #[serde(default)]
    pub ready_replicas: u32,
    /// How often its containers had been restarted when it was ready, and since then if one failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restarts: u32,
    /// The image of its newest pod with its digest, as reported by the node.
    #[serde(default, rename = "imageID", skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 512)))]
    pub image_id: String,
    /// When the operator decided to start it.
    pub start_time: Timestamp,
    /// When the API server created the newest of its pods.
    pub pods_time: Option<Timestamp>,
    /// When the last of these pods had a node.
    pub scheduled_time: Option<Timestamp>,
    /// When the last of its containers started, by the clock of its node: its image was there.
    pub container_time: Option<Timestamp>,
    /// When all replicas were ready.
    pub ready_time: Option<Timestamp>,
    /// When the operator began to remove it.
    pub stop_time: Option<Timestamp>,
    /// When nothing of it was left.
    pub gone_time: Option<Timestamp>,
    /// When the run, whose time of spec.cleanup.server had passed, left the server to a run that used it later.
    pub left_time: Option<Timestamp>,
    /// How it failed last: exit code or signal, and its last words, without what looks like a secret.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 2048)))]
    pub last_failure: String,
    /// How the run has ended. It becomes the status of the run when the server is gone.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "HeldEnd"))]
    pub held_end: Option<HeldEnd>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl ServerStatus {
    /// A server that is about to be started.
    pub fn new(name: String, replicas: u32, now: Timestamp) -> Self {
        ServerStatus {
            name,
            replicas,
            ready_replicas: 0,
            restarts: 0,
            image_id: String::new(),
            start_time: now,
            pods_time: None,
            scheduled_time: None,
            container_time: None,
            ready_time: None,
            stop_time: None,
            gone_time: None,
            left_time: None,
            last_failure: String::new(),
            held_end: None,
        }
    }
}

impl ServerStatus {
    /// When its pods came to be.
    pub fn pod_times(&self) -> PodTimes {
        PodTimes { created: self.pods_time, scheduled: self.scheduled_time, container: self.container_time }
    }
}

/// How a run has ended that still waits for the end of its server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct HeldEnd {
    /// The phase that the run will have: Succeeded, Failed or Cancelled.
    pub phase: Phase,
    /// The result of the run.
    pub outcome: Outcome,
    /// Why the run ended so, in one word.
    pub reason: Reported<Reason>,
    /// Why, in a sentence that says what to do.
    #[cfg_attr(feature = "kube", schemars(length(max = 2048)))]
    pub message: String,
}
