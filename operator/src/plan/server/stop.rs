//! The deletion of a server's objects.

use super::ServerState;
use crate::plan::Presence;

/// Maximum number of pods that one reconciliation deletes: pods of a server, or further pods of a Job. It is limited because a reconciliation has a
/// time limit.
pub const MAX_STOPPED_PODS: usize = 64;

/// The objects of a server to delete. Pods are deleted together with their Deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopServer {
    /// Name and UID of the Deployment, unless it is gone or already being deleted. It is deleted in the foreground, so that it disappears after its
    /// pods.
    pub deployment: Option<(String, Option<String>)>,
    /// Names of the Services.
    pub services: Vec<String>,
    /// Names of pods that no longer have a Deployment.
    pub pods: Vec<String>,
}

impl StopServer {
    /// The remaining objects of the server that are not being deleted yet. `None` if there are none.
    pub fn remaining(name: &str, state: &ServerState) -> Option<Self> {
        let exists = state.deployment == Presence::Ours;
        let orphans = state.staying().filter(|_| !exists).map(|it| it.name().to_owned());
        let stop = StopServer {
            deployment: (exists && !state.deleting).then(|| (name.to_owned(), state.uid.clone())),
            services: state.services.clone(),
            pods: orphans.take(MAX_STOPPED_PODS).collect(),
        };
        (stop != StopServer::default()).then_some(stop)
    }
}
