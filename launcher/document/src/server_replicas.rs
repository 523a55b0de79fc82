//! How the requests were spread over the replicas of a server in a cluster.

use crds::benchmark_run::Distribution;
use serde::{Deserialize, Serialize};

/// The replicas of the server that the operator started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerReplicasDocument {
    /// How many were asked for.
    pub asked: u32,
    /// Which replica a request was to go to.
    pub distribution: Distribution,
    /// Each at its own address; empty: the Service was called, and distributed the connections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub called: Vec<CalledReplicaDocument>,
    /// Why the Service was called in place of the replicas; absent: it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
}

/// One replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CalledReplicaDocument {
    /// Where it was called.
    pub url: String,
    /// The requests of the load that it got, with those that were sent again.
    pub requests: u64,
}
