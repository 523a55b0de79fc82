//! The server of a run, as it was observed.

use jiff::Timestamp;

use crate::plan::{Ended, PodState, Presence};

/// What exists of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerState {
    /// Its Deployment.
    pub deployment: Presence,
    /// The UID of the Deployment, when it is the run's or shared.
    pub uid: Option<String>,
    /// Whether the Deployment is being deleted.
    pub deleting: bool,
    /// Why the controller can create no pod, if that is so.
    pub refused: Option<String>,
    /// The Services of the server that exist, and belong to it.
    pub services: Vec<String>,
    /// Its pods.
    pub pods: Vec<ServerPod>,
    /// The bearer token for the log: from the Deployment, or a new random token if there is no Deployment. `None`: the log needs no token.
    pub log_token: Option<String>,
}

impl ServerState {
    /// What is left of it, by kind and name; empty: nothing.
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
    /// What it has in common with the pod of a launcher.
    pub state: PodState,
    /// When the API server created it.
    pub created: Option<Timestamp>,
    /// When it had a node.
    pub scheduled: Option<Timestamp>,
    /// Since when its container runs, by the clock of its node.
    pub running_since: Option<Timestamp>,
    /// How often its container was restarted.
    pub restarts: u32,
    /// How its container ended last; `None`: it never has.
    pub ended: Option<Ended>,
    /// Why Kubernetes ends it, if that is so: an eviction, a preemption or a lost node.
    pub disrupted: Option<String>,
    /// Whether it has failed as a whole, as an eviction leaves it behind.
    pub over: bool,
}

impl ServerPod {
    /// Its name.
    pub fn name(&self) -> &str {
        self.state.name.as_deref().unwrap_or_default()
    }
}
