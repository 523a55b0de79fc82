//! `server` of `report.json`: what the server reported about itself.

use analysis::TargetIdentity;
use measurement::server_identity::ServerIdentity;
use serde::{Deserialize, Serialize};

/// What the server reported when it became ready, and after the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerDocument {
    pub before: IdentityDocument,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<IdentityDocument>,
}

/// What the server reported at one time.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdentityDocument {
    pub engine: Option<String>,
    pub version: Option<String>,
    pub simulator: Option<String>,
    pub server_header: Option<String>,
    pub model: Option<String>,
    pub model_root: Option<String>,
    pub model_revision: Option<String>,
    pub max_model_len: Option<u64>,
}

impl ServerDocument {
    pub(super) fn new(server: &TargetIdentity) -> Self {
        ServerDocument {
            before: IdentityDocument::new(&server.before),
            after: server.after.as_ref().map(IdentityDocument::new),
        }
    }
}

impl IdentityDocument {
    fn new(identity: &ServerIdentity) -> Self {
        IdentityDocument {
            engine: identity.engine.clone(),
            version: identity.version.clone(),
            simulator: identity.simulator.clone(),
            server_header: identity.server.clone(),
            model: identity.model.clone(),
            model_root: identity.model_root.clone(),
            model_revision: identity.model_revision.clone(),
            max_model_len: identity.max_model_len,
        }
    }
}
