//! The observed state of a run's server.

use jiff::Timestamp;

use crate::plan::{Ended, PodState, Presence};

/// What exists of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerState {
    /// The Deployment of the server.
    pub deployment: Presence,
    /// The UID of the Deployment, if it belongs to the run or is shared.
    pub uid: Option<String>,
    /// Whether the Deployment is being deleted.
    pub deleting: bool,
    /// Why the controller can create no pod, if it cannot.
    pub refused: Option<String>,
    /// The existing Services that belong to the server.
    pub services: Vec<String>,
    /// The pods of the server.
    pub pods: Vec<ServerPod>,
    /// The bearer token for the log: from the Deployment, or a new random token if there is no Deployment. `None`: the log needs no token.
    pub log_token: Option<String>,
}

impl ServerState {
    /// The remaining objects of the server, by kind and name; empty: none.
    pub fn left(&self, name: &str) -> Vec<String> {
        let deployment = (self.deployment == Presence::Ours).then(|| format!("Deployment {name}"));
        let services = self.services.iter().map(|it| format!("Service {it}"));
        let pods = self.pods.iter().map(|it| format!("pod {}", it.name()));
        deployment.into_iter().chain(services).chain(pods).collect()
    }

    /// How often the containers of all pods were restarted.
    pub fn restarts(&self) -> u32 {
        self.pods.iter().map(|it| it.restarts).fold(0, u32::saturating_add)
    }

    /// The pods that nobody is deleting.
    pub fn staying(&self) -> impl Iterator<Item = &ServerPod> {
        self.pods.iter().filter(|it| it.state.deleting.is_none())
    }
}

/// A pod of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerPod {
    /// The state that it shares with a launcher's pod.
    pub state: PodState,
    /// When the API server created it.
    pub created: Option<Timestamp>,
    /// When it was assigned to a node.
    pub scheduled: Option<Timestamp>,
    /// Since when its container runs, by the clock of its node.
    pub running_since: Option<Timestamp>,
    /// How often its container was restarted.
    pub restarts: u32,
    /// How its container ended last; `None`: it never has.
    pub ended: Option<Ended>,
    /// Why Kubernetes ends it: an eviction, a preemption or a lost node. `None` if it does not.
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
