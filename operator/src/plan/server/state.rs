//! The observed state of a run's server.

use jiff::Timestamp;

use crate::plan::{Ended, PodState, Presence};

/// The existing objects of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerState {
    /// The Deployment of the server.
    pub deployment: Presence,
    /// The UID of the Deployment, if it belongs to the run or is shared.
    pub uid: Option<String>,
    /// Whether the Deployment is being deleted.
    pub deleting: bool,
    /// The reason why the controller cannot create a pod. `None` if it can.
    pub refused: Option<String>,
    /// The existing Services that belong to the server.
    pub services: Vec<String>,
    /// The pods of the server.
    pub pods: Vec<ServerPod>,
    /// The bearer token for the log. It is read from the Deployment, or random if there is no Deployment. `None` if the log needs no token.
    pub log_token: Option<String>,
}

impl ServerState {
    /// The remaining objects of the server, as kind and name. Empty if all are gone.
    pub fn left(&self, name: &str) -> Vec<String> {
        let deployment = (self.deployment == Presence::Ours).then(|| format!("Deployment {name}"));
        let services = self.services.iter().map(|it| format!("Service {it}"));
        let pods = self.pods.iter().map(|it| format!("pod {}", it.name()));
        deployment.into_iter().chain(services).chain(pods).collect()
    }

    /// Total number of container restarts in all pods.
    pub fn restarts(&self) -> u32 {
        self.pods.iter().map(|it| it.restarts).fold(0, u32::saturating_add)
    }

    /// The pods that are not being deleted.
    pub fn staying(&self) -> impl Iterator<Item = &ServerPod> {
        self.pods.iter().filter(|it| it.state.deleting.is_none())
    }
}

/// A pod of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerPod {
    /// The fields that are also recorded for a launcher's pod.
    pub state: PodState,
    /// When the API server created the pod.
    pub created: Option<Timestamp>,
    /// When the pod was assigned to a node.
    pub scheduled: Option<Timestamp>,
    /// Since when the pod's container has been running, by the clock of its node.
    pub running_since: Option<Timestamp>,
    /// Number of restarts of the pod's container.
    pub restarts: u32,
    /// How the pod's container last ended. `None` if it has never ended.
    pub ended: Option<Ended>,
    /// Why Kubernetes disrupts the pod: an eviction, a preemption or a lost node. `None` if it does not.
    pub disrupted: Option<String>,
    /// Whether the pod as a whole has failed, for example after an eviction.
    pub over: bool,
}

impl ServerPod {
    /// The name of the pod.
    pub fn name(&self) -> &str {
        self.state.name.as_deref().unwrap_or_default()
    }
}
