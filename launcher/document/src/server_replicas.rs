//! How requests were distributed over the replicas of a server in a cluster.

use crds::benchmark_run::Distribution;
use serde::{Deserialize, Serialize};

/// The replicas of the server that the operator started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerReplicasDocument {
    /// Requested number of replicas.
    pub asked: u32,
    /// How requests are distributed over the replicas.
    pub distribution: Distribution,
    /// The replicas that received requests at their own address. Empty if requests went to the Service, which distributed the connections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub called: Vec<CalledReplicaDocument>,
    /// The reason why requests went to the Service instead of the replicas; absent if they went to the replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
}

/// One replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CalledReplicaDocument {
    /// The address that received the requests.
    pub url: String,
    /// Number of requests that it received, including requests that were sent again.
    pub requests: u64,
}
