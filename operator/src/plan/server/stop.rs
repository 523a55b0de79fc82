//! What has to be deleted of a server.

use super::ServerState;
use crate::plan::Presence;

/// The most pods of a server, or other pods of a Job, that one turn deletes: a turn has a time limit.
pub const MAX_STOPPED_PODS: usize = 64;

/// What to delete of a server. Its pods go with its Deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopServer {
    /// The Deployment with its UID, unless it is gone or is being deleted. It is deleted in the foreground: it is gone once its pods are.
    pub deployment: Option<(String, Option<String>)>,
    /// Services.
    pub services: Vec<String>,
    /// Pods that no Deployment will delete.
    pub pods: Vec<String>,
}

impl StopServer {
    /// What is left of the server of this name and is not being deleted; `None`: nothing.
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
