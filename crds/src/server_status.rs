//! The state of the model server that the operator started for a run.

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

/// Maximum length of [`ServerStatus::last_failure`], in bytes.
pub const MAX_SERVER_FAILURE: usize = 1_200;

/// The model server of a run. Each time is the time at which the operator saw the event, unless stated otherwise.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct ServerStatus {
    /// The name of the server's Deployment and Service.
    #[cfg_attr(feature = "kube", schemars(length(max = 63)))]
    pub name: String,
    /// Number of replicas.
    pub replicas: u32,
    /// Number of ready replicas.
    #[serde(default)]
    pub ready_replicas: u32,
    /// Number of container restarts until the server was ready; after a later failure, the number until that failure.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restarts: u32,
    /// The image of the newest pod with digest, as reported by the node.
    #[serde(default, rename = "imageID", skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 512)))]
    pub image_id: String,
    /// When the operator decided to start the server.
    pub start_time: Timestamp,
    /// When the API server created the newest pod of the server.
    pub pods_time: Option<Timestamp>,
    /// When the last of these pods was assigned to a node.
    pub scheduled_time: Option<Timestamp>,
    /// When the last container started, by the clock of its node. At that time its image was present on the node.
    pub container_time: Option<Timestamp>,
    /// When all replicas were ready.
    pub ready_time: Option<Timestamp>,
    /// When the operator began to remove the server.
    pub stop_time: Option<Timestamp>,
    /// When all objects of the server were gone.
    pub gone_time: Option<Timestamp>,
    /// When this run handed the server over to a later run that uses it, because the time of spec.cleanup.server had passed.
    pub left_time: Option<Timestamp>,
    /// The last failure: exit code or signal, and the last lines of output, without texts that look like secrets.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 2048)))]
    pub last_failure: String,
    /// The result of the ended run. It becomes the run's final status when the server is gone.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "HeldEnd"))]
    pub held_end: Option<HeldEnd>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl ServerStatus {
    /// The status of a server that is about to be started.
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
    /// The times at which the server's pods were created and started.
    pub fn pod_times(&self) -> PodTimes {
        PodTimes { created: self.pods_time, scheduled: self.scheduled_time, container: self.container_time }
    }
}

/// The result of an ended run that waits for the removal of its server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct HeldEnd {
    /// The phase that the run will have: Succeeded, Failed or Cancelled.
    pub phase: Phase,
    /// The result of the run.
    pub outcome: Outcome,
    /// The reason for the result, in one word.
    pub reason: Reported<Reason>,
    /// The reason as a sentence, with the remedy.
    #[cfg_attr(feature = "kube", schemars(length(max = 2048)))]
    pub message: String,
}
