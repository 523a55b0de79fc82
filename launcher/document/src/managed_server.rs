//! The server that was started for the run.

use crds::{
    benchmark_run::{Distribution, Lifecycle, ServerEngine},
    leftovers::Leftovers,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The server that was started for the run, or was already running. Commands and output of the server contain no secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagedServerDocument {
    /// The engine of the server.
    pub engine: ServerEngine,
    /// When the server is started and stopped.
    pub lifecycle: Lifecycle,
    /// Whether the server was already running before this run.
    pub reused: bool,
    /// How requests are distributed over the replicas.
    pub distribution: Distribution,
    /// Options that were passed to the server although this release of Benchwright does not know them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_options: Vec<String>,
    /// The replicas in their order.
    pub replicas: Vec<ReplicaDocument>,
    /// Processes and files that the server left behind, and what was done about them; absent if this run did not stop the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Leftovers>,
    /// Whether the operator started the server in pods, before it started the launcher.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_pods: bool,
    /// Sentences on what is unknown about the server, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One replica.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaDocument {
    /// The URL that received the requests.
    pub url: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The process id, which is also the id of its process group.
    pub pid: i32,
    /// When the replica was started.
    pub started: Timestamp,
    /// Milliseconds from the start until the server was ready to be measured; absent if it was ready before this run.
    pub ready_ms: Option<u64>,
    /// Number of requests that it received, including requests that were sent again; absent if there is only one replica.
    pub requests: Option<u64>,
    /// How the replica ended; absent if it is still running.
    pub exit: Option<String>,
    /// Whether the replica ended unexpectedly.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub died: bool,
    /// How many processes the kernel killed for lack of memory, as text.
    pub out_of_memory: Option<String>,
    /// The last lines of output, if the replica died.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_words: Vec<String>,
    /// The path of its log within the results folder; absent if no log was kept.
    pub log: Option<String>,
    /// What is missing in the log, and what was redacted. Absent if nothing is missing or redacted, or if this is not known yet.
    pub log_note: Option<String>,
}

impl ManagedServerDocument {
    /// Sets the number of requests of each replica. An empty list changes nothing, because there is only one replica.
    pub fn count_requests(&mut self, requests: &[u64]) {
        for (replica, count) in self.replicas.iter_mut().zip(requests) {
            replica.requests = Some(*count);
        }
    }
}
