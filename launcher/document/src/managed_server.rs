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
    /// The program of the server.
    pub engine: ServerEngine,
    /// How long it lives.
    pub lifecycle: Lifecycle,
    /// Whether it was running before this run.
    pub reused: bool,
    /// How requests are distributed over the replicas.
    pub distribution: Distribution,
    /// Options that this release does not know, and passed on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_options: Vec<String>,
    /// The replicas in their order.
    pub replicas: Vec<ReplicaDocument>,
    /// What was left after the end, and what was done about it; absent: this run did not end the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Leftovers>,
    /// Whether it ran in pods, which the operator started before the launcher.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_pods: bool,
    /// What is unknown about the server, and why, as sentences.
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
    /// The process, and its process group.
    pub pid: i32,
    /// When it was started.
    pub started: Timestamp,
    /// From the start until the server was ready to be measured, in milliseconds; absent: it was ready before this run.
    pub ready_ms: Option<u64>,
    /// The requests of the load that it received, including requests that were sent again; absent: there is only one replica.
    pub requests: Option<u64>,
    /// How it ended; absent: it is still running.
    pub exit: Option<String>,
    /// Whether it ended unexpectedly.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub died: bool,
    /// The kernel's count of processes that it killed for lack of memory.
    pub out_of_memory: Option<String>,
    /// The last lines of output, if the replica died.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_words: Vec<String>,
    /// The log of the replica in the results folder; absent: no log is kept.
    pub log: Option<String>,
    /// What the log lacks or hides, as text; absent: nothing, or not known yet.
    pub log_note: Option<String>,
}

impl ManagedServerDocument {
    /// Sets the number of requests of each replica; an empty list: there is only one replica.
    pub fn count_requests(&mut self, requests: &[u64]) {
        for (replica, count) in self.replicas.iter_mut().zip(requests) {
            replica.requests = Some(*count);
        }
    }
}
