//! The actions that a decision requires.

use std::time::Duration;

use crds::{BenchmarkRunStatus, Reason};
use k8s_openapi::api::{
    apps::v1::Deployment,
    batch::v1::Job,
    core::v1::{ConfigMap, PersistentVolumeClaim, Service},
    networking::v1::NetworkPolicy,
};

use super::{observed::OwnJob, server::StopServer};

/// What a turn has to do.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Objects to create, in this order. An existing object of this run is accepted.
    pub create: Vec<Child>,
    /// How to stop the attempt.
    pub stop: Option<Stop>,
    /// Other pods to delete.
    pub stop_pods: Vec<String>,
    /// What to delete of the server.
    pub stop_server: Option<StopServer>,
    /// The wanted status.
    pub status: BenchmarkRunStatus,
    /// The event to write after the status.
    pub event: Option<PlannedEvent>,
    /// Jobs of a finished run to delete, with their pods: their retention time has passed.
    pub delete_jobs: Vec<OwnJob>,
    /// NetworkPolicies of attempts that have ended.
    pub delete_policies: Vec<String>,
    /// ConfigMaps of attempts that no later attempt reads: name and UID.
    pub delete_config_maps: Vec<(String, String)>,
    /// Delete the run: its retention time has passed.
    pub delete_run: bool,
    /// The annotation of a finished run, to write after the status.
    pub mark: Option<String>,
    /// Plan again right after the status is written.
    pub again: bool,
    /// When to run the next turn if no watch reports a change earlier.
    pub next_look: Option<Duration>,
}

/// An object to create.
#[derive(Clone, Debug)]
pub enum Child {
    /// The launcher's input.
    ConfigMap(Box<ConfigMap>),
    /// The values for llm-d's charts.
    ChartValues(Box<ConfigMap>),
    /// What the pod of the attempt may reach.
    NetworkPolicy(Box<NetworkPolicy>),
    /// The claim of the results. Runs share it, so an existing claim is accepted if it is for results.
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
    /// Delete the pod with its grace period: the launcher gets SIGTERM, drains and reports.
    Pod(String),
    /// Delete Job and pod without a grace period.
    PodAndJobNow {
        /// Name of the pod, if there is one.
        pod: Option<String>,
        /// Name of the Job.
        job: String,
    },
    /// Delete the Job in the foreground: it is gone once its pods are gone.
    Job(String),
}

/// An event to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedEvent {
    /// Whether its type is Warning; otherwise it is Normal.
    pub warning: bool,
    /// The reason of the event.
    pub reason: Reason,
    /// The message of the event.
    pub note: String,
}
