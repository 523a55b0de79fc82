//! The objects of a server to delete.

use super::ServerState;
use crate::plan::Presence;

/// Maximum number of pods of a server, or of other pods of a Job, that one turn deletes, because a turn has a time limit.
pub const MAX_STOPPED_PODS: usize = 64;

/// What to delete of a server. Its pods are deleted with its Deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopServer {
    /// The Deployment with its UID, unless it is gone or being deleted. It is deleted in the foreground: it is gone after its pods are
    /// gone.
    pub deployment: Option<(String, Option<String>)>,
    /// Services.
    pub services: Vec<String>,
    /// Pods that no Deployment deletes.
    pub pods: Vec<String>,
}

impl StopServer {
    /// The remaining objects of the server with this name that are not being deleted; `None`: none remain.
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
