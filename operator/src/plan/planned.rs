//! The result of a decision: the actions of a reconciliation.

use std::time::Duration;

use crds::{BenchmarkRunStatus, Reason};
use k8s_openapi::api::{
    apps::v1::Deployment,
    batch::v1::Job,
    core::v1::{ConfigMap, PersistentVolumeClaim, Service},
    networking::v1::NetworkPolicy,
};

use super::{observed::OwnJob, server::StopServer};

/// The actions of a reconciliation.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Objects to create, in this order. It is no error if such an object exists and belongs to this run.
    pub create: Vec<Child>,
    /// How to stop the attempt.
    pub stop: Option<Stop>,
    /// Names of other pods to delete.
    pub stop_pods: Vec<String>,
    /// The objects of the server to delete.
    pub stop_server: Option<StopServer>,
    /// The wanted status.
    pub status: BenchmarkRunStatus,
    /// The event to write after the status.
    pub event: Option<PlannedEvent>,
    /// Jobs of a finished run to delete together with their pods, because their retention time has passed.
    pub delete_jobs: Vec<OwnJob>,
    /// Names of the NetworkPolicies to delete, because their attempts have ended.
    pub delete_policies: Vec<String>,
    /// Name and UID of the ConfigMaps to delete, because no later attempt reads them.
    pub delete_config_maps: Vec<(String, String)>,
    /// Whether to delete the run, because its retention time has passed.
    pub delete_run: bool,
    /// The mark of a finished run, an annotation to write after the status.
    pub mark: Option<String>,
    /// Whether to start the next reconciliation immediately after the status is written.
    pub again: bool,
    /// Time to the next reconciliation, if no watch starts one before.
    pub next_look: Option<Duration>,
}

/// An object to create.
#[derive(Clone, Debug)]
pub enum Child {
    /// The launcher's input.
    ConfigMap(Box<ConfigMap>),
    /// The values for llm-d's charts.
    ChartValues(Box<ConfigMap>),
    /// The NetworkPolicy of the attempt's pod.
    NetworkPolicy(Box<NetworkPolicy>),
    /// The claim for the results. Runs share a claim, so an existing one is accepted if it can be used for results.
    Claim(Box<PersistentVolumeClaim>),
    /// The Job of the attempt.
    Job(Box<Job>),
    /// A Service of the server.
    Service(Box<Service>),
    /// The server.
    Deployment(Box<Deployment>),
}

/// How to stop an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Delete the pod with its grace period, so that the launcher gets SIGTERM, drains and reports.
    Pod(String),
    /// Delete Job and pod without a grace period.
    PodAndJobNow {
        /// Name of the pod, if it exists.
        pod: Option<String>,
        /// Name of the Job.
        job: String,
    },
    /// Delete the Job in the foreground: it disappears after its pods.
    Job(String),
}

/// An event to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedEvent {
    /// Whether the type of the event is Warning. Otherwise it is Normal.
    pub warning: bool,
    /// The reason of the event.
    pub reason: Reason,
    /// The message of the event.
    pub note: String,
}
